package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

// shellType is an agent type for tests: any program that prints a prompt will do.
const shellType = `agentTypes.shell: {command: bash, args: [--norc, --noprofile], ` +
	`env: {PS1: "ready> ", PS2: "", HISTFILE: /dev/null, CANARY_TOKEN: ` + canary + `}, ready: {pattern: "^ready> $"}, exit: exit}`

// crew is a server with managed agents on a local runtime.
type crew struct {
	*server
	runtime *runtimeServer // or nil: the runtime is a plugin
	spawned []string
}

// shortDir makes a folder with a path short enough for sockets in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// managed starts a server whose runtime is the plugin. yaml is what its configuration holds beside that.
func managed(t *testing.T, yaml ...string) *crew {
	t.Helper()
	return crewed(t, nil, append(yaml, "plugins.dir: "+plugins, "runtimes.local: {plugin: runtime-local}"))
}

// crewed starts a server and waits for its runtime.
func crewed(t *testing.T, on *runtimeServer, yaml []string) *crew {
	t.Helper()
	dir := shortDir(t)
	c := &crew{runtime: on}
	t.Cleanup(func() { c.clear() }) // after the server's own end
	c.server = configured(t, dir, filepath.Join(dir, "store"), strings.Join(append(yaml, shellType), "\n"))
	c.start()
	c.runtimeReady()
	return c
}

// runtimeReady waits until agents can be spawned.
func (c *crew) runtimeReady() {
	c.t.Helper()
	eventually(c.t, "the runtime", func() bool {
		list, err := c.api.ListRuntimes(c.t.Context())
		if err != nil {
			c.t.Fatal(err)
		}
		return len(list.Runtimes) > 0 && list.Runtimes[0].Ready
	})
}

