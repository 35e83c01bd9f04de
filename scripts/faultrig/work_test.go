package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pattern"
	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

func TestDigestSeesTheValueOnly(t *testing.T) {
	a, b := json.RawMessage(`{"text":"x", "delay":1}`), json.RawMessage(`{"delay":1,"text":"x"}`)
	if digest(a) != digest(b) || digest(a) == digest(json.RawMessage(`{"delay":2,"text":"x"}`)) {
		t.Fatal("digest")
	}
	if proof.Canonical(answer(a, "one")) == proof.Canonical(answer(a, "two")) {
		t.Fatal("answers do not name their agent")
	}
}

// The patterns, played with the agents' answers, come to what the rig expects of the product.
func TestExpect(t *testing.T) {
	plans := map[string]core.Plan{}
	for _, w := range workloads {
		plans[w.name] = parse(t, w.source)
	}
	made := madePrefix + "x"
	plans[made] = parse(t, madeSource(made))
	for name, plan := range plans {
		for _, in := range []taskInput{{"hello", 3, false}, {"", 0, true}} {
			got := play(t, plans, plan, in.raw())
			if want := expect(name, in.raw()); proof.Canonical(got) != proof.Canonical(want) {
				t.Errorf("%s: played %s, expected %s", name, got, want)
			}
		}
	}
	if expect("rig-vote", json.RawMessage(`"no input of the rig"`)) != nil {
		t.Error("expected something of an input that is none")
	}
}

func parse(t *testing.T, source string) core.Plan {
	t.Helper()
	plan, problems := pattern.Parse(source)
	if len(problems) > 0 {
		t.Fatalf("problems: %v in\n%s", problems, source)
	}
	return plan
}

// play runs a plan on agents that answer as those of the rig do.
func play(t *testing.T, plans map[string]core.Plan, plan core.Plan, input json.RawMessage) json.RawMessage {
	t.Helper()
	scope := core.Scope{Input: input, Steps: map[string]core.Outcome{}}
	steps := plan.Definition().Steps
	for i := range steps {
		in, err := plan.StepInput(i, scope)
		if err != nil {
			t.Fatal(err)
		}
		var outcome core.Outcome
		if c := steps[i].Compose; c != nil {
			outcome = core.Outcome{Result: play(t, plans, plans[c.Name], in), Confidence: 1}
		} else {
			var answers []core.Answer
			for n := range steps[i].Min {
				name := fmt.Sprintf("agent-%d", n)
				answers = append(answers, core.Answer{AgentID: name, Result: answer(in, name)})
			}
			if outcome, err = plan.Aggregate(i, answers); err != nil {
				t.Fatal(err)
			}
		}
		scope.Steps[steps[i].ID], scope.Last = outcome, &outcome
	}
	result, err := plan.Output(scope)
	if err != nil {
		t.Fatal(err)
	}
	return result
}
