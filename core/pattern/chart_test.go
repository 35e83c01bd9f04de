package pattern_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
)

// scopeOf makes a scope of the input and of results by path; a path that begins with = is an output's name.
func scopeOf(input string, results map[string]string) core.ChartScope {
	find := func(name string) (json.RawMessage, bool) {
		raw, ok := results[name]
		return json.RawMessage(raw), ok
	}
	return core.ChartScope{
		Input: json.RawMessage(input),
		Context: core.ChartContext{
			ExecutionID: "exec_1", PatternName: "team", PatternVersion: "1.0.0",
			StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC),
		},
		Result: find,
		Named:  func(name string) (json.RawMessage, bool) { return find("=" + name) },
	}
}

// mustChart parses an org chart that is expected to be good.
func mustChart(tb testing.TB, source string) core.ChartPlan {
	tb.Helper()
	plan := mustParse(tb, source).OrgChart()
	if plan == nil {
		tb.Fatal("not an org chart")
	}
	return plan
}

// everyStep calls fn for each step of a chart, outer ones first.
func everyStep(steps []*core.ChartStep, fn func(*core.ChartStep)) {
	for _, s := range steps {
		if s != nil {
			fn(s)
			everyStep(s.Steps, fn)
		}
	}
}

// exerciseChart evaluates every expression of a chart; what comes out must be well-formed, or an error.
func exerciseChart(t *testing.T, plan core.Plan) {
	t.Helper()
	chart := plan.OrgChart()
	c := chart.Chart()
	if len(c.Steps) == 0 || len(c.Roles) == 0 || len(plan.Definition().Steps) != 0 || plan.Definition().Timeout <= 0 {
		t.Fatalf("chart %+v of %+v", c, plan.Definition())
	}
	scope := scopeOf(`{"text":"x"}`, nil)
	scope.Result = func(path string) (json.RawMessage, bool) {
		return json.RawMessage(`[{"a":1},"x"]`), len(path) != 2
	}
	scope.Named = scope.Result
	seen := map[string]bool{}
	everyStep(c.Steps, func(s *core.ChartStep) {
		if seen[s.Path] || s.Line <= 0 || s.Kind.Composite() != (len(s.Steps) > 0) || s.Kind.AtAgent() != (c.Role(s.Role) != nil) {
			t.Fatalf("step %+v", s)
		}
		seen[s.Path] = true
		switch s.Kind {
		case core.KindAssign:
			_, err := chart.Task(s, scope)
			wantValidation(t, err)
		case core.KindReview, core.KindApprove:
			subject, err := chart.Subject(s, scope)
			if wantValidation(t, err); err == nil && !json.Valid(subject) {
				t.Fatalf("subject %s", subject)
			}
		case core.KindCondition:
			_, err := chart.Check(s, scope)
			wantValidation(t, err)
		case core.KindAggregate:
			result, confidence, err := chart.Aggregate(s, scope)
			if wantValidation(t, err); err == nil && (!json.Valid(result) || confidence < 0 || confidence > 1) {
				t.Fatalf("aggregate %s, %v", result, confidence)
			}
		}
	})
	for i := range c.Roles {
		_, err := chart.Workspace(c.Roles[i].Key, scope)
		wantValidation(t, err)
	}
	out, err := chart.Output(scope)
	if wantValidation(t, err); err == nil && !json.Valid(out) {
		t.Fatalf("output %s", out)
	}
}

// wantValidation fails for an error of another kind than VALIDATION_ERROR.
func wantValidation(t *testing.T, err error) {
	t.Helper()
	if err != nil && core.ErrorCode(err) != core.CodeValidation {
		t.Fatalf("error %v", err)
	}
}

func TestChartDefaults(t *testing.T) {
	plan := mustParse(t, chart("  steps: [{type: assign, role: worker, task: t}]\n"))
	c := plan.OrgChart().Chart()
	if d := plan.Definition(); d.Timeout != 2*time.Hour || d.MaxActive != 0 || len(d.Steps) != 0 {
		t.Errorf("definition %+v", d)
	}
	want := core.Escalation{Default: core.BehaviorReportsTo, Timeout: 30 * time.Second, MaxDepth: 5, OnMaxDepth: core.BehaviorSurface}
	if x := c.Escalation; x.Default != want.Default || x.Timeout != want.Timeout || x.MaxDepth != want.MaxDepth || x.OnMaxDepth != want.OnMaxDepth {
		t.Errorf("escalation %+v", x)
	}
	if r := c.Role("worker"); r == nil || r.ID != "worker" || r.Name != "worker" || r.Min != 1 || r.Max != 0 || r.ReportsTo != "lead" {
		t.Errorf("role %+v", r)
	}
	if mustParse(t, flat("")).OrgChart() != nil {
		t.Error("a flat pattern has an org chart")
	}
	if _, err := plan.Output(core.Scope{}); core.ErrorCode(err) != core.CodeInternal {
		t.Errorf("the flat output of a chart is %v", err)
	}
	if _, err := plan.OrgChart().Check(c.Steps[0], core.ChartScope{}); core.ErrorCode(err) != core.CodeInternal {
		t.Errorf("the condition of an assign step is %v", err)
	}
}

// TestChartInstances: how many agents a role has, by what is said of it and by who refers to it.
func TestChartInstances(t *testing.T) {
	for _, tc := range []struct {
		role, rest string
		low, high  int
	}{
		{"{}", "", 0, 0},
		{"{minInstances: 1}", "", 1, 0},
		{"{singleton: true}", "", 0, 1},
		{"{singleton: true, minInstances: 1, maxInstances: 1}", "", 1, 1},
		{"{maxInstances: 4}", "", 0, 4},
		{"{}", "  routing: [{from: lead, to: other, topics: [a]}]\n", 1, 0},
		{"{}", "  routing: [{from: other, to: lead, topics: [a]}]\n", 0, 0},
		{"{}", "  escalation: {topicRoutes: {a: other}}\n", 1, 0},
	} {
		source := strings.Replace(chart("  steps: [{type: assign, role: worker, task: t}]\n"), "workflow:", "    other: "+
			strings.Replace(tc.role, "{", "{reportsTo: lead, ", 1)+"\n"+tc.rest+"workflow:", 1)
		r := mustChart(t, source).Chart().Role("other")
		if r.Min != tc.low || r.Max != tc.high {
			t.Errorf("%s with %q has %d to %d instances, want %d to %d", tc.role, tc.rest, r.Min, r.Max, tc.low, tc.high)
		}
	}
}
