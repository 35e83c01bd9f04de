package threads

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// newAdHoc makes an execution that runs no pattern.
func newAdHoc(id, by string, now time.Time) *core.Execution {
	return &core.Execution{
		ID: id, Pattern: core.AdHocPattern, Status: core.ExecutionRunning, Input: json.RawMessage("{}"),
		CreatedBy: by, CreatedAt: now, StartedAt: &now, AdHoc: true,
	}
}

// inherit has an ad-hoc execution pin the definitions of the one whose thread left the workspace or the session that r goes on
// with: who may read what patterns with an allow-list made is what their lists say, wherever it is gone on with.
func inherit(tx core.Tx, exec *core.Execution, r *core.ThreadRecord, from *continuation) error {
	var earlier []string
	if from != nil {
		earlier = append(earlier, from.old.ExecutionID)
	}
	if r.Workspace != nil {
		ws, err := tx.FindWorkspace(r.Workspace.ID)
		switch {
		case err == nil:
			earlier = append(earlier, ws.ExecutionID)
		case core.ErrorCode(err) != core.CodeNotFound:
			return err
		}
	}
	for _, id := range earlier {
		if !core.ValidID(core.PrefixExecution, id) || id == exec.ID {
			continue
		}
		e, err := tx.FindExecution(id)
		if core.ErrorCode(err) == core.CodeNotFound {
			continue
		}
		if err != nil {
			return err
		}
		if exec.Pins == nil {
			exec.Pins = make(map[string]string, len(e.Pins)+1)
		}
		maps.Copy(exec.Pins, e.Pins)
		if e.Hash != "" {
			exec.Pins[e.Pattern.Name+"@"+e.Pattern.Version] = e.Hash
		}
	}
	return nil
}

// executionData is the data of the public events of executions, as the interface's webhook table has them.
type executionData struct {
	ExecutionID string               `json:"executionId"`
	Pattern     core.PatternRef      `json:"pattern"`
	Input       json.RawMessage      `json:"input,omitzero"`
	Metadata    map[string]any       `json:"metadata,omitzero"`
	Result      json.RawMessage      `json:"result,omitempty"`
	Error       *core.ExecutionError `json:"error,omitempty"`
	Reason      *string              `json:"reason,omitempty"`
	Duration    *int64               `json:"duration,omitempty"` // milliseconds
	Agents      []core.AgentResult   `json:"agents,omitzero"`
}

// executionEvent returns what became of an ad-hoc execution.
func (s *Service) executionEvent(kind core.EventType, e *core.Execution, now time.Time) core.Event {
	data := executionData{ExecutionID: e.ID, Pattern: e.Pattern}
	took := e.Duration(now).Milliseconds()
	switch kind {
	case core.EventExecutionStarted:
		if data.Input, data.Metadata = e.Input, map[string]any{}; e.Input == nil {
			data.Input = json.RawMessage("null")
		}
	case core.EventExecutionCompleted:
		data.Duration, data.Result, data.Agents = &took, e.Result, []core.AgentResult{}
	case core.EventExecutionFailed:
		data.Duration, data.Error, data.Agents = &took, e.Error, []core.AgentResult{}
	case core.EventExecutionCancelled:
		data.Duration, data.Reason = &took, &e.CancelReason
	}
	raw, err := json.Marshal(data)
	if err != nil {
		raw = json.RawMessage("{}") // plain data always encodes
	}
	return core.Event{ID: s.opts.IDs.New(core.PrefixEvent), Type: kind, Time: now, Subject: e.ID, Data: raw}
}

// joinAdHoc notes a thread of an execution before it is stored, so that who ends the execution looks for it.
func (s *Service) joinAdHoc(execution, thread string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[execution] = append(s.members[execution], thread)
}

// leaveAdHoc forgets a thread that was not stored.
func (s *Service) leaveAdHoc(execution, thread string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[execution] = slices.DeleteFunc(s.members[execution], func(id string) bool { return id == thread })
	if len(s.members[execution]) == 0 {
		delete(s.members, execution)
	}
}

// forgetAdHoc forgets the threads of an execution that is not to end with them: it is over, or runs a pattern.
func (s *Service) forgetAdHoc(execution string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.members, execution)
}

// memberResult is what the result of an ad-hoc execution tells of one thread.
type memberResult struct {
	ThreadID string               `json:"threadId"`
	Status   core.ThreadStatus    `json:"status"`
	State    core.CompletionState `json:"state,omitempty"`
}

// endAdHoc ends an ad-hoc execution with the last of its threads. It is part of the transaction that stores the end
// of one. It returns what is to be known of it afterwards.
func (s *Service) endAdHoc(tx core.Tx, execution string, now time.Time) (out outcome, err error) {
	e, err := tx.FindExecution(execution)
	if err != nil {
		if core.ErrorCode(err) == core.CodeNotFound {
			return out, nil // retention removes no execution with active threads, but a record may be damaged
		}
		return out, err
	}
	if !e.AdHoc || e.Status.Terminal() {
		return out, nil
	}
	if active, err := tx.CountActiveThreads(execution); err != nil || active > 0 {
		return outcome{keep: true}, err
	}
	s.mu.Lock()
	ids := slices.Clone(s.members[execution])
	s.mu.Unlock()
	results := make([]memberResult, 0, len(ids))
	failed := 0
	for _, id := range ids {
		r, err := tx.FindThread(id)
		if core.ErrorCode(err) == core.CodeNotFound {
			continue // its spawn was not stored
		}
		if err != nil {
			return out, err
		}
		if r.Status == core.ThreadFailed {
			failed++
		}
		results = append(results, memberResult{ThreadID: id, Status: r.Status, State: stateOf(r)})
	}
	next := *e
	next.Status, next.CompletedAt = core.ExecutionCompleted, &now
	if next.Result, err = json.Marshal(map[string]any{"threads": results}); err != nil {
		return out, err
	}
	kind := core.EventExecutionCompleted
	if failed > 0 {
		kind, next.Status = core.EventExecutionFailed, core.ExecutionFailed
		next.Error = &core.ExecutionError{Code: core.CodeAgentError, Message: fmt.Sprintf("%d of %d threads failed", failed, len(results))}
	}
	if err := tx.PutExecution(&next); err != nil {
		return out, err
	}
	return out, tx.Append(s.executionEvent(kind, &next, now))
}

// CancelAdHoc implements core.ThreadService.
func (s *Service) CancelAdHoc(ctx context.Context, executionID, reason string) (*core.Execution, error) {
	var out *core.Execution
	now := s.clock.Now()
	err := s.update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		e, err := tx.FindExecution(executionID)
		if err != nil {
			return err
		}
		out = e
		switch {
		case !e.AdHoc:
			return core.Conflict("execution", e.ID, string(e.Status), "the execution runs a pattern")
		case e.Status == core.ExecutionCancelled:
			tx.AfterCommit(func() { s.stopAll(executionID, e.CancelledBy) })
			return nil
		case e.Status.Terminal():
			return core.Conflict("execution", e.ID, string(e.Status), "the execution is %s already", e.Status)
		}
		next := *e
		next.Status, next.CompletedAt, next.CancelledAt, next.CancelReason = core.ExecutionCancelled, &now, &now, reason
		next.CancelledBy = core.PrincipalFrom(ctx).ID
		out = &next
		if err := tx.PutExecution(&next); err != nil {
			return err
		}
		tx.AfterCommit(func() { s.stopAll(executionID, next.CancelledBy) }) // also where it is known later than the caller waits
		return tx.Append(s.executionEvent(core.EventExecutionCancelled, &next, now))
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
