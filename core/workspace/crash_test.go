package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/workspace"
)

// slowGit is a git that stops before it does its work in a call with a word among its arguments, until it is killed.
// It leaves a mark when it has arrived there.
func slowGit(t *testing.T, word string) (path, mark string) {
	t.Helper()
	dir := t.TempDir()
	path, mark = filepath.Join(dir, "git"), filepath.Join(dir, "mark")
	text := "#!/bin/sh\nfor a in \"$@\"; do if [ \"$a\" = " + word + " ] && [ ! -e " + mark + " ]; then\n" +
		"  mkdir -p \"$GIT_DIR/objects/pack\"; echo half > \"$GIT_DIR/objects/pack/tmp_pack_x\"\n" +
		"  [ -n \"$GIT_WORK_TREE\" ] && echo half > \"$GIT_WORK_TREE/half\"\n" +
		"  echo $$ > " + mark + ".new; mv " + mark + ".new " + mark + "; sleep 1000\nfi; done\nexec git \"$@\"\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path, mark
}

// A checkout that is cut off leaves nothing, and is done again from a clean directory; so is a clone.
func TestCutOff(t *testing.T) {
	for _, word := range []string{"fetch", "read-tree", "update-ref"} {
		t.Run(word, func(t *testing.T) {
			src := newSource(t)
			git, mark := slowGit(t, word)
			r := newRig(t, func(o *workspace.Options) { o.Git = git })
			w := r.reserve("x", src.spec())
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := r.ProvisionWorkspace(ctx, w.ID)
				done <- err
			}()
			coretest.WaitFor(t, "git to arrive at "+word, func() bool { return exists(mark) })
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Fatalf("the provision ended with %v", err)
			}
			if exists(w.Path) || r.find(w.ID).Status != core.WorkspaceReserved {
				t.Error("a half checkout is left")
			}
			made, err := r.ProvisionWorkspace(t.Context(), w.ID)
			if err != nil || made.WorkBranch != w.WorkBranch || exists(filepath.Join(made.Path, "half")) {
				t.Fatalf("again: %+v, %v", made, err)
			}
			if got := r.agentGit(made, "status", "--porcelain"); got != "" {
				t.Errorf("status %q", got)
			}
		})
	}
}

// What a process left that was killed at any point between two steps is cleared up, and the work done again.
func TestKilled(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	r.provision("warm", src.spec())
	mirror := r.mirror()
	for name, leave := range map[string]func(w *core.Workspace){
		"in a clone": func(*core.Workspace) {
			write(t, mirror+".new-01ABC/config", "[core")
			write(t, mirror+".new-01ABC/objects/pack/tmp_pack_x", "half")
		},
		"in a checkout": func(w *core.Workspace) {
			write(t, filepath.Join(r.root, "trees", w.ID+".new-01ABC", "half"), "x")
			write(t, filepath.Join(mirror, "worktrees", w.ID+".new-01ABC", "HEAD"), "ref: refs/heads/"+w.WorkBranch+"\n")
			write(t, filepath.Join(mirror, "worktrees", w.ID+".new-01ABC", "index.lock"), "x")
		},
		"after the branch": func(w *core.Workspace) {
			runGit(t, mirror, nil, "branch", w.WorkBranch, w.BaseCommit)
		},
		"between the renames": func(w *core.Workspace) {
			runGit(t, mirror, nil, "branch", w.WorkBranch, w.BaseCommit)
			write(t, filepath.Join(r.root, "trees", w.ID+".new-01ABC", "half"), "x")
			write(t, filepath.Join(mirror, "worktrees", w.ID, "HEAD"), "ref: refs/heads/"+w.WorkBranch+"\n")
		},
		"before it was stored": func(w *core.Workspace) {
			r.store.Break(0, errDisk)
			_, err := r.ProvisionWorkspace(t.Context(), w.ID)
			r.store.Heal()
			if !errors.Is(err, errDisk) {
				t.Fatalf("provision: %v", err)
			}
			runGit(t, mirror, nil, "worktree", "add", "-q", w.Path, w.WorkBranch)
		},
		"in a removal": func(*core.Workspace) {
			write(t, filepath.Join(r.root, "trees/.gone-01ABC/half"), "x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := r.reserve(name, src.spec())
			leave(w)
			r.restart()
			made, err := r.ProvisionWorkspace(t.Context(), w.ID)
			if err != nil || made.WorkBranch != w.WorkBranch {
				t.Fatalf("%+v, %v", made, err)
			}
			if got := r.agentGit(made, "status", "--porcelain=1", "--branch"); got != "## "+w.WorkBranch+"\n" {
				t.Errorf("status %q", got)
			}
			for _, pattern := range []string{"trees/.gone-*", "trees/*.new-*", "mirrors/*.new-*", "mirrors/*/worktrees/*.new-*"} {
				if left, _ := filepath.Glob(filepath.Join(r.root, pattern)); len(left) != 0 {
					t.Errorf("left: %v", left)
				}
			}
		})
	}
}

