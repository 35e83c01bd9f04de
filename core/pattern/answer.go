package pattern

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// answer is one agent's result, made ready: compact, in UTF-8, with each key once.
type answer struct {
	agentID    string
	name       string // of the agent
	raw        []byte
	confidence float64 // 0 to 1
}

// aside are the fields of an answer that speak about it rather than being it.
var aside = []string{"confidence", "reasoning", "metadata"}

// prepare reads the answers of a step. AGENT_ERROR for one that is not JSON.
func prepare(answers []core.Answer) ([]answer, error) {
	ready := make([]answer, len(answers))
	for i, a := range answers {
		raw, err := cleanAnswer(a.Result)
		if err != nil {
			return nil, core.Errorf(core.CodeAgentError, "the answer of agent %s is not JSON: %v", a.AgentID, err)
		}
		ready[i] = answer{agentID: a.AgentID, name: a.Name, raw: raw, confidence: confidenceOf(raw)}
	}
	return ready, nil
}

// cleanAnswer returns raw itself in the usual case. Faults that every JSON reader forgives are mended: no
// text at all is null, of a key that is there twice the last one counts, broken UTF-8 becomes U+FFFD.
func cleanAnswer(raw json.RawMessage) ([]byte, error) {
	if rawjson.Check(raw) == nil {
		return rawjson.Compact(raw), nil
	}
	if len(raw) == 0 {
		return null, nil
	}
	if !utf8.Valid(raw) {
		raw = []byte(string([]rune(string(raw))))
	}
	if err := rawjson.CheckLoose(raw); err != nil {
		return nil, err
	}
	return rawjson.AppendCanonical(nil, raw), nil
}

// confidenceOf returns the confidence that an answer claims, within 0 to 1. An answer that claims none,
// or something that is no number, is taken at its word: 1.
func confidenceOf(raw []byte) float64 {
	if rawjson.KindOf(raw) != rawjson.Object {
		return 1
	}
	value, ok := rawjson.Field(raw, "confidence")
	if !ok {
		return 1
	}
	f, ok := numberOf(value)
	if !ok {
		return 1
	}
	return min(max(f, 0), 1)
}

func numberOf(raw []byte) (float64, bool) {
	if rawjson.KindOf(raw) != rawjson.Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return f, err == nil
}

// ballot returns what an answer votes for, or false for an abstention. With a field that is the field's
// value; else the only field of an object besides those that speak about the answer, else all of the
// others together, and of anything but an object the value itself. null and nothing abstain.
func (a answer) ballot(field path) ([]byte, bool) {
	value := a.raw
	if field != nil {
		found, ok := field.lookup(a.raw)
		if !ok {
			return nil, false
		}
		value = found
	} else if rawjson.KindOf(a.raw) == rawjson.Object {
		value = a.substance()
	}
	return value, len(value) > 0 && rawjson.KindOf(value) != rawjson.Null
}

// substance returns the object without the fields that speak about it; of a single field left, its value.
func (a answer) substance() []byte {
	count, extra := 0, false
	var only []byte
	for it := rawjson.Walk(a.raw); it.Next(); {
		if isAside(it.Key) {
			extra = true
			continue
		}
		count++
		only = it.Value
	}
	switch {
	case count <= 1:
		return only
	case !extra:
		return a.raw
	}
	rest := append(make([]byte, 0, len(a.raw)), '{')
	for it := rawjson.Walk(a.raw); it.Next(); {
		if isAside(it.Key) {
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(rest, it.Key...)
		rest = append(rest, ':')
		rest = append(rest, it.Value...)
	}
	return append(rest, '}')
}

func isAside(quoted []byte) bool {
	return slices.ContainsFunc(aside, func(name string) bool { return rawjson.KeyIs(quoted, name) })
}

// round takes the noise of binary fractions off a share, so that 2/3 of 0.9 meets a rule that asks for 0.6.
func round(f float64) float64 { return math.Round(f*1e12) / 1e12 }
