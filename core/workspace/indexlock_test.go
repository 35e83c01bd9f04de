package workspace_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/workspace"
)

// oldDirectory makes a directory with a file in it that is as old as a lock that a killed git left.
func oldDirectory(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(path, "x"), "")
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

// A directory that an agent made in the place of the lock of the index is no lock: an update does not wait for it.
func TestUpdateWithADirectoryAsTheLockOfTheIndex(t *testing.T) {
	src, r, w := updatable(t)
	src.commit("theirs")
	r.ApplyConfig(workspace.Config{CheckoutTimeout: 10 * time.Second})
	lock := filepath.Join(r.mirror(), "worktrees", w.ID, "index.lock")
	oldDirectory(t, lock)
	out, err := r.UpdateWorkspace(soon(t), w.ID, core.WorkspaceMerge)
	if err != nil || !out.Changed {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := os.Lstat(lock); err == nil {
		t.Error("the lock is there")
	}
	if status := r.agentGit(w, "status", "--porcelain"); status != "" {
		t.Errorf("status %q", status)
	}
}
