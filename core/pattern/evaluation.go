package pattern

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// evaluation is one evaluation of expressions against the state of an execution.
type evaluation struct {
	scope    core.Scope
	chart    *core.ChartScope // of an org chart, instead of scope
	problems []core.Problem
	taken    int // bytes of the values that were written
}

// Bounds of one evaluation. A short text may name a long value many times.
const (
	maxTaken      = 32 << 20 // bytes of values
	maxUnresolved = 100      // variables without a value that are reported
)

// run evaluates x; what names it in the error of unresolved variables.
func (e *evaluation) run(what string, x expression) (json.RawMessage, error) {
	value := x.append(make([]byte, 0, 128), e)
	if len(e.problems) > 0 {
		return nil, core.InvalidAll(what, e.problems)
	}
	return value, nil
}

// take counts a value, and reports whether the evaluation may have it.
func (e *evaluation) take(r *reference, value []byte) bool {
	if e.taken += len(value); e.taken <= maxTaken {
		return true
	}
	e.problems = append(e.problems, core.Problem{Path: r.at, Line: r.line,
		Reason: fmt.Sprintf("the values up to %s come to more than %d bytes", r, maxTaken)})
	return false
}

// resolve returns the JSON a reference stands for.
func (e *evaluation) resolve(r *reference) ([]byte, bool) {
	if e.chart != nil {
		return r.inChart(e.chart)
	}
	switch r.root {
	case "input":
		return r.path.lookup(e.scope.Input)
	case "steps":
		return e.step(r.path)
	case "execution":
		return e.execution(r.path)
	}
	last := e.scope.Last
	if last == nil {
		return nil, false
	}
	raw, ok := rawVariable(last.Variables[r.root])
	if !ok {
		return nil, false
	}
	return r.path.lookup(raw)
}

// rawVariable takes the JSON of an aggregation's variable. Aggregate stores raw JSON; anything else has
// been through a decoder on the way and is encoded again.
func rawVariable(variable any) ([]byte, bool) {
	switch v := variable.(type) {
	case nil:
		return nil, false
	case json.RawMessage:
		return v, true
	}
	raw, err := json.Marshal(variable)
	return raw, err == nil
}

func (e *evaluation) step(p path) ([]byte, bool) {
	if len(p) < 2 {
		return nil, false
	}
	outcome, ok := e.scope.Steps[p[0].key]
	if !ok {
		return nil, false
	}
	switch p[1].key {
	case "result":
		result := outcome.Result
		if len(result) == 0 {
			result = null
		}
		return p[2:].lookup(result)
	case "confidence":
		return rawjson.AppendFloat(nil, outcome.Confidence), true
	}
	return nil, false
}

func (e *evaluation) execution(p path) ([]byte, bool) {
	count := strconv.AppendInt(nil, int64(e.scope.AgentCount), 10)
	duration := strconv.AppendInt(nil, e.scope.Duration.Milliseconds(), 10)
	if len(p) == 0 {
		whole := append([]byte(`{"agentCount":`), count...)
		whole = append(whole, `,"duration":`...)
		return append(append(whole, duration...), '}'), true
	}
	switch p[0].key {
	case "agentCount":
		return count, true
	case "duration":
		return duration, true
	}
	return nil, false
}

var null = json.RawMessage("null")
