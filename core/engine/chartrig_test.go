package engine_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
)

// chartPlan is a core.ChartPlan without expressions: a task says its path and the round of what came before it, a
// subject is the result of the step before, a condition is true when the step's name is "yes", an aggregate counts
// the list before it, and the output is the result of the last step. The role "placed" works in the repository that
// the input names.
type chartPlan struct{ chart core.Chart }

// chart puts an org chart on the shelf.
func (r *rig) chart(name string, roles []core.Role, steps ...*core.ChartStep) *plan {
	numberSteps(steps, "")
	p := &plan{
		def: core.Definition{Name: name, Timeout: 2 * stdtime.Hour},
		chart: &chartPlan{core.Chart{Roles: roles, Steps: steps, Escalation: core.Escalation{
			Default: core.BehaviorReportsTo, Timeout: 30 * stdtime.Second, MaxDepth: 5, OnMaxDepth: core.BehaviorSurface,
		}}},
	}
	r.shelf[name] = p
	return p
}

func numberSteps(steps []*core.ChartStep, prefix string) {
	for i, step := range steps {
		if step != nil {
			step.Path = prefix + strconv.Itoa(i)
			numberSteps(step.Steps, step.Path+".")
		}
	}
}

// crew is one role per key.
func crew(keys ...string) []core.Role {
	roles := make([]core.Role, len(keys))
	for i, key := range keys {
		roles[i] = core.Role{Key: key, ID: key, Name: key, Min: 1}
		if i > 0 {
			roles[i].ReportsTo = keys[i-1]
		}
	}
	return roles
}

func assign(role string) *core.ChartStep { return &core.ChartStep{Kind: core.KindAssign, Role: role} }
func review(role string) *core.ChartStep { return &core.ChartStep{Kind: core.KindReview, Role: role} }
func approve(role string, on core.OnReject, retries int) *core.ChartStep {
	return &core.ChartStep{Kind: core.KindApprove, Role: role, OnReject: on, MaxRetries: retries}
}
func parallel(steps ...*core.ChartStep) *core.ChartStep {
	return &core.ChartStep{Kind: core.KindParallel, Steps: steps}
}
func sequential(steps ...*core.ChartStep) *core.ChartStep {
	return &core.ChartStep{Kind: core.KindSequential, Steps: steps}
}
func aggregate() *core.ChartStep {
	return &core.ChartStep{Kind: core.KindAggregate, Method: core.MethodMerge}
}
func condition(name string, then, otherwise *core.ChartStep) *core.ChartStep {
	return &core.ChartStep{Kind: core.KindCondition, Name: name, Steps: []*core.ChartStep{then, otherwise}}
}
func many(n int, role string) []*core.ChartStep {
	list := make([]*core.ChartStep, n)
	for i := range list {
		list[i] = assign(role)
	}
	return list
}

func (p *chartPlan) Chart() *core.Chart { return &p.chart }

func (p *chartPlan) Output(scope core.ChartScope) (json.RawMessage, error) {
	result, ok := scope.Result(strconv.Itoa(len(p.chart.Steps) - 1))
	if !ok {
		return nil, core.Invalid("workflow.output", "has no value")
	}
	return result, nil
}

func (p *chartPlan) Task(step *core.ChartStep, _ core.ChartScope) (string, error) {
	if step.Name == "unresolvable" {
		return "", core.Invalid("steps["+step.Path+"].task", "a variable has no value")
	}
	return "do " + step.Path, nil
}

func (p *chartPlan) Subject(step *core.ChartStep, scope core.ChartScope) (json.RawMessage, error) {
	return p.before(step, scope), nil
}

func (p *chartPlan) Workspace(role string, scope core.ChartScope) (*core.WorkspaceSpec, error) {
	if role != "placed" {
		return nil, nil
	}
	var in struct{ Repo string }
	if json.Unmarshal(scope.Input, &in) != nil || in.Repo == "" {
		return nil, core.Invalid("role placed, workspace.repo", "${input.repo} has no value")
	}
	return &core.WorkspaceSpec{Repo: in.Repo, Branch: "main"}, nil
}

func (p *chartPlan) Check(step *core.ChartStep, _ core.ChartScope) (bool, error) {
	if step.Name == "unresolvable" {
		return false, core.Invalid("steps["+step.Path+"].check", "a variable has no value")
	}
	return step.Name == "yes", nil
}

func (p *chartPlan) Aggregate(step *core.ChartStep, scope core.ChartScope) (json.RawMessage, float64, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(p.before(step, scope), &list); err != nil {
		return nil, 0, err
	}
	return json.RawMessage(fmt.Sprintf(`{"count":%d}`, len(list))), 0.5, nil
}

func (p *chartPlan) before(step *core.ChartStep, scope core.ChartScope) json.RawMessage {
	at := strings.LastIndexByte(step.Path, '.') + 1
	n, _ := strconv.Atoi(step.Path[at:])
	result, ok := scope.Result(step.Path[:at] + strconv.Itoa(n-1))
	if !ok {
		return json.RawMessage("null")
	}
	return result
}

// chartSay is what every agent answers to a task of an org chart: by step, round and attempt alone.
func (r *rig) chartSay(task core.Task) (string, *core.TaskError) {
	var in struct {
		Type           core.StepKind
		PreviousAnswer json.RawMessage
		Feedback       json.RawMessage
	}
	if err := json.Unmarshal(task.Input, &in); err != nil {
		return "", &core.TaskError{Message: err.Error()}
	}
	switch task.Role {
	case "flaky":
		if task.Attempt == 1 {
			return "", &core.TaskError{Code: "TRY_AGAIN", Message: "not today", Retryable: true}
		}
	case "broken":
		return "", &core.TaskError{Code: "TRY_AGAIN", Message: "not today", Retryable: true}
	case "mumbler":
		if in.PreviousAnswer == nil {
			return `"hm"`, nil
		}
	case "mute":
		return `"hm"`, nil
	case "severe":
		return `{"verdict":"reject","confidence":0.8,"feedback":"no"}`, nil
	case "strict":
		if in.Type != core.KindAssign && r.store.round(task) < 1 {
			return `{"verdict":"revise","confidence":0.8,"feedback":"again"}`, nil
		}
	}
	if in.Type == core.KindAssign {
		return fmt.Sprintf(`{"step":%q,"again":%t}`, task.Step, in.Feedback != nil), nil
	}
	return `{"verdict":"approve","confidence":0.9,"feedback":"good"}`, nil
}

// autoChart makes all agents answer at once.
func (r *rig) autoChart() {
	r.agents.mu.Lock()
	r.agents.answer = func(_ string, task core.Task) (string, *core.TaskError) { return r.chartSay(task) }
	r.agents.mu.Unlock()
}

// rawText is JSON as it stands.
type rawText = json.RawMessage

func mustUnmarshal(data []byte, v any) {
	if err := json.Unmarshal(data, v); err != nil {
		panic(err)
	}
}
