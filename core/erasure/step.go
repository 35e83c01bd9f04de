package erasure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// step is a part of an erasure. run does some of it, bounded, and reports whether all of it is done; it may be run again at
// any time.
type step struct {
	name string
	run  func(s *Service, ctx context.Context, e *core.ErasureRecord) (done bool, err error)
}

// The steps before which things of the subject may still run.
const (
	stepSchedules = "schedules"
	stepStop      = "stop"
)

// steps are in the order in which they are done: what starts work goes first, and what refers to other things after them.
// From compact on the record names the subject no more.
var steps = []step{
	{stepSchedules, (*Service).eraseSchedules},
	{stepStop, (*Service).stop},
	{"executions", (*Service).eraseExecutions},
	{"batches", (*Service).eraseBatches},
	{"managedAgents", (*Service).eraseManaged},
	{"runtimes", (*Service).pruneRuntimes},
	{"sessions", (*Service).endSessions},
	{"deliveries", of(core.ErasureStore.EraseDeliveries)},
	{"idempotencyKeys", of(core.ErasureStore.EraseIdempotency)},
	{"events", of(core.ErasureStore.EraseEvents)},
	{"names", of(core.ErasureStore.EraseNames)},
	{"audit", (*Service).redactAudit},
	{"forget", (*Service).forget},
	{"compact", (*Service).compact},
}

// of makes a step of what the store does.
func of(run func(store core.ErasureStore, ctx context.Context, e *core.ErasureRecord) (bool, error)) func(*Service, context.Context, *core.ErasureRecord) (bool, error) {
	return func(s *Service, ctx context.Context, e *core.ErasureRecord) (bool, error) {
		return run(s.opts.Store, ctx, e)
	}
}

