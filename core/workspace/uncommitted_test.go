package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUncommitted: a repository of this machine whose branch is checked out with changes that are not committed is taken at the
// commit, with a warning. Nothing that the repository has configured is run for it.
func TestUncommitted(t *testing.T) {
	src := newSource(t)
	src.write(".gitignore", "*.log\n")
	src.write(".gitattributes", "*.go filter=bad\n")
	src.commit("second")
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+ran+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	if w := r.reserve("clean", src.spec()); len(w.Warnings) != 0 {
		t.Errorf("a clean repository: %q", w.Warnings)
	}
	src.write("x.log", "ignored\n")
	if w := r.reserve("ignored", src.spec()); len(w.Warnings) != 0 {
		t.Errorf("an ignored file: %q", w.Warnings)
	}
	index := read(t, filepath.Join(src.dir, ".git", "index"))
	src.git("config", "filter.bad.clean", program)
	src.git("config", "core.fsmonitor", program)
	src.write("src/main.go", "package main\n\nfunc main() { }\n")
	src.write("README.md", "# changed\n")
	src.write("new/a.txt", "a\n")
	src.write("new/b.txt", "b\n")
	const want = "main is checked out in the repository with 2 changed files and 1 file that git does not know, not committed: " +
		"the workspace begins without them; commit first what it needs"
	w := r.reserve("dirty", src.spec())
	if len(w.Warnings) != 1 || w.Warnings[0] != want {
		t.Errorf("warnings %q\nwant %q", w.Warnings, want)
	}
	if made, err := r.ProvisionWorkspace(t.Context(), w.ID); err != nil || strings.Join(made.Warnings, "\n") != want || read(t, filepath.Join(made.Path, "README.md")) != "# hello\n" {
		t.Errorf("provisioned: %+v, %v", made, err)
	}
	if exists(ran) {
		t.Error("a program of the repository's configuration was run")
	}
	if read(t, filepath.Join(src.dir, ".git", "index")) != index {
		t.Error("the repository's index was written")
	}
	src.git("config", "--unset", "core.fsmonitor")
	src.git("config", "--unset", "filter.bad.clean")
	src.git("branch", "other")
	other := src.spec()
	other.Branch = "other"
	if w := r.reserve("elsewhere", other); len(w.Warnings) != 0 {
		t.Errorf("a branch that is not checked out: %q", w.Warnings)
	}
	src.git("add", "README.md") // staged is not committed either
	src.git("stash", "-q", "--keep-index")
	linked := filepath.Join(t.TempDir(), "linked")
	src.git("worktree", "add", "-q", linked, "other")
	write(t, filepath.Join(linked, "README.md"), "# here\n")
	spec := src.spec()
	spec.Repo, spec.Branch = "file://"+linked, "other"
	if w := r.reserve("linked", spec); len(w.Warnings) != 1 || !strings.HasPrefix(w.Warnings[0], "other is checked out in the repository with 1 changed file,") {
		t.Errorf("a linked work tree: %q", w.Warnings)
	}
	bare := filepath.Join(t.TempDir(), "bare")
	src.git("clone", "-q", "--bare", ".", bare)
	spec.Repo, spec.Branch = "file://"+bare, "main"
	if w := r.reserve("bare", spec); len(w.Warnings) != 0 {
		t.Errorf("a bare repository: %q", w.Warnings)
	}
}
