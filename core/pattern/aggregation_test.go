package pattern_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pattern"
)

// allAggregations is one definition tail per strategy and method.
var allAggregations = []string{
	"aggregation: {strategy: voting, method: majority}",
	"aggregation: {strategy: voting, method: plurality}",
	"aggregation: {strategy: voting, method: unanimous}",
	"aggregation: {strategy: voting, method: weighted}",
	"aggregation: {strategy: voting, method: weighted, weights: {agent_0: 5}}",
	"aggregation: {strategy: consensus}",
	"aggregation: {strategy: consensus, threshold: 0.5, minVotes: 2}",
	"aggregation: {strategy: consensus, fields: [label, n]}",
	"aggregation: {strategy: merge, method: deep}",
	"aggregation: {strategy: merge, method: shallow}",
	"aggregation: {strategy: merge, method: concat}",
	"aggregation: {strategy: merge, method: union}",
	"aggregation: {strategy: first}",
	"aggregation: {strategy: best}",
}

// anyJSON draws a JSON text, mostly small objects such as agents send.
func anyJSON() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var draw func(depth int) string
		draw = func(depth int) string {
			kind := rapid.IntRange(0, 7).Draw(t, "kind")
			if depth > 2 && kind > 4 {
				kind -= 4
			}
			switch kind {
			case 0:
				return "null"
			case 1:
				return rapid.SampledFrom([]string{"1", "1.0", "-2", "3e2", "0.25"}).Draw(t, "number")
			case 2, 3:
				return rapid.SampledFrom([]string{`"a"`, `"b"`, `"\u0061"`, `""`}).Draw(t, "string")
			case 4:
				return rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool")
			case 5:
				var items []string
				for range rapid.IntRange(0, 3).Draw(t, "items") {
					items = append(items, draw(depth+1))
				}
				return "[" + strings.Join(items, ", ") + "]"
			}
			var members []string
			for _, key := range []string{"label", "n", "confidence", "list", "reasoning"} {
				if rapid.Bool().Draw(t, key) {
					members = append(members, fmt.Sprintf("%q: %s", key, draw(depth+1)))
				}
			}
			return "{" + strings.Join(members, ",") + "}"
		}
		return draw(0)
	})
}

func TestAggregationInvariants(t *testing.T) {
	for _, tail := range allAggregations {
		t.Run(tail, func(t *testing.T) {
			plan := mustParse(t, flat(tail))
			rapid.Check(t, func(rt *rapid.T) {
				texts := rapid.SliceOfN(anyJSON(), 0, 20).Draw(rt, "answers")
				answers := make([]core.Answer, len(texts))
				for i, text := range texts {
					answers[i] = core.Answer{AgentID: fmt.Sprintf("agent_%d", i), Result: json.RawMessage(text)}
				}
				o, err := plan.Aggregate(0, answers)
				if err != nil {
					rt.Fatal(err)
				}
				if !(o.Confidence >= 0 && o.Confidence <= 1) {
					rt.Fatalf("confidence %v", o.Confidence)
				}
				if !json.Valid(o.Result) {
					rt.Fatalf("result %q", o.Result)
				}
				for name, v := range o.Variables {
					if raw, ok := v.(json.RawMessage); !ok || !json.Valid(raw) {
						rt.Fatalf("variable %s is %q", name, v)
					}
				}
				again, err := plan.Aggregate(0, answers)
				if err != nil || string(again.Result) != string(o.Result) || again.Confidence != o.Confidence {
					rt.Fatalf("%+v, then %+v, %v", o, again, err)
				}
			})
		})
	}
}

// TestMajorityIgnoresOrder: a majority, a consensus and unanimity do not depend on who answers first.
func TestMajorityIgnoresOrder(t *testing.T) {
	for _, tail := range []string{allAggregations[0], allAggregations[2], allAggregations[5]} {
		plan := mustParse(t, flat(tail))
		rapid.Check(t, func(rt *rapid.T) {
			texts := rapid.SliceOfN(rapid.SampledFrom([]string{`"a"`, `"b"`, `{"x":"a","confidence":0.5}`, `null`}), 1, 9).Draw(rt, "answers")
			shuffled := rapid.Permutation(texts).Draw(rt, "shuffled")
			one, err := plan.Aggregate(0, answersOf(texts...))
			if err != nil {
				rt.Fatal(err)
			}
			two, err := plan.Aggregate(0, answersOf(shuffled...))
			if err != nil {
				rt.Fatal(err)
			}
			if string(one.Result) != string(two.Result) || one.Confidence != two.Confidence {
				rt.Fatalf("%v gives %s %v, %v gives %s %v", texts, one.Result, one.Confidence, shuffled, two.Result, two.Confidence)
			}
		})
	}
}

// TestMajorityByCounting compares the winner with a count done the plain way.
func TestMajorityByCounting(t *testing.T) {
	plan := mustParse(t, flat(allAggregations[0]))
	rapid.Check(t, func(rt *rapid.T) {
		labels := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 40).Draw(rt, "labels")
		counts := map[string]int{}
		texts := make([]string, len(labels))
		for i, l := range labels {
			counts[l]++
			texts[i] = `{"label":"` + l + `"}`
		}
		want, share := "null", 0.0
		for l, n := range counts {
			if 2*n > len(labels) {
				want, share = `"`+l+`"`, float64(n)/float64(len(labels))
			}
		}
		o, err := plan.Aggregate(0, answersOf(texts...))
		if err != nil || string(o.Result) != want || math.Abs(o.Confidence-share) > 1e-9 {
			rt.Fatalf("%v gives %s %v, want %s %v", labels, o.Result, o.Confidence, want, share)
		}
	})
}

