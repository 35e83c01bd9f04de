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

func TestInspect(t *testing.T) {
	src := newSource(t)
	src.write("old.txt", strings.Repeat("line\n", 50))
	src.write("gone.txt", "a\nb\n")
	src.commit("more")
	r := newRig(t)
	w := r.provision("x", src.spec())
	changes, err := r.InspectWorkspace(t.Context(), w.ID)
	if err != nil || changes.CommitCount+changes.FileCount+changes.Uncommitted+changes.Unpushed != 0 || changes.Files == nil || changes.Commits == nil {
		t.Fatalf("a fresh workspace: %+v, %v", changes, err)
	}
	write(t, filepath.Join(w.Path, "src/main.go"), "package main\n\nfunc main() { run() }\n")
	r.agentGit(w, "mv", "old.txt", "new name.txt")
	r.agentGit(w, "rm", "-q", "gone.txt")
	r.agentGit(w, "commit", "-q", "-a", "-m", "first\n\nbody")
	write(t, filepath.Join(w.Path, "added.txt"), "1\n2\n3\n")
	r.agentGit(w, "add", "added.txt")
	r.agentGit(w, "commit", "-q", "-m", "second")
	write(t, filepath.Join(w.Path, "README.md"), "# changed\nmore\n")
	write(t, filepath.Join(w.Path, "loose.txt"), "one\ntwo")
	write(t, filepath.Join(w.Path, ".wardroom/thread-memory.md"), "not work\n")
	changes, err = r.InspectWorkspace(t.Context(), w.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(changes.Commits) != 2 || changes.Commits[0].Subject != "first" || changes.Commits[1].Subject != "second" || changes.Commits[0].Author != "Ward" {
		t.Errorf("commits %+v", changes.Commits)
	}
	if changes.CommitCount != 2 || changes.Unpushed != 2 || changes.Uncommitted != 2 {
		t.Errorf("counts %+v", changes)
	}
	got := make(map[string]core.WorkspaceFile)
	for _, file := range changes.Files {
		got[file.Path] = file
	}
	for path, want := range map[string]core.WorkspaceFile{
		"src/main.go":  {Path: "src/main.go", Status: "modified", Insertions: 1, Deletions: 1},
		"new name.txt": {Path: "new name.txt", From: "old.txt", Status: "renamed"},
		"gone.txt":     {Path: "gone.txt", Status: "deleted", Deletions: 2},
		"added.txt":    {Path: "added.txt", Status: "added", Insertions: 3},
		"README.md":    {Path: "README.md", Status: "modified", Insertions: 2, Deletions: 1},
		"loose.txt":    {Path: "loose.txt", Status: "untracked", Insertions: 2},
	} {
		if got[path] != want {
			t.Errorf("%s is %+v, want %+v", path, got[path], want)
		}
	}
	if changes.FileCount != 6 || changes.Insertions != 8 || changes.Deletions != 4 {
		t.Errorf("%d files, +%d -%d: %+v", changes.FileCount, changes.Insertions, changes.Deletions, changes.Files)
	}
}

func TestFinish(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	if err := r.WriteContext(t.Context(), w.ID, w.ThreadID, []core.ContextFile{{Path: ".wardroom/m.md", Content: "secret memory"}}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.Path, "README.md"), "# by the agent\n")
	r.agentGit(w, "commit", "-q", "-a", "-m", "by the agent")
	write(t, filepath.Join(w.Path, "left.txt"), "not committed\n")
	r.agentGit(w, "add", "-f", ".wardroom/m.md")
	runGit(t, w.Path, nil, "init", "-q", "nested") // a repository of its own, without a commit
	write(t, filepath.Join(w.Path, "nested/x"), "x")

	finish := core.ThreadFinish{Commit: true, Push: true}
	var first []core.Artifact
	for again := range 2 {
		artifacts, err := r.FinishWorkspace(t.Context(), w.ID, finish, "Add what is left\n\nBecause.\x1b[31m")
		if err != nil {
			t.Fatal(err)
		}
		if again == 0 {
			first = artifacts
		}
		if len(artifacts) != 3 || artifacts[0] != first[0] || artifacts[1] != first[1] || artifacts[2].Type != core.ArtifactURL ||
			artifacts[2].Value != src.url()+"#wardroom/exec_1/coder-x" {
			t.Fatalf("artifacts %+v", artifacts)
		}
	}
	if got := src.git("log", "-1", "--format=%H %an <%ae> %s", "wardroom/exec_1/coder-x"); got != first[1].Value+" Ward <ward@example.com> Add what is left" {
		t.Errorf("the remote got %q", got)
	}
	if files := src.git("ls-tree", "-r", "--name-only", "wardroom/exec_1/coder-x"); files != "README.md\nleft.txt\nsrc/main.go" {
		t.Errorf("files at the remote: %q", files)
	}
	if body := src.git("log", "-1", "--format=%b", "wardroom/exec_1/coder-x"); body != "Because.[31m" {
		t.Errorf("body %q", body)
	}
	changes, err := r.InspectWorkspace(t.Context(), w.ID)
	if err != nil || changes.Unpushed != 0 || changes.CommitCount != 2 {
		t.Errorf("after the push: %+v, %v", changes, err)
	}
}

