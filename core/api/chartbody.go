package api

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/wire"
)

// chartMetrics is what an execution of an org chart took.
type chartMetrics struct {
	DurationMs    int64       `json:"durationMs"`
	StepsExecuted int         `json:"stepsExecuted" doc:"At the top level, finished."`
	AgentsUsed    int         `json:"agentsUsed" doc:"Distinct agents."`
	Usage         *wire.Usage `json:"usage,omitempty" doc:"Sum over the turns of managed agents, for tasks and for messages of other roles, where they tell; of an ad-hoc execution over its threads. Never estimated."`
}

// chartStep is a step at the top level of an org chart.
type chartStep struct {
	Step       int           `json:"step" doc:"From 0."`
	Type       core.StepKind `json:"type" enum:"assign,parallel,sequential,review,approve,aggregate,condition"`
	DurationMs int64         `json:"durationMs"`
}

// workflow returns what an execution of an org chart tells of its steps, while it runs too; nil for a flat pattern.
func (s *Server) workflow(ctx context.Context, e *core.Execution) (*core.WorkflowReport, error) {
	switch {
	case e.Workflow != nil:
		return e.Workflow, nil
	case !e.Chart:
		return nil, nil
	case e.StartedAt == nil || e.Status.Terminal():
		return &core.WorkflowReport{}, nil
	}
	t, err := s.opts.Executions.Timeline(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	return reportOf(t), nil
}

// reportOf sums up a timeline. A step that is run again counts once, with the time of all its rounds.
func reportOf(t *core.Timeline) *core.WorkflowReport {
	report := &core.WorkflowReport{}
	index, agents := map[string]int{}, map[string]bool{}
	finished := map[string]bool{}
	for i := range t.Entries {
		if t.Entries[i].Kind != core.TimelineThread { // a thread beside the workflow has its own account
			report.Usage = plus(report.Usage, t.Entries[i].Usage)
		}
		switch e := &t.Entries[i]; {
		case e.Kind == core.TimelineTask && e.Status == string(core.ExecutionCompleted):
			agents[e.AgentID] = true
		case e.Kind == core.TimelineStep && e.Step == "":
			number, err := strconv.Atoi(e.ID)
			if err != nil {
				continue
			}
			at, known := index[e.ID]
			if !known {
				at = len(report.Steps)
				index[e.ID] = at
				report.Steps = append(report.Steps, core.StepReport{Step: number, Type: core.StepKind(e.Type)})
			}
			report.Steps[at].DurationMs += e.DurationMs
			finished[e.ID] = e.EndedAt != nil
		}
	}
	for _, over := range finished {
		if over {
			report.StepsExecuted++
		}
	}
	report.AgentsUsed = len(agents)
	return report
}

// plus adds what turns used to a sum, of which nil is none that told.
func plus(sum, used *wire.Usage) *wire.Usage {
	if used == nil {
		return sum
	}
	if sum == nil {
		sum = new(wire.Usage)
	}
	sum.Add(used)
	return sum
}

// adHocMetrics sums up the threads of an ad-hoc execution.
func adHocMetrics(t *core.Timeline, durationMs int64) *chartMetrics {
	m, agents := &chartMetrics{DurationMs: durationMs}, map[string]bool{}
	for i := range t.Entries {
		if e := &t.Entries[i]; e.Kind == core.TimelineThread {
			m.Usage = plus(m.Usage, e.Usage)
			if e.AgentID != "" {
				agents[e.AgentID] = true
			}
		}
	}
	m.AgentsUsed = len(agents)
	return m
}

// withWorkflow adds what executions of org charts have beyond others.
func (b *executionBody) withWorkflow(report *core.WorkflowReport) *executionBody {
	if report == nil {
		return b
	}
	b.PatternName, b.Output, b.Partial = b.Pattern.Name, b.Result, report.Partial
	b.Metrics = &chartMetrics{
		DurationMs: b.Duration, StepsExecuted: report.StepsExecuted, AgentsUsed: report.AgentsUsed,
		Usage: report.Usage,
	}
	steps := make([]chartStep, len(report.Steps))
	for i, step := range report.Steps {
		steps[i] = chartStep(step)
	}
	b.Steps = &steps
	return b
}

// appendUsage appends a member usage, if there is any.
func appendUsage(b []byte, u *wire.Usage) []byte {
	if u == nil {
		return b
	}
	raw, err := json.Marshal(u)
	if err != nil {
		return b // a cost that is no number
	}
	return append(append(b, `,"usage":`...), raw...)
}

// appendWorkflow appends the members that the outcome of an org chart has beyond others.
func appendWorkflow(b []byte, e *core.Execution, report *core.WorkflowReport, durationMs int64) []byte {
	b = append(b, `,"patternName":`...)
	b = rawjson.AppendString(b, e.Pattern.Name)
	b = append(b, `,"output":`...)
	b = append(b, rawOr(e.Result, "null")...)
	b = append(b, `,"metrics":{"durationMs":`...)
	b = strconv.AppendInt(b, durationMs, 10)
	b = append(b, `,"stepsExecuted":`...)
	b = strconv.AppendInt(b, int64(report.StepsExecuted), 10)
	b = append(b, `,"agentsUsed":`...)
	b = strconv.AppendInt(b, int64(report.AgentsUsed), 10)
	b = appendUsage(b, report.Usage)
	b = append(b, `},"steps":[`...)
	for i := range report.Steps {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"step":`...)
		b = strconv.AppendInt(b, int64(report.Steps[i].Step), 10)
		b = append(b, `,"type":`...)
		b = rawjson.AppendString(b, string(report.Steps[i].Type))
		b = append(b, `,"durationMs":`...)
		b = strconv.AppendInt(b, report.Steps[i].DurationMs, 10)
		b = append(b, '}')
	}
	b = append(b, ']')
	if report.Partial {
		b = append(b, `,"partial":true`...)
	}
	return b
}
