package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/workspace"
)

func (r *rig) sweep() {
	r.t.Helper()
	if err := r.Sweep(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func TestExpiry(t *testing.T) {
	src := newSource(t)
	var doubt atomic.Bool // the clock may have stepped, and is not believed
	r := newRig(t, func(o *workspace.Options) {
		clock := o.Clock
		o.Older = func(since time.Time, age time.Duration) bool { return !doubt.Load() && core.OlderBy(clock)(since, age) }
	})
	reserved := r.reserve("reserved", src.spec())
	prepared := r.provision("prepared", src.spec())
	running := r.provision("running", src.spec())
	r.adopt(running.ID, "thread_1")
	clean := r.provision("clean", src.spec())
	r.adopt(clean.ID, "thread_2")
	r.store.putThread("thread_2", core.ThreadCompleted)
	r.release(clean.ID)
	empty := r.provision("empty", core.WorkspaceSpec{})
	write(t, filepath.Join(empty.Path, "x"), "x")

	r.clock.Advance(2 * time.Hour) // beyond that of reservations; the loop of the service may sweep as well
	r.sweep()
	for _, w := range []*core.Workspace{reserved, prepared, empty} {
		if got := r.find(w.ID); got.Status != core.WorkspaceRemoved || got.RemovedAt == nil || exists(w.Path) {
			t.Errorf("%s is %s, its directory exists: %v", w.WorkBranch, got.Status, exists(w.Path))
		}
	}
	for _, w := range []*core.Workspace{running, clean} {
		if got := r.find(w.ID); got.Status == core.WorkspaceRemoved || !exists(w.Path) {
			t.Errorf("%s is %s", w.WorkBranch, got.Status)
		}
	}
	doubt.Store(true)
	r.clock.Advance(100 * time.Hour)
	r.sweep()
	if got := r.find(clean.ID); got.Status != core.WorkspaceReleased {
		t.Errorf("by a clock that is not believed the clean one is %s", got.Status)
	}
	doubt.Store(false)
	r.sweep()
	if got := r.find(clean.ID); got.Status != core.WorkspaceRemoved || exists(clean.Path) {
		t.Errorf("the clean one is %s", got.Status)
	}
	if got := r.find(running.ID); got.Status != core.WorkspaceReady || !exists(running.Path) {
		t.Errorf("that of a running thread is %s", got.Status)
	}
	mirror := r.mirror()
	if refs := runGit(t, mirror, nil, "for-each-ref", "--format=%(refname)", "refs/heads"); refs != "refs/heads/"+running.WorkBranch+"\n" {
		t.Errorf("branches that are left: %q", refs)
	}
	if entries, _ := os.ReadDir(filepath.Join(mirror, "worktrees")); len(entries) != 1 {
		t.Errorf("worktrees that are left: %v", entries)
	}
	r.clock.Advance(8 * 24 * time.Hour)
	r.sweep()
	if _, err := r.FindWorkspace(t.Context(), clean.ID); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("the record of a removed workspace stays: %v", err)
	}
}

func TestUnpushedWorkIsKept(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	finished := func(name string, work func(w *core.Workspace)) *core.Workspace {
		w := r.provision(name, src.spec())
		r.adopt(w.ID, "thread_"+name)
		work(w)
		r.release(w.ID)
		return w
	}
	committed := finished("committed", func(w *core.Workspace) {
		r.agentGit(w, "commit", "-q", "--allow-empty", "-m", "work of "+w.ID)
	})
	elsewhere := finished("elsewhere", func(w *core.Workspace) {
		r.agentGit(w, "commit", "-q", "--allow-empty", "-m", "work of "+w.ID)
		r.agentGit(w, "checkout", "-q", "--detach", w.BaseCommit)
	})
	changed := finished("changed", func(w *core.Workspace) { write(t, filepath.Join(w.Path, "README.md"), "x") })
	untracked := finished("untracked", func(w *core.Workspace) { write(t, filepath.Join(w.Path, "new"), "x") })
	broken := finished("broken", func(w *core.Workspace) {
		write(t, filepath.Join(w.Path, "new"), "x")
		if err := os.Remove(filepath.Join(r.mirror(), "worktrees", w.ID, "HEAD")); err != nil {
			t.Fatal(err)
		}
	})
	pushed := finished("pushed", func(w *core.Workspace) {
		r.agentGit(w, "commit", "-q", "--allow-empty", "-m", "work of "+w.ID)
		r.agentGit(w, "push", "-q", "origin", "HEAD")
	})
	context := finished("context", func(w *core.Workspace) {
		if err := r.WriteContext(t.Context(), w.ID, "thread_context", []core.ContextFile{{Path: ".wardroom/m.md", Content: "m"}}); err != nil {
			t.Fatal(err)
		}
	})
	r.clock.Advance(100 * time.Hour)
	r.sweep()
	for w, reason := range map[*core.Workspace]string{
		committed: "1 commits", elsewhere: "1 commits", changed: "1 files", untracked: "1 files", broken: "cannot be told",
	} {
		got := r.find(w.ID)
		if got.Status != core.WorkspaceReleased || !strings.Contains(got.Kept, reason) || !exists(w.Path) {
			t.Errorf("%s is %s, kept for %q", w.WorkBranch, got.Status, got.Kept)
		}
		if got.ExpiresAt == nil || got.ExpiresAt.Sub(r.clock.Now()) > 24*time.Hour || !got.ExpiresAt.After(r.clock.Now()) {
			t.Errorf("%s is looked at again at %v", w.WorkBranch, got.ExpiresAt)
		}
	}
	for _, w := range []*core.Workspace{pushed, context} {
		if got := r.find(w.ID); got.Status != core.WorkspaceRemoved {
			t.Errorf("%s is %s, kept for %q", w.WorkBranch, got.Status, got.Kept)
		}
	}
	// Naming it is not enough, force is.
	for force, removed := range map[bool]bool{false: false, true: true} {
		got, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{committed.ID}, Force: force})
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		if !force && (got[0].Removed || got[0].Reason == "") || force && !got[0].Removed && got[0].Reason != "it was removed already" {
			t.Errorf("force %v: %+v, want removed %v", force, got[0], removed)
		}
	}
	// Pushed meanwhile, the next look removes it.
	r.agentGit(elsewhere, "push", "-q", "origin", elsewhere.WorkBranch)
	r.clock.Advance(25 * time.Hour)
	r.sweep()
	if got := r.find(elsewhere.ID); got.Status != core.WorkspaceRemoved {
		t.Errorf("after the push it is %s, kept for %q", got.Status, got.Kept)
	}
}

