package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/wardroom/wardroom/scripts/clis"
	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/sdk/client"
)

// turnLimit is how long an agent may take for an answer, on a busy machine.
const turnLimit = 60 * time.Second

// tool is a command line that the server starts as an agent.
type tool struct {
	name    string
	ask     string // a message, and what it must be answered with
	answer  string
	approve func(file string) string // a message after which it asks for leave to make a file; nil: it never asks
}

// tools are those that the demo knows how to point at its own model.
var tools = []tool{
	{
		name: "claude", ask: "Are you there?", answer: "ANSWER[Are you there?]",
		approve: func(file string) string { return "USE_TOOL[touch " + file + "] please" },
	},
	{
		name: "codex", ask: "Are you there?", answer: "ANSWER[Are you there?]",
		approve: func(file string) string { return "ESCALATE USE_TOOL[touch " + file + "] please" },
	},
	{
		name: "gemini", ask: "Are you there?", answer: "ANSWER[Are you there?]",
		approve: func(file string) string { return "USE_TOOL[touch " + file + "] please" },
	},
}

// shell stands in where none of them is installed.
var shell = tool{
	name: "bash", ask: "echo $((6 * 7))", answer: "42",
}

// managed is one agent that the server started, and what the demo saw of it.
type managed struct {
	tool     tool
	id       string
	pid      int
	workdir  string
	ready    time.Duration // from the request to its first prompt
	turn     time.Duration // of the message and its answer
	promptID string        // what it asks, before the kill
	approved time.Duration // from the answer over the API to the end of the turn
	after    time.Duration // of a message after the kill
}

// file returns the path of the file that an agent makes once it may.
func (m *managed) file() string { return filepath.Join(m.workdir, "made-with-leave") }

// installed lists the command lines that are there, and puts them into a folder for the server's PATH. The
// others are named.
func (d *demo) installed() ([]tool, error) {
	bin := d.path("bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return nil, err
	}
	var found []tool
	var absent []string
	for _, t := range tools {
		path, ok := clis.Find(t.name)
		if !ok {
			absent = append(absent, t.name)
			continue
		}
		if err := os.Symlink(path, filepath.Join(bin, t.name)); err != nil {
			return nil, err
		}
		found = append(found, t)
	}
	d.absent = absent
	return found, nil
}

// drive shows agents that the server starts itself: a turn of each, and an approval that is asked for before a
// kill -9 of the server and given after it.
func (d *demo) drive(ctx context.Context) (err error) {
	d.title("Command-line agents that the server starts, on a model endpoint of the demo's own")
	if len(d.absent) > 0 {
		d.say("left out, because it is not installed: %s; `make clis` installs all three", strings.Join(d.absent, ", "))
	}
	if len(d.tools) == 0 {
		d.say("so a shell stands in, which answers but never asks for leave")
		d.tools = []tool{shell}
	}
	model := fakemodel.New(fakemodel.Options{})
	if err := model.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	defer func() {
		if err != nil {
			d.abandon()
		}
	}()
	if err := d.spawnAll(ctx, model.URL()); err != nil {
		return err
	}
	if err := d.askAll(ctx); err != nil {
		return err
	}
	if err := d.wardroom(ctx, "agent", "list", "--managed"); err != nil {
		return err
	}
	pid, err := d.kill()
	if err != nil {
		return err
	}
	d.say("\n-- kill -9 %d: the server is gone, the agents are not", pid)
	if err := d.startServer(ctx); err != nil {
		return err
	}
	if err := d.waitAgents(ctx); err != nil {
		return err
	}
	if err := d.approveAll(ctx); err != nil {
		return err
	}
	d.say("")
	printManaged(d.out, d.managed)
	return d.retireAll(ctx)
}

// spawnAll starts the agents at once and waits until each takes messages.
func (d *demo) spawnAll(ctx context.Context, model string) error {
	err := d.until(ctx, "the local runtime is ready", func(ctx context.Context) (bool, error) {
		list, err := d.server.Client.ListRuntimes(ctx)
		if err == nil && len(list.Runtimes) == 0 {
			err = errors.New("the server has no runtime: its plugins are not beside the binary; `make build` builds them")
		}
		return err == nil && list.Runtimes[0].Ready, err
	})
	if err != nil {
		return err
	}
	from := time.Now()
	for _, t := range d.tools {
		a, err := d.server.Client.SpawnManagedAgent(ctx, client.ManagedAgentSpec{Type: t.name, Name: t.name, Env: fakemodel.Env(t.name, model)})
		if err != nil {
			return fmt.Errorf("start %s: %w", t.name, err)
		}
		d.managed = append(d.managed, &managed{tool: t, id: a.ID, pid: a.PID, workdir: a.Workdir})
	}
	return d.until(ctx, "all agents take messages", func(ctx context.Context) (bool, error) {
		waiting := 0
		for _, m := range d.managed {
			if m.ready != 0 {
				continue
			}
			_, ok, err := d.is(ctx, m, client.ManagedReady, "")
			if err != nil {
				return false, err
			}
			if !ok {
				waiting++
				continue
			}
			m.ready = time.Since(from)
		}
		return waiting == 0, nil
	})
}

// is reports whether an agent has a status, with a reason if one is given.
func (d *demo) is(ctx context.Context, m *managed, status, reason string) (*client.ManagedAgent, bool, error) {
	a, err := d.server.Client.GetManagedAgent(ctx, m.id)
	if err != nil {
		return nil, false, err
	}
	if a.Status == client.ManagedError || a.Status == client.ManagedStopped {
		return nil, false, fmt.Errorf("%s is %s (%s) and was to become %s", m.tool.name, a.Status, a.StatusReason, status)
	}
	return a, string(a.Status) == status && (reason == "" && a.StatusReason != "unreachable" || a.StatusReason == reason), nil
}

