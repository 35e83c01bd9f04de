package codex_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

func started(t *testing.T, adapter agentcli.Adapter, env map[string]string) *drivertest.Agent {
	t.Helper()
	a := drivertest.Start(t, adapter, env)
	a.Wait(agentcli.SignalIdle)
	return a
}

// TestRealUsage wants tokens, requests and the model of each turn, and those of no other.
func TestRealUsage(t *testing.T) {
	drivertest.CLI(t, "codex")
	t.Parallel()
	a := started(t, codex.New(), modelEnv(drivertest.StartModel(t).URL))
	for message, requests := range map[string]int64{"one": 1, "USE_TOOL[true] two": 2, "USE_TOOLS[3] four": 4} {
		a.Send(message)
		u := a.Turn().Usage
		if u == nil || u.Requests != requests || u.InputTokens <= 0 || u.OutputTokens <= 0 || u.Model == "" || u.CostUSD != nil {
			t.Errorf("%q used %+v", message, u)
		}
	}
	a.Send("FAIL[400] nothing")
	if u := a.Turn().Usage; u != nil {
		t.Errorf("a turn without an answer used %+v", u)
	}
}

// TestRealText wants what the agent says before the turn is over, once and in order.
func TestRealText(t *testing.T) {
	drivertest.CLI(t, "codex")
	t.Parallel()
	a := started(t, codex.New(), modelEnv(drivertest.StartModel(t).URL))
	for _, message := range []string{"one", "SAY[two]", "LONG[500] three", "one"} {
		a.Send(message)
		said := a.Wait(agentcli.SignalText, agentcli.SignalTurnEnd)
		end := a.Turn()
		if said.Kind != agentcli.SignalText || said.Text != end.Text || end.Text == "" {
			t.Errorf("%q: said %.100q, answered %.100q", message, said.Text, end.Text)
		}
	}
	if n := a.Count(agentcli.SignalText); n != 4 {
		t.Errorf("it said %d things in 4 turns\n%s", n, a.History())
	}
}

// TestRealNoHooks takes the hooks away: the transcript is the second witness, and without both nobody knows.
func TestRealNoHooks(t *testing.T) {
	drivertest.CLI(t, "codex")
	t.Parallel()
	env := modelEnv(drivertest.StartModel(t).URL)
	t.Run("Later", func(t *testing.T) {
		a := started(t, codex.New(), env)
		a.Send("before")
		a.Turn()
		socket, err := os.ReadFile(filepath.Join(filepath.Dir(a.Room.Home), "socket"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(string(socket)); err != nil {
			t.Fatal(err)
		}
		for _, message := range []string{"without hooks", "SAY[again]"} {
			a.Submit(message)
			want := strings.TrimSuffix(strings.TrimPrefix(message, "SAY["), "]")
			if end := a.Turn(); !strings.Contains(end.Text, want) || end.Error != nil || end.Usage == nil {
				t.Errorf("turn ended with %+v", end)
			}
		}
		a.Submit("FAIL[400]")
		if end := a.Turn(); end.Error == nil || end.Error.Code != wire.TurnModelError {
			t.Errorf("turn ended with %+v", end)
		}
	})
	t.Run("Never", func(t *testing.T) {
		a := started(t, unhooked{codex.New()}, env)
		a.Submit("hello")
		if end := a.Turn(); end.Error == nil || end.Error.Code != wire.TurnUnknown || end.Text != "" {
			t.Errorf("turn ended with %+v", end)
		}
	})
}

// unhooked is an adapter whose hooks call a program that is not there.
type unhooked struct{ agentcli.Adapter }

func (u unhooked) Plan(spec *runtime.Spec, room agentcli.Room, life agentcli.Life) (agentcli.Plan, error) {
	room.Hook = []string{"/nonexistent/hook"}
	return u.Adapter.Plan(spec, room, life)
}

// TestRealNoModel is about a model that is not there, which codex by itself would wait for.
func TestRealNoModel(t *testing.T) {
	drivertest.CLI(t, "codex")
	t.Parallel()
	a := started(t, codex.NewImpatient(2*time.Second), modelEnv("http://127.0.0.1:1"))
	a.Send("hello")
	if end := a.Turn(); end.Error == nil || end.Error.Code != wire.TurnModelUnavailable || !end.Error.Retryable || end.Text != "" {
		t.Errorf("turn ended with %+v", end)
	}
}

// TestRealNoKey is about a provider of the operator's whose key is not in the environment.
func TestRealNoKey(t *testing.T) {
	drivertest.CLI(t, "codex")
	t.Parallel()
	a := started(t, keyless{codex.New()}, nil)
	a.Submit("hello")
	if end := a.Turn(); end.Error == nil || end.Error.Code != wire.TurnLoginRequired || end.Text != "" {
		t.Errorf("turn ended with %+v, error %+v\n%s", end, end.Error, a.Screen())
	}
	a.Wait(agentcli.SignalLogin)
}

type keyless struct{ agentcli.Adapter }

func (k keyless) Plan(spec *runtime.Spec, room agentcli.Room, life agentcli.Life) (agentcli.Plan, error) {
	p, err := k.Adapter.Plan(spec, room, life)
	p.Args = append(p.Args, "-c", `model_provider="own"`, "-c",
		`model_providers.own={name="own",base_url="http://127.0.0.1:1/v1",wire_api="responses",env_key="A_KEY_THAT_IS_NOT_THERE"}`)
	return p, err
}

// TestRealDialogs opens what no hook tells of: it stands where a message would be typed.
func TestRealDialogs(t *testing.T) {
	drivertest.CLI(t, "codex")
	t.Parallel()
	a := started(t, codex.New(), modelEnv(drivertest.StartModel(t).URL))
	a.Send("hello")
	a.Turn()
	a.Keys("/model")
	a.WaitScreen("choose what model")
	a.Keys("\r")
	p := a.Wait(agentcli.SignalBlocked).Prompt
	if p == nil || len(p.Options) < 2 || !strings.Contains(p.Text, "Select Model") || strings.Contains(p.Text, "hello") ||
		!strings.Contains(p.Options[0].Label, "GPT") {
		t.Fatalf("blocked with %+v", p)
	}
	if err := a.Answer(runtime.Answer{Choice: "99"}); runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
		t.Errorf("a choice that is not there: %v", err)
	}
	a.MustAnswer(runtime.Answer{Choice: p.Options[1].ID})
	a.Wait(agentcli.SignalUnblocked)
	a.Wait(agentcli.SignalBlocked) // the second page of it
	a.Keys("\x1b")
	a.Wait(agentcli.SignalUnblocked)
	for a.Count(agentcli.SignalBlocked) > a.Count(agentcli.SignalUnblocked) {
		a.Keys("\x1b")
		a.Wait(agentcli.SignalUnblocked)
	}
	a.Type([]agentcli.Step{{Write: []byte("\x1b"), Wait: draftPause}})

	a.Keys("\x14") // the transcript
	if p := a.Wait(agentcli.SignalBlocked).Prompt; p == nil || p.Text == "" {
		t.Errorf("blocked with %+v", p)
	}
	a.Keys("q")
	a.Wait(agentcli.SignalUnblocked)
	a.Send("still there")
	if end := a.Turn(); end.Text != "ANSWER[still there]" {
		t.Errorf("turn ended with %+v", end)
	}
}

// draftPause is how long a person's keys come before a message; the session waits for two seconds.
const draftPause = 400 * time.Millisecond