func TestFinishNothing(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	artifacts, err := r.FinishWorkspace(t.Context(), w.ID, core.ThreadFinish{Commit: true, Push: true}, "nothing")
	if err != nil || len(artifacts) != 0 {
		t.Errorf("artifacts %v, %v", artifacts, err)
	}
	if refs := src.git("for-each-ref", "--format=%(refname)"); refs != "refs/heads/main" {
		t.Errorf("the remote has %q", refs)
	}
}

func TestFinishNeverOverwrites(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	write(t, filepath.Join(w.Path, "a.txt"), "ours")
	src.git("checkout", "-q", "-b", "feature/taken")
	src.write("b.txt", "theirs")
	theirs := src.commit("theirs")
	artifacts, err := r.FinishWorkspace(t.Context(), w.ID, core.ThreadFinish{Commit: true, Push: true, Branch: "feature/taken"}, "ours")
	wantError(t, err, core.CodeConflict, "another branch")
	if len(artifacts) != 1 || artifacts[0].Type != core.ArtifactCommit {
		t.Errorf("the commit is not told of: %v", artifacts)
	}
	if src.git("rev-parse", "feature/taken") != theirs {
		t.Error("the branch of somebody else was moved")
	}
	// Elsewhere it goes through, with the same commit.
	again, err := r.FinishWorkspace(t.Context(), w.ID, core.ThreadFinish{Commit: true, Push: true, Branch: "feature/free"}, "ours")
	if err != nil || len(again) != 2 || again[0] != artifacts[0] {
		t.Errorf("artifacts %v, %v", again, err)
	}
}

func TestCheckFinish(t *testing.T) {
	r := newRig(t, func(o *workspace.Options) { o.Config.PushBranches = []string{"feature/*"} })
	repo := &core.WorkspaceSpec{Repo: "file:///srv/x"}
	for name, c := range map[string]struct {
		spec   *core.WorkspaceSpec
		finish *core.ThreadFinish
		code   core.Code
	}{
		"nothing":             {nil, nil, ""},
		"empty":               {nil, &core.ThreadFinish{}, ""},
		"commit":              {repo, &core.ThreadFinish{Commit: true}, ""},
		"push":                {repo, &core.ThreadFinish{Push: true, Branch: "feature/deep/er"}, ""},
		"no repository":       {&core.WorkspaceSpec{}, &core.ThreadFinish{Commit: true}, core.CodeValidation},
		"branch without push": {repo, &core.ThreadFinish{Branch: "feature/x"}, core.CodeValidation},
		"bad branch":          {repo, &core.ThreadFinish{Push: true, Branch: "feature/-x..y"}, core.CodeValidation},
		"forbidden branch":    {repo, &core.ThreadFinish{Push: true, Branch: "main"}, core.CodeForbidden},
		"forbidden default":   {repo, &core.ThreadFinish{Push: true}, core.CodeForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			if got := core.ErrorCode(r.CheckFinish(c.spec, c.finish)); got != c.code {
				t.Errorf("code %q, want %q", got, c.code)
			}
		})
	}
	r.ApplyConfig(workspace.Config{})
	wantError(t, r.CheckFinish(repo, &core.ThreadFinish{Commit: true}), core.CodeForbidden, "threads.finish.commit")
	wantError(t, r.CheckFinish(repo, &core.ThreadFinish{Push: true}), core.CodeForbidden, "threads.finish.push")
}

// An agent that is killed in the middle of a git leaves its lock behind, which is not known to be stale at once.
func TestFinishAfterAKilledGit(t *testing.T) {
	for name, age := range map[string]time.Duration{"a moment ago": 29500 * time.Millisecond, "before the clock was set back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			src := newSource(t)
			r := newRig(t)
			w := r.provision("x", src.spec())
			write(t, filepath.Join(w.Path, "work.txt"), "x\n")
			lock := filepath.Join(r.mirror(), "worktrees", w.ID, "index.lock")
			write(t, lock, "")
			made := time.Now().Add(-age)
			if err := os.Chtimes(lock, made, made); err != nil {
				t.Fatal(err)
			}
			got, err := r.FinishWorkspace(soon(t), w.ID, core.ThreadFinish{Commit: true}, "m")
			if err != nil || len(got) != 1 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
