package drivertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// RunStates runs what needs a start of its own: presets, failures of the model, and a missing login.
func (s Suite) RunStates(t *testing.T) {
	CLI(t, s.New().Type())
	t.Parallel()
	model := StartModel(t)
	env := s.Env(model.URL)
	parallel(t, "Autonomous", func(t *testing.T) {
		a := StartSpec(t, s.New(), runtime.Spec{Env: env, Approval: "autonomous"})
		a.Wait(agentcli.SignalIdle)
		file := filepath.Join(a.Room.Workdir, "made")
		a.Send("USE_TOOL[touch " + file + "] please")
		if end := a.Turn(); !strings.Contains(end.Text, "TOOL_RESULT") {
			t.Errorf("turn ended with %q", end.Text)
		}
		if _, err := os.Stat(file); err != nil || a.Count(agentcli.SignalBlocked) > 0 {
			t.Errorf("%v\n%s", err, a.History())
		}
	})
	parallel(t, "Readonly", func(t *testing.T) {
		a := StartSpec(t, s.New(), runtime.Spec{Env: env, Approval: "readonly"})
		a.Wait(agentcli.SignalIdle)
		file := filepath.Join(a.Room.Workdir, "made")
		a.Send("USE_TOOL[touch " + file + "] please")
		a.Turn()
		if _, err := os.Stat(file); err == nil || a.Count(agentcli.SignalBlocked) > 0 {
			t.Errorf("file: %v\n%s", err, a.History())
		}
	})
	parallel(t, "Failure", func(t *testing.T) {
		a := s.start(t, env)
		a.Send("FAIL[400] now")
		if end := a.Turn(); end.Error == nil || end.Error.Code != wire.TurnModelError || end.Error.Retryable {
			t.Errorf("turn ended with %+v, error %+v", end, end.Error)
		}
		a.Send("and again")
		if end := a.Turn(); end.Text != "ANSWER[and again]" || end.Error != nil {
			t.Errorf("turn ended with %q, error %+v", end.Text, end.Error)
		}
	})
	parallel(t, "Login", func(t *testing.T) {
		a := Start(t, s.New(), s.LoginEnv)
		seen := a.Wait(agentcli.SignalLogin, agentcli.SignalIdle)
		if seen.Kind != agentcli.SignalLogin {
			t.Fatalf("it is %s without a login\n%s", seen.Kind, a.Screen())
		}
		for s.LoginURL != "" && seen.URL == "" {
			seen = a.Wait(agentcli.SignalLogin)
		}
		if !strings.HasPrefix(seen.URL, s.LoginURL) || strings.ContainsAny(seen.URL, " \n") {
			t.Errorf("the address is %q", seen.URL)
		}
	})
}
