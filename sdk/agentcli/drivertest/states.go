package drivertest

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

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

// RunLatency measures from what the CLI knows to the signal: the end of an answer's stream for the end of a
// turn, and the tool call's for a prompt. Limit bounds the slowest of n turns, all of the CLI's own time included.
func (s Suite) RunLatency(t *testing.T, n int, limit time.Duration) {
	CLI(t, s.New().Type())
	model := StartModel(t)
	a := s.start(t, s.Env(model.URL))
	var ends, asks []time.Duration
	for range n {
		a.Send("a short one")
		end := a.Turn()
		ends = append(ends, end.At.Sub(model.Answered(t)))
		a.Send(s.Tool(filepath.Join(a.Room.Workdir, "f")))
		blocked := a.Wait(agentcli.SignalBlocked)
		asks = append(asks, blocked.At.Sub(model.Answered(t)))
		a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceAllow})
		a.Turn()
	}
	for name, d := range map[string][]time.Duration{"turn end": ends, "blocked": asks} {
		sort.Slice(d, func(i, j int) bool { return d[i] < d[j] })
		t.Logf("%s after the model's last byte: p50 %v, max %v of %d", name, d[len(d)/2], d[len(d)-1], len(d))
		if d[len(d)/2] > limit {
			t.Errorf("%s: the median %v is over %v", name, d[len(d)/2], limit)
		}
	}
}
