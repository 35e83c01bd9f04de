package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wardroom/wardroom/core"
)

// Wait implements core.ExecutionService. It looks for the run before it reads the store: a run leaves
// the active ones only after its terminal state is durable, so no end can fall between the two.
func (e *Engine) Wait(ctx context.Context, id string) (*core.Execution, error) {
	if r := e.activeRun(id); r != nil {
		return e.waitRun(ctx, r)
	}
	exec, err := e.store.FindExecution(ctx, id)
	if err != nil {
		return nil, err
	}
	if exec.AdHoc {
		return e.awaitAdHoc(ctx, exec)
	}
	if exec.Status.Terminal() {
		return exec, nil
	}
	if r := e.activeRun(id); r != nil { // it began between the two looks
		return e.waitRun(ctx, r)
	}
	return nil, e.inactive(id)
}

func (e *Engine) waitRun(ctx context.Context, r *run) (*core.Execution, error) {
	select {
	case <-r.done:
		return r.final, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-e.quit:
		select { // it may have ended just before
		case <-r.done:
			return r.final, nil
		default:
			return nil, errShuttingDown()
		}
	}
}

// inactive says why an execution that is stored as not over does not run.
func (e *Engine) inactive(id string) error {
	if e.stopping() || !e.accepting() { // it goes on after the start
		return errShuttingDown()
	}
	return core.Conflict("execution", id, "",
		"execution %s was set aside: what is stored of it cannot be read or written; it is tried again after a restart", id)
}

// FindExecution implements core.ExecutionService.
func (e *Engine) FindExecution(ctx context.Context, id string) (*core.Execution, error) {
	return e.store.FindExecution(ctx, id)
}

// FindExecutions implements core.ExecutionService. Of those that run the store does not know the agents.
func (e *Engine) FindExecutions(ctx context.Context, filter core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
	list, info, err := e.store.FindExecutions(ctx, filter)
	for _, row := range list {
		if row.Status.Terminal() {
			continue
		}
		if r := e.activeRun(row.ID); r != nil {
			row.Team = r.team.now()
		}
	}
	return list, info, err
}

