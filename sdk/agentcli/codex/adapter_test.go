package codex_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// secret must not be in a plan, which is stored.
const secret = "sk-secret-0123456789-abcdefghijklmnop"

func plan(t *testing.T, spec runtime.Spec, life agentcli.Life) agentcli.Plan {
	t.Helper()
	return drivertest.Plan(t, codex.New(), spec, life)
}

func TestPlanErrors(t *testing.T) { drivertest.PlanErrors(t, codex.New(), baseURL) }

const baseURL = "OPENAI_BASE_URL"

func TestPlan(t *testing.T) {
	p := plan(t, runtime.Spec{Env: map[string]string{
		"OPENAI_BASE_URL": `http://gateway/"v1"`, "OPENAI_API_KEY": secret, "OPENAI_MODEL": "m",
	}}, agentcli.Life{SessionID: "uuid"})
	args := strings.Join(p.Args, "\n")
	for _, want := range []string{
		`projects={"/work/it's"={trust_level="trusted"}}`, `base_url="http://gateway/\"v1\""`, `env_key="OPENAI_API_KEY"`,
		`model="m"`, "features.daemon_auto_start=false", "--dangerously-bypass-hook-trust",
		`hooks.Stop=[{hooks=[{type="command",command="'/opt/hook it' sock Stop",timeout=86400}]}]`,
	} {
		if !strings.Contains(args, want) {
			t.Errorf("%s is missing in\n%s", want, args)
		}
	}
	if strings.Contains(args, secret) || len(p.Files) > 0 || p.SessionID != "" {
		t.Errorf("plan %+v", p)
	}
}

func TestPlanOwnProvider(t *testing.T) {
	if p := plan(t, runtime.Spec{}, agentcli.Life{}); strings.Contains(strings.Join(p.Args, " "), "model_provider") {
		t.Errorf("arguments %q", p.Args)
	}
}

func TestPlanKeyAlone(t *testing.T) {
	p := plan(t, runtime.Spec{Env: map[string]string{"OPENAI_API_KEY": secret}}, agentcli.Life{})
	if args := strings.Join(p.Args, " "); !strings.Contains(args, `base_url="https://api.openai.com/v1"`) || strings.Contains(args, secret) {
		t.Errorf("arguments %q", p.Args)
	}
}

func TestPlanPresets(t *testing.T) {
	for approval, want := range map[string][2]string{
		"": {`default_permissions="wardroom"`, "on-request"}, "standard": {`default_permissions="wardroom"`, "on-request"},
		"readonly": {`sandbox_mode="read-only"`, "never"}, "permissive": {`default_permissions="wardroom"`, "never"},
		"autonomous": {`sandbox_mode="danger-full-access"`, "never"},
	} {
		p := plan(t, runtime.Spec{Approval: approval}, agentcli.Life{})
		if !drivertest.HasArgs(p, want[0]) || !drivertest.HasArgs(p, `approval_policy="`+want[1]+`"`) {
			t.Errorf("%q: %q", approval, p.Args)
		}
	}
}

// Temporary files are those of the room, and none of the host's.
func TestPlanTemp(t *testing.T) {
	for temp, want := range map[string]string{
		"/room/tmp":   `"/room/tmp"="write","/room/tmp/.git"="write"`,
		"/room/[tmp]": "sandbox_workspace_write.exclude_slash_tmp=true", // a profile would take it for a pattern
	} {
		r := drivertest.PlanRoom()
		r.Temp = temp
		p, err := codex.New().Plan(&runtime.Spec{}, r, agentcli.Life{})
		if err != nil {
			t.Fatal(err)
		}
		if args := strings.Join(p.Args, "\n"); !strings.Contains(args, want) || strings.Contains(args, ":slash_tmp") {
			t.Errorf("%s: %s", temp, args)
		}
	}
}

// What git needs is writable, and nothing that git obeys.
func TestPlanGit(t *testing.T) {
	for _, tt := range []struct {
		git        agentcli.Git
		want, lack []string
	}{
		{agentcli.Git{Dir: "/m/worktrees/w", Common: "/m"},
			[]string{`"/m/worktrees/w"="write"`, `"/m/worktrees/w/commondir"="read"`, `"/m/objects"="write"`, `"/m/refs"="write"`,
				`"/m/logs"="write"`, `".git"="read"`}, []string{`"/m"=`, `"/m/hooks`}},
		{agentcli.Git{Dir: "/w/.git", Common: "/w/.git"}, []string{`".git"="write"`, `".git/hooks"="read"`, `".git/config"="read"`}, nil},
	} {
		for _, approval := range []string{"readonly", "standard", "permissive", "autonomous"} {
			r := drivertest.PlanRoom()
			r.Git = tt.git
			p, err := codex.New().Plan(&runtime.Spec{Approval: approval}, r, agentcli.Life{})
			if err != nil {
				t.Fatal(err)
			}
			args := strings.Join(p.Args, "\n")
			sandboxed := approval == "standard" || approval == "permissive"
			if sandboxed == strings.Contains(args, "sandbox_mode") {
				t.Errorf("%s: %s", approval, args)
			}
			for _, want := range tt.want {
				if sandboxed != strings.Contains(args, want) {
					t.Errorf("%s: %s in %s: want %v", approval, want, args, sandboxed)
				}
			}
			for _, lack := range tt.lack {
				if strings.Contains(args, lack) {
					t.Errorf("%s: %s is in %s", approval, lack, args)
				}
			}
			if strings.Contains(args, "network={enabled=true}") != (approval == "permissive") {
				t.Errorf("%s: %s", approval, args)
			}
		}
	}
}

func TestPlanResume(t *testing.T) {
	p := plan(t, runtime.Spec{}, agentcli.Life{Resume: "old", SessionID: "new"})
	if p.Args[0] != "resume" || p.Args[1] != "old" || p.SessionID != "old" {
		t.Errorf("plan %+v", p)
	}
}

func TestPlanFindsNative(t *testing.T) {
	const native = "/usr/lib/node_modules/@openai/codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
	r := drivertest.PlanRoom()
	r.LookPath = func(name string) (string, error) {
		if name == native {
			return name, nil
		}
		if name == "codex" {
			return "/usr/bin/codex", nil
		}
		return "", fs.ErrNotExist
	}
	if p, err := codex.New().Plan(&runtime.Spec{}, r, agentcli.Life{}); err != nil || p.Path != native {
		t.Errorf("path %s, %v", p.Path, err)
	}
}
