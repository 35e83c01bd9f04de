package kubernetes_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wardroom/wardroom/plugins/runtime-kubernetes/kubernetes"
	"github.com/wardroom/wardroom/sdk/agentcli"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestFoundAtEachCall takes the API server away at each call by which an agent is looked for that an earlier runtime started: one that
// runs, one that has ended, and one whose holder was killed. Meanwhile it is not lost, and then it is what it is.
func TestFoundAtEachCall(t *testing.T) {
	t.Parallel()
	c := need(t)
	for name, tt := range map[string]struct {
		line string // that the agent is given
		cuts []cut
		gone bool
	}{
		"Running": {"", []cut{{at: "connect"}, {at: "connect", done: true}}, false},
		"Ended":   {"exit 3", []cut{{at: "connect"}, {at: lookCall}, {at: "get"}}, false},
		"Dead":    {"kill -9 $PPID", []cut{{at: "get", done: true}, {at: "DELETE-pods"}, {at: "DELETE-pods", done: true}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, spec := within(t), shell(id(t))
			k := c.cutter(t)
			l, handle := c.left(ctx, t, k, &spec, tt.line)
			for _, how := range tt.cuts {
				broken := k.arm(how)
				look, cancel := context.WithCancel(ctx)
				go func() { // the client's library tries again for 10 s
					select {
					case <-broken:
						time.AfterFunc(time.Second, cancel)
					case <-look.Done():
					}
				}()
				p, err := l.Find(look, handle)
				cancel()
				if err == nil {
					t.Errorf("%+v: it is found, %v", how, p.Close())
				} else if errors.Is(err, agentcli.ErrGone) || runtime.ErrorCode(err) != runtime.CodeUnavailable {
					t.Errorf("%+v: it is found to be %v", how, err)
				}
				select {
				case <-broken:
				default:
					t.Errorf("%+v: that call was not made", how)
				}
				k.mend()
			}
			p, err := l.Find(ctx, handle)
			if err == nil && tt.line == "" {
				err = p.Write(ctx, []byte("exit 3\r"))
			}
			switch {
			case tt.gone && !errors.Is(err, agentcli.ErrGone), !tt.gone && err != nil:
				t.Errorf("then it is %v", err)
			case !tt.gone:
				if exit, err := p.Wait(ctx); err != nil || exit.Code != 3 {
					t.Errorf("it ended with %+v, %v", exit, err)
				}
				_ = p.Close()
				if err := l.Remove(ctx, spec.ID); err != nil {
					t.Error(err)
				}
			}
			until(ctx, t, "no pod", func() bool { return len(c.pods(ctx, t, spec.ID)) == 0 })
		})
	}
}

// left starts an agent, gives it a line, after which it ends unless that is empty, and returns a runtime that knows nothing of that but
// what was stored when it had started. It reaches the cluster by k.
func (c *cluster) left(ctx context.Context, t *testing.T, k *cutter, spec *runtime.Spec, line string) (*kubernetes.Launcher, []byte) {
	t.Helper()
	state := t.TempDir()
	first := c.open(t, state, nil)
	p, _, err := begin(ctx, first, spec)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(state, "agents", spec.ID+".json")
	record, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if line != "" {
		if err := p.Write(ctx, []byte(line+"\r")); err != nil {
			t.Fatal(err)
		}
		_, _ = p.Wait(ctx)
	}
	if err := errors.Join(p.Close(), first.Close(), os.WriteFile(file, record, 0o600)); err != nil {
		t.Fatal(err)
	}
	return c.open(t, state, map[string]any{"kubeconfig": k.kubeconfig}), p.Handle()
}

// TestKilledByPodAtEachCall loses the connection to an agent that is to end, and then the API server at each call of the removal of its
// pod: the error says so, and the next try ends it.
func TestKilledByPodAtEachCall(t *testing.T) {
	t.Parallel()
	c := need(t)
	ctx, k, spec := within(t), c.cutter(t), shell(id(t))
	l := c.open(t, t.TempDir(), map[string]any{"kubeconfig": k.kubeconfig})
	p, _, err := begin(ctx, l, &spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	for _, how := range []cut{{at: "DELETE-pods"}, {at: "DELETE-pods", done: true}} {
		k.armAndSever(how)
		if err := p.Kill(ctx); runtime.ErrorCode(err) != runtime.CodeUnavailable {
			t.Errorf("%+v: it ends with %v", how, err)
		}
		k.mend()
	}
	if err := p.Kill(ctx); err != nil {
		t.Errorf("at last: %v", err)
	}
	if exit, err := p.Wait(ctx); err != nil || exit.Reason != runtime.ReasonKilled {
		t.Errorf("it ended with %+v, %v", exit, err)
	}
	if err := l.Remove(ctx, spec.ID); err != nil {
		t.Error(err)
	}
	until(ctx, t, "no pod", func() bool { return len(c.pods(ctx, t, spec.ID)) == 0 })
}

// TestFormerLifeRunsOn starts an agent again whose former life runs, and loses the connection as that is to be ended: the start fails,
// and the next one ends that life, and begins another in its pod.
func TestFormerLifeRunsOn(t *testing.T) {
	t.Parallel()
	c := need(t)
	ctx, spec := within(t), shell(id(t))
	k := c.cutter(t)
	l, handle := c.left(ctx, t, k, &spec, "")
	before := c.pods(ctx, t, spec.ID)
	k.arm(cut{at: "connect", after: true})
	_, _, err := begin(ctx, l, &spec)
	wantError(t, err, runtime.CodeUnavailable, "lost")
	k.mend()
	again, _, err := begin(ctx, l, &spec)
	if err != nil {
		t.Fatalf("the next start: %v", err)
	}
	if len(before) != 1 || again.Info().PodName != before[0].Name {
		t.Error("it is in another pod")
	}
	former, err := l.Find(ctx, handle)
	if err != nil {
		t.Fatalf("its former life: %v", err)
	}
	if exit, err := former.Wait(ctx); err != nil || exit.Reason != runtime.ReasonKilled {
		t.Errorf("its former life ended with %+v, %v", exit, err)
	}
	if err := errors.Join(again.Kill(ctx), again.Close(), l.Remove(ctx, spec.ID)); err != nil {
		t.Error(err)
	}
}

// TestFormerLifeGone is the same where the pod is removed after the start that failed: the next one takes another pod.
func TestFormerLifeGone(t *testing.T) {
	t.Parallel()
	c := need(t)
	ctx, spec := within(t), shell(id(t))
	k := c.cutter(t)
	l, _ := c.left(ctx, t, k, &spec, "")
	before := c.pods(ctx, t, spec.ID)
	k.arm(cut{at: "connect", after: true})
	_, _, err := begin(ctx, l, &spec)
	wantError(t, err, runtime.CodeUnavailable, "lost")
	k.mend()
	if err := c.core.Pods(c.namespace).Delete(ctx, before[0].Name, *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, "no pod", func() bool { return len(c.pods(ctx, t, spec.ID)) == 0 })
	again, _, err := begin(ctx, l, &spec)
	if err != nil {
		t.Fatalf("its pod is gone, and it does not start: %v", err)
	}
	if err := errors.Join(again.Kill(ctx), again.Close(), l.Remove(ctx, spec.ID)); err != nil {
		t.Error(err)
	}
}
