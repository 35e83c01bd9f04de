package pattern_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pattern"
)

// mustParse parses a definition that is expected to be good.
func mustParse(tb testing.TB, source string) core.Plan {
	tb.Helper()
	plan, problems := pattern.Parse(source)
	if len(problems) > 0 {
		tb.Fatalf("Parse: %v", problems)
	}
	return plan
}

// answersOf makes answers of agents agent_0, agent_1, ... from JSON texts.
func answersOf(texts ...string) []core.Answer {
	answers := make([]core.Answer, len(texts))
	for i, text := range texts {
		answers[i] = core.Answer{AgentID: "agent_" + string(rune('0'+i)), Name: "name-" + string(rune('0'+i)), Result: json.RawMessage(text)}
	}
	return answers
}

// run aggregates the answers of a one-step plan and returns its output.
func run(tb testing.TB, plan core.Plan, input string, answers ...string) string {
	tb.Helper()
	outcome, err := plan.Aggregate(0, answersOf(answers...))
	if err != nil {
		tb.Fatalf("Aggregate: %v", err)
	}
	out, err := plan.Output(core.Scope{
		Input: json.RawMessage(input), Last: &outcome, AgentCount: len(answers), Duration: 1500 * time.Millisecond,
	})
	if err != nil {
		tb.Fatalf("Output: %v", err)
	}
	if !json.Valid(out) {
		tb.Fatalf("Output is not JSON: %s", out)
	}
	return string(out)
}

// flat returns a definition of one step with the given tail.
func flat(tail string) string {
	return "name: p\nversion: 1.0.0\nagents: {capabilities: [c], min: 3}\n" + tail
}

