package pattern

import (
	"encoding/json"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

var _ core.Plan = (*Plan)(nil)

// Plan is a checked definition, ready to run. It is immutable; all methods are pure and safe for
// concurrent use.
type Plan struct {
	definition core.Definition
	input      *fields    // nil: any object is taken
	chart      *chartPlan // nil for a flat pattern, which has what follows
	steps      []stepPlan
	output     expression // nil: the default of the last step's aggregation
	// namesAggregation is set when output refers to a variable of the last step's aggregation.
	namesAggregation bool
	access           Access
	json             json.RawMessage
	matching         int // instructions of the regular expressions of input
}

// stepPlan holds what a step needs beside its core.Step.
type stepPlan struct {
	input       expression   // nil: the execution's input
	aggregation *aggregation // nil for a composed step
	broken      bool         // while parsing: the aggregation has problems
}

// Access names who may run and read a pattern. Both lists nil: anyone who may use patterns at all. A list that is there and
// empty permits no one else.
type Access struct {
	Users []string
	Roles []string
}

// limited reports whether there is such a list.
func (a Access) limited() bool { return a.Users != nil || a.Roles != nil }

// Definition implements core.Plan.
func (p *Plan) Definition() *core.Definition { return &p.definition }

// OrgChart implements core.Plan.
func (p *Plan) OrgChart() core.ChartPlan {
	if p.chart == nil {
		return nil
	}
	return p.chart
}

// Access returns the definition's security section.
func (p *Plan) Access() Access { return p.access }

// JSON returns the definition as a JSON object, without name, version and description.
func (p *Plan) JSON() json.RawMessage { return p.json }

// CheckInput implements core.Plan. Numbers keep their text. A definition without an input section takes
// any object; with one, fields that it does not declare are passed on, unless it says otherwise.
func (p *Plan) CheckInput(input json.RawMessage) (json.RawMessage, error) {
	return checkInput(p.input, input)
}

// StepInput implements core.Plan.
func (p *Plan) StepInput(step int, scope core.Scope) (json.RawMessage, error) {
	if step < 0 || step >= len(p.steps) {
		return nil, core.Errorf(core.CodeInternal, "step %d does not exist", step)
	}
	if p.steps[step].input == nil {
		return scope.Input, nil
	}
	e := evaluation{scope: scope}
	return e.run("input of step "+p.definition.Steps[step].ID, p.steps[step].input)
}

// Aggregate implements core.Plan. The one answer of a composed step is that pattern's result. Nothing but
// the answers and their order goes in. AGENT_ERROR for an answer that is not JSON.
func (p *Plan) Aggregate(step int, answers []core.Answer) (core.Outcome, error) {
	if step < 0 || step >= len(p.steps) {
		return core.Outcome{}, core.Errorf(core.CodeInternal, "step %d does not exist", step)
	}
	ready, err := prepare(answers)
	if err != nil {
		return core.Outcome{}, err
	}
	if g := p.steps[step].aggregation; g != nil {
		return g.outcome(ready), nil
	}
	o := core.Outcome{Result: null, Variables: map[string]any{}}
	if len(ready) > 0 {
		o.Result, o.Confidence = ready[0].raw, ready[0].confidence
	}
	return o, nil
}

// Output implements core.Plan. Where the output names the aggregation of a last step that fell back, there
// is no aggregation to name, and the result is the fallback value itself.
func (p *Plan) Output(scope core.Scope) (json.RawMessage, error) {
	if p.chart != nil {
		return nil, core.Errorf(core.CodeInternal, "an org chart has its output from its own plan")
	}
	fallback := p.fellBack(scope.Last)
	if p.output == nil {
		if fallback {
			return resultOf(scope.Last), nil
		}
		return p.defaultOutput(scope.Last), nil
	}
	if fallback && p.namesAggregation {
		return resultOf(scope.Last), nil
	}
	e := evaluation{scope: scope}
	return e.run("output", p.output)
}

// fellBack reports whether the last outcome is a fallback value: it came from no aggregation, or from one
// that broke the step's rule.
func (p *Plan) fellBack(last *core.Outcome) bool {
	if last == nil {
		return false
	}
	step := &p.definition.Steps[len(p.definition.Steps)-1]
	return last.Variables == nil || step.OnInvalid == core.OnInvalidFallback && last.Confidence < step.MinConfidence
}

// defaultOutput is the result of a definition without an output section.
func (p *Plan) defaultOutput(last *core.Outcome) json.RawMessage {
	result := resultOf(last)
	g := p.steps[len(p.steps)-1].aggregation
	if last == nil || g == nil || g.strategy != voting && g.strategy != consensus {
		return result
	}
	dst := append(make([]byte, 0, len(result)+48), `{"result":`...)
	dst = append(append(dst, result...), `,"confidence":`...)
	return append(rawjson.AppendFloat(dst, last.Confidence), '}')
}

func resultOf(o *core.Outcome) json.RawMessage {
	if o == nil || len(o.Result) == 0 {
		return null
	}
	return o.Result
}

// What a step of an org chart takes beside its source text, and an instruction of a regular expression, about, in bytes.
const (
	stepWeight        = 600
	instructionWeight = 48
)

// weight is about what the plan of a source text takes in memory, in bytes, the text included.
func (p *Plan) weight(source string) int {
	weight := len(source) + instructionWeight*p.matching
	if p.chart != nil {
		weight += stepWeight * p.chart.count
	}
	return weight
}

// declared returns the names of the input's fields, or nil if any are taken.
func (p *Plan) declared() []string {
	if p.input == nil {
		return nil
	}
	if p.input.names == nil {
		return []string{}
	}
	return p.input.names
}

// definitionJSON writes a definition for readers. Fields declared by their type alone are written out, and
// agents.min is there always, so that clients find one shape.
func definitionJSON(root *node) json.RawMessage {
	shown := &node{kind: mapNode}
	for _, e := range root.keys {
		switch e.key {
		case "name", "version", "description":
			continue
		case "input":
			e.value = fieldsShown(e.value)
		case "agents":
			e.value = agentsShown(e.value)
		case "workflow":
			e.value = workflowShown(e.value)
		}
		shown.keys = append(shown.keys, e)
	}
	return shown.appendJSON(nil)
}

// workflowShown writes out the fields that a workflow declares by their type alone.
func workflowShown(n *node) *node {
	shown := &node{kind: mapNode, keys: slices.Clone(n.keys)}
	for i := range shown.keys {
		if shown.keys[i].key == "input" {
			shown.keys[i].value = fieldsShown(shown.keys[i].value)
		}
	}
	return shown
}

func fieldsShown(n *node) *node {
	shown := &node{kind: mapNode}
	for _, e := range n.keys {
		value := &node{kind: mapNode}
		if e.key == additionalKey && e.value.kind == boolNode { // it declares no field
			shown.keys = append(shown.keys, e)
			continue
		}
		if e.value.kind == textNode {
			value.keys = []entry{{key: "type", value: e.value}}
		} else {
			if e.value.get("type") == nil {
				value.keys = []entry{{key: "type", value: &node{kind: textNode, text: "any"}}}
			}
			value.keys = append(value.keys, e.value.keys...)
		}
		if value.get("required") == nil {
			value.keys = append(value.keys, entry{key: "required", value: &node{kind: boolNode, text: "false"}})
		}
		shown.keys = append(shown.keys, entry{key: e.key, value: value})
	}
	return shown
}

func agentsShown(n *node) *node {
	if n.get("min") != nil {
		return n
	}
	shown := &node{kind: mapNode, keys: append([]entry{}, n.keys...)}
	shown.keys = append(shown.keys, entry{key: "min", value: &node{kind: numberNode, text: "1"}})
	return shown
}
