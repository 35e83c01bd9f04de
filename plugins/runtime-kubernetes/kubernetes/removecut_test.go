package kubernetes_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/wardroom/wardroom/plugins/runtime-kubernetes/kubernetes"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestRemovedAtEachCall takes the API server away at each call by which an agent and its home in a claim are removed: the error reports it, the
// next try removes both, and nothing is left of either.
func TestRemovedAtEachCall(t *testing.T) {
	c := need(t)
	t.Parallel()
	claim := c.claim(t)
	volume, err := c.core.PersistentVolumes().Get(t.Context(), claim, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k := c.cutter(t)
	l := c.open(t, t.TempDir(), map[string]any{"kubeconfig": k.kubeconfig, "homeClaim": claim})
	// ended makes an agent whose command has ended.
	ended := func(t *testing.T) (agent, folder string) {
		ctx, spec := within(t), shell(id(t))
		p, _, err := begin(ctx, l, &spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.Kill(ctx), p.Close()); err != nil {
			t.Fatal(err)
		}
		folder = filepath.Join(volume.Spec.HostPath.Path, "agents", spec.ID)
		if _, err := os.Stat(folder); err != nil {
			t.Fatal(err)
		}
		return spec.ID, folder
	}
	agent, _ := ended(t)
	k.arm(cut{at: "none"})
	if err := l.Remove(within(t), agent); err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, call := range append(k.counted(), lookCall) {
		if !slices.Contains(calls, call) {
			calls = append(calls, call)
		}
	}
	for _, call := range calls {
		for name, done := range map[string]bool{"Lost": false, "Done": true} {
			t.Run(call+"-"+name, func(t *testing.T) {
				ctx := within(t)
				agent, folder := ended(t)
				broken := k.arm(cut{at: call, done: done})
				err := l.Remove(ctx, agent)
				k.mend()
				if err == nil || runtime.ErrorCode(err) != runtime.CodeUnavailable {
					t.Errorf("it is removed, %v, by %q", err, k.counted())
				}
				select {
				case <-broken:
				default:
					t.Error("that call was not made")
				}
				if err := l.Remove(ctx, agent); err != nil {
					t.Errorf("the next try: %v", err)
				}
				if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("its home: %v", err)
				}
				until(ctx, t, "no pod", func() bool {
					kubernetes.Sweep(l, ctx, 0)
					return len(c.pods(ctx, t, agent)) == 0
				})
			})
		}
	}
}