// A mirror in which something is missing is mended, with the work of others in it.
func TestBrokenMirror(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, mirror string){
		"packs gone": func(t *testing.T, mirror string) {
			if err := os.RemoveAll(filepath.Join(mirror, "objects/pack")); err != nil {
				t.Fatal(err)
			}
		},
		"pack cut off": func(t *testing.T, mirror string) {
			packs, _ := filepath.Glob(filepath.Join(mirror, "objects/pack/*.pack"))
			for _, pack := range packs {
				_ = os.Chmod(pack, 0o600)
				if err := os.Truncate(pack, 40); err != nil {
					t.Fatal(err)
				}
			}
		},
		"HEAD and config gone": func(_ *testing.T, mirror string) {
			_ = os.Remove(filepath.Join(mirror, "HEAD"))
			_ = os.Remove(filepath.Join(mirror, "config"))
		},
		"refs gone": func(t *testing.T, mirror string) {
			if err := errors.Join(os.RemoveAll(filepath.Join(mirror, "refs/remotes")), os.RemoveAll(filepath.Join(mirror, "packed-refs"))); err != nil {
				t.Fatal(err)
			}
		},
		"empty": func(t *testing.T, mirror string) {
			if err := errors.Join(os.RemoveAll(mirror), os.Mkdir(mirror, 0o755)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for _, inUse := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "", true: ", in use"}[inUse], func(t *testing.T) {
				src := newSource(t)
				r := newRig(t)
				w := r.provision("x", src.spec())
				if !inUse {
					if _, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{w.ID}}); err != nil {
						t.Fatal(err)
					}
				}
				damage(t, r.mirror())
				other := r.provision("y", src.spec())
				if got := r.agentGit(other, "status", "--porcelain"); got != "" {
					t.Errorf("status %q", got)
				}
				if inUse && name != "empty" {
					write(t, filepath.Join(w.Path, "work.txt"), "x\n")
					if changes, err := r.InspectWorkspace(t.Context(), w.ID); err != nil || changes.Uncommitted != 1 {
						t.Errorf("the old one: %+v, %v", changes, err)
					}
				}
			})
		}
	}
}

// A mirror that nothing mends is made again. What it may hold of unpushed work stays aside, and keeps it from being removed.
func TestBrokenMirrorWithWork(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	r.agentGit(w, "checkout", "-q", "-b", "aside")
	r.agentGit(w, "commit", "-q", "--allow-empty", "-m", "work")
	work := strings.TrimSpace(r.agentGit(w, "rev-parse", "HEAD"))
	r.agentGit(w, "checkout", "-q", w.WorkBranch)
	if got, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{w.ID}}); err != nil || !got[0].Removed {
		t.Fatalf("%+v, %v", got, err)
	}
	write(t, filepath.Join(r.mirror(), "refs/heads/broken"), strings.Repeat("1", 40)+"\n")
	src.write("new.txt", "x")
	src.commit("new")
	other := r.provision("y", src.spec())
	if !exists(filepath.Join(other.Path, "new.txt")) {
		t.Error("the new workspace is not complete")
	}
	kept, _ := filepath.Glob(filepath.Join(r.mirror(), "damaged", "*", "HEAD"))
	if len(kept) != 1 {
		t.Fatalf("kept %v", kept)
	}
	if got := strings.TrimSpace(runGit(t, filepath.Dir(kept[0]), nil, "rev-parse", "aside^{commit}")); got != work {
		t.Errorf("the work is at %q", got)
	}
	got, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{other.ID}, Mirrors: true})
	if err != nil || len(got) != 2 || !got[0].Removed || got[1].Removed || !strings.Contains(got[1].Reason, filepath.Dir(kept[0])) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Locks that a killed git left do not block for ever.
func TestStaleLocks(t *testing.T) {
	for name, age := range map[string]time.Duration{"an hour ago": time.Hour, "before the clock was set back": -time.Hour} {
		t.Run(name, func(t *testing.T) { testStaleLocks(t, age) })
	}
}

func testStaleLocks(t *testing.T, age time.Duration) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	old := time.Now().Add(-age)
	for _, path := range []string{
		filepath.Join(r.mirror(), "refs/remotes/origin/main.lock"), filepath.Join(r.mirror(), "packed-refs.lock"),
		filepath.Join(r.mirror(), "worktrees", w.ID, "index.lock"),
	} {
		write(t, path, "")
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	src.write("new.txt", "x")
	src.commit("new")
	r.provision("y", src.spec())
	if exists(filepath.Join(r.mirror(), "refs/remotes/origin/main.lock")) {
		t.Error("the lock of a branch is still there")
	}
	write(t, filepath.Join(w.Path, "work.txt"), "x\n")
	if _, err := r.FinishWorkspace(t.Context(), w.ID, core.ThreadFinish{Commit: true}, "m"); err != nil {
		t.Error(err)
	}
}

