package docker_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWorktree commits in a linked work tree, as threads get: what git needs of the repository is there, and what others
// obey is read-only.
func TestWorktree(t *testing.T) {
	e, ctx := need(t), within(t)
	if os.Getuid() != 0 {
		t.Skip("gives files to the user of agents, which takes root")
	}
	base := t.TempDir()
	main, tree := filepath.Join(base, "main"), filepath.Join(base, "tree")
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "safe.directory=*"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main", main)
	git("-C", main, "commit", "-q", "--allow-empty", "-m", "first")
	git("-C", main, "worktree", "add", "-q", "-b", "work", tree)
	if out, err := exec.CommandContext(ctx, "chown", "-R", "10001:10001", main, tree).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rt := e.plugin(t, nil).Conn().Runtime()
	spec := shell(id(t))
	spec.Workdir = tree
	a := spawn(ctx, t, rt, spec)
	if got := say(ctx, t, rt, a.ID, "command -v git || echo none"); got == "none" {
		t.Skip("the image of the tests has no git: engine.sh image puts the machine's into it")
	}
	say(ctx, t, rt, a.ID, "echo text >file && git add file && git -c user.name=a -c user.email=a@example.com commit -q -m second; git tag made")
	if got := git("-C", main, "log", "-1", "--format=%s", "work"); got != "second" {
		t.Errorf("the branch is at %q", got)
	}
	if got := git("-C", main, "tag"); got != "made" {
		t.Errorf("the tags are %q", got)
	}
	for _, name := range []string{"hooks/post-commit", "config", "worktrees/other"} {
		if got := say(ctx, t, rt, a.ID, "echo x 2>/dev/null >>"+filepath.Join(main, ".git", name)+" || echo shut"); got != "shut" {
			t.Errorf("%s can be written: %q", name, got)
		}
	}
}