func TestPrune(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	r.adopt(w.ID, "thread_1")
	got, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{w.ID}, Force: true})
	if err != nil || got[0].Removed || !strings.Contains(got[0].Reason, "thread_1 runs") {
		t.Fatalf("that of a running thread: %+v, %v", got, err)
	}
	if got, err = r.PruneWorkspaces(t.Context(), core.WorkspacePrune{}); err != nil || len(got) != 0 {
		t.Errorf("nothing is expired: %+v, %v", got, err)
	}
	_, err = r.PruneWorkspaces(t.Context(), core.WorkspacePrune{Force: true})
	wantError(t, err, core.CodeValidation, "ids")
	_, err = r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{"ws_x"}})
	wantError(t, err, core.CodeNotFound)
	r.store.putThread("thread_1", core.ThreadStopped)
	r.release(w.ID)
	for _, dry := range []bool{true, false} {
		got, err = r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{w.ID}, DryRun: dry, Mirrors: true})
		if err != nil || len(got) != 2 || !got[0].Removed || got[0].FreedBytes == 0 {
			t.Fatalf("dry run %v: %+v, %v", dry, got, err)
		}
		if exists(w.Path) != dry || got[1].Removed == dry || got[1].ID != src.url() {
			t.Errorf("dry run %v: %+v; the directory exists: %v", dry, got, exists(w.Path))
		}
	}
	if len(r.mirrors()) != 0 {
		t.Errorf("mirrors that are left: %v", r.mirrors())
	}
	r.provision("again", src.spec())
}

