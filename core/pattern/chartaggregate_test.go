package pattern_test

import (
	"fmt"
	"testing"
)

func TestChartAggregate(t *testing.T) {
	for _, tc := range []struct {
		name, method, list, want string
		confidence               float64
	}{
		{"the largest group", "consensus", `["a","b","a",{"answer":"a","confidence":0.4}]`, `"a"`, 0.6},
		{"without a majority", "consensus", `["a","b","a","c","d"]`, `"a"`, 0.4},
		{"of a tie the surer one", "consensus", `[{"v":"a","confidence":0.5},{"v":"b","confidence":0.9}]`, `"b"`, 0.45},
		{"of a tie the first one", "consensus", `["b","a"]`, `"b"`, 0.5},
		{"like objects", "consensus", `[{"x":1,"y":2},{"y":2.0,"x":1,"reasoning":"because"}]`, `{"x":1,"y":2}`, 1},
		{"like objects the other way round", "consensus", `[{"y":2.0,"x":1,"reasoning":"because"},{"x":1,"y":2}]`, `{"x":1,"y":2}`, 1},
		{"abstentions count", "consensus", `["a",null,{"confidence":1},"a"]`, `"a"`, 0.5},
		{"nothing", "consensus", `[]`, `null`, 0},
		{"only abstentions", "consensus", `[null,null]`, `null`, 0},

		{"more than half", "majority", `["a","b","a"]`, `"a"`, 0.666666666667},
		{"half is not enough", "majority", `["a","b"]`, `null`, 0},
		{"abstentions count", "majority", `["a",null,"a",null]`, `null`, 0},

		{"objects", "merge", `[{"a":1,"l":[1],"o":{"x":1}},{"a":2,"l":[2,1],"o":{"y":[3]}}]`, `{"a":2,"l":[1,2,1],"o":{"x":1,"y":[3]}}`, 1},
		{"lists", "merge", `[[1,2],["a"]]`, `[1,2,"a"]`, 1},
		{"unlike values", "merge", `[{"a":1},"text"]`, `"text"`, 1},
		{"confidences", "merge", `[{"confidence":0.5},{"confidence":1}]`, `{"confidence":1}`, 0.75},
		{"nothing", "merge", `[]`, `null`, 0},

		{"the surest", "best", `[{"v":1,"confidence":0.2},{"v":2,"confidence":0.8}]`, `{"v":2,"confidence":0.8}`, 0.8},
		{"the first of equals", "best", `["a","b"]`, `"a"`, 1},
		{"nothing", "best", `[]`, `null`, 0},
	} {
		t.Run(tc.method+" "+tc.name, func(t *testing.T) {
			c := mustChart(t, chart(fmt.Sprintf(`
  steps:
    - {type: assign, role: worker, task: t, output: made}
    - {type: aggregate, method: %s}
    - {type: aggregate, method: %[1]s, from: made}
    - {type: aggregate, method: %[1]s, from: "${input.wrapped.list}"}
`, tc.method)))
			scope := scopeOf(`{"wrapped":{"list": `+tc.list+`}}`, map[string]string{"0": tc.list, "1": tc.list, "2": tc.list, "=made": tc.list})
			for _, step := range c.Chart().Steps[1:] {
				got, confidence, err := c.Aggregate(step, scope)
				if err != nil || string(got) != tc.want || confidence != tc.confidence {
					t.Errorf("step %s: %s with %v, %v; want %s with %v", step.Path, got, confidence, err, tc.want, tc.confidence)
				}
			}
		})
	}
}

// TestAggregateFromSeveral: the list may be put together of several results.
func TestAggregateFromSeveral(t *testing.T) {
	c := mustChart(t, chart(`
  steps:
    - {type: assign, role: worker, task: t, output: made}
    - {type: assign, role: worker, task: t}
    - {type: aggregate, method: merge, from: [made, "${step_1_result}", {c: 3}]}
`))
	got, _, err := c.Aggregate(c.Chart().Steps[2], scopeOf(`{}`, map[string]string{"=made": `{"a":1}`, "1": `{"b":2}`}))
	if err != nil || string(got) != `{"a":1,"b":2,"c":3}` {
		t.Errorf("%s, %v", got, err)
	}
}
