package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/workspace"
)

// newNested makes a repository with a submodule that has one itself.
func newNested(t *testing.T) (outer, middle, inner *source) {
	t.Helper()
	outer, middle, inner = newSource(t), newSource(t), newSource(t)
	inner.write("inner.txt", "inner\n")
	inner.commit("inner")
	for _, pair := range [][2]*source{{middle, inner}, {outer, middle}} {
		pair[0].git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", pair[1].url(), "vendor/lib")
		pair[0].commit("submodule")
	}
	return outer, middle, inner
}

func TestSubmodules(t *testing.T) {
	outer, _, inner := newNested(t)
	r := newRig(t)
	w := r.provision("x", core.WorkspaceSpec{Repo: outer.url(), Submodules: true})
	if len(w.Warnings) != 0 || len(r.mirrors()) != 3 {
		t.Errorf("warnings %v, mirrors %v", w.Warnings, r.mirrors())
	}
	deep := filepath.Join(w.Path, "vendor/lib/vendor/lib")
	if got := read(t, filepath.Join(deep, "inner.txt")); got != "inner\n" {
		t.Errorf("inner.txt is %q", got)
	}
	if got := r.agentGit(w, "status", "--porcelain"); got != "" {
		t.Errorf("status %q", got)
	}
	if got := strings.TrimSpace(runGit(t, deep, nil, "rev-parse", "HEAD")); got != inner.git("rev-parse", "HEAD") {
		t.Errorf("the inner one is at %s", got)
	}
	// Work in a submodule is work.
	r.adopt(w.ID, "thread_1")
	write(t, filepath.Join(deep, "new.txt"), "x")
	r.release(w.ID)
	r.clock.Advance(100 * time.Hour)
	r.sweep()
	if got := r.find(w.ID); got.Status != core.WorkspaceReleased || !strings.Contains(got.Kept, "1 files") {
		t.Errorf("%s, kept for %q", got.Status, got.Kept)
	}
	pruned, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{w.ID}, Force: true})
	if err != nil || !pruned[0].Removed {
		t.Fatal(pruned, err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.root, "mirrors/*/worktrees/*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	r.provision("again", core.WorkspaceSpec{Repo: outer.url(), Submodules: true})
}

func TestSubmodulesRefused(t *testing.T) {
	src := newSource(t)
	hash := src.git("rev-parse", "HEAD")
	for name, c := range map[string]struct{ url, words string }{
		"ext transport":  {"ext::sh -c true", "submodule"},
		"option":         {"--upload-pack=x", "begins with a -"},
		"our own":        {"file:///ROOT/mirrors/x", "directory of the workspaces"},
		"above the root": {"../../../../../../../../../../../../x", "climbs above"},
		"missing":        {"file:///nonexistent/x.git", "no repository"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			src.write(".gitmodules", "[submodule \"lib\"]\n\tpath = lib\n\turl = "+strings.ReplaceAll(c.url, "/ROOT", r.root)+"\n")
			src.git("add", "-A")
			src.git("update-index", "--add", "--cacheinfo", "160000,"+hash+",lib")
			src.git("commit", "-q", "--allow-empty", "-m", "x")
			w := r.reserve("x", core.WorkspaceSpec{Repo: src.url(), Submodules: true})
			_, err := r.ProvisionWorkspace(t.Context(), w.ID)
			wantError(t, err, core.CodeValidation, c.words)
			if exists(w.Path) || r.find(w.ID).Status != core.WorkspaceReserved {
				t.Error("something is left")
			}
			if left, _ := filepath.Glob(filepath.Join(r.root, "mirrors/*/worktrees/*")); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// What an agent did in a submodule that it checked out by itself is work, as is a commit in one whose files are gone.
func TestWorkInSubmodules(t *testing.T) {
	outer, _, _ := newNested(t)
	for name, c := range map[string]struct {
		ours bool
		work func(r *rig, w *core.Workspace, lib string)
		kept string
	}{
		"none":     {false, func(*rig, *core.Workspace, string) {}, ""},
		"a file":   {false, func(_ *rig, _ *core.Workspace, lib string) { write(t, filepath.Join(lib, "new.txt"), "x") }, "1 files"},
		"a change": {false, func(_ *rig, _ *core.Workspace, lib string) { write(t, filepath.Join(lib, "README.md"), "x") }, "1 files"},
		"a commit": {false, func(r *rig, w *core.Workspace, lib string) {
			write(t, filepath.Join(lib, "new.txt"), "x")
			runGit(t, lib, nil, "add", "-A")
			runGit(t, lib, nil, "commit", "-q", "-m", "work")
			r.agentGit(w, "commit", "-q", "-a", "-m", "link")
			r.agentGit(w, "push", "-q", "origin", "HEAD")
		}, "1 commits"},
		"a repository elsewhere": {false, func(_ *rig, w *core.Workspace, lib string) {
			write(t, filepath.Join(lib, ".git"), "gitdir: "+filepath.Join(outer.dir, ".git")+"\n")
		}, "2 files"},
		"no index": {false, func(r *rig, w *core.Workspace, lib string) {
			index := strings.TrimSpace(runGit(t, lib, nil, "rev-parse", "--path-format=absolute", "--git-path", "index"))
			if err := os.Remove(index); err != nil {
				t.Fatal(err)
			}
		}, "1 files"},
		"files gone": {true, func(r *rig, w *core.Workspace, lib string) {
			runGit(t, lib, nil, "commit", "-q", "--allow-empty", "-m", "work")
			if err := os.RemoveAll(lib); err != nil {
				t.Fatal(err)
			}
			r.agentGit(w, "commit", "-q", "-a", "-m", "gone")
			r.agentGit(w, "push", "-q", "origin", "HEAD:refs/heads/gone")
		}, "1 commits"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			w := r.provision("x", core.WorkspaceSpec{Repo: outer.url(), Submodules: c.ours})
			r.adopt(w.ID, "thread_1")
			if !c.ours {
				r.agentGit(w, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
			}
			c.work(r, w, filepath.Join(w.Path, "vendor/lib"))
			r.release(w.ID)
			r.clock.Advance(100 * time.Hour)
			r.sweep()
			got := r.find(w.ID)
			if (got.Status == core.WorkspaceRemoved) != (c.kept == "") || !strings.Contains(got.Kept, c.kept) {
				t.Errorf("it is %s, kept for %q", got.Status, got.Kept)
			}
		})
	}
}

// A git that is killed while it lists submodules has not listed none: their work keeps the workspace.
func TestWorkInSubmodulesWithAKilledGit(t *testing.T) {
	outer, _, _ := newNested(t)
	r := newRig(t, func(o *workspace.Options) { o.Git = gitThat(t, "*\" config --file \"*) kill -9 $$ ;;") })
	w := r.provision("x", core.WorkspaceSpec{Repo: outer.url()})
	r.agentGit(w, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
	write(t, filepath.Join(w.Path, "vendor/lib/new.txt"), "x")
	got, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{w.ID}})
	if err != nil || len(got) != 1 || got[0].Removed {
		t.Errorf("%+v, %v", got, err)
	}
}

// The rules of a repository that an agent made may be a pipe, which has no end.
func TestWorkInSubmodulesWithAPipeAsRules(t *testing.T) {
	outer, _, _ := newNested(t)
	r := newRig(t)
	w := r.provision("x", core.WorkspaceSpec{Repo: outer.url()})
	r.agentGit(w, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
	lib := filepath.Join(w.Path, "vendor/lib")
	write(t, filepath.Join(lib, "new.txt"), "x")
	pipe(t, strings.TrimSpace(runGit(t, lib, nil, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude")))
	r.ApplyConfig(workspace.Config{FetchTimeout: 5 * time.Second, CheckoutTimeout: 5 * time.Second})
	changes, err := r.InspectWorkspace(soon(t), w.ID)
	if err != nil || changes.Uncommitted != 1 {
		t.Errorf("%+v, %v", changes, err)
	}
}
