package gemini_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
	"github.com/wardroom/wardroom/sdk/wire"
)

// A prompt that the provider blocks has no answer, and would have none the next time: the turn is MODEL_ERROR, with a reason.
func TestRealBlocked(t *testing.T) {
	drivertest.CLI(t, "gemini")
	t.Parallel()
	blocked := func(why string) []reply {
		return slices.Repeat([]reply{{`{"promptFeedback":{"blockReason":"` + why + `"},"usageMetadata":{"promptTokenCount":10,"totalTokenCount":10}}`}}, 20)
	}
	env := scripted(t, map[string][]reply{
		"safety": blocked("SAFETY"), "prohibited": blocked("PROHIBITED_CONTENT"), "stopped": slices.Repeat([]reply{{chunk("SAFETY")}}, 20), "half": slices.Repeat([]reply{{chunk("", `{"text":"half an answer"}`)}}, 20),
	})
	a := drivertest.Start(t, gemini.New(), env)
	a.Wait(agentcli.SignalIdle)
	for _, name := range []string{"safety", "prohibited", "stopped"} {
		a.Send("PLAY[" + name + "] please")
		end := a.Turn()
		t.Logf("%s: %+v", name, end.Error)
		if e := end.Error; e == nil || e.Code != wire.TurnModelError || e.Retryable || !strings.Contains(e.Message, "blocked") {
			t.Errorf("%s: turn ended with %+v, error %+v\n%s", name, end.Signal, end.Error, a.Screen())
		}
	}
	a.Send("PLAY[half] please")
	if end := a.Turn(); end.Error == nil || end.Error.Code != wire.TurnModelCut || !end.Error.Retryable {
		t.Errorf("turn ended with %+v, error %+v\n%s\n%s", end.Signal, end.Error, a.History(), a.Screen())
	}
}
