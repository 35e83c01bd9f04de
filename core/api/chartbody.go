package api

import (
	"context"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/wire"
)

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
	t, err := s.opts.Timelines.Timeline(ctx, e.ID)
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
				report.Steps = append(report.Steps, core.StepReport{Step: number, Type: e.Type})
			}
			report.Steps[at].Duration += e.Duration
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
func adHocMetrics(t *core.Timeline, duration wire.Millis) *wire.WorkflowMetrics {
	m, agents := &wire.WorkflowMetrics{Duration: duration}, map[string]bool{}
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

// workflowOutcome returns what an execution of an org chart has beyond others, of which nothing is set.
func workflowOutcome(e *core.Execution, report *core.WorkflowReport, duration wire.Millis) wire.WorkflowOutcome {
	if report == nil {
		return wire.WorkflowOutcome{}
	}
	steps := report.Steps
	if steps == nil {
		steps = []wire.WorkflowStep{}
	}
	return wire.WorkflowOutcome{
		PatternName: e.Pattern.Name, Output: rawjson.AsObject(e.Result), Partial: report.Partial, Steps: steps,
		Metrics: &wire.WorkflowMetrics{
			Duration: duration, StepsExecuted: report.StepsExecuted, AgentsUsed: report.AgentsUsed, Usage: report.Usage,
		},
	}
}
