package drivertest

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// PlanRoom is a room that does not exist: every command is in it, and no file. Its folders have what has to be quoted.
func PlanRoom() agentcli.Room {
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

// Plan returns an adapter's plan for PlanRoom.
func Plan(t *testing.T, adapter agentcli.Adapter, spec runtime.Spec, life agentcli.Life) agentcli.Plan {
	t.Helper()
	p, err := adapter.Plan(&spec, PlanRoom(), life)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// HasArgs reports whether an argument, or some that follow one another, are in a plan.
func HasArgs(p agentcli.Plan, words string) bool {
	return strings.Contains(" "+strings.Join(p.Args, " ")+" ", " "+words+" ")
}

// PlanErrors tests what each adapter refuses to plan: a preset that is none, a command that is missing, and a gateway, by the
// variable that names its address, without a credential for it.
func PlanErrors(t *testing.T, adapter agentcli.Adapter, baseURL string) {
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
			r := PlanRoom()
			if tt.room != nil {
				tt.room(&r)
			}
			_, err := adapter.Plan(&tt.spec, r, agentcli.Life{})
			e := runtime.AsError(err)
			if e == nil || e.Code != tt.code || e.Field != tt.field || e.Code != runtime.CodeInvalidSpec && e.Hint == "" {
				t.Errorf("error %+v", e)
			}
		})
	}
}
