package agentcli_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/launchertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestUnreachable cuts the connection to an agent, at rest and at work, and mends it: nobody is told that the agent could be
// restarted, and what it did meanwhile is not lost.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{}, 1)
	c := &fakeCLI{turn: func(p *process, msg string) {
		p.signal(agentcli.Signal{Kind: agentcli.SignalTook, Text: msg})
		if strings.HasPrefix(msg, "long") {
			select {
			case <-goOn:
			case <-p.killed:
				return
			}
		}
		p.signal(agentcli.Signal{Kind: agentcli.SignalTurnEnd, Text: "ANSWER[" + msg + "]"})
	}}
	f := &fakeType{}
	g, network := overNetwork(t, newLauncher(t, c.run), 0, func(o *agentcli.Options) { o.Adapters = []agentcli.Adapter{f} })
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.status("a", runtime.StatusReady)
	g.ask("a", "first")

	unreachable := func() {
		t.Helper()
		if a := g.status("a", runtime.StatusUnreachable); a.Reason != runtime.ReasonUnreachable || a.Turn != 1 {
			t.Errorf("agent %+v", a)
		}
		_, sent := g.Send(t.Context(), "a", runtime.Input{Message: "into nothing"})
		_, raw := g.Send(t.Context(), "a", runtime.Input{Raw: "x"})
		_, stop := g.Send(t.Context(), "a", runtime.Input{Interrupt: true})
		_, spawn := g.Spawn(t.Context(), runtime.Spec{ID: "a", Type: "fake"})
		_, again := g.Restart(t.Context(), "a", runtime.RestartOptions{})
		_, metrics := g.Metrics(t.Context(), "a")
		_, attach := g.Attach(t.Context(), "a", runtime.AttachOptions{})
		for what, err := range map[string]error{
			"send": sent, "raw": raw, "interrupt": stop, "spawn": spawn, "restart": again, "metrics": metrics, "attach": attach,
			"answer": g.Answer(t.Context(), "a", runtime.Answer{Choice: runtime.ChoiceAllow}),
			"stop":   g.Stop(t.Context(), "a", runtime.StopOptions{}),
		} {
			if code(err) != runtime.CodeUnavailable || strings.Contains(err.Error(), "restart") || !runtime.AsError(err).Retry {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	network.Cut()
	unreachable()
	network.Mend()
	g.status("a", runtime.StatusReady)
	if got := types(g.events("a")); got != "started ready busy turn_complete ready error ready" {
		t.Errorf("events %s", got)
	}

	// In a turn, whose caller waits.
	failed := make(chan error, 1)
	go func() {
		_, err := g.Send(t.Context(), "a", runtime.Input{ID: "i1", Message: "long", ExpectResponse: true})
		failed <- err
	}()
	g.status("a", runtime.StatusBusy)
	network.Cut()
	if err := <-failed; code(err) != runtime.CodeUnavailable {
		t.Errorf("the caller in the turn: %v", err)
	}
	unreachable()
	goOn <- struct{}{} // it ends while nobody can see it
	network.Mend()
	res, err := sendUntil(t, g, runtime.Input{ID: "i1", Message: "long", ExpectResponse: true})
	if err != nil || res.Response == nil || res.Response.Text != "ANSWER[long]" || res.Response.Turn != 2 {
		t.Errorf("the repeat: %+v, %v", res, err)
	}
	if got := c.messages(); len(got) != 2 {
		t.Errorf("messages %q", got)
	}
	if got := types(g.events("a")); got != "started ready busy turn_complete ready error ready busy error busy turn_complete ready" {
		t.Errorf("events %s", got)
	}

	// And over a restart of the runtime, that finds it out of reach once more.
	network.Cut()
	g.status("a", runtime.StatusUnreachable)
	g = g.again()
	if a := g.status("a", runtime.StatusUnreachable); a.Turn != 2 {
		t.Errorf("agent %+v", a)
	}
	network.Mend()
	g.status("a", runtime.StatusReady)
	if got := types(g.events("a")); !strings.HasSuffix(got, "ready error ready") {
		t.Errorf("events %s", got)
	}
}

// sendUntil sends until the agent can be reached.
func sendUntil(t testing.TB, g *rig, in runtime.Input) (res runtime.SendResult, err error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		if res, err = g.Send(t.Context(), "a", in); code(err) != runtime.CodeUnavailable || time.Now().After(deadline) {
			return res, err
		}
		<-time.After(20 * time.Millisecond)
	}
}

// TestUnreachableThenGone has an agent end where nobody sees it.
func TestUnreachableThenGone(t *testing.T) {
	f := &fakeType{}
	c := &fakeCLI{}
	g, network := overNetwork(t, newLauncher(t, c.run), 0, func(o *agentcli.Options) { o.Adapters = []agentcli.Adapter{f} })
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.status("a", runtime.StatusReady)
	network.Cut()
	g.status("a", runtime.StatusUnreachable)
	p := g.l.process()
	g.l.mu.Lock()
	delete(g.l.procs, p.id)
	g.l.mu.Unlock()
	p.kill()
	<-p.gone
	network.Mend()
	if a := g.status("a", runtime.StatusStopped); a.Reason != runtime.ReasonLost {
		t.Errorf("agent %+v", a)
	}
	if got := types(g.events("a")); got != "started ready error stopped" {
		t.Errorf("events %s", got)
	}
}

// rediscoverer knows by itself what it started last.
type rediscoverer struct{ *launcher }

func (l rediscoverer) Latest(context.Context, string, time.Time) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.launched == 0 {
		return nil, agentcli.ErrGone
	}
	return []byte(strconv.Itoa(l.launched)), nil
}

