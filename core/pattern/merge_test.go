package pattern_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// plainMerge is the deep and the shallow merge done the plain way, on decoded values.
func plainMerge(a, b any, levels int) any {
	x, isMap := a.(map[string]any)
	y, both := b.(map[string]any)
	if !isMap || !both || levels == 0 {
		return b
	}
	out := map[string]any{}
	for k, v := range x {
		out[k] = v
	}
	for k, v := range y {
		if old, there := out[k]; there {
			v = plainMerge(old, v, levels-1)
		}
		out[k] = v
	}
	return out
}

// wideJSON draws objects with enough fields to need an index, some of them nested.
func wideJSON() *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		out := map[string]any{}
		for range rapid.IntRange(0, 20).Draw(t, "fields") {
			key := fmt.Sprintf("k%d\n", rapid.IntRange(0, 15).Draw(t, "key"))
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				out[key] = float64(rapid.IntRange(0, 3).Draw(t, "number"))
			case 1:
				out[key] = []any{"x", float64(rapid.IntRange(0, 3).Draw(t, "item"))}
			case 2:
				out[key] = nil
			default:
				out[key] = map[string]any{fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "inner")): map[string]any{"v": "w"}}
			}
		}
		return out
	})
}

func TestMergeAgainstPlainMerge(t *testing.T) {
	for method, levels := range map[string]int{"deep": 99, "shallow": 1} {
		plan := mustParse(t, flat("aggregation: {strategy: merge, method: "+method+"}"))
		rapid.Check(t, func(rt *rapid.T) {
			values := rapid.SliceOfN(wideJSON(), 1, 4).Draw(rt, "answers")
			texts := make([]string, len(values))
			var want any
			for i, v := range values {
				raw, err := json.Marshal(v)
				if err != nil {
					rt.Fatal(err)
				}
				texts[i] = string(raw)
				if i == 0 {
					want = any(v)
				} else {
					want = plainMerge(want, any(v), levels)
				}
			}
			o, err := plan.Aggregate(0, answersOf(texts...))
			if err != nil {
				rt.Fatal(err)
			}
			var got any
			if err := json.Unmarshal(o.Result, &got); err != nil {
				rt.Fatalf("%s: %v", o.Result, err)
			}
			if !reflect.DeepEqual(got, want) {
				rt.Fatalf("%s of %v\n got %s\nwant %v", method, texts, o.Result, want)
			}
		})
	}
}

func TestMergeKeepsOrderAndNumbers(t *testing.T) {
	plan := mustParse(t, flat(""))
	o, err := plan.Aggregate(0, answersOf(
		`{"z":1.50,"a":12345678901234567890,"confidence":0.5}`, `{"m":1e2,"z":{"q":1},"confidence":0.25}`, `{"z":{"b":2}}`))
	if want := `{"z":{"q":1,"b":2},"a":12345678901234567890,"confidence":0.25,"m":1e2}`; err != nil || string(o.Result) != want {
		t.Errorf("got  %s, %v\nwant %s", o.Result, err, want)
	}
	if o.Confidence != 0.583333333333 {
		t.Errorf("confidence %v", o.Confidence)
	}
}

func TestWeightedVoteOfMany(t *testing.T) {
	plan := mustParse(t, flat("aggregation: {strategy: voting, method: weighted, weights: {agent_0: 0}, threshold: 0.5}"))
	texts := []string{`"a"`}
	for i := range 20 {
		texts = append(texts, fmt.Sprintf(`"%c"`, 'a'+i%2))
	}
	if got := run(t, plan, `{}`, texts...); got != `{"result":"a","confidence":0.5}` {
		t.Errorf("got %s", got)
	}
	none := mustParse(t, flat("aggregation: {strategy: voting, method: weighted}"))
	if got := run(t, none, `{}`, `{"x":1,"confidence":0}`, `{"x":2,"confidence":0}`); got != `{"result":null,"confidence":0}` {
		t.Errorf("got %s", got)
	}
}
