package pattern

import (
	"bytes"
	"encoding/json"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

var _ core.ChartPlan = (*chartPlan)(nil)

// chartPlan is a checked org chart. It is immutable.
type chartPlan struct {
	chart  *core.Chart
	steps  map[string]*stepExpressions // by path; steps that have none are not there
	places map[string]*workplace       // by key of the role; roles that have none are not there
	output expression                  // nil: the last step's result
	count  int                         // of all steps
}

// Chart implements core.ChartPlan.
func (p *chartPlan) Chart() *core.Chart { return p.chart }

// of returns the expressions of a step. INTERNAL_ERROR for a step of another kind.
func (p *chartPlan) of(step *core.ChartStep, kinds ...core.StepKind) (*stepExpressions, error) {
	for _, kind := range kinds {
		if step.Kind == kind {
			if e := p.steps[step.Path]; e != nil {
				return e, nil
			}
		}
	}
	return nil, core.Errorf(core.CodeInternal, "step %s of type %s has no such expression", step.Path, step.Kind)
}

// Task implements core.ChartPlan.
func (p *chartPlan) Task(step *core.ChartStep, scope core.ChartScope) (string, error) {
	x, err := p.of(step, core.KindAssign)
	if err != nil {
		return "", err
	}
	if len(x.task) == 1 && x.task[0].ref == nil {
		return x.task[0].text, nil
	}
	e := evaluation{chart: &scope}
	text := x.task.appendText(make([]byte, 0, 256), &e)
	return string(text), e.failure(step)
}

// Subject implements core.ChartPlan.
func (p *chartPlan) Subject(step *core.ChartStep, scope core.ChartScope) (json.RawMessage, error) {
	x, err := p.of(step, core.KindReview, core.KindApprove)
	if err != nil {
		return nil, err
	}
	return evaluateFor(step, scope, x.subject)
}

// evaluateFor evaluates an expression of a step, nil for the workflow's own.
func evaluateFor(step *core.ChartStep, scope core.ChartScope, x expression) (json.RawMessage, error) {
	e := evaluation{chart: &scope}
	value := x.append(make([]byte, 0, 128), &e)
	if err := e.failure(step); err != nil {
		return nil, err
	}
	return value, nil
}

// Check implements core.ChartPlan.
func (p *chartPlan) Check(step *core.ChartStep, scope core.ChartScope) (bool, error) {
	x, err := p.of(step, core.KindCondition)
	if err != nil {
		return false, err
	}
	e := evaluation{chart: &scope}
	ok := e.test(x.check)
	return ok, e.failure(step)
}

// failure is the error of an evaluation with problems: it names the step, and the line of each.
func (e *evaluation) failure(step *core.ChartStep) error {
	place := ""
	if step != nil {
		place = "step " + step.Path + ", "
	}
	return e.failureAt("workflow", place)
}

// failureAt is failure in another part of the definition. place is put before the path of each problem.
func (e *evaluation) failureAt(part, place string) error {
	if len(e.problems) == 0 {
		return nil
	}
	found := make([]core.Problem, len(e.problems))
	for i, problem := range e.problems {
		problem.Path = place + problem.Path
		if problem.Line > 0 {
			problem.Reason += " (line " + string(rawjson.AppendFloat(nil, float64(problem.Line))) + " of the definition)"
		}
		found[i] = problem
	}
	return core.InvalidAll(part, found)
}

// Aggregate implements core.ChartPlan. The confidence of consensus and majority is the share of the winner
// times the mean confidence of its answers, that of merge the mean, that of best its own.
func (p *chartPlan) Aggregate(step *core.ChartStep, scope core.ChartScope) (json.RawMessage, float64, error) {
	x, err := p.of(step, core.KindAggregate)
	if err != nil {
		return nil, 0, err
	}
	var list json.RawMessage
	if x.from != nil {
		if list, err = evaluateFor(step, scope, x.from); err != nil {
			return nil, 0, err
		}
	} else {
		ref := &reference{root: variableOf(x.before), at: "from", line: step.Line, step: x.before}
		if list, err = evaluateFor(step, scope, ref); err != nil {
			return nil, 0, err
		}
	}
	if kind := rawjson.KindOf(list); kind != rawjson.Array {
		e := evaluation{problems: []core.Problem{{Path: "from", Line: step.Line, Reason: "must be a list, not " + kind.String()}}}
		return nil, 0, e.failure(step)
	}
	result, confidence := fold(step.Method, elements(list))
	return result, confidence, nil
}

// variableOf is the name of a step's result: step_1_0_result.
func variableOf(path string) string {
	return "step_" + string(bytes.ReplaceAll([]byte(path), []byte{'.'}, []byte{'_'})) + "_result"
}

// elements reads a list of results as answers.
func elements(list []byte) []answer {
	answers := make([]answer, 0, 8)
	for it := rawjson.Walk(list); it.Next(); {
		answers = append(answers, answer{raw: it.Value, confidence: confidenceOf(it.Value)})
	}
	return answers
}

// fold makes one result of several, by a method of aggregate steps.
func fold(method core.Method, answers []answer) (json.RawMessage, float64) {
	switch method {
	case core.MethodMerge:
		return mergeAnswers(concat, answers), meanConfidence(answers)
	case core.MethodBest:
		g := aggregation{strategy: best}
		if i := g.pick(answers); i >= 0 {
			return answers[i].raw, answers[i].confidence
		}
		return null, 0
	}
	g := aggregation{strategy: voting, method: plurality}
	if method == core.MethodMajority {
		g.method = majority
	}
	t := g.tally(answers, nil)
	w := g.winner(t)
	if w == nil {
		return null, 0
	}
	return plainest(answers, w), round(t.share(w) * w.meanConfidence())
}

// plainest returns the value of a group in the way of writing that comes first by its bytes, so that like
// lists have the same result whatever order they are in.
func plainest(answers []answer, w *group) json.RawMessage {
	chosen := w.value
	var key []byte
	for _, a := range answers {
		value, ok := a.ballot(nil)
		if !ok || bytes.Equal(value, chosen) {
			continue
		}
		if key = rawjson.AppendCanonical(key[:0], value); bytes.Equal(key, w.key) && bytes.Compare(value, chosen) < 0 {
			chosen = value
		}
	}
	return chosen
}

// Output implements core.ChartPlan.
func (p *chartPlan) Output(scope core.ChartScope) (json.RawMessage, error) {
	if p.output != nil {
		return evaluateFor(nil, scope, p.output)
	}
	last := p.chart.Steps[len(p.chart.Steps)-1]
	return evaluateFor(nil, scope, &reference{root: variableOf(last.Path), at: "output", line: last.Line, step: last.Path})
}
