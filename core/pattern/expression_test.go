package pattern_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pattern"
)

func TestExpressions(t *testing.T) {
	input := `{"a":{"b c":[10,{"d":"x\"y"}],"q\"":7},"n":1.50,"u":"é","t":true,"z":null}`
	for _, tc := range []struct{ expression, want string }{
		{`$input.n`, `1.50`},
		{`$input.a["b c"][1].d`, `"x\"y"`},
		{`$input.a["q\""]`, `7`},
		{`$input`, `{"a":{"b c":[10,{"d":"x\"y"}],"q\"":7},"n":1.50,"u":"é","t":true,"z":null}`},
		{`${input.n}`, `1.50`},
		{`${ input.n }`, `1.50`},
		{`${$input.n}`, `1.50`},
		{`n=${input.n}, u=${input.u}${input.t}, z=${input.z}, d=${input.a["b c"][1].d}, l=${input.a["b c"]}`,
			`"n=1.50, u=étrue, z=null, d=x\"y, l=[10,{\"d\":\"x\\\"y\"}]"`},
		{`${input.a["}"]} x`, ``},
		{`plain`, `"plain"`},
		{``, `""`},
		{`$$input.n`, `"$input.n"`},
		{`$$${input.n}`, `"$1.50"`},
		{`a $${input.n}`, `"a ${input.n}"`},
		{`a $$ b $ c $x`, `"a $$ b $ c $x"`},
		{`{x}`, `"{x}"`},
		{`$merged.deep.list[0]`, `1`},
		{`$execution`, `{"agentCount":2,"duration":1500}`},
		{`$results[1].deep.list`, `[1]`},
		{`$input.missing`, ``},
		{`$input.u.x`, ``},
		{`$input.a["b c"][2]`, ``},
	} {
		source := flat("") + "output: {v: " + quoted(tc.expression) + "}\n"
		plan := mustParse(t, source)
		outcome, err := plan.Aggregate(0, answersOf(`{"deep":{"list":[0]}}`, `{"deep":{"list":[1]}}`))
		if err != nil {
			t.Fatal(err)
		}
		scope := core.Scope{Input: json.RawMessage(input), Last: &outcome, AgentCount: 2, Duration: 1500 * time.Millisecond}
		got, err := plan.Output(scope)
		if tc.want == "" {
			wantCode(t, err, core.CodeValidation)
			continue
		}
		if want := `{"v":` + tc.want + `}`; err != nil || string(got) != want {
			t.Errorf("%s\n got %s, %v\nwant %s", tc.expression, got, err, want)
		}
	}
}

// quoted writes text as a YAML scalar; JSON strings are YAML.
func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// TestVariablesAfterDecoding: an outcome that was stored as JSON and read back gives the same output.
func TestVariablesAfterDecoding(t *testing.T) {
	plan := mustParse(t, flat("aggregation: {strategy: voting}\noutput: {r: $vote.result, s: $vote.distribution.a}"))
	outcome, err := plan.Aggregate(0, answersOf(`"a"`, `"a"`, `"b"`))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(outcome)
	if err != nil {
		t.Fatal(err)
	}
	var back core.Outcome
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	for _, last := range []*core.Outcome{&outcome, &back} {
		if got, err := plan.Output(core.Scope{Last: last}); err != nil || string(got) != `{"r":"a","s":2}` {
			t.Errorf("got %s, %v", got, err)
		}
	}
}

func TestStepInput(t *testing.T) {
	plan := mustParse(t, `
name: p
version: 1.0.0
steps:
  - {id: one, agents: {}}
  - {id: two, agents: {}, input: {text: "${input.text}!", facts: $steps.one.result.facts, c: $steps.one.confidence, all: $steps.one.result}}
`)
	scope := core.Scope{
		Input: json.RawMessage(`{"text":"hi"}`),
		Steps: map[string]core.Outcome{"one": {Result: json.RawMessage(`{"facts":[1]}`), Confidence: 0.25}},
	}
	if got, err := plan.StepInput(0, scope); err != nil || string(got) != `{"text":"hi"}` {
		t.Errorf("step 0: %s, %v", got, err)
	}
	want := `{"text":"hi!","facts":[1],"c":0.25,"all":{"facts":[1]}}`
	if got, err := plan.StepInput(1, scope); err != nil || string(got) != want {
		t.Errorf("step 1: %s, %v", got, err)
	}
	scope.Steps["one"] = core.Outcome{}
	_, err := plan.StepInput(1, scope)
	e := wantCode(t, err, core.CodeValidation)
	if got := fmt.Sprint(e.Details["errors"]); got != "[steps[1].input.facts: $steps.one.result.facts has no value]" {
		t.Errorf("errors %s", got)
	}
	_, err = plan.StepInput(2, scope)
	wantCode(t, err, core.CodeInternal)
	_, err = plan.Aggregate(-1, nil)
	wantCode(t, err, core.CodeInternal)
}

func TestFallback(t *testing.T) {
	rule := "validation: {minConfidence: 0.9, onFailure: fallback, fallback: {label: unknown}}\naggregation: {strategy: voting}\n"
	answers := answersOf(`"a"`, `"b"`)
	for _, tc := range []struct{ output, want string }{
		{"", `{"label":"unknown"}`},
		{"output: {l: $vote.result}", `{"label":"unknown"}`},
		{"output: {n: $execution.agentCount}", `{"n":2}`},
	} {
		plan := mustParse(t, flat(rule+tc.output))
		folded, err := plan.Aggregate(0, answers)
		if err != nil {
			t.Fatal(err)
		}
		fallback := plan.Definition().Steps[0].Fallback
		kept := core.Outcome{Result: fallback, Confidence: folded.Confidence, Variables: folded.Variables}
		bare := core.Outcome{Result: fallback}
		for _, last := range []core.Outcome{kept, bare} {
			if got, err := plan.Output(core.Scope{Last: &last, AgentCount: 2}); err != nil || string(got) != tc.want {
				t.Errorf("%q gives %s, %v", tc.output, got, err)
			}
		}
	}
}

// FuzzExpression: whatever stands in an output, it is refused, or gives JSON, or names what is missing.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{`$vote.result`, `x ${vote.result} y`, `$$`, `$${a}`, `$input.a["b"][0]`, `${input["}"]}`, `$steps.a.result`, `$vote[`, "$input.\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plan, problems := pattern.Parse(flat("aggregation: {strategy: voting}\noutput: {v: " + quoted(text) + "}"))
		if plan == nil {
			if len(problems) == 0 {
				t.Fatal("refused without a reason")
			}
			return
		}
		outcome, err := plan.Aggregate(0, answersOf(`{"label":"a"}`, `{"label":"b"}`))
		if err != nil {
			t.Fatal(err)
		}
		out, err := plan.Output(core.Scope{Input: json.RawMessage(`{"a":{"b":[1]}}`), Last: &outcome})
		switch {
		case err != nil && core.ErrorCode(err) != core.CodeValidation:
			t.Fatal(err)
		case err == nil && !json.Valid(out):
			t.Fatalf("output is not JSON: %q", out)
		}
	})
}
