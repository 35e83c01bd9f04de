package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/workspace"
)

func TestGitState(t *testing.T) {
	old := filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(old, []byte("#!/bin/sh\necho git version 2.20.1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for git, says := range map[string]string{"": "", old: "git 2.20 is too old", "/nonexistent/git": "no such file"} {
		err := newRig(t, func(o *workspace.Options) { o.Git = git }).GitState()
		if (err != nil) != (says != "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("git %q: %v, want %q", git, err, says)
		}
	}
}

// A git that could not be used is looked for again by whoever needs it.
func TestGitComesLater(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git in PATH")
	}
	later := filepath.Join(t.TempDir(), "git")
	r, src := newRig(t, func(o *workspace.Options) { o.Git = later }), newSource(t)
	spec := core.WorkspaceSpec{Repo: src.url()}
	if _, err := r.ReserveWorkspace(t.Context(), core.WorkspaceRequest{Spec: spec}); err == nil || !core.AsError(err).Unavailable {
		t.Fatalf("without git: %v", err)
	}
	if err := os.Symlink(real, later); err != nil {
		t.Fatal(err)
	}
	r.provision("x", spec)
	if err := r.GitState(); err != nil {
		t.Error(err)
	}
}

func TestStats(t *testing.T) {
	r, src := newRig(t), newSource(t)
	r.provision("x", core.WorkspaceSpec{Repo: src.url()})
	r.provision("y", core.WorkspaceSpec{Repo: src.url()}) // the mirror has it
	if got := r.Stats(); got != (workspace.Stats{Fetches: 1}) {
		t.Errorf("stats %+v", got)
	}
	src.write("more.txt", "more\n")
	src.commit("second")
	w := r.reserve("z", core.WorkspaceSpec{Repo: src.url()})
	if err := os.Rename(src.dir, src.dir+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ProvisionWorkspace(t.Context(), w.ID); err == nil {
		t.Fatal("a workspace was made of nothing")
	}
	got := r.Stats()
	if got.Fetches < 2 || got.Failed != got.Fetches-1 {
		t.Errorf("stats %+v", got)
	}
}

// A fetch that meets a worktree which git makes meanwhile is made again.
func TestFetchBesideHalfMadeWorktree(t *testing.T) {
	met := filepath.Join(t.TempDir(), "met")
	git := gitThat(t, `*" fetch "*)
	if [ "$(cat '`+met+`' 2>/dev/null | wc -l)" -lt 2 ]; then
		echo once >> '`+met+`'
		echo 'fatal: failed to read /m/worktrees/ws_1.new-1/commondir: Success' >&2
		exit 128
	fi;;`)
	r, src := newRig(t, func(o *workspace.Options) { o.Git = git }), newSource(t)
	r.provision("x", core.WorkspaceSpec{Repo: src.url()})
	if got := strings.Count(read(t, met), "once"); got != 2 {
		t.Errorf("%d fetches met one", got)
	}
}
