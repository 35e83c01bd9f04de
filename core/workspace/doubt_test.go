package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/storetest"
)

// A workspace whose reservation or end of provisioning is stored by a commit whose answer is lost has its files.
func TestWorkspaceInDoubt(t *testing.T) {
	storetest.EachDoubt(t, func(t *testing.T, d storetest.Doubt) {
		r := newRig(t)
		_ = d.Change(r.store.Memory, r.clock, func() error {
			_, err := r.ReserveWorkspace(t.Context(), core.WorkspaceRequest{ExecutionID: "exec_1", Role: "coder", Name: "a"})
			return err
		})
		all, err := r.store.AllWorkspaces(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatalf("there are %d, %v", len(all), err)
		}
		id := all[0].ID
		_ = d.Change(r.store.Memory, r.clock, func() error { _, err := r.ProvisionWorkspace(t.Context(), id); return err })
		w, err := r.ProvisionWorkspace(t.Context(), id) // who was refused asks again
		if err != nil || w.Status != core.WorkspaceReady {
			t.Fatalf("%+v, %v", w, err)
		}
		if _, err := os.Stat(w.Path); err != nil {
			t.Error(err)
		}
	})
}

// A workspace whose end of provisioning is in doubt, and not stored, is made anew.
func TestWorkspaceNotStored(t *testing.T) {
	r := newRig(t)
	w := r.reserve("a", core.WorkspaceSpec{})
	r.store.Break(0, core.Unavailable("store_write_failed", "the commit failed").WithCause(core.ErrInDoubt))
	if _, err := r.ProvisionWorkspace(t.Context(), w.ID); !errors.Is(err, core.ErrInDoubt) {
		t.Fatal(err)
	}
	r.store.Heal()
	if err := os.WriteFile(filepath.Join(w.Path, "left"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ProvisionWorkspace(t.Context(), w.ID); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(w.Path); err != nil || len(left) > 0 {
		t.Errorf("it holds %v, %v", left, err)
	}
}