// TestUnionIsIdempotent: what was joined already adds nothing.
func TestUnionIsIdempotent(t *testing.T) {
	plan := mustParse(t, flat("aggregation: {strategy: merge, method: union}"))
	rapid.Check(t, func(rt *rapid.T) {
		texts := rapid.SliceOfN(anyJSON(), 1, 4).Draw(rt, "answers")
		once, err := plan.Aggregate(0, answersOf(texts...))
		if err != nil {
			rt.Fatal(err)
		}
		self, err := plan.Aggregate(0, answersOf(string(once.Result), string(once.Result)))
		if err != nil || string(self.Result) != string(once.Result) {
			rt.Fatalf("union of %s with itself is %s, %v", once.Result, self.Result, err)
		}
	})
}

func TestDamagedAnswers(t *testing.T) {
	plan := mustParse(t, flat("aggregation: {strategy: first}"))
	for in, want := range map[string]string{
		"":                            `null`,
		`{"a":1,"a":2}`:               `{"a":2}`,
		"{\"a\":\"x\xff\"}":           "{\"a\":\"x\ufffd\"}",
		" { \"a\" :\n[ 1 ] } ":        `{"a":[1]}`,
		`{"confidence":"high","a":1}`: `{"confidence":"high","a":1}`,
	} {
		o, err := plan.Aggregate(0, answersOf(in))
		if err != nil || string(o.Result) != want || o.Confidence != 1 {
			t.Errorf("%q gives %s %v, %v", in, o.Result, o.Confidence, err)
		}
	}
	_, err := plan.Aggregate(0, answersOf(`{"a":`))
	wantCode(t, err, core.CodeAgentError)
	for in, want := range map[string]float64{`{"confidence":-3}`: 0, `{"confidence":85}`: 1, `{"confidence":1e999}`: 1, `[1]`: 1} {
		if o, err := plan.Aggregate(0, answersOf(in)); err != nil || o.Confidence != want {
			t.Errorf("%s: confidence %v, %v", in, o.Confidence, err)
		}
	}
}

func TestNoAnswers(t *testing.T) {
	for _, tail := range allAggregations {
		plan := mustParse(t, flat(tail))
		o, err := plan.Aggregate(0, nil)
		if err != nil || o.Confidence != 0 {
			t.Errorf("%s: %+v, %v", tail, o, err)
		}
		if out, err := plan.Output(core.Scope{Last: &o}); err != nil || !json.Valid(out) {
			t.Errorf("%s: %s, %v", tail, out, err)
		}
	}
}

func TestComposedStepOutcome(t *testing.T) {
	plan := mustParse(t, "name: p\nversion: '1'\nsteps: [{id: a, pattern: other@1.x}]")
	o, err := plan.Aggregate(0, answersOf(`{"result":"x","confidence":0.5}`))
	if err != nil || string(o.Result) != `{"result":"x","confidence":0.5}` || o.Confidence != 0.5 {
		t.Errorf("outcome %+v, %v", o, err)
	}
	if out, err := plan.Output(core.Scope{Last: &core.Outcome{Result: json.RawMessage(`7`)}}); err != nil || string(out) != "7" {
		t.Errorf("output %s, %v", out, err)
	}
	if c := plan.Definition().Steps[0].Compose; c == nil || c.Name != "other" || c.Range != "1.x" {
		t.Errorf("composition %+v", c)
	}
}

const benchDefinition = `
name: bench
version: 1.0.0
input: {text: {type: string, required: true, maxLength: 5000}, language: {type: string, default: en}}
agents: {capabilities: [classification], min: 3}
aggregation: {strategy: voting, method: majority}
output: {label: $vote.result, confidence: $vote.confidence}
`

var benchAnswers = answersOf(`{"label":"positive","confidence":0.9}`, `{"label":"positive","confidence":0.8}`, `{"label":"negative","confidence":0.7}`)

func BenchmarkCheckInput(b *testing.B) {
	plan := mustParse(b, benchDefinition)
	input := json.RawMessage(`{"text":"the weather is lovely and the food was great","language":"en"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := plan.CheckInput(input); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAggregate(b *testing.B) {
	for _, tail := range allAggregations {
		plan := mustParse(b, flat(tail))
		name := strings.NewReplacer("aggregation: ", "", " ", "", "strategy:", "", "method:", "").Replace(tail)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := plan.Aggregate(0, benchAnswers); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOutput(b *testing.B) {
	plan := mustParse(b, benchDefinition)
	outcome, err := plan.Aggregate(0, benchAnswers)
	if err != nil {
		b.Fatal(err)
	}
	scope := core.Scope{Input: json.RawMessage(`{"text":"x"}`), Last: &outcome, AgentCount: 3}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := plan.Output(scope); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	f := newFixture(b, pattern.Options{})
	f.create("p", "1.0.0")
	f.create("p", "1.1.0")
	for _, version := range []string{"", "1.0.0", "1.x"} {
		b.Run("version="+version, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := f.Resolve(b.Context(), "p", version); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		mustParse(b, benchDefinition)
	}
}
