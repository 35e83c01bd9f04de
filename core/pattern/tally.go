package pattern

import (
	"bytes"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// tally is the count of a vote.
type tally struct {
	groups  []group // in order of their first vote
	answers int     // all answers, abstentions included
	votes   int     // answers that voted
	weight  float64 // of all answers
	weighed bool    // groups are measured by weight, not by count
}

// group is the votes for one value.
type group struct {
	key        []byte // canonical JSON of the value
	value      []byte // as the first voter wrote it
	count      int
	weight     float64
	confidence float64 // sum
}

func (g *group) meanConfidence() float64 { return g.confidence / float64(g.count) }

// manyAnswers is the number of answers from which groups are found by a map instead of one by one.
const manyAnswers = 16

// tally counts what the answers vote for in field (nil: the answer's substance).
func (g *aggregation) tally(answers []answer, field path) *tally {
	t := &tally{answers: len(answers), weighed: g.strategy == voting && g.method == weighted}
	t.groups = make([]group, 0, min(len(answers), 4))
	var byKey map[string]int
	if len(answers) > manyAnswers {
		byKey = make(map[string]int)
	}
	var keys []byte
	for _, a := range answers {
		weight := g.weightOf(a)
		t.weight += weight
		value, ok := a.ballot(field)
		if !ok {
			continue
		}
		t.votes++
		start := len(keys)
		keys = rawjson.AppendCanonical(keys, value)
		key := keys[start:len(keys):len(keys)]
		i := t.find(byKey, key)
		if i < 0 {
			i = len(t.groups)
			t.groups = append(t.groups, group{key: key, value: value})
			if byKey != nil {
				byKey[string(key)] = i
			}
		}
		t.groups[i].count++
		t.groups[i].weight += weight
		t.groups[i].confidence += a.confidence
	}
	return t
}

func (t *tally) find(byKey map[string]int, key []byte) int {
	if byKey != nil {
		if i, ok := byKey[string(key)]; ok {
			return i
		}
		return -1
	}
	for i := range t.groups {
		if bytes.Equal(t.groups[i].key, key) {
			return i
		}
	}
	return -1
}

// weightOf returns the weight of an answer in a weighted vote.
func (g *aggregation) weightOf(a answer) float64 {
	if g.weights == nil {
		return a.confidence
	}
	if w, ok := g.weights[a.agentID]; ok {
		return w
	}
	if w, ok := g.weights[a.name]; ok {
		return w
	}
	if w, ok := g.weights["*"]; ok {
		return w
	}
	return 1
}

// share is the group's part of all answers, by count or by weight.
func (t *tally) share(g *group) float64 {
	if t.weighed {
		if t.weight == 0 {
			return 0
		}
		return g.weight / t.weight
	}
	return float64(g.count) / float64(t.answers)
}

// largest returns the largest group, or nil without votes. Of equal ones the higher sum of confidences
// wins, then the one that was voted for first.
func (t *tally) largest() *group {
	var top *group
	for i := range t.groups {
		g := &t.groups[i]
		if top == nil || t.compare(g, top) > 0 {
			top = g
		}
	}
	return top
}

// tolerance is how far apart two sums of fractions may be and still count as equal.
const tolerance = 1e-9

func (t *tally) compare(a, b *group) int {
	size := float64(a.count - b.count)
	if t.weighed {
		size = a.weight - b.weight
	}
	for _, difference := range [...]float64{size, a.confidence - b.confidence} {
		if difference > tolerance {
			return 1
		}
		if difference < -tolerance {
			return -1
		}
	}
	return 0
}

func (t *tally) unanimous() bool { return len(t.groups) == 1 && t.groups[0].count == t.answers }

// winner returns the group that wins the vote, or nil.
func (g *aggregation) winner(t *tally) *group {
	top := t.largest()
	if top == nil || !g.carries(t, top) {
		return nil
	}
	return top
}

// carries reports whether the largest group is large enough.
func (g *aggregation) carries(t *tally, top *group) bool {
	if t.votes < g.minVotes || g.threshold > 0 && t.share(top) < g.threshold-tolerance {
		return false
	}
	switch {
	case g.strategy == consensus && g.threshold == 0, g.strategy == voting && g.method == majority:
		return 2*top.count > t.answers
	case g.strategy == voting && g.method == unanimous:
		return t.unanimous()
	case t.weighed:
		return top.weight > 0
	}
	return true
}

// appendDistribution appends an object with the size of each group: its number of votes, or its weight.
// A value that is no string is named by its JSON; so is a string that would be mistaken for one.
func (t *tally) appendDistribution(dst []byte) []byte {
	dst = append(dst, '{')
	for i := range t.groups {
		if i > 0 {
			dst = append(dst, ',')
		}
		g := &t.groups[i]
		if g.key[0] == '"' && !t.mistaken(g.key) {
			dst = append(dst, g.key...)
		} else {
			dst = rawjson.AppendString(dst, g.key)
		}
		dst = append(dst, ':')
		if t.weighed {
			dst = rawjson.AppendFloat(dst, round(g.weight))
		} else {
			dst = rawjson.AppendFloat(dst, float64(g.count))
		}
	}
	return append(dst, '}')
}

// mistaken reports whether the text of the quoted key is the JSON of another group.
func (t *tally) mistaken(key []byte) bool {
	text := rawjson.Unquote(key)
	if k := rawjson.KindOf(text); k == rawjson.Invalid || rawjson.CheckLoose(text) != nil {
		return false // plain words, the usual case
	}
	return t.find(nil, text) >= 0
}
