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
	t.Parallel()
	c := need(t)
	claim := c.claim(t)
	volume, err := c.core.PersistentVolumes().Get(t.Context(), claim, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	type agent struct {
		*cutter
		*kubernetes.Launcher
		id, folder string
	}
	// ended makes an agent whose command has ended, of a runtime of its own.
	ended := func(t *testing.T) agent {
		ctx, spec, k := within(t), shell(id(t)), c.cutter(t)
		l := c.open(t, t.TempDir(), map[string]any{"kubeconfig": k.kubeconfig, "homeClaim": claim})
		p, _, err := begin(ctx, l, &spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.Kill(ctx), p.Close()); err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(volume.Spec.HostPath.Path, "agents", spec.ID)
		if _, err := os.Stat(folder); err != nil {
			t.Fatal(err)
		}
		return agent{k, l, spec.ID, folder}
	}
	a := ended(t)
	a.arm(cut{at: "none"})
	if err := a.Remove(within(t), a.id); err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, call := range append(a.counted(), lookCall) {
		if !slices.Contains(calls, call) {
			calls = append(calls, call)
		}
	}
	for _, call := range calls {
		for name, done := range map[string]bool{"Lost": false, "Done": true} {
			t.Run(call+"-"+name, func(t *testing.T) {
				t.Parallel()
				ctx, a := within(t), ended(t)
				broken := a.arm(cut{at: call, done: done})
				err := a.Remove(ctx, a.id)
				a.mend()
				if err == nil || runtime.ErrorCode(err) != runtime.CodeUnavailable {
					t.Errorf("it is removed, %v, by %q", err, a.counted())
				}
				select {
				case <-broken:
				default:
					t.Error("that call was not made")
				}
				if err := a.Remove(ctx, a.id); err != nil {
					t.Errorf("the next try: %v", err)
				}
				if _, err := os.Stat(a.folder); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("its home: %v", err)
				}
				until(ctx, t, "no pod", func() bool {
					kubernetes.Sweep(a.Launcher, ctx, 0)
					return len(c.pods(ctx, t, a.id)) == 0
				})
			})
		}
	}
}
