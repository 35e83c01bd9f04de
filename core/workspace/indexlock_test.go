package workspace_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
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

// A git of an agent that has the index for as long as its hooks take, and still runs, does not lose its lock: the update is refused,
// and can be made afterwards.
func TestUpdateBesideAGitWithHooks(t *testing.T) {
	src, r, w := updatable(t)
	src.commit("theirs")
	dir := t.TempDir()
	there, on := filepath.Join(dir, "there"), filepath.Join(dir, "on")
	hook := filepath.Join(dir, "hooks", "pre-commit")
	write(t, hook, "#!/bin/sh\n: > "+there+"\nwhile [ ! -e "+on+" ]; do sleep 0.01; done\n")
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	committed := make(chan struct{})
	go func() {
		defer close(committed)
		r.agentGit(w, "-c", "core.hooksPath="+filepath.Dir(hook), "commit", "-q", "-a", "--allow-empty", "-m", "the agent's")
	}()
	defer func() { write(t, on, ""); <-committed }()
	coretest.WaitFor(t, "the hook", func() bool { return exists(there) })
	lock := filepath.Join(r.mirror(), "worktrees", w.ID, "index.lock")
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	_, err := r.UpdateWorkspace(soon(t), w.ID, core.WorkspaceMerge)
	if e := wantError(t, err, core.CodeInternal, "another git process"); !e.Unavailable || !exists(lock) {
		t.Errorf("%+v, or the lock is gone", e)
	}
	if _, err := r.InspectWorkspace(soon(t), w.ID); err != nil { // of which nothing was moved
		t.Errorf("a look beside it: %v", err)
	}
	write(t, on, "")
	<-committed
	if subject := r.agentGit(w, "log", "-1", "--format=%s"); subject != "the agent's\n" {
		t.Errorf("HEAD is %q", subject)
	}
	if _, err := r.UpdateWorkspace(soon(t), w.ID, core.WorkspaceMerge); err != nil {
		t.Errorf("once more: %v", err)
	}
	if status := r.agentGit(w, "status", "--porcelain"); status != "" {
		t.Errorf("status %q", status)
	}
}