// Cancel implements core.ExecutionService.
func (e *Engine) Cancel(ctx context.Context, id, reason string) (*core.Execution, error) {
	if r := e.activeRun(id); r != nil {
		if e.writable.down.Load() {
			return nil, e.writable.reason() // and nothing has changed
		}
		reply, refused := make(chan cancelReply, 1), e.writable.refusal()
		if r.inbox.put(message{kind: msgCancel, reason: reason, by: core.PrincipalFrom(ctx).ID, reply: reply}) {
			select {
			case out := <-reply:
				return out.execution, out.err
			case <-refused: // it is cancelled once the store takes writes again
				return nil, e.writable.reason()
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if e.stopping() {
			return nil, errShuttingDown()
		}
		select { // the inbox closes when the end is durable
		case <-r.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	exec, err := e.store.FindExecution(ctx, id)
	if err != nil {
		return nil, err
	}
	if exec.AdHoc && !exec.Status.Terminal() {
		return e.cancelAdHoc(ctx, exec, reason)
	}
	if !exec.Status.Terminal() {
		return nil, e.inactive(id)
	}
	return cancelled(exec)
}

// cancelled judges a cancel of a terminal execution.
func cancelled(exec *core.Execution) (*core.Execution, error) {
	if exec.Status == core.ExecutionCancelled {
		return exec, nil
	}
	return nil, core.Conflict("execution", exec.ID, string(exec.Status),
		"execution %s is %s already and cannot be cancelled", exec.ID, exec.Status)
}

func (r *run) cancelOutcome() cancelReply {
	exec, err := cancelled(r.final)
	return cancelReply{execution: exec, err: err}
}

// terminal returns a stored execution that is over, or CONFLICT.
func (e *Engine) terminal(ctx context.Context, id, verb string) (*core.Execution, error) {
	exec, err := e.store.FindExecution(ctx, id)
	if err != nil {
		return nil, err
	}
	if exec.AdHoc {
		return nil, core.Conflict("execution", id, string(exec.Status),
			"execution %s cannot be %s: an ad-hoc execution runs no pattern; spawn its threads anew", id, verb)
	}
	if !exec.Status.Terminal() {
		return nil, core.Conflict("execution", id, string(exec.Status),
			"execution %s is %s; it can be %s once it is over, cancel it first", id, exec.Status, verb)
	}
	return exec, nil
}

// Retry implements core.ExecutionService.
func (e *Engine) Retry(ctx context.Context, id string) (*core.Execution, error) {
	old, err := e.terminal(ctx, id, "retried")
	if err != nil {
		return nil, err
	}
	r, err := e.begin(ctx, again(old), origin{retryOf: id, hash: old.Hash, pins: old.Pins, ref: old.Pattern})
	if err != nil {
		return nil, err
	}
	return r.first, nil
}

func again(old *core.Execution) core.ExecuteRequest {
	return core.ExecuteRequest{Pattern: old.Pattern.Name, Version: old.Pattern.Version, Input: old.Input, Options: old.Options}
}

// Rerun implements core.ExecutionService.
func (e *Engine) Rerun(ctx context.Context, id, fromStep string) (*core.Execution, error) {
	old, err := e.terminal(ctx, id, "rerun")
	if err != nil {
		return nil, err
	}
	plan, err := e.patterns.Plan(ctx, old.Hash)
	if err != nil {
		return nil, err
	}
	events, err := e.journal(ctx, id)
	if err != nil {
		return nil, err
	}
	// Answers of an unfinished step are worth keeping, unless they are all there and were not good enough.
	partial := fromStep == "" && (old.Error == nil || old.Error.Code != core.CodeValidation && old.Error.Code != core.CodeApprovalRejected)
	var kept []core.Event
	if chart := plan.OrgChart(); chart != nil {
		kept, err = keepOfChart(chart.Chart(), events, fromStep, partial)
	} else {
		var keep map[string]bool
		if keep, err = stepsBefore(plan.Definition(), events, fromStep); err == nil {
			kept, err = keepEvents(events, keep, partial)
		}
	}
	if err != nil {
		return nil, err
	}
	r, err := e.begin(ctx, again(old), origin{
		retryOf: id, rerunFrom: fromStep, kept: kept, hash: old.Hash, pins: old.Pins, ref: old.Pattern,
	})
	if err != nil {
		return nil, err
	}
	return r.first, nil
}

// stepsBefore names the top-level steps whose results a rerun keeps.
func stepsBefore(d *core.Definition, events []core.Event, fromStep string) (map[string]bool, error) {
	finished, err := finishedSteps(events)
	if err != nil {
		return nil, err
	}
	keep := map[string]bool{}
	for i := range d.Steps {
		id := d.Steps[i].ID
		if id == fromStep && fromStep != "" {
			return keep, nil
		}
		if !finished[id] {
			if fromStep == "" {
				return keep, nil
			}
			if known(d, fromStep) {
				return nil, core.Invalid("fromStep", "step %q has no finished result to build on; rerun from it or from an earlier step", id)
			}
			break
		}
		keep[id] = true
	}
	if fromStep == "" {
		return nil, core.Invalid("fromStep", "every step has a finished result; name the step to run again")
	}
	return nil, core.Invalid("fromStep", "the pattern has no step %q; its steps are %v", fromStep, stepIDs(d))
}

func known(d *core.Definition, id string) bool {
	return slices.Contains(stepIDs(d), id)
}

func stepIDs(d *core.Definition) []string {
	ids := make([]string, len(d.Steps))
	for i := range d.Steps {
		ids[i] = d.Steps[i].ID
	}
	return ids
}

// Stream implements core.ExecutionService.
func (e *Engine) Stream(ctx context.Context, id string, after uint64) (core.EventStream, error) {
	if e.activeRun(id) == nil {
		if _, err := e.store.FindExecution(ctx, id); err != nil {
			return nil, err
		}
	}
	stream, err := e.streams.Stream(ctx, id, after, func(ev core.Event) bool { return endsExecution(ev.Type) })
	if err != nil && !errors.Is(err, ctx.Err()) {
		return nil, fmt.Errorf("open stream of %s: %w", id, err)
	}
	return stream, err
}

func endsExecution(t core.EventType) bool {
	return t == core.EventExecutionCompleted || t == core.EventExecutionFailed || t == core.EventExecutionCancelled
}
