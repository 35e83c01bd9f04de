package pattern

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// strategy is a way to make one outcome of several answers.
type strategy string

const (
	voting    strategy = "voting"
	consensus strategy = "consensus"
	merge     strategy = "merge"
	first     strategy = "first"
	best      strategy = "best"
)

// variable is the name under which expressions see what the strategy made.
func (s strategy) variable() string {
	switch s {
	case voting:
		return "vote"
	case merge:
		return "merged"
	}
	return string(s)
}

// Methods of voting.
const (
	majority  = "majority"
	plurality = "plurality"
	unanimous = "unanimous"
	weighted  = "weighted"
)

// Methods of merge.
const (
	deep    = "deep"
	shallow = "shallow"
	concat  = "concat"
	union   = "union"
)

// aggregation is how a step's answers become its outcome.
type aggregation struct {
	strategy  strategy
	method    string // of voting and merge
	field     path   // what is voted on, or what best compares; nil for the default
	fields    []votedField
	threshold float64            // least share of the winner; 0: none set
	minVotes  int                // least number of votes cast
	weights   map[string]float64 // by agent name or id, * for the others; nil: the vote's confidence
	results   bool               // expressions name $results
}

// votedField is a field on which consensus is sought by itself.
type votedField struct {
	name string // as it was written, and as it is called in the result
	path path
}

// outcome folds answers in their order of answering. It depends on nothing else.
func (g *aggregation) outcome(answers []answer) core.Outcome {
	o := core.Outcome{Variables: make(map[string]any, 2)}
	if g.results {
		o.Variables["results"] = resultsOf(answers)
	}
	switch g.strategy {
	case voting:
		g.vote(&o, answers)
	case consensus:
		g.agree(&o, answers)
	case merge:
		o.Result, o.Confidence = mergeAnswers(g.method, answers), meanConfidence(answers)
		o.Variables["merged"] = o.Result
	case first, best:
		o.Result = null
		if i := g.pick(answers); i >= 0 {
			o.Result, o.Confidence = answers[i].raw, answers[i].confidence
		}
		o.Variables[g.strategy.variable()] = o.Result
	}
	return o
}

// pick returns the answer that first or best takes, or -1. best takes the highest confidence, or the
// highest number in its field; answers without such a number come last, and the earlier wins a tie.
func (g *aggregation) pick(answers []answer) int {
	if len(answers) == 0 {
		return -1
	}
	if g.strategy == first {
		return 0
	}
	chosen, high, ranked := 0, 0.0, false
	for i, a := range answers {
		score, ok := a.confidence, true
		if g.field != nil {
			var value []byte
			if value, ok = g.field.lookup(a.raw); ok {
				score, ok = numberOf(value)
			}
		}
		if ok && (!ranked || score > high) {
			chosen, high, ranked = i, score, true
		}
	}
	return chosen
}

func meanConfidence(answers []answer) float64 {
	if len(answers) == 0 {
		return 0
	}
	sum := 0.0
	for _, a := range answers {
		sum += a.confidence
	}
	return round(sum / float64(len(answers)))
}

func resultsOf(answers []answer) json.RawMessage {
	size := 2
	for _, a := range answers {
		size += len(a.raw) + 1
	}
	all := append(make([]byte, 0, size), '[')
	for i, a := range answers {
		if i > 0 {
			all = append(all, ',')
		}
		all = append(all, a.raw...)
	}
	return append(all, ']')
}

// vote fills in the outcome of a vote.
func (g *aggregation) vote(o *core.Outcome, answers []answer) {
	t := g.tally(answers, g.field)
	o.Result = null
	if w := g.winner(t); w != nil {
		o.Result, o.Confidence = w.value, round(t.share(w)*w.meanConfidence())
	}
	v := append(make([]byte, 0, 96+len(o.Result)), `{"result":`...)
	v = append(v, o.Result...)
	v = append(v, `,"confidence":`...)
	v = rawjson.AppendFloat(v, o.Confidence)
	v = append(v, `,"distribution":`...)
	v = t.appendDistribution(v)
	v = append(v, `,"unanimous":`...)
	if t.unanimous() {
		v = append(v, "true}"...)
	} else {
		v = append(v, "false}"...)
	}
	o.Variables["vote"] = json.RawMessage(v)
}

// agree fills in the outcome of a search for consensus, on the answer as a whole or field by field. Of
// several fields the weakest one says how much the agents agree.
func (g *aggregation) agree(o *core.Outcome, answers []answer) {
	agreement := 0.0
	if g.fields == nil {
		t := g.tally(answers, g.field)
		o.Result, o.Confidence, agreement = g.agreed(t)
	} else {
		result := []byte{'{'}
		for i, f := range g.fields {
			value, confidence, share := g.agreed(g.tally(answers, f.path))
			if i == 0 || share < agreement {
				agreement = share
			}
			if i == 0 || confidence < o.Confidence {
				o.Confidence = confidence
			}
			if i > 0 {
				result = append(result, ',')
			}
			result = append(rawjson.AppendString(result, f.name), `:{"value":`...)
			result = append(append(result, value...), `,"agreement":`...)
			result = append(rawjson.AppendFloat(result, share), `,"confidence":`...)
			result = append(rawjson.AppendFloat(result, confidence), '}')
		}
		o.Result = append(result, '}')
	}
	v := append(make([]byte, 0, 64+len(o.Result)), `{"result":`...)
	v = append(append(v, o.Result...), `,"confidence":`...)
	v = append(rawjson.AppendFloat(v, o.Confidence), `,"agreement":`...)
	v = append(rawjson.AppendFloat(v, agreement), '}')
	o.Variables["consensus"] = json.RawMessage(v)
}

// agreed returns the value agreed on, or null, with its confidence and the share of the largest group.
func (g *aggregation) agreed(t *tally) (json.RawMessage, float64, float64) {
	top := t.largest()
	if top == nil {
		return null, 0, 0
	}
	share := round(t.share(top))
	if !g.carries(t, top) {
		return null, 0, share
	}
	return top.value, round(t.share(top) * top.meanConfidence()), share
}