// clear ends what a failed test left: agents outlive everything else by design.
func (c *crew) clear() {
	dirs := []string{c.dir}
	if c.runtime != nil {
		dirs = append(dirs, c.runtime.dir)
	}
	for _, pid := range holders(c.t, dirs...) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, id := range c.spawned {
		for _, pid := range marked(c.t, id) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// spawn starts an agent.
func (c *crew) spawn(spec client.ManagedAgentSpec) *client.ManagedAgent {
	c.t.Helper()
	a, err := c.api.SpawnManagedAgent(c.t.Context(), spec)
	if err != nil {
		c.t.Fatal(err)
	}
	c.spawned = append(c.spawned, a.ID)
	return a
}

// shell starts a shell and waits for its prompt.
func (c *crew) shell() *client.ManagedAgent {
	c.t.Helper()
	return c.await(c.spawn(client.ManagedAgentSpec{Type: "shell"}).ID, client.ManagedReady)
}

// agent returns an agent as it is now.
func (c *crew) agent(id string) *client.ManagedAgent {
	c.t.Helper()
	a, err := c.api.GetManagedAgent(c.t.Context(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

// await waits until an agent has a status, and its runtime is there.
func (c *crew) await(id, status string) *client.ManagedAgent {
	c.t.Helper()
	return c.awaitAgent(id, "status "+status, func(a *client.ManagedAgent) bool {
		return string(a.Status) == status && a.StatusReason != "unreachable"
	})
}

func (c *crew) awaitAgent(id, what string, cond func(*client.ManagedAgent) bool) *client.ManagedAgent {
	c.t.Helper()
	var a *client.ManagedAgent
	came := false
	defer func() {
		if !came {
			c.t.Logf("the agent: %s\nits screen: %q", a.Body, c.screen(id))
		}
	}()
	eventually(c.t, what+" of the agent "+id, func() bool {
		a = c.agent(id)
		came = cond(a)
		return came
	})
	return a
}

// ask sends a message and returns the answer.
func (c *crew) ask(id, message string) string {
	c.t.Helper()
	reply, err := c.api.SendManagedAgent(c.t.Context(), id, client.ManagedAgentInput{
		Message: message, ExpectResponse: true, Timeout: 3 * patience,
	})
	if err != nil {
		c.t.Fatalf("%q: %v", message, err)
	}
	if !reply.Sent || reply.Response == nil {
		c.t.Fatalf("%q: reply %+v", message, reply)
	}
	return reply.Response.Text
}

// told asks and compares.
func (c *crew) told(id, message, want string) {
	c.t.Helper()
	if got := c.ask(id, message); got != want {
		c.t.Fatalf("%q was answered with %q, want %q", message, got, want)
	}
}

// retire stops an agent; nothing of it may be left.
func (c *crew) retire(id string) *client.ManagedAgent {
	c.t.Helper()
	if err := c.api.StopManagedAgent(c.t.Context(), id, false, 0); err != nil {
		c.t.Fatal(err)
	}
	a := c.await(id, client.ManagedStopped)
	c.nobodyLeft(id)
	return a
}

// nobodyLeft wants no process of an agent, within the three seconds that are promised.
func (c *crew) nobodyLeft(id string) {
	c.t.Helper()
	eventually(c.t, "the end of all processes of "+id, func() bool { return len(marked(c.t, id)) == 0 })
}

// events returns everything that happened to an agent, page by page.
func (c *crew) events(id string) []client.ManagedAgentEvent {
	c.t.Helper()
	var all []client.ManagedAgentEvent
	for since, more := uint64(0), true; more; {
		list, err := c.api.ListManagedAgentEvents(c.t.Context(), id, since, 7)
		if err != nil {
			c.t.Fatal(err)
		}
		all = append(all, list.Events...)
		since, more = list.NextSince, list.HasMore
	}
	return all
}

// kinds are the types of events, without what they have in common.
func kinds(events []client.ManagedAgentEvent) string {
	var list []string
	for _, e := range events {
		if e.Type == "managed_agent.message" {
			continue // how what it says is cut into pieces is a matter of time
		}
		list = append(list, strings.TrimPrefix(e.Type, "managed_agent."))
	}
	return strings.Join(list, " ")
}

// awaitEvents waits until an agent's events are those, and no others.
func (c *crew) awaitEvents(id, want string) []client.ManagedAgentEvent {
	c.t.Helper()
	var events []client.ManagedAgentEvent
	defer func() {
		if kinds(events) != want {
			c.t.Logf("events: %s\nwant:   %s", kinds(events), want)
		}
	}()
	eventually(c.t, "the events of "+id, func() bool {
		events = c.events(id)
		return kinds(events) == want
	})
	if !slices.IsSortedFunc(events, func(a, b client.ManagedAgentEvent) int { return int(a.Sequence) - int(b.Sequence) }) {
		c.t.Errorf("the sequences of the events do not rise: %+v", events)
	}
	return events
}

// logs returns the lines of one stream of an agent's log.
func (c *crew) logs(id, stream string) []string {
	c.t.Helper()
	list, err := c.api.ManagedAgentLogs(c.t.Context(), id, client.LogOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	var lines []string
	for _, l := range list.Logs {
		if l.Stream == stream {
			lines = append(lines, l.Line)
		}
	}
	return lines
}

// view attaches to the terminal of an agent.
func (c *crew) view(id string, opts runtime.AttachOptions) *console {
	c.t.Helper()
	address, header := c.api.TerminalRequest(id)
	conn, err := terminal.Dial(c.t.Context(), address, opts, terminal.DialOptions{Header: header})
	if err != nil {
		c.t.Fatal(err)
	}
	return watch(c.t, conn)
}

// screen returns the screen of an agent, for a failed test.
func (c *crew) screen(id string) string {
	address, header := c.api.TerminalRequest(id)
	conn, err := terminal.Dial(c.t.Context(), address, runtime.AttachOptions{}, terminal.DialOptions{Header: header})
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	first, err := conn.Recv()
	if err != nil {
		return err.Error()
	}
	return string(first.Data)
}

// refused wants an error answer with a runtime's code.
func (c *crew) refused(a answer, status int, code, runtimeCode string) failure {
	c.t.Helper()
	f := c.failed(a, status, code)
	if got, _ := f.Error.Details["runtimeCode"].(string); got != runtimeCode {
		c.t.Fatalf("runtimeCode %s, want %s: %s", got, runtimeCode, a)
	}
	return f
}

// post sends to a path of an agent.
func (c *crew) agentPost(id, what, body string) answer {
	c.t.Helper()
	return c.post("/api/managed-agents/"+id+"/"+what, body)
}

func (c *crew) agentDelete(id, query string) answer {
	c.t.Helper()
	return c.do(http.MethodDelete, "/api/managed-agents/"+id+query, "", nil)
}

// pluginPID returns the process of the runtime's plugin.
func (c *crew) pluginPID() int { return c.processOf("runtime-local") }

// processOf returns the process of a plugin.
func (c *crew) processOf(plugin string) int {
	c.t.Helper()
	p, err := c.api.GetPlugin(c.t.Context(), plugin)
	if err != nil {
		c.t.Fatal(err)
	}
	if p.State != "ready" || p.PID == 0 {
		c.t.Fatalf("the plugin: %+v", p)
	}
	return p.PID
}