// Build tools make caches that cannot be written.
func TestPruneReadOnlyFiles(t *testing.T) {
	r := newRig(t)
	w := r.provision("x", core.WorkspaceSpec{})
	write(t, filepath.Join(w.Path, "cache/a/b"), "x")
	for _, dir := range []string{"cache/a", "cache"} {
		if err := os.Chmod(filepath.Join(w.Path, dir), 0o500); err != nil {
			t.Fatal(err)
		}
	}
	got, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{w.ID}})
	if err != nil || !got[0].Removed || exists(w.Path) {
		t.Errorf("%+v, %v", got, err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.root, "trees", ".gone-*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestOrphansAreReleased(t *testing.T) {
	r := newRig(t)
	w := r.provision("x", core.WorkspaceSpec{})
	r.adopt(w.ID, "thread_1")
	r.store.putThread("thread_1", core.ThreadFailed) // and nobody released it
	r.sweep()
	if got := r.find(w.ID); got.Status != core.WorkspaceReleased || got.ExpiresAt == nil {
		t.Errorf("%+v", got)
	}
}

// brokenThread is a store in which the record of one thread cannot be read.
type brokenThread struct {
	memory
	id string
}

func (b brokenThread) FindThread(ctx context.Context, id string) (*core.ThreadRecord, error) {
	if id == b.id {
		return nil, core.Errorf(core.CodeInternal, "the record of thread %s cannot be read", id)
	}
	return b.memory.FindThread(ctx, id)
}

// One workspace whose thread cannot be looked at is left alone, and keeps none of the others from being released and removed.
func TestSweepPassesOverABrokenThread(t *testing.T) {
	r := newRig(t, func(o *workspace.Options) {
		store, _ := o.Store.(memory)
		o.Store = brokenThread{store, "thread_broken"}
	})
	broken := r.provision("a", core.WorkspaceSpec{})
	r.adopt(broken.ID, "thread_broken")
	orphan := r.provision("b", core.WorkspaceSpec{})
	r.adopt(orphan.ID, "thread_1")
	r.store.putThread("thread_1", core.ThreadFailed)
	expired := r.provision("c", core.WorkspaceSpec{})
	r.clock.Advance(2 * time.Hour)
	if err := r.Sweep(t.Context()); err == nil || !strings.Contains(err.Error(), "thread_broken") {
		t.Errorf("what failed is not told: %v", err)
	}
	if got := r.find(orphan.ID); got.Status != core.WorkspaceReleased {
		t.Errorf("the workspace of a thread that is over is %s", got.Status)
	}
	if exists(expired.Path) || !exists(broken.Path) {
		t.Errorf("there: the expired one %t, the one of the broken thread %t", exists(expired.Path), exists(broken.Path))
	}
}

func TestSweepRunsByItself(t *testing.T) {
	r := newRig(t)
	w := r.provision("x", core.WorkspaceSpec{})
	coretest.WaitFor(t, "the loop to begin", func() bool { return r.clock.Pending() > 0 })
	r.clock.Advance(2 * time.Hour)
	coretest.WaitFor(t, "the workspace to be removed", func() bool { return !exists(w.Path) })
}

func TestAdopt(t *testing.T) {
	r := newRig(t)
	w := r.reserve("x", core.WorkspaceSpec{})
	if w.ExpiresAt == nil {
		t.Error("a reservation without a thread does not expire")
	}
	r.adopt(w.ID, "thread_1")
	r.adopt(w.ID, "thread_1") // once more is the same
	got := r.find(w.ID)
	if got.ThreadID != "thread_1" || got.ExpiresAt != nil {
		t.Errorf("%+v", got)
	}
	adopt := func(id, thread string) error {
		return r.store.Update(t.Context(), func(tx core.Tx) error {
			_, err := r.AdoptWorkspace(tx, id, thread, "exec_1")
			return err
		})
	}
	wantError(t, adopt(w.ID, "thread_2"), core.CodeConflict, "another thread")
	wantError(t, adopt("ws_01", "thread_2"), core.CodeNotFound)
	r.release(w.ID) // it was never made: nothing is to be kept
	if got := r.find(w.ID); got.Status != core.WorkspaceRemoved {
		t.Errorf("%+v", got)
	}
	wantError(t, adopt(w.ID, "thread_1"), core.CodeConflict, "prepare again")
	_, err := r.ProvisionWorkspace(t.Context(), w.ID)
	wantError(t, err, core.CodeConflict, "removed")
}

// An erasure leaves nothing of a workspace: neither work that is nowhere else, nor its branch, record, or the mirror with its
// commits, once no other workspace is in it.
func TestEraseWorkspace(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	gone := r.provision("gone", src.spec())
	r.adopt(gone.ID, "thread_1")
	write(t, filepath.Join(gone.Path, "secret.txt"), "a canary")
	r.agentGit(gone, "add", "secret.txt")
	r.agentGit(gone, "commit", "-q", "-m", "canary")
	other := r.provision("other", src.spec())
	if _, err := r.EraseWorkspace(t.Context(), gone.ID); core.ErrorCode(err) != core.CodeConflict || !exists(gone.Path) {
		t.Fatalf("while its thread runs: %v", err)
	}
	r.store.putThread("thread_1", core.ThreadStopped)
	r.release(gone.ID)
	left, err := r.EraseWorkspace(t.Context(), gone.ID)
	if err != nil || !strings.Contains(left, "workspaces use it") {
		t.Fatalf("%q, %v", left, err)
	}
	if _, err := r.FindWorkspace(t.Context(), gone.ID); core.ErrorCode(err) != core.CodeNotFound || exists(gone.Path) {
		t.Errorf("it is still there: %v", err)
	}
	if refs := runGit(t, r.mirror(), nil, "for-each-ref", "--format=%(refname)", "refs/heads"); refs != "refs/heads/"+other.WorkBranch+"\n" {
		t.Errorf("branches that are left: %q", refs)
	}
	if left, err := r.EraseWorkspace(t.Context(), gone.ID); left != "" || err != nil {
		t.Errorf("once more: %q, %v", left, err)
	}
	if left, err := r.EraseWorkspace(t.Context(), other.ID); left != "" || err != nil {
		t.Errorf("the last one: %q, %v", left, err)
	}
	if mirrors := r.mirrors(); len(mirrors) != 0 {
		t.Errorf("mirrors that are left: %v", mirrors)
	}
}

// The name of a branch is free once its workspace is removed: who has it then keeps it when the record of the first is erased.
func TestEraseKeepsTheBranchOfAnother(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	first := r.provision("x", src.spec())
	if _, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{first.ID}}); err != nil {
		t.Fatal(err)
	}
	second := r.provision("x", src.spec())
	if second.WorkBranch != first.WorkBranch {
		t.Fatalf("the branches are %s and %s", first.WorkBranch, second.WorkBranch)
	}
	r.agentGit(second, "commit", "-q", "--allow-empty", "-m", "work")
	work := r.agentGit(second, "rev-parse", "HEAD")
	r.agentGit(second, "checkout", "-q", "--detach", second.BaseCommit)
	if _, err := r.EraseWorkspace(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	if got := r.agentGit(second, "rev-parse", second.WorkBranch); got != work {
		t.Errorf("the branch is at %q", got)
	}
}