// setBack is a rediscoverer whose clock was set back before it started anything.
type setBack struct{ rediscoverer }

func (l setBack) Latest(ctx context.Context, id string, since time.Time) ([]byte, error) {
	if time.Now().Add(-time.Hour).Before(since) {
		return nil, agentcli.ErrGone
	}
	return l.rediscoverer.Latest(ctx, id, since)
}

// held is a launcher that does not return from Launch until it is let go.
type held struct {
	*launchertest.Network
	launched, letGo chan struct{}
	pass            atomic.Int64 // how often it does all the same
	early           bool         // it is held before it starts anything
}

func (h *held) Launch(ctx context.Context, cmd agentcli.Command) (agentcli.Process, error) {
	if h.pass.Add(-1) >= 0 {
		return h.Network.Launch(ctx, cmd)
	}
	if h.early {
		close(h.launched)
		<-h.letGo
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "it was killed before")
	}
	p, err := h.Network.Launch(ctx, cmd)
	close(h.launched)
	<-h.letGo
	return p, err
}

// TestCrashAtStartOutOfReach kills the runtime between the start of an agent and its record, and what the agent runs on is away
// when the next one looks: it is asked again until it answers whether the agent runs.
func TestCrashAtStartOutOfReach(t *testing.T) {
	for name, runs := range map[string]bool{"Runs": true, "Gone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLauncher(t, (&fakeCLI{}).run)
			network := launchertest.NewNetwork(rediscoverer{l}, 0)
			h := &held{Network: network, launched: make(chan struct{}), letGo: make(chan struct{})}
			g := open(t, l, func(o *agentcli.Options) { o.Adapters, o.Launcher = []agentcli.Adapter{&fakeType{}}, h })
			spawned := make(chan error, 1)
			go func() {
				_, err := g.Spawn(t.Context(), runtime.Spec{ID: "a", Type: "fake"})
				spawned <- err
			}()
			defer func() { close(h.letGo); <-spawned }()
			<-h.launched
			network.Cut()
			o := g.o
			o.StateDir, o.Launcher = launchertest.Crashed(t, g.o.StateDir), network
			next := reopen(t, l, o)
			if got, err := next.Recover(t.Context(), []runtime.Handle{{ID: "a"}}); err != nil || got[0].Error == nil || got[0].Error.Code != runtime.CodeUnavailable {
				t.Errorf("recover: %+v, %v", got, err)
			}
			wantCode(t, next.Stop(t.Context(), "a", runtime.StopOptions{}), runtime.CodeUnavailable)
			next.status("a", runtime.StatusStarting)
			if !runs {
				l.mu.Lock()
				p := l.procs["1"]
				delete(l.procs, "1")
				l.mu.Unlock()
				p.kill()
				<-p.gone
			}
			network.Mend()
			if runs {
				next.status("a", runtime.StatusReady)
			} else if a := next.status("a", runtime.StatusStopped); a.Reason != runtime.ReasonLost {
				t.Errorf("agent %+v", a)
			}
		})
	}
}

// TestCrashAtStartClockSetBack kills the runtime between the start of an agent and its record, after the clock was set back: what was
// started is found, and what an earlier life left is not taken for it.
func TestCrashAtStartClockSetBack(t *testing.T) {
	for name, tt := range map[string]struct {
		again, early bool
	}{
		"First": {}, "FirstEarly": {early: true}, "Again": {again: true}, "AgainEarly": {again: true, early: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLauncher(t, (&fakeCLI{}).run)
			network := launchertest.NewNetwork(setBack{rediscoverer{l}}, 0)
			h := &held{Network: network, launched: make(chan struct{}), letGo: make(chan struct{}), early: tt.early}
			g := open(t, l, func(o *agentcli.Options) { o.Adapters, o.Launcher = []agentcli.Adapter{&fakeType{}}, h })
			start := func() error {
				_, err := g.Spawn(t.Context(), runtime.Spec{ID: "a", Type: "fake"})
				return err
			}
			if tt.again {
				h.pass.Store(1)
				g.spawn(runtime.Spec{ID: "a", Type: "fake"})
				g.status("a", runtime.StatusReady)
				if err := g.Stop(t.Context(), "a", runtime.StopOptions{}); err != nil {
					t.Fatal(err)
				}
				g.status("a", runtime.StatusStopped)
				start = func() error {
					_, err := g.Restart(t.Context(), "a", runtime.RestartOptions{})
					return err
				}
			}
			started := make(chan error, 1)
			go func() { started <- start() }()
			defer func() { close(h.letGo); <-started }()
			<-h.launched
			o := g.o
			o.StateDir, o.Launcher = launchertest.Crashed(t, g.o.StateDir), network
			next := reopen(t, l, o)
			if tt.early {
				if a := next.status("a", runtime.StatusStopped); a.Reason != runtime.ReasonLost {
					t.Errorf("agent %+v", a)
				}
			} else {
				next.status("a", runtime.StatusReady)
			}
		})
	}
}