// waitManaged waits until is holds.
func (d *demo) waitManaged(ctx context.Context, m *managed, status, reason string) (a *client.ManagedAgent, err error) {
	err = d.until(ctx, m.tool.name+" is "+status, func(ctx context.Context) (ok bool, err error) {
		a, ok, err = d.is(ctx, m, status, reason)
		return ok, err
	})
	return a, err
}

// turn sends a message and checks the answer.
func (d *demo) turn(ctx context.Context, m *managed) (time.Duration, error) {
	from := time.Now()
	reply, err := d.server.Client.SendManagedAgent(ctx, m.id, client.ManagedAgentInput{
		Message: m.tool.ask, ExpectResponse: true, Timeout: turnLimit,
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", m.tool.name, err)
	}
	if reply.Response == nil || reply.Response.Text != m.tool.answer {
		return 0, fmt.Errorf("%s answered %s, want %q", m.tool.name, reply.Body, m.tool.answer)
	}
	return time.Since(from), nil
}

// askAll has a turn with each agent, and then makes each ask for leave.
func (d *demo) askAll(ctx context.Context) (err error) {
	for _, m := range d.managed {
		if m.turn, err = d.turn(ctx, m); err != nil {
			return err
		}
		d.say("%-7s %s -> %s", m.tool.name, m.tool.ask, m.tool.answer)
	}
	for _, m := range d.managed {
		if m.tool.approve == nil {
			continue
		}
		input := client.ManagedAgentInput{Message: m.tool.approve(m.file()), Timeout: turnLimit}
		if _, err := d.server.Client.SendManagedAgent(ctx, m.id, input); err != nil {
			return fmt.Errorf("%s: %w", m.tool.name, err)
		}
		a, err := d.waitManaged(ctx, m, client.ManagedBusy, "blocked")
		if err != nil {
			return err
		}
		if a.Prompt == nil {
			return fmt.Errorf("%s is blocked and asks nothing", m.tool.name)
		}
		m.promptID = a.Prompt.ID
		d.say("%-7s asks for leave: %s", m.tool.name, excerpt(strings.Join(strings.Fields(a.Prompt.Text), " "), 100))
	}
	d.say("")
	return nil
}

// approveAll finds the agents as they were, gives them leave, and has one more turn with each.
func (d *demo) approveAll(ctx context.Context) error {
	for _, m := range d.managed {
		a, err := d.server.Client.GetManagedAgent(ctx, m.id)
		if err != nil {
			return err
		}
		if a.PID != m.pid {
			return fmt.Errorf("%s had the process %d before the kill, and has %d after it", m.tool.name, m.pid, a.PID)
		}
		if m.promptID != "" {
			if err := d.approve(ctx, m); err != nil {
				return err
			}
		}
		if _, err := d.waitManaged(ctx, m, client.ManagedReady, ""); err != nil {
			return err
		}
		if m.after, err = d.turn(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// approve answers what an agent asked before the kill, which it must still ask.
func (d *demo) approve(ctx context.Context, m *managed) error {
	a, err := d.waitManaged(ctx, m, client.ManagedBusy, "blocked")
	if err != nil {
		return err
	}
	if a.Prompt == nil || a.Prompt.ID != m.promptID {
		return fmt.Errorf("%s asks something else after the kill: %+v", m.tool.name, a.Prompt)
	}
	if _, err := os.Stat(m.file()); err == nil {
		return fmt.Errorf("%s did what it asked leave for before it had it", m.tool.name)
	}
	from := time.Now()
	if _, err := d.server.Client.AnswerManagedAgent(ctx, m.id, client.ManagedAgentAnswer{PromptID: m.promptID, Choice: "allow"}); err != nil {
		return fmt.Errorf("answer %s: %w", m.tool.name, err)
	}
	if _, err := d.waitManaged(ctx, m, client.ManagedReady, ""); err != nil {
		return err
	}
	m.approved = time.Since(from)
	if _, err := os.Stat(m.file()); err != nil {
		return fmt.Errorf("%s had leave and did not use it: %w", m.tool.name, err)
	}
	return nil
}

// retireAll stops the agents; no process of theirs may be left.
func (d *demo) retireAll(ctx context.Context) error {
	for _, m := range d.managed {
		if err := d.server.Client.StopManagedAgent(ctx, m.id, false, 0); err != nil {
			return fmt.Errorf("stop %s: %w", m.tool.name, err)
		}
		err := d.until(ctx, m.tool.name+" is gone", func(context.Context) (bool, error) {
			return errors.Is(syscall.Kill(m.pid, 0), syscall.ESRCH), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// abandon ends the agents of a demo that went wrong: they would outlive everything else.
func (d *demo) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	for _, m := range d.managed {
		if d.server.Client.StopManagedAgent(ctx, m.id, true, 0) != nil {
			_ = syscall.Kill(m.pid, syscall.SIGKILL) // its holder ends what is left of it
		}
	}
}

// printManaged shows what the agents did.
func printManaged(w io.Writer, agents []*managed) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "AGENT\tPID\tREADY AFTER\tTURN\tAPPROVAL OVER THE API\tTURN AFTER THE KILL")
	for _, m := range agents {
		approval := "never asks"
		if m.promptID != "" {
			approval = fmt.Sprintf("asked before, given after the kill: done in %d ms", m.approved.Milliseconds())
		}
		fmt.Fprintf(t, "%s\t%d\t%d ms\t%d ms\t%s\t%d ms\n", m.tool.name, m.pid, m.ready.Milliseconds(),
			m.turn.Milliseconds(), approval, m.after.Milliseconds())
	}
	_ = t.Flush() // the demo's own output: an error would show in no other way
}