// A mirror stays as long as it may hold work that is nowhere else: a stash, or a branch where not all can be read. Why it stays
// is also where to look, and what to do.
func TestPruneMirrorKeepsWork(t *testing.T) {
	what := map[string]string{"a stash": "in refs/stash; push", "a branch beside a broken one": "damaged"}
	for name, work := range map[string]func(r *rig, w *core.Workspace){
		"a stash": func(r *rig, w *core.Workspace) {
			write(t, filepath.Join(w.Path, "README.md"), "# work\n")
			r.agentGit(w, "stash", "-q")
		},
		"a branch beside a broken one": func(r *rig, w *core.Workspace) {
			r.agentGit(w, "checkout", "-q", "-b", "aside")
			r.agentGit(w, "commit", "-q", "--allow-empty", "-m", "work")
			r.agentGit(w, "checkout", "-q", w.WorkBranch)
			write(t, filepath.Join(r.mirror(), "refs/heads/broken"), strings.Repeat("1", 40)+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			src := newSource(t)
			r := newRig(t)
			w := r.provision("x", src.spec())
			work(r, w)
			got, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{w.ID}, Force: true, Mirrors: true})
			if err != nil || len(got) != 2 || !got[0].Removed {
				t.Fatalf("%+v, %v", got, err)
			}
			if got[1].Removed || !strings.Contains(got[1].Reason, r.mirror()) || !strings.Contains(got[1].Reason, what[name]) {
				t.Errorf("%+v", got[1])
			}
		})
	}
}

