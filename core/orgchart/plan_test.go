package orgchart_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// fakePlan is a plan without expressions. Conditions are true when the hash of the result of the sibling before
// them is even, or as checks says; aggregate steps count the members of the list before them.
type fakePlan struct {
	chart  core.Chart
	checks map[string]bool  // by path
	fails  map[string]error // by path
	asked  []string         // paths of conditions and aggregates that were evaluated
}

func planOf(steps ...*core.ChartStep) *fakePlan {
	number(steps, "")
	return &fakePlan{chart: core.Chart{Steps: steps}, checks: map[string]bool{}, fails: map[string]error{}}
}

// number gives the steps their paths.
func number(steps []*core.ChartStep, prefix string) {
	for i, step := range steps {
		if step != nil {
			step.Path = prefix + strconv.Itoa(i)
			number(step.Steps, step.Path+".")
		}
	}
}

func (p *fakePlan) Chart() *core.Chart { return &p.chart }

func (p *fakePlan) Task(*core.ChartStep, core.ChartScope) (string, error) { return "", nil }

func (p *fakePlan) Subject(*core.ChartStep, core.ChartScope) (json.RawMessage, error) {
	return nil, nil
}

func (p *fakePlan) Workspace(string, core.ChartScope) (*core.WorkspaceSpec, error) { return nil, nil }

func (p *fakePlan) Check(step *core.ChartStep, scope core.ChartScope) (bool, error) {
	p.asked = append(p.asked, step.Path)
	if err := p.fails[step.Path]; err != nil {
		return false, err
	}
	if yes, ok := p.checks[step.Path]; ok {
		return yes, nil
	}
	return hash(step.Path, string(p.before(step.Path, scope)))%2 == 0, nil
}

func (p *fakePlan) Aggregate(step *core.ChartStep, scope core.ChartScope) (json.RawMessage, float64, error) {
	p.asked = append(p.asked, step.Path)
	if err := p.fails[step.Path]; err != nil {
		return nil, 0, err
	}
	var list []json.RawMessage
	previous := p.before(step.Path, scope)
	if json.Unmarshal(previous, &list) != nil {
		return json.RawMessage(fmt.Sprintf(`{"hash":%d}`, hash("", string(previous)))), 1, nil
	}
	return json.RawMessage(fmt.Sprintf(`{"count":%d}`, len(list))), 0.5, nil
}

func (p *fakePlan) Output(scope core.ChartScope) (json.RawMessage, error) {
	result, ok := scope.Result(strconv.Itoa(len(p.chart.Steps) - 1))
	if !ok {
		return nil, core.Errorf(core.CodeValidation, "no last result")
	}
	return result, nil
}

// before is the result of the sibling before a step in a sequence, or nil: as in real definitions, a step sees
// nothing whose time is open.
func (p *fakePlan) before(path string, scope core.ChartScope) json.RawMessage {
	dot := strings.LastIndexByte(path, '.') + 1
	if dot > 0 && stepAt(p.chart.Steps, path[:dot-1]).Kind != core.KindSequential {
		return nil
	}
	index, _ := strconv.Atoi(path[dot:])
	result, _ := scope.Result(path[:dot] + strconv.Itoa(index-1))
	return result
}

func stepAt(steps []*core.ChartStep, path string) *core.ChartStep {
	var step *core.ChartStep
	for _, word := range strings.Split(path, ".") {
		index, _ := strconv.Atoi(word)
		step = steps[index]
		steps = step.Steps
	}
	return step
}

func hash(parts ...string) uint32 {
	h := fnv.New32a()
	for _, part := range parts {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return h.Sum32()
}

func assign(role string) *core.ChartStep { return &core.ChartStep{Kind: core.KindAssign, Role: role} }

func parallel(steps ...*core.ChartStep) *core.ChartStep {
	return &core.ChartStep{Kind: core.KindParallel, Steps: steps}
}

func sequential(steps ...*core.ChartStep) *core.ChartStep {
	return &core.ChartStep{Kind: core.KindSequential, Steps: steps}
}

func condition(then, otherwise *core.ChartStep) *core.ChartStep {
	return &core.ChartStep{Kind: core.KindCondition, Steps: []*core.ChartStep{then, otherwise}}
}

func aggregate() *core.ChartStep {
	return &core.ChartStep{Kind: core.KindAggregate, Method: core.MethodMerge}
}

func approve(retries int) *core.ChartStep {
	return &core.ChartStep{Kind: core.KindApprove, Role: "chief", OnReject: core.OnRejectRetry, MaxRetries: retries}
}

func named(name string, step *core.ChartStep) *core.ChartStep {
	step.Output = name
	return step
}
