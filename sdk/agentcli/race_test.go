package agentcli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestSnapshotsTellTheirSeq lets a caller order what it was told: an agent as it was looked at, and its events.
func TestSnapshotsTellTheirSeq(t *testing.T) {
	g, _ := ready(t, &fakeCLI{}, nil)
	g.ask("a", "hello")
	newest := func(g *rig) uint64 {
		t.Helper()
		var last uint64
		for _, e := range g.events("a") {
			if e.Agent.Seq != e.Seq {
				t.Errorf("event %d carries an agent of %d", e.Seq, e.Agent.Seq)
			}
			last = e.Seq
		}
		return last
	}
	check := func(g *rig, when string) {
		t.Helper()
		wait(t, "an agent of its newest event "+when, func() bool {
			a, err := g.Inspect(t.Context(), "a")
			return err == nil && a.Seq != 0 && a.Seq == newest(g)
		})
	}
	check(g, "while it runs")
	g = g.again()
	check(g, "after a restart of the runtime")
	if err := g.Stop(t.Context(), "a", runtime.StopOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	check(g, "after its end")
	g = g.again()
	check(g, "after its end and another restart")
}

// TestStopWhileItStarts stops an agent whose command is about to be launched.
func TestStopWhileItStarts(t *testing.T) {
	c := &fakeCLI{}
	g, _ := fake(t, c, nil)
	asked, release := make(chan struct{}), make(chan struct{})
	g.l.prepare = func(*runtime.Spec) error {
		close(asked)
		<-release
		return nil
	}
	started := make(chan error, 1)
	go func() {
		_, err := g.Spawn(t.Context(), runtime.Spec{ID: "a", Type: "fake"})
		started <- err
	}()
	<-asked
	if a, err := g.Inspect(t.Context(), "a"); code(err) != runtime.CodeNotFound {
		t.Errorf("an agent that does not run yet: %+v, %v", a, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	wantCode(t, g.Stop(ctx, "a", runtime.StopOptions{}), runtime.CodeTimeout)
	stopped := make(chan error, 1)
	go func() { stopped <- g.Stop(t.Context(), "a", runtime.StopOptions{}) }()
	close(release)
	if err := <-started; err != nil {
		t.Error(err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	g.status("a", runtime.StatusStopped)
}

// TestAttachOfWhoHasLeft attaches for callers that leave at once.
func TestAttachOfWhoHasLeft(t *testing.T) {
	g, _ := ready(t, &fakeCLI{}, nil)
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		term, err := g.Attach(ctx, "a", runtime.AttachOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = term.Recv()
		}
		_ = term.Close()
	}
}

// TestTypedOverTheAPI sends keys that begin a turn, and a message right behind them: the message is not typed
// into that turn.
func TestTypedOverTheAPI(t *testing.T) {
	c := &fakeCLI{}
	release := make(chan struct{})
	var early bool
	c.turn = func(p *process, msg string) {
		if msg == "by hand" {
			<-release // it takes a while until it shows
			early = len(p.typed) > 0
		}
		answered(p, msg)
	}
	g, _ := ready(t, c, func(o *agentcli.Options) { o.HumanHold = 300 * time.Millisecond })
	if _, err := g.Send(t.Context(), "a", runtime.Input{Raw: "by hand\r"}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := g.Send(t.Context(), "a", runtime.Input{Message: "the message", ExpectResponse: true})
		done <- err
	}()
	time.AfterFunc(100*time.Millisecond, func() { close(release) })
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := c.messages(); !slices.Equal(got, []string{"by hand", "the message"}) || early {
		t.Errorf("messages %q; typed into the other turn: %t", got, early)
	}
}

// TestTakenBehindAnotherTurn is a CLI that begins a turn of its own just when a message was submitted, and takes
// the message after it: it is not said that the message was not taken.
func TestTakenBehindAnotherTurn(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{}
	release := make(chan struct{})
	c.turn = func(p *process, msg string) {
		p.signal(agentcli.Signal{Kind: took, Text: "of its own"})
		<-release
		p.signal(agentcli.Signal{Kind: turnEnd, Text: "done"})
		answered(p, msg)
	}
	g, f := ready(t, c, nil)
	f.confirm = true
	done := make(chan error, 1)
	go func() {
		_, err := g.Send(t.Context(), "a", runtime.Input{Message: "hello", ID: "i1"})
		done <- err
	}()
	time.AfterFunc(1500*time.Millisecond, func() { close(release) }) // after Enter would have been repeated
	if err := <-done; err != nil {
		t.Errorf("the message was taken, and the answer is %v", err)
	}
	if got := c.messages(); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("messages %q", got)
	}
	wait(t, "the message", func() bool { return strings.Contains(g.logs("a", runtime.LogOptions{}), "ANSWER[hello]") })
}

// TestLargeEvents bounds what one event holds, whatever a tool is given.
func TestLargeEvents(t *testing.T) {
	c := &fakeCLI{}
	big := strings.Repeat("x", 3<<20)
	c.turn = func(p *process, msg string) {
		send := func(s agentcli.Signal) {
			s.Source = runtime.SourceHook
			p.hook(s)
		}
		input := map[string]any{"content": big, "path": "a.txt", "list": []any{big, big}}
		send(agentcli.Signal{Kind: took, Text: msg})
		send(agentcli.Signal{Kind: agentcli.SignalTool, Tool: &runtime.ToolCall{Name: "Write", Input: input}})
		send(agentcli.Signal{Kind: agentcli.SignalBlocked, Prompt: &runtime.Prompt{ID: "p1", Kind: runtime.PromptApproval, Text: big, Input: input}})
		send(agentcli.Signal{Kind: agentcli.SignalUnblocked})
		send(agentcli.Signal{Kind: agentcli.SignalText, Text: big})
		send(agentcli.Signal{Kind: turnEnd, Text: big})
	}
	g, _ := ready(t, c, nil)
	if got := g.ask("a", "write"); len(got.Text) != len(big) {
		t.Errorf("the answer has %d bytes, want all %d", len(got.Text), len(big))
	}
	for _, e := range g.events("a") {
		if n := jsonSize(t, e); n > 512<<10 {
			t.Errorf("an event %s of %d bytes", e.Type, n)
		}
		if e.Type == runtime.EventToolRunning && e.Tool.Input["path"] != "a.txt" {
			t.Errorf("tool %.200v", e.Tool)
		}
	}
}

// TestLargePrompt bounds and redacts what an event tells of a prompt and of tools, whatever hooks were given.
func TestLargePrompt(t *testing.T) {
	const secret = "tok-5up3rs3cret"
	big := secret + strings.Repeat("x", 1<<20)
	prompt := &runtime.Prompt{ID: "p1", Kind: runtime.PromptQuestion, Text: "which?", Tool: big}
	for i := range 100 {
		prompt.Options = append(prompt.Options, runtime.Option{ID: fmt.Sprint(i + 1), Label: big[:4<<10]})
	}
	c := &fakeCLI{turn: func(p *process, msg string) {
		for _, s := range []agentcli.Signal{
			{Kind: took, Text: msg}, {Kind: agentcli.SignalTool, Tool: &runtime.ToolCall{Name: big}},
			{Kind: agentcli.SignalToolDone, Tool: &runtime.ToolCall{Name: big}}, {Kind: agentcli.SignalBlocked, Prompt: prompt},
			{Kind: agentcli.SignalUnblocked}, {Kind: turnEnd, Text: "done"},
		} {
			s.Source = runtime.SourceHook
			p.hook(s)
		}
	}}
	g, _ := fake(t, c, nil)
	g.l.script = c.run
	g.spawn(runtime.Spec{ID: "a", Type: "fake", Env: map[string]string{"API_TOKEN": secret}})
	g.status("a", runtime.StatusReady)
	g.ask("a", "go")
	events := g.events("a")
	if got, want := types(events), "started ready busy tool_running tool_done question unblocked turn_complete ready"; got != want {
		t.Fatalf("events %s, want %s", got, want)
	}
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil || len(data) > 100<<10 || strings.Contains(string(data), secret) {
			t.Errorf("an event %s of %d bytes, %v, secret %t", e.Type, len(data), err, strings.Contains(string(data), secret))
		}
		if p := e.Prompt; p != nil && (len(p.Options) != 32 || len(p.Options[0].Label) != 1<<10 || len(p.Tool) != 200) {
			t.Errorf("a prompt with %d options, the first of %d bytes, for a tool of %d", len(p.Options), len(p.Options[0].Label), len(p.Tool))
		}
	}
}

func jsonSize(t testing.TB, v any) int {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}

// hook calls a hook with a signal and waits for the answer.
func (p *process) hook(s agentcli.Signal) {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	done := make(chan struct{})
	p.hooks <- agentcli.NewHookCall("signal", data, nil, func([]byte) { close(done) })
	select {
	case <-done:
	case <-p.killed:
	}
}

// TestCrashBetweenEventAndState loses the state that is written after an event: nothing is told twice.
func TestCrashBetweenEventAndState(t *testing.T) {
	for name, turn := range map[string]func(*process, string){
		"after a turn": nil,
		"within a turn": func(p *process, msg string) {
			p.signal(agentcli.Signal{Kind: took, Text: msg})
			p.signal(agentcli.Signal{Kind: agentcli.SignalTool, Tool: &runtime.ToolCall{Name: "Bash"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := ready(t, &fakeCLI{turn: turn}, nil)
			state := filepath.Join(g.o.StateDir, "agents", "a", "state.json")
			before := g.stateOf("a", `"ready"`)
			if _, err := g.Send(t.Context(), "a", runtime.Input{Message: "hello"}); err != nil {
				t.Fatal(err)
			}
			want := "started ready busy turn_complete ready"
			if turn != nil {
				want = "started ready busy tool_running"
			}
			wait(t, "the events", func() bool { return types(g.events("a")) == want })
			wait(t, "a new state", func() bool {
				now, err := os.ReadFile(state)
				return err == nil && string(now) != string(before)
			})
			p := g.l.process()
			next := g.crash(g.withState("a", before)) // the last checkpoint is older than the event
			p.print("more")
			next.attach("a", runtime.AttachOptions{}).untilText("more")
			a, err := next.Inspect(t.Context(), "a")
			if got := types(next.events("a")); err != nil || got != want {
				t.Errorf("events %s, want %s", got, want)
			}
			if turn != nil && a.Status != runtime.StatusBusy {
				t.Errorf("agent %+v", a)
			}
		})
	}
}

// TestCrashBeforeTheText loses the runtime after a turn ended and before its text came: the turn is told, once.
func TestCrashBeforeTheText(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"killed", "closed", "killed before the state"} {
		t.Run(name, func(t *testing.T) {
			c := &fakeCLI{turn: func(p *process, msg string) {
				p.signal(agentcli.Signal{Kind: took, Text: msg})
				p.signal(agentcli.Signal{Kind: turnEnd, TextFollows: true})
			}}
			g, _ := ready(t, c, nil)
			before := g.stateOf("a", `"ready"`)
			if _, err := g.Send(t.Context(), "a", runtime.Input{Message: "hello", ID: "i1"}); err != nil {
				t.Fatal(err)
			}
			wait(t, "the end of the turn", func() bool { return types(g.events("a")) == "started ready busy ready" })
			g.stateOf("a", `"turn":1`)
			switch name {
			case "killed":
				g = g.crash()
			case "closed":
				g = g.again()
			default:
				g = g.crash(g.withState("a", before))
			}
			const want = "started ready busy ready turn_complete"
			wait(t, "the event of the turn", func() bool { return types(g.events("a")) == want })
			g = g.again()
			if got := types(g.events("a")); got != want {
				t.Errorf("events %s, want %s", got, want)
			}
			res, err := g.Send(t.Context(), "a", runtime.Input{Message: "hello", ID: "i1", ExpectResponse: true})
			if err != nil || res.Response == nil || res.Response.Turn != 1 {
				t.Errorf("the repeat got %+v, %v", res, err)
			}
		})
	}
}

// TestCrashBeforeTheResponseIsRecorded loses the runtime after the end of a turn was told, and before the record of the
// message had its response: a repeat gets what was told.
func TestCrashBeforeTheResponseIsRecorded(t *testing.T) {
	g, _ := ready(t, &fakeCLI{}, nil)
	before := g.stateOf("a", `"ready"`)
	in := runtime.Input{Message: "hello", ID: "i1", ExpectResponse: true}
	first, err := g.Send(t.Context(), "a", in)
	if err != nil || first.Response == nil {
		t.Fatalf("%+v, %v", first, err)
	}
	const want = "started ready busy turn_complete ready"
	wait(t, "the events", func() bool { return types(g.events("a")) == want })
	next := g.crash(g.withState("a", before), func(dir string) {
		path := filepath.Join(dir, "agents", "a", "inputs.jsonl")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
		if last := lines[len(lines)-1]; !strings.Contains(last, `"state":"turn"`) {
			t.Fatalf("the last record is %s", last)
		}
		if err := os.WriteFile(path, []byte(strings.Join(lines[:len(lines)-1], "")), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if res, err := next.Send(t.Context(), "a", in); err != nil || res.Response == nil || *res.Response != *first.Response {
		t.Errorf("the repeat got %+v, %v; the first %+v", res.Response, err, first.Response)
	}
	if got := types(next.events("a")); got != want {
		t.Errorf("events %s, want %s", got, want)
	}
}

// stateOf returns the stored state of an agent once it has a text.
func (g *rig) stateOf(id, text string) (state []byte) {
	g.t.Helper()
	wait(g.t, "a state with "+text, func() bool {
		var err error
		state, err = os.ReadFile(filepath.Join(g.o.StateDir, "agents", id, "state.json"))
		return err == nil && strings.Contains(string(state), text)
	})
	return state
}

// withState has a crash find an earlier state of an agent, and no checkpoint.
func (g *rig) withState(id string, state []byte) func(dir string) {
	p := g.l.process()
	return func(dir string) {
		p.mu.Lock()
		p.note = nil
		p.mu.Unlock()
		if err := os.WriteFile(filepath.Join(dir, "agents", id, "state.json"), state, 0o600); err != nil {
			g.t.Error(err)
		}
	}
}

// TestStoppedAgentsHoldNoFiles bounds what agents that have stopped cost, of which there may be thousands.
func TestStoppedAgentsHoldNoFiles(t *testing.T) {
	g, _ := fake(t, &fakeCLI{}, nil)
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("this system does not tell which files are open")
		}
		return len(list)
	}
	before := files()
	for i := range 50 {
		id := fmt.Sprint("a", i)
		g.spawn(runtime.Spec{ID: id, Type: "fake"})
		if err := g.Stop(t.Context(), id, runtime.StopOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	if after := files(); after > before+5 {
		t.Errorf("%d files are open, %d more than before", after, after-before)
	}
	if log := g.logs("a0", runtime.LogOptions{}); !strings.Contains(log, "event stopped") {
		t.Errorf("log %q", log)
	}
}
