package gemini_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// secret must not be in a plan, which is stored.
const secret = "sk-secret-0123456789-abcdefghijklmnop"

func room() agentcli.Room {
	return agentcli.Room{
		Home: "/home/a", Workdir: "/work/it's", Env: []string{"PATH=/bin"}, Hook: []string{"/opt/hook it", "sock"},
		LookPath: func(name string) (string, error) {
			if strings.Contains(name, "/") {
				return "", fs.ErrNotExist
			}
			return "/usr/bin/" + name, nil
		},
		ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
	}
}

func plan(t *testing.T, spec runtime.Spec, life agentcli.Life) agentcli.Plan {
	t.Helper()
	p, err := gemini.New().Plan(&spec, room(), life)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// has tells whether an argument, or two that follow one another, are in a plan.
func has(p agentcli.Plan, words string) bool {
	return strings.Contains(" "+strings.Join(p.Args, " ")+" ", " "+words+" ")
}

func TestPlanErrors(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spec  runtime.Spec
		room  func(*agentcli.Room)
		code  runtime.Code
		field string
	}{
		{"Approval", runtime.Spec{Approval: "yolo"}, nil, runtime.CodeInvalidSpec, "approval"},
		{"Missing", runtime.Spec{}, func(r *agentcli.Room) {
			r.LookPath = func(string) (string, error) { return "", fs.ErrNotExist }
		}, runtime.CodeCLINotFound, ""},
		{"Gateway", runtime.Spec{Env: map[string]string{baseURL: "http://gateway"}}, nil, runtime.CodeAuthRequired, "env"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := room()
			if tt.room != nil {
				tt.room(&r)
			}
			_, err := gemini.New().Plan(&tt.spec, r, agentcli.Life{})
			e := runtime.AsError(err)
			if e == nil || e.Code != tt.code || e.Field != tt.field || e.Code != runtime.CodeInvalidSpec && e.Hint == "" {
				t.Errorf("error %+v", e)
			}
		})
	}
}

const baseURL = "GOOGLE_GEMINI_BASE_URL"

func TestPlan(t *testing.T) {
	p := plan(t, runtime.Spec{Env: map[string]string{"GEMINI_API_KEY": secret}}, agentcli.Life{SessionID: "uuid"})
	if p.Path != "/usr/bin/gemini" || p.SessionID != "" || !has(p, "--session-id uuid") {
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
		if p := plan(t, runtime.Spec{Approval: approval}, agentcli.Life{}); !has(p, "--approval-mode "+mode) {
			t.Errorf("%q: %q", approval, p.Args)
		}
	}
}

func TestPlanResume(t *testing.T) {
	if p := plan(t, runtime.Spec{}, agentcli.Life{Resume: "old", SessionID: "new"}); !has(p, "--resume old") || p.SessionID != "old" {
		t.Errorf("plan %+v", p)
	}
}