// What a removal left that a crash or a busy directory ended goes with the next sweep.
func TestSweepClearsRemovals(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	admin := filepath.Join(r.mirror(), "worktrees", w.ID)
	now := r.clock.Now()
	if err := r.store.Update(t.Context(), func(tx core.Tx) error {
		gone := *w
		gone.Status, gone.RemovedAt, gone.ExpiresAt = core.WorkspaceRemoved, &now, nil
		return tx.PutWorkspace(&gone)
	}); err != nil {
		t.Fatal(err)
	}
	aside := filepath.Join(r.root, "trees", ".gone-01ABC")
	if err := os.Rename(w.Path, aside); err != nil {
		t.Fatal(err)
	}
	r.sweep()
	if exists(aside) || exists(admin) {
		t.Errorf("left: the files %t, those of git %t", exists(aside), exists(admin))
	}
	got, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{Mirrors: true})
	if err != nil || len(got) != 1 || !got[0].Removed {
		t.Errorf("the mirror: %+v, %v", got, err)
	}
}

// Of a workspace whose files were removed by hand, only what was committed can be lost.
func TestExpiryOfRemovedFiles(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	finished := func(name string, work func(w *core.Workspace)) *core.Workspace {
		w := r.provision(name, src.spec())
		r.adopt(w.ID, "thread_"+name)
		work(w)
		if err := os.RemoveAll(w.Path); err != nil {
			t.Fatal(err)
		}
		r.release(w.ID)
		return w
	}
	clean := finished("clean", func(*core.Workspace) {})
	committed := finished("committed", func(w *core.Workspace) {
		r.agentGit(w, "commit", "-q", "--allow-empty", "-m", "work of "+w.ID)
	})
	detached := finished("detached", func(w *core.Workspace) {
		r.agentGit(w, "checkout", "-q", "--detach")
		r.agentGit(w, "commit", "-q", "--allow-empty", "-m", "work of "+w.ID)
	})
	r.clock.Advance(100 * time.Hour)
	r.sweep()
	if got := r.find(clean.ID); got.Status != core.WorkspaceRemoved {
		t.Errorf("the clean one is %s, kept for %q", got.Status, got.Kept)
	}
	for _, w := range []*core.Workspace{committed, detached} {
		if got := r.find(w.ID); got.Status != core.WorkspaceReleased || !strings.Contains(got.Kept, "1 commits that are not pushed") {
			t.Errorf("%s is %s, kept for %q", w.WorkBranch, got.Status, got.Kept)
		}
	}
}

// A mirror that a killed git could not look into is not called damaged: removing it would lose what it holds.
func TestPruneMirrorWithAKilledGit(t *testing.T) {
	src := newSource(t)
	r := newRig(t, func(o *workspace.Options) { o.Git = gitThat(t, "*\" rev-list --count --exclude=\"*) kill -9 $$ ;;") })
	w := r.provision("x", src.spec())
	r.agentGit(w, "branch", "aside")
	got, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{w.ID}, Mirrors: true})
	if err == nil || len(got) != 1 || len(r.mirrors()) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
