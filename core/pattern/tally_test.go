package pattern_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/wardroom/wardroom/core"
)

// ballot is an answer of the model: a label ("" abstains) and a confidence in tenths, so that sums compare
// exactly.
type ballot struct {
	label  string
	tenths int
}

func (b ballot) json() string {
	label := `"` + b.label + `"`
	if b.label == "" {
		label = "null"
	}
	return fmt.Sprintf(`{"label":%s,"confidence":%.1f,"reasoning":"because"}`, label, float64(b.tenths)/10)
}

// count holds the votes of the model for one label.
type count struct {
	votes, tenths, first int
}

// elect is the vote done the plain way, from the words of the reference.
func elect(ballots []ballot, method string, threshold float64, minVotes int) (string, float64) {
	counts := map[string]*count{}
	cast, weight := 0, 0
	for i, b := range ballots {
		weight += b.tenths
		if b.label == "" {
			continue
		}
		cast++
		if counts[b.label] == nil {
			counts[b.label] = &count{first: i}
		}
		counts[b.label].votes++
		counts[b.label].tenths += b.tenths
	}
	size := func(c *count) int {
		if method == "weighted" {
			return c.tenths
		}
		return c.votes
	}
	winner := ""
	for label, c := range counts {
		top := counts[winner]
		switch {
		case top == nil, size(c) > size(top):
			winner = label
		case size(c) < size(top):
		case c.tenths > top.tenths, c.tenths == top.tenths && c.first < top.first:
			winner = label
		}
	}
	if winner == "" || cast < minVotes {
		return "null", 0
	}
	c := counts[winner]
	share := float64(c.votes) / float64(len(ballots))
	if method == "weighted" {
		if c.tenths == 0 {
			return "null", 0
		}
		share = float64(c.tenths) / float64(weight)
	}
	switch {
	case threshold > 0 && share < threshold-1e-9,
		method == "majority" && 2*c.votes <= len(ballots),
		method == "unanimous" && c.votes != len(ballots),
		method == "consensus" && threshold == 0 && 2*c.votes <= len(ballots):
		return "null", 0
	}
	return `"` + winner + `"`, share * float64(c.tenths) / 10 / float64(c.votes)
}

// TestVotesAgainstModel runs every method on drawn ballots, on few answers and on many.
func TestVotesAgainstModel(t *testing.T) {
	for _, method := range []string{"majority", "plurality", "unanimous", "weighted", "consensus"} {
		for _, rule := range []struct {
			threshold float64
			minVotes  int
		}{{0, 0}, {0.5, 0}, {0, 3}, {0.6, 2}} {
			tail := "aggregation: {strategy: voting, method: " + method
			if method == "consensus" {
				tail = "aggregation: {strategy: consensus"
			}
			if rule.threshold > 0 {
				tail += fmt.Sprintf(", threshold: %v", rule.threshold)
			}
			if rule.minVotes > 0 {
				tail += fmt.Sprintf(", minVotes: %d", rule.minVotes)
			}
			plan := mustParse(t, flat(tail+"}"))
			t.Run(tail, func(t *testing.T) {
				rapid.Check(t, func(rt *rapid.T) {
					ballots := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) ballot {
						return ballot{
							rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(rt, "label"),
							rapid.IntRange(0, 10).Draw(rt, "tenths"),
						}
					}), 1, 24).Draw(rt, "ballots")
					answers := make([]core.Answer, len(ballots))
					for i, b := range ballots {
						answers[i] = core.Answer{AgentID: fmt.Sprint(i), Result: json.RawMessage(b.json())}
					}
					o, err := plan.Aggregate(0, answers)
					if err != nil {
						rt.Fatal(err)
					}
					want, confidence := elect(ballots, method, rule.threshold, rule.minVotes)
					if string(o.Result) != want || math.Abs(o.Confidence-confidence) > 1e-9 {
						rt.Fatalf("%v gives %s %v, want %s %v", ballots, o.Result, o.Confidence, want, confidence)
					}
				})
			})
		}
	}
}

func TestBallots(t *testing.T) {
	plan := mustParse(t, flat("aggregation: {strategy: voting, method: plurality}\noutput: $vote.distribution"))
	for _, tc := range []struct {
		name    string
		answers []string
		want    string
	}{
		{"one field is its value", []string{`{"label":"a"}`, `{"mood":"a","metadata":{"x":1}}`, `"a"`}, `{"a":3}`},
		{"nothing of its own abstains", []string{`{}`, `{"confidence":1}`, `null`, `{"label":null}`}, `{}`},
		{"booleans, numbers, text", []string{`true`, `"true"`, `1`, `1e0`}, `{"true":1,"\"true\"":1,"1":2}`},
		{"lists", []string{`[1,2]`, `[1.0, 2]`, `[2,1]`}, `{"[1,2]":2,"[2,1]":1}`},
		{"text that looks like JSON but is not another's", []string{`"1"`, `"{}"`, `"x"`}, `{"1":1,"{}":1,"x":1}`},
		{"text in quotes beside the text", []string{`"x"`, `"\"x\""`}, `{"x":1,"\"\\\"x\\\"\"":1}`},
		{"escapes do not matter", []string{`"\u00e9"`, `"é"`}, `{"é":2}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := run(t, plan, `{}`, tc.answers...); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestUnanimousVariable(t *testing.T) {
	plan := mustParse(t, flat("aggregation: {strategy: voting}\noutput: $vote.unanimous"))
	for want, answers := range map[string][]string{"true": {`"a"`, `{"x":"a"}`}, "false": {`"a"`, `"a"`, `null`}} {
		if got := run(t, plan, `{}`, answers...); got != want {
			t.Errorf("%v: unanimous is %s", answers, got)
		}
	}
}
