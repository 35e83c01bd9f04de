package pattern

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/wire"
)

// chartVocabulary holds the names that the expressions at one place of an org chart may use.
type chartVocabulary struct {
	input   []string // declared fields; nil when any are taken
	steps   []*core.ChartStep
	outputs map[string]*core.ChartStep
	own     []int // numbers of the step that the expression belongs to; nil for the output of the workflow
	early   bool  // what is said is needed before the first step: there are only input and context
}

// stepOf returns the path of the step that a variable such as step_1_0_result names: "1.0".
func stepOf(variable string) (string, bool) {
	match := stepVariable.FindStringSubmatch(variable)
	if match == nil {
		return "", false
	}
	return strings.ReplaceAll(match[1], "_", "."), true
}

// numbers takes the path of a step apart.
func numbers(path string) []int {
	parts := strings.Split(path, ".")
	all := make([]int, len(parts))
	for i, part := range parts {
		all[i], _ = strconv.Atoi(part)
	}
	return all
}

// known reports whether a variable of this name could be there: text that is nothing else is read as one.
func (v *chartVocabulary) known(root string) bool {
	_, step := stepOf(root)
	return step || root == "input" || root == "context" || v.outputs[root] != nil
}

// check settles what a reference names. It returns why the reference can never be resolved, or "".
func (v *chartVocabulary) check(r *reference) string {
	switch r.root {
	case "input":
		return (&vocabulary{input: v.input}).checkInput(r)
	case "context":
		if v.early && len(r.path) > 0 && r.path[0].key == "startedAt" {
			return "has no value before the first step"
		}
		return checkMembers("context", r.path)
	}
	if v.early {
		return "has no value before the first step: only input and context have"
	}
	if step := v.outputs[r.root]; step != nil {
		if _, reason := v.find(numbers(step.Path)); reason != "" {
			return fmt.Sprintf("is the output of step %s, %s", step.Path, reason)
		}
		return checkShape(step, r)
	}
	path, ok := stepOf(r.root)
	if !ok {
		return "is not a variable" + v.hint(r.root)
	}
	r.step = path
	step, reason := v.find(numbers(path))
	if reason != "" {
		return fmt.Sprintf("names step %s, %s", path, reason)
	}
	return checkShape(step, r)
}

// hint says which variables there are.
func (v *chartVocabulary) hint(root string) string {
	if strings.HasPrefix(root, "step_") {
		return "; the result of the first step is step_0_result, that of the second step inside the third step_2_1_result"
	}
	all := slices.AppendSeq([]string{"input", "context"}, maps.Keys(v.outputs))
	slices.Sort(all)
	if near := hint(root, all); near != "" {
		return near
	}
	return "; known are " + clip(strings.Join(append(all, "step_N_result"), ", "), 300)
}

// find returns a step that is finished by the time, or why there is none.
func (v *chartVocabulary) find(target []int) (*core.ChartStep, string) {
	kids, around := v.steps, core.KindSequential
	shared := v.own != nil // the way so far is that to the expression's own step
	var step *core.ChartStep
	for depth, i := range target {
		if i >= len(kids) || kids[i] == nil {
			return nil, missing(target[:depth+1], step, len(kids))
		}
		if shared {
			if depth >= len(v.own) {
				return nil, "which is inside this one"
			}
			if own := v.own[depth]; own != i {
				shared = false
				switch {
				case around == core.KindCondition:
					return nil, "which is in the other branch of the condition"
				case around == core.KindParallel:
					return nil, "which runs at the same time: steps of a parallel do not see each other"
				case i > own:
					return nil, "which is not finished by then"
				}
			}
		}
		step = kids[i]
		kids, around = step.Steps, step.Kind
	}
	switch {
	case !shared:
		return step, ""
	case len(target) == len(v.own):
		return nil, "which is this one"
	}
	return nil, "which is around this one and not finished by then"
}

