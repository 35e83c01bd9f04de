package codex_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
)

// A plan is the answer of a turn in plan mode, by itself or behind what was said last.
func TestPlanAnswers(t *testing.T) {
	const (
		plan = `{"type":"event_msg","payload":{"type":"item_completed","turn_id":"$","item":{"type":"Plan","text":"# Plan\n"}}}` + "\n"
		null = `{"type":"event_msg","payload":{"type":"task_complete","turn_id":"$","last_agent_message":null}}` + "\n"
	)
	for entries, want := range map[string]string{
		plan + null:                  "text[# Plan] turn_end[# Plan]",
		said("so far") + plan + null: "text[so far] text[# Plan] turn_end[# Plan]",
		plan + said("the answer") + doneEntry + "\n": "text[# Plan] text[the answer] turn_end[the answer\n\n# Plan]",
		null: "turn_end(TURN_UNKNOWN)",
	} {
		r := readyRig(t)
		r.taken("1")
		r.files["/t.jsonl"] = turn("1", entries)
		r.state("done")
		r.Pass(time.Second)
		r.want(want)
	}
}

func TestRealPlan(t *testing.T) {
	drivertest.CLI(t, "codex")
	t.Parallel()
	a := started(t, codex.New(), modelEnv(drivertest.StartModel(t).URL))
	a.Keys("\x1b[Z") // Shift-Tab
	a.WaitScreen("for Plan mode.")
	a.Send("SAY[<proposed_plan>\n# The plan\n\n- to do it\n</proposed_plan>]")
	if end := a.Turn(); end.Error != nil || !strings.HasPrefix(end.Text, "# The plan") || !strings.HasSuffix(end.Text, "to do it") {
		t.Errorf("turn ended with %+v, error %+v\n%s", end.Signal, end.Error, a.Screen())
	}
	if p := a.Wait(agentcli.SignalBlocked).Prompt; len(p.Options) < 2 || !strings.Contains(p.Text, "Implement this plan?") {
		t.Errorf("blocked with %+v", p)
	}
}
