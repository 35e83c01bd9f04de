package agentcli_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/launchertest"
	"github.com/wardroom/wardroom/sdk/conformance"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// overNetwork opens a runtime whose agents are reached over a slow network.
func overNetwork(t testing.TB, l *launcher, delay time.Duration, change func(*agentcli.Options)) (*rig, *launchertest.Network) {
	t.Helper()
	network := launchertest.NewNetwork(l, delay)
	g := open(t, l, func(o *agentcli.Options) {
		o.Launcher = network
		if change != nil {
			change(o)
		}
	})
	return g, network
}

// TestRecoverOverASlowNetwork kills the runtime in the middle of turns, with a transport that takes its time.
func TestRecoverOverASlowNetwork(t *testing.T) {
	for name, headless := range map[string]bool{"with a head": false, "without a head": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLauncher(t, nil)
			l.headless = headless
			// Without a head a pause is all there is to go by, so the delay is that of opening alone.
			g, network := overNetwork(t, l, 400*time.Millisecond, nil)
			now := g
			conformance.Runtime(t.Context(), t, conformance.RuntimeOptions{
				Runtime: g, Only: []string{"recover/busy", "recover/cut"},
				Sever: func(context.Context) (func(), error) {
					network.Cut()
					return network.Mend, nil
				},
				Spec: func(id string) runtime.Spec { return runtime.Spec{ID: id, Type: "bash"} },
				Kill: func(context.Context) (runtime.Runtime, error) {
					now = now.crash()
					return now, nil
				},
			})
		})
	}
}

// TestOldScreenIsNotJudged recovers a fake CLI whose hook waits: what the terminal told before it comes first, however long
// that takes.
func TestOldScreenIsNotJudged(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{turn: func(p *process, msg string) {
		p.signal(agentcli.Signal{Kind: agentcli.SignalTook, Text: msg})
		if _, ok := p.read(); !ok {
			return
		}
		p.signal(agentcli.Signal{Kind: agentcli.SignalTurnEnd, Text: "the first"})
	}}
	f := &fakeType{}
	l := newLauncher(t, c.run)
	g, _ := overNetwork(t, l, 300*time.Millisecond, func(o *agentcli.Options) { o.Adapters = []agentcli.Adapter{f} })
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.status("a", runtime.StatusReady)
	if _, err := g.Send(t.Context(), "a", runtime.Input{Message: "one"}); err != nil {
		t.Fatal(err)
	}
	g.status("a", runtime.StatusBusy)
	dir := launchertest.Crashed(t, g.o.StateDir)
	g.close()
	// Nobody is there when the turn ends, and the next one begins with a hook.
	p := l.process()
	p.typed <- []byte("x")
	wait(t, "the end of the turn", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Contains(string(p.out), "the first")
	})
	p.hooks <- agentcli.NewHookCall("h", []byte(`{"Kind":"took","Source":"hook","Text":"two"}`), make(chan struct{}), func([]byte) {})
	o := g.o
	o.StateDir = dir
	next := reopen(t, l, o)
	next.status("a", runtime.StatusBusy)
	wait(t, "the second turn", func() bool {
		a, err := next.Inspect(t.Context(), "a")
		return err == nil && a.Turn == 1 && a.Status == runtime.StatusBusy
	})
	if got := types(next.events("a")); !strings.HasSuffix(got, "busy turn_complete ready busy") {
		t.Errorf("events %s", got)
	}
}

// lateLauncher has processes whose Write returns late: what was typed has its answer by then.
type lateLauncher struct{ *launcher }

type lateProcess struct {
	agentcli.Process
}

func (l lateLauncher) Launch(ctx context.Context, command agentcli.Command) (agentcli.Process, error) {
	p, err := l.launcher.Launch(ctx, command)
	if err != nil {
		return nil, err
	}
	return lateProcess{p}, nil
}

func (p lateProcess) Write(ctx context.Context, b []byte) error {
	err := p.Process.Write(ctx, b)
	select {
	case <-ctx.Done():
	case <-time.After(300 * time.Millisecond):
	}
	return err
}

// TestAnswerBeforeTheKeysReturn has a command answer before it is known that Enter was typed, as on a busy machine.
func TestAnswerBeforeTheKeysReturn(t *testing.T) {
	t.Parallel()
	l := newLauncher(t, nil)
	g := open(t, l, func(o *agentcli.Options) { o.Launcher = lateLauncher{l} })
	g.bash("b")
	for _, word := range []string{"one", "two"} {
		if got := g.ask("b", "echo "+word).Text; got != word {
			t.Errorf("answer %q", got)
		}
	}
}
