package codex_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// repository makes a repository, a bare mirror of it and a linked work tree of that, as core/workspace lays them out, in a
// folder that codex has no other reason to let anybody write in.
func repository(t *testing.T) (plain, tree string) {
	t.Helper()
	base, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp(base, "wardroom-codex-git")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	plain, tree = filepath.Join(root, "plain"), filepath.Join(root, "trees", "ws_1")
	mirror := filepath.Join(root, "mirrors", "key")
	for _, args := range [][]string{
		{"init", "-q", plain}, {"-C", plain, "commit", "-q", "--allow-empty", "-m", "one"},
		{"clone", "-q", "--bare", plain, mirror}, {"-C", mirror, "worktree", "add", "-q", "-b", "wardroom/e/r-slug", tree},
	} {
		git(t, root, args...)
	}
	return plain, tree
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestRealGit has the real codex commit where it works, under each preset that lets it change files there.
func TestRealGit(t *testing.T) {
	drivertest.CLI(t, "codex")
	model := drivertest.StartModel(t)
	const commit = "echo x > made && git add -A && git -c user.name=a -c user.email=a@b commit -qm two && " +
		"git switch -qc other && git tag done"
	// What git runs or obeys outside of the sandbox must not be written inside of it.
	const harm = `D=$(git rev-parse --absolute-git-dir); C=$(cd "$(git rev-parse --git-common-dir)" && pwd); ` +
		`touch "$C/hooks/pre-commit" 2>&1; echo evil >> "$C/config"; echo evil > "$D/config.worktree"; ` +
		`[ "$D" = "$C" ] || echo evil > "$D/commondir"; git config core.hooksPath /tmp; git --version`
	for _, tt := range []struct {
		approval       string
		commits, harms bool
	}{
		{"standard", true, false}, {"permissive", true, false}, {"autonomous", true, true}, {"readonly", false, false},
	} {
		plain, tree := repository(t)
		for name, dir := range map[string]string{"plain": plain, "tree": tree} {
			t.Run(tt.approval+"/"+name, func(t *testing.T) {
				a := drivertest.StartSpec(t, codex.New(), runtime.Spec{Env: modelEnv(model.URL), Approval: tt.approval, Workdir: dir})
				a.Wait(agentcli.SignalIdle)
				common := git(t, dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
				before := git(t, dir, "rev-list", "--count", "HEAD")
				config, err := os.ReadFile(filepath.Join(common, "config"))
				if err != nil {
					t.Fatal(err)
				}
				a.Send("USE_TOOL[" + commit + "]")
				end := a.Turn()
				after := git(t, dir, "rev-list", "--count", "HEAD")
				if (after != before) != tt.commits || tt.commits && git(t, dir, "branch", "--show-current") != "other" {
					t.Errorf("%s commits, now %s, on %s: %s", before, after, git(t, dir, "branch", "--show-current"), end.Text)
				}
				if left := git(t, dir, "status", "--short"); left != "" {
					t.Errorf("left over:\n%s", left)
				}
				if a.Count(agentcli.SignalBlocked) > 0 {
					t.Errorf("it asked\n%s", a.History())
				}
				if tt.harms {
					return
				}
				a.Send("USE_TOOL[" + harm + "]")
				a.Turn()
				if now, err := os.ReadFile(filepath.Join(common, "config")); err != nil || string(now) != string(config) {
					t.Errorf("the configuration is now %q, %v", now, err)
				}
				for _, name := range []string{"hooks/pre-commit", "config.worktree"} {
					if _, err := os.Lstat(filepath.Join(common, name)); err == nil {
						t.Errorf("%s was written", name)
					}
				}
				git(t, dir, "log", "-1")
				if tt.approval != "standard" {
					return
				}
				beside := filepath.Join(filepath.Dir(dir), "beside") // it still asks to leave the sandbox
				a.Send("ESCALATE USE_TOOL[touch " + beside + "]")
				a.Wait(agentcli.SignalBlocked)
				a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceAllow})
				a.Turn()
				if _, err := os.Stat(beside); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestRealTemp has the real codex use temporary files: those of its room, and none of the host's. Of the host's /tmp codex's
// sandbox would shut out .git and its like by empty directories, which stay there when a sandbox is killed, and which git and
// go then take for a repository.
func TestRealTemp(t *testing.T) {
	drivertest.CLI(t, "codex")
	model := drivertest.StartModel(t)
	for _, approval := range []string{"standard", "permissive"} {
		_, tree := repository(t)
		for name, dir := range map[string]string{"tree": tree, "no repository": ""} {
			t.Run(approval+"/"+name, func(t *testing.T) {
				a := drivertest.StartSpec(t, codex.New(), runtime.Spec{Env: modelEnv(model.URL), Approval: approval, Workdir: dir})
				a.Wait(agentcli.SignalIdle)
				host, err := os.CreateTemp("/tmp", "wardroom-codex")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.Remove(host.Name()) })
				host.Close()
				a.Send("USE_TOOL[" + `echo x > ` + host.Name() + `; f=$(mktemp) && echo "$f" > made && mkdir -p "$TMPDIR/.git" && ` +
					`awk '{ print $5 }' /proc/self/mountinfo > mounts]`)
				end := a.Turn()
				made, err := os.ReadFile(filepath.Join(a.Room.Workdir, "made"))
				if err != nil || !strings.HasPrefix(string(made), a.Room.Temp) {
					t.Errorf("a temporary file is %q, %v, and not in %s: %s", made, err, a.Room.Temp, end.Text)
				}
				if _, err := os.Stat(filepath.Join(a.Room.Temp, ".git")); err != nil {
					t.Error(err)
				}
				mounts, err := os.ReadFile(filepath.Join(a.Room.Workdir, "mounts"))
				if err != nil {
					t.Fatal(err)
				}
				for _, at := range strings.Fields(string(mounts)) {
					dir, name := filepath.Split(at)
					if (dir == a.Room.Temp+"/" || dir == "/tmp/") && strings.HasPrefix(name, ".") {
						t.Errorf("the sandbox mounts something at %s", at)
					}
				}
				if info, err := os.Stat(host.Name()); err != nil || info.Size() > 0 {
					t.Errorf("a file in the host's /tmp was written: %v, %v", info, err)
				}
			})
		}
	}
}
