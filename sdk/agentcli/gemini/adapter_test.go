package gemini_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// secret must not be in a plan, which is stored.
const secret = "sk-secret-0123456789-abcdefghijklmnop"

func plan(t *testing.T, spec runtime.Spec, life agentcli.Life) agentcli.Plan {
	t.Helper()
	return drivertest.Plan(t, gemini.New(), spec, life)
}

func TestPlanErrors(t *testing.T) { drivertest.PlanErrors(t, gemini.New(), baseURL) }

// Where gemini trusts no folder it calls no hooks, and would never get ready: its start is refused with the reason.
func TestPlanUntrusted(t *testing.T) {
	for _, name := range []string{"GEMINI_CLI_TRUST_WORKSPACE=false", "GEMINI_RESTRICTED_MODE=true"} {
		key, value, _ := strings.Cut(name, "=")
		_, err := gemini.New().Plan(&runtime.Spec{Env: map[string]string{key: value}}, drivertest.PlanRoom(), agentcli.Life{})
		if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeInvalidSpec || e.Field != "env" || !strings.Contains(e.Message, name) || e.Hint == "" {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

const baseURL = "GOOGLE_GEMINI_BASE_URL"

func TestPlan(t *testing.T) {
	p := plan(t, runtime.Spec{Env: map[string]string{"GEMINI_API_KEY": secret}}, agentcli.Life{SessionID: "uuid"})
	if p.Path != "/usr/bin/gemini" || p.SessionID != "" || !drivertest.HasArgs(p, "--session-id uuid") {
		t.Errorf("plan %+v", p)
	}
	if len(p.Files) != 2 || !strings.HasSuffix(p.Files[0].Path, "/.gemini/settings.json") {
		t.Fatalf("files %+v", p.Files)
	}
	settings, trust := string(p.Files[0].Data), string(p.Files[1].Data)
	if !strings.Contains(settings, `"selectedType": "gemini-api-key"`) || !strings.Contains(settings, `'/opt/hook it' sock AfterAgent`) {
		t.Errorf("settings %s", settings)
	}
	if !strings.Contains(trust, `"/work/it's": "TRUST_FOLDER"`) || strings.Contains(settings+trust, secret) {
		t.Errorf("trusted folders %s", trust)
	}
}

func TestPlanSignIn(t *testing.T) {
	for name, want := range map[string]string{"GOOGLE_API_KEY": "vertex-ai", "OTHER": ""} {
		p := plan(t, runtime.Spec{Env: map[string]string{name: "x"}}, agentcli.Life{})
		if got := strings.Contains(string(p.Files[0].Data), `"selectedType": "`+want+`"`); got != (want != "") {
			t.Errorf("%s: %s", name, p.Files[0].Data)
		}
	}
}

func TestPlanPresets(t *testing.T) {
	for approval, mode := range map[string]string{
		"": "default", "standard": "default", "readonly": "plan", "permissive": "auto_edit", "autonomous": "yolo",
	} {
		if p := plan(t, runtime.Spec{Approval: approval}, agentcli.Life{}); !drivertest.HasArgs(p, "--approval-mode "+mode) {
			t.Errorf("%q: %q", approval, p.Args)
		}
	}
}

func TestPlanResume(t *testing.T) {
	if p := plan(t, runtime.Spec{}, agentcli.Life{Resume: "old", SessionID: "new"}); !drivertest.HasArgs(p, "--resume old") || p.SessionID != "old" {
		t.Errorf("plan %+v", p)
	}
}
