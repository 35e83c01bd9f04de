package workspace_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/workspace"
)

// An agent that began a branch without a past has no commit to stand at. Its files are work all the same.
func TestBranchWithoutCommits(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	r.agentGit(w, "checkout", "-q", "--orphan", "fresh")
	r.agentGit(w, "rm", "-q", "--cached", "src/main.go")
	write(t, filepath.Join(w.Path, "README.md"), "# anew\n")
	changes, err := r.InspectWorkspace(t.Context(), w.ID)
	if err != nil || changes.CommitCount != 0 || changes.Unpushed != 0 || changes.Uncommitted != 2 {
		t.Fatalf("changes %+v, %v", changes, err)
	}
	d, err := r.DiffWorkspace(t.Context(), w.ID, "README.md", 0)
	if err != nil || !strings.Contains(d.Patch, "+# anew") {
		t.Errorf("%+v, %v", d, err)
	}
	_, err = r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceMerge)
	wantError(t, err, core.CodeConflict, "no commit")
	got, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{w.ID}})
	if err != nil || got[0].Removed || got[0].Reason != "2 files that are not committed" {
		t.Fatalf("%+v, %v", got, err)
	}
	artifacts, err := r.FinishWorkspace(t.Context(), w.ID, core.ThreadFinish{Commit: true, Push: true}, "anew")
	if err != nil || len(artifacts) != 2 || artifacts[0].Type != core.ArtifactCommit {
		t.Fatalf("artifacts %+v, %v", artifacts, err)
	}
	if parents := src.git("log", "-1", "--format=%P%s", w.WorkBranch); parents != "anew" {
		t.Errorf("the remote got %q", parents)
	}
	if at := strings.Fields(r.agentGit(w, "rev-parse", "fresh", "HEAD")); at[0] != artifacts[0].Value || at[1] != at[0] {
		t.Errorf("the branch is at %v", at)
	}
	if changes, err = r.InspectWorkspace(t.Context(), w.ID); err != nil || changes.CommitCount != 1 || changes.Uncommitted != 0 {
		t.Errorf("after the commit: %+v, %v", changes, err)
	}
}

// One file that git does not take costs nothing but itself.
func TestFinishWithFilesThatGitRefuses(t *testing.T) {
	src := newSource(t)
	src.write("pipe", "was a file\n")
	src.commit("pipe")
	r := newRig(t)
	w := r.provision("x", src.spec())
	write(t, filepath.Join(w.Path, "work.txt"), "work\n")
	write(t, filepath.Join(w.Path, "README.md"), "# changed\n")
	for _, name := range []string{"git~1", ".GIT", "deep/.Git/config"} {
		write(t, filepath.Join(w.Path, name), "x\n")
	}
	for _, name := range []string{"pipe", "untracked"} {
		pipe(t, filepath.Join(w.Path, name))
	}
	d, err := r.DiffWorkspace(soon(t), w.ID, "", 0)
	if err != nil || !strings.Contains(d.Patch, "+work") || !strings.Contains(d.Patch, "+# changed") {
		t.Fatalf("%+v, %v", d, err)
	}
	got, err := r.FinishWorkspace(soon(t), w.ID, core.ThreadFinish{Commit: true, Push: true}, "m")
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if files := src.git("show", "--name-only", "--format=", w.WorkBranch); files != "README.md\nwork.txt" {
		t.Errorf("committed %q", files)
	}
	if !strings.Contains(r.log.String(), `files=".GIT, deep/.Git/config, git~1, pipe"`) {
		t.Errorf("the log does not name them:\n%s", r.log)
	}
	changes, err := r.InspectWorkspace(soon(t), w.ID)
	if err != nil || changes.Uncommitted != 4 {
		t.Errorf("%+v, %v", changes, err)
	}
}

// A pipe in the place of git's rules would have git wait for a writer.
func TestPipesAsRules(t *testing.T) {
	src := newSource(t)
	src.write(".gitattributes", "*.go diff=golang\n")
	src.commit("rules")
	r := newRig(t)
	w := r.provision("x", src.spec())
	write(t, filepath.Join(w.Path, "src/work.go"), "package main\n")
	write(t, filepath.Join(w.Path, "src/main.go"), "package main\n")
	for _, name := range []string{".gitattributes", "src/.gitattributes", "src/.gitignore"} {
		pipe(t, filepath.Join(w.Path, name))
	}
	ctx := soon(t)
	d, err := r.DiffWorkspace(ctx, w.ID, "", 0)
	if err != nil || !strings.Contains(d.Patch, "src/work.go") || !strings.Contains(d.Patch, "src/main.go") {
		t.Errorf("%+v, %v", d, err)
	}
	got, err := r.FinishWorkspace(ctx, w.ID, core.ThreadFinish{Commit: true, Push: true}, "m")
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if files := src.git("show", "--name-only", "--format=", w.WorkBranch); files != "src/main.go\nsrc/work.go" {
		t.Errorf("committed %q", files)
	}
}

// A git that is killed has not answered: a thread's commits are not taken for none, nor a history for another.
func TestKilledIsNoAnswer(t *testing.T) {
	for what, ask := range map[string]func(r *rig, w *core.Workspace) error{
		"rev-parse --verify --quiet HEAD": func(r *rig, w *core.Workspace) error {
			_, err := r.FinishWorkspace(t.Context(), w.ID, core.ThreadFinish{Push: true}, "m")
			return err
		},
		"merge-base": func(r *rig, w *core.Workspace) error {
			_, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceMerge)
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			src := newSource(t)
			git := gitThat(t, "*\" "+what+" \"*) kill -9 $$ ;;")
			r := newRig(t, func(o *workspace.Options) { o.Git = git })
			w := r.provision("x", src.spec())
			r.agentGit(w, "commit", "-q", "--allow-empty", "-m", "work")
			src.write("new.txt", "new\n")
			src.commit("new")
			if e := wantError(t, ask(r, w), core.CodeInternal, "killed"); !e.Unavailable || e.Details["failure"] != "git_killed" {
				t.Errorf("%+v", e)
			}
		})
	}
}

// Who commits are by is read without the worktree's .mailmap: a pipe in its place has no end.
func TestPipeAsMailmap(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	r.agentGit(w, "commit", "-q", "--allow-empty", "-m", "work")
	pipe(t, filepath.Join(w.Path, ".mailmap"))
	r.ApplyConfig(workspace.Config{FetchTimeout: 5 * time.Second, CheckoutTimeout: 5 * time.Second})
	if changes, err := r.InspectWorkspace(soon(t), w.ID); err != nil || changes.CommitCount != 1 {
		t.Errorf("%+v, %v", changes, err)
	}
}
