package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Everything that a caller can do with an agent of a declared type, on a runtime that is a plugin and on one
// that is a server.
func TestManagedAgent(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T, ...string) *crew{"Plugin": managed, "URL": managedByURL} {
		t.Run(name, func(t *testing.T) { managedAgent(t, start(t)) })
	}
}

func managedAgent(t *testing.T, c *crew) {
	const secret = "a-secret-value-4711"
	work := shortDir(t)
	spec := client.ManagedAgentSpec{
		Name: "worker", Type: "shell", Capabilities: []string{"shell"}, Workdir: work,
		Env: map[string]string{"GIVEN": secret}, Labels: map[string]string{"team": "core"}, IdempotencyKey: "spawn-1",
	}
	a := c.spawn(spec)
	again, err := c.api.SpawnManagedAgent(t.Context(), spec)
	if err != nil || again.ID != a.ID {
		t.Fatalf("the same key gave %+v, %v; first %s", again, err, a.ID)
	}
	a = c.await(a.ID, client.ManagedReady)
	if a.Name != "worker" || a.Runtime != "local" || a.Workdir != work || a.PID == 0 || zombie(a.PID) ||
		!slices.Equal(a.Capabilities, []string{"shell"}) {
		t.Fatalf("agent %+v", a)
	}
	c.told(a.ID, "pwd; echo $GIVEN", work+"\n"+secret)
	c.told(a.ID, `[ -w "$HOME" ] && [ "$HOME" != "`+os.Getenv("HOME")+`" ] && echo own; echo $TERM`, "own\nxterm-256color")
	c.told(a.ID, "sleep 2.5; echo late", "late") // silence does not end a turn where a prompt does
	c.await(a.ID, client.ManagedReady)
	lists(t, c, a.ID)
	inputs(t, c, a.ID)

	// Three messages above, three in inputs, and what was typed there.
	var events []client.ManagedAgentEvent
	eventually(t, "the end of the last turn", func() bool {
		events = c.events(a.ID)
		last := len(events) - 1
		return events[last].Type == "managed_agent.ready" && strings.Count(kinds(events), "turn_complete") >= 6 && c.agent(a.ID).Status == client.ManagedReady
	})
	if n := strings.Count(kinds(events), "turn_complete"); kinds(events) != "started ready"+strings.Repeat(" busy turn_complete ready", n) || n > 8 {
		t.Errorf("events %s", kinds(events))
	}
	answers := 0
	for _, e := range events {
		if d, err := e.Decode(); err != nil || e.Type == "managed_agent.turn_complete" && d.Text == "42" {
			answers++
		}
	}
	if answers != 1 {
		t.Errorf("%d turns came to 42", answers)
	}
	if lines := c.logs(a.ID, "input"); !slices.Contains(lines, "echo $((40+2))") {
		t.Errorf("the log has the inputs %q", lines)
	}
	if lines := c.logs(a.ID, "output"); !slices.Contains(lines, "42") {
		t.Errorf("the log has the outputs %q", lines)
	}
	m, err := c.api.ManagedAgentMetrics(t.Context(), a.ID)
	if err != nil || m.MemoryBytes < 1<<20 || m.UptimeSeconds <= 0 || m.MessagesSent != 6 {
		t.Errorf("metrics %+v, %v", m, err)
	}
	if got := c.read("/api/managed-agents/" + a.ID); strings.Contains(got.String(), secret) {
		t.Errorf("the record tells a value of the environment: %s", got)
	}
	if strings.Contains(c.log.String(), secret) {
		t.Error("the log of the server tells a value of the environment")
	}
	ended(t, c, a.ID)
}

// lists reads agents and runtimes.
func lists(t *testing.T, c *crew, id string) {
	t.Helper()
	for _, tt := range []struct {
		filter client.ManagedAgentFilter
		want   int
	}{
		{client.ManagedAgentFilter{}, 1},
		{client.ManagedAgentFilter{Status: client.ManagedReady, Type: "shell", Runtime: "local"}, 1},
		{client.ManagedAgentFilter{Status: client.ManagedStopped}, 0},
		{client.ManagedAgentFilter{Type: "claude"}, 0},
		{client.ManagedAgentFilter{Runtime: "docker"}, 0},
	} {
		list, err := c.api.ListManagedAgents(t.Context(), tt.filter)
		if err != nil || list.Total != tt.want || len(list.Agents) != tt.want || tt.want > 0 && list.Agents[0].ID != id {
			t.Errorf("list of %+v: %+v, %v", tt.filter, list, err)
		}
	}
	runtimes, err := c.api.ListRuntimes(t.Context())
	if err != nil || len(runtimes.Runtimes) != 1 || !runtimes.Runtimes[0].Ready || runtimes.Runtimes[0].Priority != 10 ||
		runtimes.Runtimes[0].Agents != 1 || !slices.Contains(runtimes.Runtimes[0].Types, "claude") {
		t.Errorf("runtimes %+v, %v", runtimes, err)
	}
	c.failed(c.read("/api/managed-agents/magent_none"), 404, "NOT_FOUND")
	c.failed(c.agentPost("magent_none", "send", `{"message":"x"}`), 404, "NOT_FOUND")
	c.failed(c.agentDelete("magent_none", ""), 404, "NOT_FOUND")
}

