package local_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
)

func TestFindGit(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return filepath.Join(root, name) }
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a",
			"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "plain")
	git("-C", "plain", "commit", "-q", "--allow-empty", "-m", "one")
	git("clone", "-q", "--bare", "plain", "mirror.git")
	git("-C", "mirror.git", "worktree", "add", "-q", path("tree"))
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("none/f", "")
	// What somebody could write into a work directory to get more written than that.
	write("astray/.git", "gitdir: "+path("victim/worktrees/.ssh")+"\n")
	for _, dir := range []string{"victim/worktrees/.ssh", "victim/objects", "victim/refs"} {
		write(dir+"/f", "")
	}
	write("stolen/.git", "gitdir: "+path("mirror.git/worktrees/tree")+"\n") // another's
	write("garbage/.git", "gitdir: \x00\n")
	if err := os.Mkdir(path("linked"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path("plain/.git"), path("linked/.git")); err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]agentcli.Git{
		"plain":   {Dir: path("plain/.git"), Common: path("plain/.git")},
		"tree":    {Dir: path("mirror.git/worktrees/tree"), Common: path("mirror.git")},
		"none":    {},
		"missing": {},
		"astray":  {},
		"stolen":  {},
		"garbage": {},
		"linked":  {},
	} {
		if got := local.FindGit(path(name)); got != want || got.Linked() != (name == "tree") {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if info, err := os.Stat(path("mirror.git/logs")); err != nil || !info.IsDir() {
		t.Errorf("no place for reflogs: %v", err)
	}
}
