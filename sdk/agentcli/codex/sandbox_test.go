package codex_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/agentcli/localroom"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestRealSandboxShuts runs commands in the sandbox of the real codex, in a work tree that lies among what is shut.
func TestRealSandboxShuts(t *testing.T) {
	path := drivertest.CLI(t, "codex")
	for _, approval := range []string{"standard", "permissive", "readonly"} {
		t.Run(approval, func(t *testing.T) {
			_, tree := repository(t)
			root := filepath.Dir(filepath.Dir(tree))
			r := room()
			r.Workdir, r.Shut = tree, []string{root, filepath.Join(root, "missing")}
			r.Home, r.Temp = filepath.Join(root, "agents/a/home"), filepath.Join(root, "agents/a/tmp")
			r.LookPath = func(string) (string, error) { return path, nil }
			r.Git = localroom.FindGit(tree)
			for _, name := range []string{"key", "agents/b/home/other", "mirrors/other/config", "trees/ws_2/other", "agents/a/home/own"} {
				name = filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte("text of "+filepath.Base(name)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(r.Temp, 0o700); err != nil {
				t.Fatal(err)
			}
			plan, err := codex.New().Plan(&runtime.Spec{Approval: approval}, r, agentcli.Life{})
			if err != nil || !plan.Mounts {
				t.Fatalf("plan %+v, error %v", plan, err)
			}
			args := []string{"sandbox"}
			for i, arg := range plan.Args {
				if arg == "-c" && !strings.HasPrefix(plan.Args[i+1], "hooks.") {
					args = append(args, "-c", plan.Args[i+1])
				}
			}
			const script = `for f in ../../key ../../agents/b/home/other ../../mirrors/other/config ../../trees/ws_2/other; do cat $f; done
cat ../../agents/a/home/own; echo; git log --oneline | wc -l; echo x >made && git add made && git -c user.name=a -c user.email=a@b commit -qm two && echo committed`
			cmd := exec.CommandContext(t.Context(), plan.Path, append(args, "--", "/bin/sh", "-c", script)...)
			cmd.Dir, cmd.WaitDelay = tree, time.Second
			cmd.Env = append(os.Environ(), "HOME="+r.Home, "CODEX_HOME="+r.Home+"/.codex", "TMPDIR="+r.Temp)
			if err := os.MkdirAll(r.Home+"/.codex", 0o700); err != nil {
				t.Fatal(err)
			}
			out, err := cmd.CombinedOutput()
			if text := string(out); strings.Contains(text, "text of key") || strings.Contains(text, "text of other") || strings.Contains(text, "text of config") {
				t.Errorf("what is shut can be read:\n%s", text)
			} else if !strings.Contains(text, "text of own") || strings.Contains(text, "committed") == (approval == "readonly") {
				t.Errorf("what is the agent's own cannot be used: %v\n%s", err, text)
			}
		})
	}
}