// inputs types in each way there is.
func inputs(t *testing.T, c *crew, id string) {
	t.Helper()
	v := c.view(id, runtime.AttachOptions{})
	v.sees("ready> ")
	send := func(in client.ManagedAgentInput) {
		t.Helper()
		if reply, err := c.api.SendManagedAgent(t.Context(), id, in); err != nil || !reply.Sent {
			t.Fatalf("%+v: %+v, %v", in, reply, err)
		}
	}
	send(client.ManagedAgentInput{Raw: "echo raw $((1+1))x"})
	send(client.ManagedAgentInput{Keys: []string{"BACKSPACE", "ENTER"}})
	v.sees("raw 2\r\n")
	// What it prints shows that it is in the foreground: a ctrl_c that the shell itself gets, before it has started the
	// command, ends nothing.
	send(client.ManagedAgentInput{Raw: `sh -c 'echo n""ap; exec sleep 100'` + "\r"})
	v.sees("nap\r\n")
	send(client.ManagedAgentInput{Keys: []string{"ctrl_c"}})
	v.sees("^C")
	f := c.failed(c.agentPost(id, "send", `{"keys":["ENTER","WARP"]}`), 400, "VALIDATION_ERROR")
	if !strings.Contains(f.Error.Message, "WARP") {
		t.Errorf("an unknown key: %+v", f)
	}
	for _, body := range []string{`{}`, `{"message":"a","raw":"b"}`, `{"message":"a","shout":true}`, `{"message":7}`, `{"keys":[]}`} {
		c.failed(c.agentPost(id, "send", body), 400, "VALIDATION_ERROR")
	}
	c.refused(c.agentPost(id, "answer", `{"choice":"allow"}`), 409, "CONFLICT", "NO_PROMPT")
	v.close()

	once := client.ManagedAgentInput{Message: "echo said >>once; wc -l <once", ExpectResponse: true, IdempotencyKey: "send-1"}
	for range 2 {
		reply, err := c.api.SendManagedAgent(t.Context(), id, once)
		if err != nil || reply.Response == nil || reply.Response.Text != "1" {
			t.Fatalf("a message with a key: %+v, %v", reply, err)
		}
	}
	c.told(id, "echo $((40+2))", "42")
	f = c.failed(c.agentPost(id, "send", `{"message":"sleep 3","expectResponse":true,"timeout":300}`), 408, "TIMEOUT")
	if f.Error.Details["timeoutMs"] != float64(300) {
		t.Errorf("a turn that takes too long: %+v", f)
	}
}

// ended stops the agent in front of a viewer, and starts it again.
func ended(t *testing.T, c *crew, id string) {
	t.Helper()
	v := c.view(id, runtime.AttachOptions{})
	before := c.await(id, client.ManagedReady)
	stopped := c.retire(id)
	if stopped.ExitCode == nil || *stopped.ExitCode != 0 || stopped.StatusReason != "stopped" || stopped.StoppedAt == nil {
		t.Errorf("stopped as %+v", stopped)
	}
	if exit := v.ends(); exit == nil || exit.Code != 0 {
		t.Errorf("the viewer was told of the exit %+v", exit)
	}
	if a := c.agentDelete(id, ""); a.status != http.StatusNoContent {
		t.Errorf("a second stop: %s", a)
	}
	c.refused(c.agentPost(id, "send", `{"message":"x"}`), 409, "CONFLICT", "NOT_RUNNING")
	c.refused(c.agentPost(id, "send", `{"raw":"x"}`), 409, "CONFLICT", "NOT_RUNNING")
	if lines := c.logs(id, "output"); !slices.Contains(lines, "42") {
		t.Errorf("the log of a stopped agent has the outputs %q", lines)
	}
	again, err := c.api.RestartManagedAgent(t.Context(), id, client.ManagedAgentRestart{})
	if err != nil || again.ID != id {
		t.Fatalf("restart: %+v, %v", again, err)
	}
	if now := c.await(id, client.ManagedReady); now.PID == before.PID || now.StoppedAt != nil {
		t.Errorf("restarted as %+v, was %+v", now, before)
	}
	c.told(id, "echo again $GIVEN", "again a-secret-value-4711")
	if a := c.agentDelete(id, "?force=true"); a.status != http.StatusNoContent {
		t.Errorf("a stop with force: %s", a)
	}
	c.await(id, client.ManagedStopped)
	c.nobodyLeft(id)
}

// The development server has the local runtime when its plugins lie beside the binary, and a shell to try it with.
func TestDevRuntime(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	bin := filepath.Join(dir, "wardroom")
	if err := os.Link(binary, bin); err != nil {
		t.Skipf("the binary cannot be put beside its plugins: %v", err)
	}
	if err := os.Symlink(plugins, filepath.Join(dir, "plugins")); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	c := &crew{}
	t.Cleanup(func() { c.clear() })
	c.server = &server{t: t, dir: data, bin: bin, args: []string{"dev", "--data-dir", data, "--listen"}}
	c.start()
	c.runtimeReady()
	a := c.await(c.spawn(client.ManagedAgentSpec{Type: "bash"}).ID, client.ManagedReady)
	c.told(a.ID, "echo $((6*7))", "42")
	c.kill()
	c.start()
	c.runtimeReady()
	c.told(a.ID, "echo again", "again")
	c.retire(a.ID)
}
