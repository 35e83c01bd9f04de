package claude_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/claude"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// secret must not be in a plan, which is stored.
const secret = "sk-secret-0123456789-abcdefghijklmnop"

func plan(t *testing.T, spec runtime.Spec, life agentcli.Life) agentcli.Plan {
	t.Helper()
	return drivertest.Plan(t, claude.New(), spec, life)
}

func TestPlanErrors(t *testing.T) { drivertest.PlanErrors(t, claude.New(), baseURL) }

const baseURL = "ANTHROPIC_BASE_URL"

func TestPlan(t *testing.T) {
	p := plan(t, runtime.Spec{Env: map[string]string{"ANTHROPIC_API_KEY": secret}}, agentcli.Life{SessionID: "uuid"})
	if p.Path != "/usr/bin/claude" || p.SessionID != "uuid" || !drivertest.HasArgs(p, "--session-id uuid") || !drivertest.HasArgs(p, "--permission-mode default") {
		t.Errorf("plan %+v", p)
	}
	if !strings.Contains(strings.Join(p.Args, " "), `'/opt/hook it' sock PermissionRequest`) {
		t.Errorf("no hook in %q", p.Args)
	}
	if strings.Contains(strings.Join(p.Args, " "), secret) {
		t.Error("the key is in the arguments")
	}
	if len(p.Files) != 1 || p.Files[0].Path != "/home/a/.claude/.claude.json" || p.Files[0].Mode != 0o600 {
		t.Fatalf("files %+v", p.Files)
	}
	state := string(p.Files[0].Data)
	if !strings.Contains(state, `"/work/it's"`) || !strings.Contains(state, `"`+secret[len(secret)-20:]+`"`) || strings.Contains(state, secret) {
		t.Errorf("state %s", state)
	}
}

// claude works in the foreground, unless the agent or the runtime has it otherwise.
func TestPlanBackground(t *testing.T) {
	const name = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"
	for _, tt := range []struct {
		spec map[string]string
		room []string
		want string
	}{{nil, nil, "1"}, {map[string]string{name: "0"}, nil, ""}, {nil, []string{name + "=0"}, ""}} {
		r := drivertest.PlanRoom()
		r.Env = append(r.Env, tt.room...)
		p, err := claude.New().Plan(&runtime.Spec{Env: tt.spec}, r, agentcli.Life{})
		if err != nil || p.Env[name] != tt.want {
			t.Errorf("%+v: %q, %v", tt, p.Env[name], err)
		}
	}
}

func TestPlanPresets(t *testing.T) {
	for approval, mode := range map[string]string{
		"": "default", "standard": "default", "readonly": "dontAsk", "permissive": "acceptEdits", "autonomous": "bypassPermissions",
	} {
		p := plan(t, runtime.Spec{Approval: approval}, agentcli.Life{})
		if !drivertest.HasArgs(p, "--permission-mode "+mode) {
			t.Errorf("%q: %q", approval, p.Args)
		}
		if denied := strings.Contains(strings.Join(p.Args, " "), "NotebookEdit"); denied != (approval == "readonly") {
			t.Errorf("%q: writing tools denied: %v", approval, denied)
		}
	}
}

// The state of an older claude gets an answer to what a newer one offers at its first start, and that of a newer one none.
func TestPlanOlderState(t *testing.T) {
	for state, want := range map[string]bool{
		`{"firstStartTime":"2026-06-01"}`: true, `{"firstStartTime":"2026-11-01","firstStartVersion":"2.1.332"}`: false, `{}`: false, "": false,
	} {
		r := drivertest.PlanRoom()
		r.ReadFile = func(name string) ([]byte, error) {
			if state == "" {
				return nil, fs.ErrNotExist
			}
			return []byte(state), nil
		}
		p, err := claude.New().Plan(&runtime.Spec{}, r, agentcli.Life{})
		if err != nil || strings.Contains(string(p.Files[0].Data), `"fullscreenUpsellSeenCount": 3`) != want {
			t.Errorf("%s: %+v, %v", state, p.Files, err)
		}
	}
}

func TestPlanResume(t *testing.T) {
	life := agentcli.Life{Resume: "old", SessionID: "new"}
	r := drivertest.PlanRoom()
	for transcript, want := range map[string]string{
		`{"type":"user"}`: "--resume old", `{"type":"mode"}`: "--session-id new", "": "--session-id new",
	} {
		r.ReadFile = func(name string) ([]byte, error) {
			if name == "/home/a/.claude/projects/-work-it-s/old.jsonl" && transcript != "" {
				return []byte(transcript), nil
			}
			return nil, fs.ErrNotExist
		}
		p, err := claude.New().Plan(&runtime.Spec{}, r, life)
		if err != nil || !drivertest.HasArgs(p, want) {
			t.Errorf("%q: %q, %v", transcript, p.Args, err)
		}
	}
}

func TestPlanNeedsHooks(t *testing.T) {
	r := drivertest.PlanRoom()
	r.Hook = nil
	if _, err := claude.New().Plan(&runtime.Spec{}, r, agentcli.Life{}); runtime.ErrorCode(err) != runtime.CodeUnimplemented {
		t.Errorf("error %v", err)
	}
}