func TestOutput(t *testing.T) {
	for _, tc := range []struct {
		name, tail string
		answers    []string
		want       string
	}{
		{"vote by default output", "aggregation: {strategy: voting}",
			[]string{`{"label":"a","confidence":0.9}`, `{"label":"b","confidence":0.5}`, `{"label":"a","confidence":0.9}`},
			`{"result":"a","confidence":0.6}`},
		{"vote members", "aggregation: {strategy: voting, method: plurality}\noutput: {all: $vote}",
			[]string{`1`, `"1"`, `1.0`},
			`{"all":{"result":1,"confidence":0.666666666667,"distribution":{"1":2,"\"1\"":1},"unanimous":false}}`},
		{"no majority", "aggregation: {strategy: voting}", []string{`"a"`, `"b"`}, `{"result":null,"confidence":0}`},
		{"plurality tie by confidence", "aggregation: {strategy: voting, method: plurality}",
			[]string{`{"x":"a","confidence":0.4}`, `{"x":"b","confidence":0.5}`}, `{"result":"b","confidence":0.25}`},
		{"plurality tie by order", "aggregation: {strategy: voting, method: plurality}", []string{`"b"`, `"a"`}, `{"result":"b","confidence":0.5}`},
		{"unanimous", "aggregation: {strategy: voting, method: unanimous}", []string{`"a"`, `"a"`}, `{"result":"a","confidence":1}`},
		{"not unanimous", "aggregation: {strategy: voting, method: unanimous}", []string{`"a"`, `null`}, `{"result":null,"confidence":0}`},
		{"weighted by confidence", "aggregation: {strategy: voting, method: weighted}",
			[]string{`{"x":"a","confidence":0.2}`, `{"x":"a","confidence":0.2}`, `{"x":"b","confidence":0.6}`}, `{"result":"b","confidence":0.36}`},
		{"weighted by agent", "aggregation: {strategy: voting, method: weighted, weights: {agent_0: 3, '*': 1}}",
			[]string{`"a"`, `"b"`, `"b"`}, `{"result":"a","confidence":0.6}`},
		{"weighted by name", "aggregation: {strategy: voting, method: weighted, weights: {name-0: 3}}",
			[]string{`"a"`, `"b"`, `"b"`}, `{"result":"a","confidence":0.6}`},
		{"vote on a field", "aggregation: {strategy: voting, field: 'out.tags[0]'}",
			[]string{`{"out":{"tags":["x","y"]},"n":1}`, `{"out":{"tags":["x"]},"n":2}`, `{"n":3}`}, `{"result":"x","confidence":0.666666666667}`},
		{"vote on several fields", "aggregation: {strategy: voting}",
			[]string{`{"a":1,"b":2,"reasoning":"r"}`, `{"b":2,"a":1.0}`, `{"a":2,"b":2}`}, `{"result":{"a":1,"b":2},"confidence":0.666666666667}`},
		{"consensus", "aggregation: {strategy: consensus, threshold: 0.6}\noutput: {r: $consensus.result, a: $consensus.agreement}",
			[]string{`"a"`, `"a"`, `"b"`}, `{"r":"a","a":0.666666666667}`},
		{"no consensus", "aggregation: {strategy: consensus, threshold: 0.7}\noutput: $consensus",
			[]string{`"a"`, `"a"`, `"b"`}, `{"result":null,"confidence":0,"agreement":0.666666666667}`},
		{"consensus quorum", "aggregation: {strategy: consensus, minVotes: 3}", []string{`"a"`, `"a"`, `null`}, `{"result":null,"confidence":0}`},
		{"consensus by field", "aggregation: {strategy: consensus, fields: [x, y]}\noutput: {x: $consensus.result.x.value, y: $consensus.result.y, a: $consensus.agreement}",
			[]string{`{"x":1,"y":1}`, `{"x":1,"y":2}`, `{"x":1,"y":3}`},
			`{"x":1,"y":{"value":null,"agreement":0.333333333333,"confidence":0},"a":0.333333333333}`},
		{"merge deep", "", []string{`{"a":{"x":1,"l":[1]},"n":1}`, `{"a":{"y":2,"l":[2]},"n":2}`}, `{"a":{"x":1,"l":[2],"y":2},"n":2}`},
		{"merge shallow", "aggregation: {strategy: merge, method: shallow}", []string{`{"a":{"x":1},"n":1}`, `{"a":{"y":2}}`}, `{"a":{"y":2},"n":1}`},
		{"merge concat", "aggregation: {strategy: merge, method: concat}", []string{`{"l":[1,2]}`, `{"l":[2,3],"m":[1]}`}, `{"l":[1,2,2,3],"m":[1]}`},
		{"merge union", "aggregation: {strategy: merge, method: union}", []string{`{"l":[1,2,1]}`, `{"l":[2.0,{"a":1,"b":2}],"m":{"k":[1]}}`, `{"l":[{"b":2,"a":1}],"m":{"k":[1]}}`},
			`{"l":[1,2,{"a":1,"b":2}],"m":{"k":[1]}}`},
		{"merge lists", "aggregation: {strategy: merge, method: concat}", []string{`[1]`, `[ 2 ]`}, `[1,2]`},
		{"first", "aggregation: {strategy: first}\noutput: {r: $first.a, c: $first.confidence}", []string{`{"a":1,"confidence":0.5}`, `{"a":2}`}, `{"r":1,"c":0.5}`},
		{"best", "aggregation: {strategy: best}", []string{`{"a":1,"confidence":0.5}`, `{"a":2,"confidence":0.75}`}, `{"a":2,"confidence":0.75}`},
		{"best by field", "aggregation: {strategy: best, field: score}", []string{`{"score":1}`, `{"score":"high"}`, `{"score":7}`, `{"score":7,"late":true}`}, `{"score":7}`},
		{"results, templates, literals", "aggregation: {strategy: first}\noutput: {all: $results, two: '$results[1].a', text: 'from ${input.who}: ${first.a}, $5', price: $$5, n: 3, l: [$execution.agentCount, $execution.duration, x]}",
			[]string{`{"a":"é"}`, `{"a": [ 1 ]}`},
			`{"all":[{"a":"é"},{"a":[1]}],"two":[1],"text":"from me: é, $5","price":"$5","n":3,"l":[2,1500,"x"]}`},
		{"typed template", "aggregation: {strategy: first}\noutput: '${first.n}'", []string{`{"n":10000000000000000000001}`}, `10000000000000000000001`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, mustParse(t, flat(tc.tail)), `{"who":"me"}`, tc.answers...)
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestOutputUnresolved(t *testing.T) {
	plan := mustParse(t, flat("aggregation: {strategy: first}\noutput: {a: $first.a.b, t: 'x ${input.missing}'}"))
	outcome, err := plan.Aggregate(0, answersOf(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = plan.Output(core.Scope{Input: json.RawMessage(`{}`), Last: &outcome})
	e := core.AsError(err)
	if e == nil || e.Code != core.CodeValidation {
		t.Fatalf("err = %v, want VALIDATION_ERROR", err)
	}
	problems, _ := e.Details["errors"].([]core.Problem)
	if len(problems) != 2 || problems[0].Path != "output.a" || !strings.Contains(problems[0].Reason, "$first.a.b") ||
		problems[1].Path != "output.t" || !strings.Contains(problems[1].Reason, "$input.missing") {
		t.Errorf("problems = %v", problems)
	}
}