// A fetch of an agent in the same mirror may have a ref that ours wants to move: what is needed comes all the same.
func TestFetchBesideAnother(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	r.provision("x", src.spec())
	src.write("new.txt", "x")
	tip := src.commit("new")
	write(t, filepath.Join(r.mirror(), "refs/remotes/origin/main.lock"), "")
	w := r.reserve("y", src.spec())
	made, err := r.ProvisionWorkspace(t.Context(), w.ID)
	if err != nil || made.BaseCommit != tip || !exists(filepath.Join(made.Path, "new.txt")) {
		t.Errorf("%+v, %v", made, err)
	}
}

// Two callers at once make one workspace.
func TestProvisionTwiceAtOnce(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.reserve("x", src.spec())
	errs := make(chan error, 4)
	for range cap(errs) {
		go func() {
			_, err := r.ProvisionWorkspace(t.Context(), w.ID)
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if list := r.agentGit(w, "worktree", "list"); strings.Count(list, "\n") != 2 { // the mirror counts as one
		t.Errorf("worktrees:\n%s", list)
	}
}

// A service that closes ends the git that runs.
func TestCloseEndsGit(t *testing.T) {
	src := newSource(t)
	git, mark := slowGit(t, "fetch")
	r := newRig(t, func(o *workspace.Options) { o.Git = git })
	w := r.reserve("x", src.spec())
	done := make(chan error, 1)
	go func() {
		_, err := r.ProvisionWorkspace(t.Context(), w.ID)
		done <- err
	}()
	coretest.WaitFor(t, "git to fetch", func() bool { return exists(mark) })
	r.Service.Close()
	if err := <-done; err == nil {
		t.Error("the provision went on")
	}
}

// A file that blocks its readers delays callers no longer than git may take.
func TestGitThatHangs(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	other := r.reserve("y", src.spec())
	r.ApplyConfig(workspace.Config{FetchTimeout: time.Second, CheckoutTimeout: time.Second})
	pipe(t, filepath.Join(r.mirror(), "packed-refs"))
	ctx := soon(t)
	_, err := r.ProvisionWorkspace(ctx, other.ID)
	if e := core.AsError(err); !e.Unavailable || ctx.Err() != nil {
		t.Fatalf("a checkout beside it: %v", err)
	}
	got, err := r.PruneWorkspaces(ctx, core.WorkspacePrune{IDs: []string{w.ID}, Force: true})
	if err != nil || !got[0].Removed || exists(w.Path) || ctx.Err() != nil {
		t.Errorf("by force: %+v, %v", got, err)
	}
}

// The path of the root may hold what patterns of files are made of.
func TestRootWithBrackets(t *testing.T) {
	src := newSource(t)
	r := newRig(t, func(o *workspace.Options) { o.Root = filepath.Join(filepath.Dir(o.Root), "ward[1]") })
	r.root = r.opts.Root
	w := r.provision("x", src.spec())
	got, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{w.ID}, Mirrors: true})
	if err != nil || len(got) != 2 || !got[0].Removed || !got[1].Removed {
		t.Errorf("%+v, %v", got, err)
	}
	left := filepath.Join(r.root, "trees", ".gone-01ABC")
	write(t, filepath.Join(left, "half"), "x")
	r.restart()
	if exists(left) {
		t.Error("what a crash left is still there")
	}
}

// A mirror that a crash left aside in the middle of a repair comes back, or stays with the one that was made in its place.
func TestMirrorLeftAside(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	dir := r.mirror()
	r.Service.Close()
	if err := os.Rename(dir, dir+".old-01ABC"); err != nil {
		t.Fatal(err)
	}
	r.start()
	if got, err := r.InspectWorkspace(t.Context(), w.ID); err != nil || r.mirror() != dir {
		t.Fatalf("%+v, %v", got, err)
	}
	r.Service.Close()
	write(t, filepath.Join(dir+".old-01ABC", "HEAD"), "ref: refs/heads/main\n")
	r.start()
	if !exists(filepath.Join(dir, "damaged", filepath.Base(dir)+".old-01ABC", "HEAD")) || r.mirror() != dir {
		t.Error("what was aside is not with the new one")
	}
	got, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{w.ID}, Mirrors: true})
	if err != nil || len(got) != 2 || got[1].Removed || !strings.Contains(got[1].Reason, "damaged") {
		t.Errorf("%+v, %v", got, err)
	}
}

// A pack that a killed git could not verify is not damaged: what agents committed may be in it alone.
func TestKilledVerifyOfAPack(t *testing.T) {
	src := newSource(t)
	r := newRig(t, func(o *workspace.Options) { o.Git = gitThat(t, "*\" verify-pack \"*) kill -9 $$ ;;") })
	r.provision("x", src.spec())
	write(t, filepath.Join(r.mirror(), "refs/heads/broken"), strings.Repeat("1", 40)+"\n")
	src.write("new.txt", "x")
	src.commit("new")
	r.provision("y", src.spec()) // the fetch fails after the commit came
	if packs, _ := filepath.Glob(filepath.Join(r.mirror(), "damaged", "*.pack")); len(packs) != 0 {
		t.Errorf("set aside: %v", packs)
	}
}