// missing says why there is no step of these numbers.
func missing(target []int, around *core.ChartStep, n int) string {
	switch {
	case around == nil:
		return fmt.Sprintf("which does not exist: the workflow has the steps 0 to %d", n-1)
	case around.Kind == core.KindCondition && target[len(target)-1] == 1:
		return "which does not exist: the condition has no else"
	case around.Kind == core.KindCondition:
		return "which does not exist: of a condition, 0 is then and 1 is else"
	case n > 0:
		return fmt.Sprintf("which does not exist: step %s has the steps 0 to %d", around.Path, n-1)
	}
	return fmt.Sprintf("which does not exist: step %s has no steps inside", around.Path)
}

// checkShape follows a path into a result as far as its shape is known from the step.
func checkShape(step *core.ChartStep, r *reference) string {
	for p := r.path; len(p) > 0; p = p[1:] {
		switch step.Kind {
		case core.KindParallel, core.KindSequential:
			if p[0].index < 0 {
				return fmt.Sprintf("names a field of a list: step %s has the list of its %d results; name one by its number, ${%s[0]}",
					step.Path, len(step.Steps), r.root)
			}
			if p[0].index >= len(step.Steps) {
				return fmt.Sprintf("goes too far: step %s has %d results, numbered from 0", step.Path, len(step.Steps))
			}
			step = step.Steps[p[0].index]
			if step == nil {
				return ""
			}
		case core.KindReview, core.KindApprove:
			return checkMembers("review", p)
		default:
			return ""
		}
	}
	return ""
}

// neverList reports whether a reference to a step's result certainly is no list.
func neverList(step *core.ChartStep, p path) bool {
	for len(p) > 0 && (step.Kind == core.KindParallel || step.Kind == core.KindSequential) {
		if p[0].index < 0 || p[0].index >= len(step.Steps) || step.Steps[p[0].index] == nil {
			return false
		}
		step, p = step.Steps[p[0].index], p[1:]
	}
	return step.Kind == core.KindReview || step.Kind == core.KindApprove
}

// inChart returns the JSON that the reference stands for in an execution.
func (r *reference) inChart(scope *core.ChartScope) ([]byte, bool) {
	raw, ok := r.rootInChart(scope)
	if !ok {
		return nil, false
	}
	if r.root == "context" && len(r.path) > 0 {
		return raw, true
	}
	return r.path.lookup(raw)
}

func (r *reference) rootInChart(scope *core.ChartScope) ([]byte, bool) {
	switch {
	case r.step != "":
		if scope.Result == nil {
			return nil, false
		}
		raw, ok := scope.Result(r.step)
		return raw, ok && len(raw) > 0
	case r.root == "input":
		return scope.Input, len(scope.Input) > 0
	case r.root == "context":
		return contextValue(&scope.Context, r.path)
	case scope.Named == nil:
		return nil, false
	}
	raw, ok := scope.Named(r.root)
	return raw, ok && len(raw) > 0
}

// contextValue returns a member of the variable context, or all of it.
func contextValue(x *core.ChartContext, p path) ([]byte, bool) {
	values := [...]struct{ key, value string }{
		{"executionId", x.ExecutionID}, {"patternName", x.PatternName}, {"patternVersion", x.PatternVersion},
		{"startedAt", x.StartedAt.UTC().Format(wire.TimeLayout)},
	}
	if len(p) > 0 {
		for _, v := range values {
			if v.key == p[0].key {
				return rawjson.AppendString(nil, v.value), len(p) == 1
			}
		}
		return nil, false
	}
	var dst []byte
	for i, v := range values {
		if i == 0 {
			dst = append(dst, '{')
		} else {
			dst = append(dst, ',')
		}
		dst = append(rawjson.AppendString(dst, v.key), ':')
		dst = rawjson.AppendString(dst, v.value)
	}
	return append(dst, '}'), true
}

// why says what is known of a reference that has no value.
func (e *evaluation) why(r *reference) string {
	if e.chart == nil {
		return ""
	}
	_, there := r.rootInChart(e.chart)
	switch {
	case there && len(r.path) > 0 && r.root != "input" && r.root != "context":
		return ": the result has no such part"
	case !there && r.step != "":
		return ": step " + r.step + " did not run"
	case !there && r.root != "input" && r.root != "context":
		return ": the step whose output it is did not run"
	}
	return ""
}