// advance does what is left of an erasure.
func (s *Service) advance(ctx context.Context, e *core.ErasureRecord) error {
	for i := range steps {
		if steps[i].name != e.Step {
			continue
		}
		for done := false; !done; {
			var err error
			if done, err = steps[i].run(s, ctx, e); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if i == len(steps)-1 {
			return s.finish(ctx, e)
		}
		next := clone(e)
		next.Step, next.Place, next.Waiting = steps[i+1].name, nil, ""
		if err := s.save(ctx, next); err != nil {
			return err
		}
		*e = *next
	}
	return nil
}

// mark notes what is about to go, and counts it.
func (s *Service) mark(ctx context.Context, e *core.ErasureRecord, kind string, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	var next *core.ErasureRecord
	err := s.put(ctx, e, func(tx core.Tx) error {
		next = clone(e)
		for _, id := range ids {
			fresh, err := tx.MarkErased(e.ID, kind, id)
			if err != nil {
				return err
			}
			if fresh {
				next.Done[kind]++
			}
		}
		return tx.PutErasure(next)
	})
	if err == nil {
		*e = *next
	}
	return err
}

// onRuntime notes which runtime had an agent of the subject.
func (s *Service) onRuntime(ctx context.Context, e *core.ErasureRecord, name string) error {
	if name == "" || name == core.RuntimeConnected || slices.Contains(e.Runtimes, name) {
		return nil
	}
	next := clone(e)
	next.Runtimes = append(slices.Clone(e.Runtimes), name)
	if err := s.save(ctx, next); err != nil {
		return err
	}
	*e = *next
	return nil
}

// pruneRuntimes has each runtime that had agents of the subject remove what it kept of them: their directories, logs, and
// what they were told and said. One that is not ready is waited for.
func (s *Service) pruneRuntimes(ctx context.Context, e *core.ErasureRecord) (bool, error) {
	for len(e.Runtimes) > 0 {
		name := e.Runtimes[0]
		left, err := s.opts.Managed.PruneRuntime(ctx, name)
		if err != nil {
			return false, err
		}
		if left != "" {
			if err := s.remains(ctx, e, core.DataRemainder{
				Kind: "runtimes", Note: "what the runtime " + name + " kept of its agents, as " + left + ": remove its directory where it ran",
			}); err != nil {
				return false, err
			}
		}
		next := clone(e)
		next.Runtimes = slices.Clone(e.Runtimes[1:])
		if err := s.save(ctx, next); err != nil {
			return false, err
		}
		*e = *next
	}
	return true, nil
}

// gone passes over what somebody else removed meanwhile.
func gone(err error) error {
	if core.ErrorCode(err) == core.CodeNotFound {
		return nil
	}
	return err
}

func (s *Service) eraseSchedules(ctx context.Context, e *core.ErasureRecord) (bool, error) {
	schedules, err := s.schedules(ctx, e.Subject)
	if err != nil {
		return false, err
	}
	for _, r := range schedules {
		if err := s.mark(ctx, e, core.DataSchedules, r.ID); err != nil {
			return false, err
		}
		if err := gone(s.opts.Schedules.DeleteSchedule(ctx, r.ID)); err != nil {
			return false, err
		}
	}
	triggers, err := s.triggers(ctx, e.Subject)
	if err != nil {
		return false, err
	}
	for _, r := range triggers {
		if err := s.mark(ctx, e, core.DataTriggers, r.ID); err != nil {
			return false, err
		}
		if err := gone(s.opts.Triggers.DeleteTrigger(ctx, r.ID)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// cancelReason is what executions are cancelled with.
const cancelReason = "the data of its subject is erased"

// stop sees to it that nothing of the subject runs that was made before the erasure: it cancels, if that was asked for, and
// comes again until all is over.
func (s *Service) stop(ctx context.Context, e *core.ErasureRecord) (bool, error) {
	active := core.DataCounts{}
	err := s.eachBatch(ctx, e.Subject, func(b *core.Batch) error {
		if b.Status.Terminal() || !covers(e, b.ID) {
			return nil
		}
		active[core.DataBatches]++
		if !e.Cancel {
			return nil
		}
		_, err := s.opts.Work.CancelBatch(ctx, b.ID)
		return over(err)
	})
	if err != nil {
		return false, err
	}
	err = s.eachExecution(ctx, e.Subject, func(row *core.Execution) error {
		if row.Status.Terminal() || !coversRow(e, row) {
			return nil
		}
		active[core.DataExecutions]++
		if !e.Cancel {
			return nil
		}
		_, err := s.opts.Work.Cancel(ctx, row.ID, cancelReason)
		return over(err)
	})
	if err != nil {
		return false, err
	}
	err = s.eachManaged(ctx, e.Subject, func(a *core.ManagedAgent) error {
		if a.StoppedAt != nil || !covers(e, a.ID) {
			return nil
		}
		active[core.DataManagedAgents]++
		if !e.Cancel {
			return nil
		}
		return gone(s.opts.Managed.StopManagedAgent(ctx, a.ID, core.ManagedAgentStop{}))
	})
	if err != nil {
		return false, err
	}
	if len(active) > 0 {
		return false, core.Conflict("subject", "", "active", "%s of the subject not over yet", activeText(active))
	}
	return true, nil
}

// over passes over what came to its end, or is gone, meanwhile.
func over(err error) error {
	if core.ErrorCode(err) == core.CodeConflict {
		return nil
	}
	return gone(err)
}

// eraseExecutions removes executions, each with what belongs to it. One that cannot be read stays, and is counted; its events
// and deliveries go all the same.
func (s *Service) eraseExecutions(ctx context.Context, e *core.ErasureRecord) (bool, error) {
	unreadable := map[string]bool{}
	for _, filter := range filters(e.Subject) {
		for {
			rows, info, err := s.opts.Store.FindExecutions(ctx, filter)
			if err != nil {
				return false, err
			}
			for _, row := range rows {
				if !coversRow(e, row) {
					continue
				}
				err := s.eraseExecution(ctx, e, row.ID)
				if errors.Is(err, core.ErrUnreadable) {
					s.log.Error("an execution cannot be read and stays where it is: see wardroom store repair", "erasure", e.ID, "execution", row.ID)
					unreadable[row.ID], err = true, nil
				}
				if err := errors.Join(err, ctx.Err()); err != nil {
					return false, err
				}
			}
			if filter.Cursor = info.NextCursor; !info.HasMore || filter.Cursor == "" {
				break
			}
		}
	}
	if len(unreadable) == 0 {
		return true, nil
	}
	next := clone(e)
	next.Unreadable = maps.Clone(e.Unreadable)
	if next.Unreadable == nil {
		next.Unreadable = core.DataCounts{}
	}
	next.Unreadable[core.DataExecutions] = len(unreadable)
	next.Done[core.DataExecutions] = max(next.Done[core.DataExecutions]-len(unreadable), 0) // they were counted as they were marked
	if err := s.save(ctx, next); err != nil {
		return false, err
	}
	*e = *next
	return true, nil
}

func (s *Service) eraseExecution(ctx context.Context, e *core.ErasureRecord, id string) error {
	if err := s.mark(ctx, e, core.DataExecutions, id); err != nil {
		return err
	}
	var managed []string
	err := s.eachThread(ctx, id, func(t *core.ThreadRecord) error {
		if t.ManagedAgentID != "" {
			managed = append(managed, t.ManagedAgentID)
		}
		if err := s.onRuntime(ctx, e, t.Runtime); err != nil {
			return err
		}
		return s.mark(ctx, e, core.DataThreads, t.ID)
	})
	if err != nil {
		return err
	}
	if err := s.mark(ctx, e, core.DataManagedAgents, managed...); err != nil {
		return err
	}
	if err := s.eraseWorkspaces(ctx, e, id); err != nil {
		return err
	}
	ids, err := s.opts.Memory.ForgetExecution(ctx, id)
	if err != nil {
		return err
	}
	if err := s.mark(ctx, e, core.DataExperiences, ids...); err != nil {
		return err
	}
	for _, agent := range managed {
		if err := s.forgetAgent(ctx, e, agent); err != nil {
			return err
		}
	}
	return gone(s.opts.Work.Delete(ctx, id)) // last: all else is found by it when this is done again
}

// forgetAgent forgets an agent of an execution that is over. One that is not stopped has nothing to do any more and is stopped; the
// record of one that cannot be, such as one of a runtime that is not configured any more, remains.
func (s *Service) forgetAgent(ctx context.Context, e *core.ErasureRecord, id string) error {
	err := s.opts.Managed.ForgetManagedAgent(ctx, id)
	if core.ErrorCode(err) == core.CodeConflict {
		stopping := s.opts.Managed.StopManagedAgent(ctx, id, core.ManagedAgentStop{Force: true})
		err = s.opts.Managed.ForgetManagedAgent(ctx, id)
		if core.ErrorCode(err) == core.CodeConflict {
			s.log.Warn("an agent is not stopped, and its record stays", "agent", id, "error", errors.Join(err, stopping))
			return s.remains(ctx, e, core.DataRemainder{
				Kind: core.DataManagedAgents, Note: "the record of agent " + id + ", which could not be stopped: stop it, and erase again",
			})
		}
	}
	return gone(err)
}

// remains notes what an erasure has to leave, once.
func (s *Service) remains(ctx context.Context, e *core.ErasureRecord, r core.DataRemainder) error {
	if slices.Contains(e.Remaining, r) {
		return nil
	}
	next := clone(e)
	next.Remaining = append(slices.Clone(e.Remaining), r)
	if err := s.save(ctx, next); err != nil {
		return err
	}
	*e = *next
	return nil
}

// eraseWorkspaces removes the files of an execution's threads, also those that are nowhere else. What is erased is not in the
// list any more, so that its first page is what is left.
func (s *Service) eraseWorkspaces(ctx context.Context, e *core.ErasureRecord, executionID string) error {
	filter := core.WorkspaceFilter{ExecutionID: executionID, Page: core.Page{Limit: core.MaxPageLimit}}
	for {
		list, info, err := s.opts.Store.FindWorkspaces(ctx, filter)
		if err != nil {
			return err
		}
		for _, w := range list {
			if err := s.mark(ctx, e, core.DataWorkspaces, w.ID); err != nil {
				return err
			}
			left, err := s.opts.Workspaces.EraseWorkspace(ctx, w.ID)
			if err != nil {
				return err
			}
			if left != "" {
				if err := s.remains(ctx, e, core.DataRemainder{
					Kind: "mirrors", Note: "what git keeps of commits, in no branch any more, in the mirror of " + left +
						"; it goes with the mirror: wardroom workspace prune --mirrors, once nothing uses it",
				}); err != nil {
					return err
				}
			}
		}
		if !info.HasMore || len(list) == 0 {
			return nil
		}
	}
}

func (s *Service) eraseBatches(ctx context.Context, e *core.ErasureRecord) (bool, error) {
	return true, s.eachBatch(ctx, e.Subject, func(b *core.Batch) error {
		if !covers(e, b.ID) {
			return nil
		}
		if err := s.mark(ctx, e, core.DataBatches, b.ID); err != nil {
			return err
		}
		return s.opts.Store.EraseBatch(ctx, b.ID)
	})
}

func (s *Service) eraseManaged(ctx context.Context, e *core.ErasureRecord) (bool, error) {
	return true, s.eachManaged(ctx, e.Subject, func(a *core.ManagedAgent) error {
		if !covers(e, a.ID) {
			return nil
		}
		if err := s.onRuntime(ctx, e, a.Runtime); err != nil {
			return err
		}
		if err := s.mark(ctx, e, core.DataManagedAgents, a.ID); err != nil {
			return err
		}
		return gone(s.opts.Managed.ForgetManagedAgent(ctx, a.ID))
	})
}

// endSessions signs the subject out everywhere.
func (s *Service) endSessions(ctx context.Context, e *core.ErasureRecord) (bool, error) {
	if s.opts.Sessions == nil {
		return true, nil
	}
	list, _, err := s.opts.Store.FindSessions(ctx, core.SessionFilter{User: e.Subject, Page: core.Page{Limit: core.MaxPageLimit}})
	if err != nil {
		return false, err
	}
	for _, r := range list {
		if err := s.mark(ctx, e, core.DataSessions, r.ID); err != nil {
			return false, err
		}
		_, err := s.opts.Sessions.RevokeSession(ctx, r.ID)
		if err := gone(err); err != nil {
			return false, err
		}
	}
	return len(list) == 0, nil
}

func (s *Service) redactAudit(ctx context.Context, e *core.ErasureRecord) (bool, error) {
	return s.opts.Store.RedactAudit(ctx, e, func(row core.AuditRow, marked func(id string) bool) ([]byte, error) {
		return s.opts.Trail.Redact(row, e, marked)
	})
}

// forget takes the subject out of the record of the erasure itself.
func (s *Service) forget(ctx context.Context, e *core.ErasureRecord) (bool, error) {
	if err := s.opts.Store.DropMarks(ctx, e.ID); err != nil {
		return false, err
	}
	next := clone(e)
	if next.RequestedBy == e.Subject {
		next.RequestedBy = e.Pseudonym
	}
	next.Subject = ""
	if err := s.save(ctx, next); err != nil {
		return false, err
	}
	*e = *next
	return true, nil
}

// compact has the files written anew. Where that fails, as for want of room, what was removed stays in files until the store
// writes them anew by itself.
func (s *Service) compact(ctx context.Context, e *core.ErasureRecord) (bool, error) {
	err := s.opts.Store.Compact(ctx)
	if err == nil || ctx.Err() != nil {
		return err == nil, err
	}
	s.log.Warn("the files of the store were not written anew after an erasure", "erasure", e.ID, "error", err)
	next := clone(e)
	next.Remaining = append(next.Remaining[:len(next.Remaining):len(next.Remaining)], core.DataRemainder{
		Kind: "files", Note: "the files of the store were not written anew (" + err.Error() + "): what was removed goes from them as the store writes on",
	})
	if err := s.save(ctx, next); err != nil {
		return false, err
	}
	*e = *next
	return true, nil
}

// finish ends an erasure, with the event that its audit record follows from.
func (s *Service) finish(ctx context.Context, e *core.ErasureRecord) error {
	now := s.opts.Clock.Now().UTC()
	next := clone(e)
	next.Status, next.Step, next.Place, next.Waiting, next.CompletedAt = wire.ErasureCompleted, "", nil, "", &now
	data, err := json.Marshal(map[string]any{"pseudonym": next.Pseudonym, "done": next.Done, "unreadable": total(next.Unreadable)})
	if err != nil {
		return core.AsError(err)
	}
	err = s.update(ctx, func(tx core.Tx) error {
		if err := tx.PutErasure(next); err != nil {
			return err
		}
		return tx.Append(core.Event{Type: core.EventDataErased, Time: now, Subject: next.ID, Data: data})
	})
	if err != nil {
		return err
	}
	*e = *next
	if len(e.Unreadable) > 0 {
		s.log.Warn("an erasure left records that cannot be read", "erasure", e.ID, "unreadable", fmt.Sprint(map[string]int(e.Unreadable)))
	}
	s.log.Info("erasure is over", "erasure", e.ID, "done", fmt.Sprint(map[string]int(e.Done)))
	return nil
}

func total(counts core.DataCounts) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}
