package agentcli_test

import (
	"context"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/launchertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// crash leaves the runtime as a SIGKILL would: another one works on a copy of its files.
func (g *rig) crash(change ...func(dir string)) *rig {
	g.t.Helper()
	o := g.o
	o.StateDir = launchertest.Crashed(g.t, g.o.StateDir)
	for _, fn := range change {
		fn(o.StateDir)
	}
	g.l.mu.Lock()
	for _, p := range g.l.procs {
		p.mu.Lock()
		if p.note != nil && p.dropBefore > 0 { // as a holder's ring does
			p.out, p.dropped = p.out[p.dropBefore-p.dropped:], p.dropBefore
		}
		p.mu.Unlock()
	}
	g.l.mu.Unlock()
	return reopen(g.t, g.l, o)
}

func TestCrashKeepsScreenAndScrollback(t *testing.T) {
	g, _ := ready(t, &fakeCLI{}, nil)
	p := g.l.process()
	p.print("\x1b[31m" + strings.Repeat("a line of the past\r\n", 500) + "\x1b[1mthe last line")
	wait(t, "a checkpoint", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.dropBefore = p.noteAt
		return p.noteAt == uint64(len(p.out))
	})
	g.ask("a", "hello")
	p.print("after the checkpoint")
	next := g.crash()
	v := next.attach("a", runtime.AttachOptions{Tail: 1000})
	v.until("all of it", func(_ runtime.Frame, text string) bool {
		return strings.Count(text, "a line of the past") >= 490 && strings.Contains(text, "the last line") && strings.Contains(text, "after the checkpoint")
	})
	a := next.status("a", runtime.StatusReady)
	if a.Turn != 1 {
		t.Errorf("agent %+v", a)
	}
	if got := types(next.events("a")); got != "started ready busy turn_complete ready" {
		t.Errorf("events %s", got)
	}
}

// TestCrashWhileTyping cuts the delivery: nobody knows, and nothing is typed twice.
func TestCrashWhileTyping(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{ignore: 1}
	g, f := ready(t, c, nil)
	f.confirm = true
	done := make(chan error, 1)
	go func() {
		_, err := g.Send(t.Context(), "a", runtime.Input{Message: "hello", ID: "i1"})
		done <- err
	}()
	p := g.l.process()
	wait(t, "the typing", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Contains(string(p.written), "hello")
	})
	next := g.crash()
	next.status("a", runtime.StatusReady)
	_, err := next.Send(t.Context(), "a", runtime.Input{Message: "hello", ID: "i1"})
	wantCode(t, err, runtime.CodeDeliveryUnknown)
	<-done
	if got := c.messages(); len(got) != 1 {
		t.Errorf("messages %q", got)
	}
}

func TestLauncherOutOfReach(t *testing.T) {
	g, _ := ready(t, &fakeCLI{}, nil)
	g.close()
	away := &awayLauncher{launcher: g.l}
	o := g.o
	o.Launcher = away
	g = reopen(t, g.l, o)
	wantCode(t, g.Stop(t.Context(), "a", runtime.StopOptions{}), runtime.CodeUnavailable)
	_, err := g.Spawn(t.Context(), runtime.Spec{ID: "a", Type: "fake"})
	wantCode(t, err, runtime.CodeUnavailable)
	_, err = g.Restart(t.Context(), "a", runtime.RestartOptions{})
	wantCode(t, err, runtime.CodeUnavailable)
	away.back.Store(true)
	got, err := g.Recover(t.Context(), []runtime.Handle{{ID: "a"}})
	if err != nil || got[0].Agent == nil {
		t.Fatalf("recover: %+v, %v", got, err)
	}
	if got := g.ask("a", "hello").Text; got != "ANSWER[hello]" {
		t.Errorf("answer %q", got)
	}
	var _ agentcli.Launcher = away
}

// TestCrashWhileTypingIsSettled lets the agent tell, after the crash, that it took the message: a repeat gets the response
// of its turn, and not that nobody knows.
func TestCrashWhileTypingIsSettled(t *testing.T) {
	c := &fakeCLI{ignore: 1}
	g, f := ready(t, c, nil)
	f.confirm = true
	done := make(chan error, 1)
	in := runtime.Input{Message: "hello  there", ID: "i1", ExpectResponse: true}
	go func() {
		_, err := g.Send(t.Context(), "a", in)
		done <- err
	}()
	p := g.l.process()
	wait(t, "the typing", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Contains(string(p.written), "hello")
	})
	next := g.crash()
	next.status("a", runtime.StatusReady)
	p.signal(agentcli.Signal{Kind: agentcli.SignalTook, Text: "hello there"}) // command lines join white space
	next.status("a", runtime.StatusBusy)
	again := make(chan *runtime.Response, 1)
	go func() {
		result, err := next.Send(t.Context(), "a", in)
		if err != nil {
			t.Error(err)
		}
		again <- result.Response
	}()
	p.signal(agentcli.Signal{Kind: agentcli.SignalTurnEnd, Text: "general"})
	if r := <-again; r == nil || r.Text != "general" || r.Turn != 1 {
		t.Errorf("the repeat got %+v", r)
	}
	<-done
}

// TestCrashBeforeEnter ends the runtime between a message and its Enter: the message does not stay in the input line, where
// what a person types next would join it, and what stands there besides is left alone.
func TestCrashBeforeEnter(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ more, line, next string }{
		"message": {line: "> cut off by this", next: "mine"},
		"draft":   {more: " and mine", line: "> cut off by this and mine", next: "cut off by this and mine more"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &fakeCLI{draws: true}
			g, _ := ready(t, c, nil)
			p := g.l.process()
			p.mu.Lock()
			p.noEnter = true
			p.mu.Unlock()
			sent := make(chan error, 1)
			go func() {
				_, err := g.Send(context.Background(), "a", runtime.Input{ID: "i1", Message: "cut off by  this"})
				sent <- err
			}()
			shows := func() string {
				p.mu.Lock()
				defer p.mu.Unlock()
				out := string(p.out)
				return squeezed(out[strings.LastIndex(out, "\n")+1:])
			}
			wait(t, "the message in the line", func() bool { return shows() == "> cut off by this" })
			p.typed <- []byte(tt.more)
			wait(t, "what a person typed behind it", func() bool { return shows() == tt.line })
			dir := launchertest.Crashed(t, g.o.StateDir)
			g.close()
			if err := <-sent; runtime.AsError(err).Code != runtime.CodeDeliveryUnknown {
				t.Errorf("send: %v", err)
			}
			p.mu.Lock()
			p.noEnter = false
			p.mu.Unlock()
			o := g.o
			o.StateDir = dir
			g = reopen(t, g.l, o)
			g.status("a", runtime.StatusReady)
			if tt.more == "" {
				wait(t, "an empty line", func() bool { return shows() == ">" })
			}
			v := g.attach("a", runtime.AttachOptions{})
			if err := v.Input([]byte(strings.TrimPrefix(tt.next, "cut off by this and mine") + "\r")); err != nil {
				t.Fatal(err)
			}
			wait(t, "what the person typed", func() bool { return len(c.messages()) == 1 })
			if got := squeezed(c.messages()[0]); got != tt.next {
				t.Errorf("the CLI took %q, want %q", got, tt.next)
			}
			_, err := g.Send(t.Context(), "a", runtime.Input{ID: "i1", Message: "cut off by  this"})
			if runtime.AsError(err).Code != runtime.CodeDeliveryUnknown {
				t.Errorf("repeated: %v", err)
			}
		})
	}
}

func squeezed(s string) string { return strings.Join(strings.Fields(s), " ") }
