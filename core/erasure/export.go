package erasure

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/wardroom/wardroom/core"
)

// exporter hands on what it is given, a thing at a time.
type exporter struct {
	*Service
	fn func(item core.DataItem) error
}

func (x exporter) put(kind, id string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return core.AsError(err)
	}
	return x.fn(core.DataItem{Kind: kind, ID: id, Data: data})
}

// Export implements core.ErasureService.
func (s *Service) Export(ctx context.Context, subject string, fn func(item core.DataItem) error) error {
	if err := checkSubject(subject); err != nil {
		return err
	}
	x := exporter{s, fn}
	if err := s.eachExecution(ctx, subject, func(row *core.Execution) error { return x.execution(ctx, row.ID) }); err != nil {
		return err
	}
	if err := s.eachBatch(ctx, subject, func(b *core.Batch) error { return x.batch(ctx, b) }); err != nil {
		return err
	}
	schedules, err := s.schedules(ctx, subject)
	if err != nil {
		return err
	}
	for _, r := range schedules {
		if err := x.put(core.DataSchedules, r.ID, r.Schedule); err != nil {
			return err
		}
	}
	triggers, err := s.triggers(ctx, subject)
	if err != nil {
		return err
	}
	for _, r := range triggers {
		if err := x.put(core.DataTriggers, r.ID, r.Trigger); err != nil {
			return err
		}
	}
	if err := s.eachManaged(ctx, subject, func(a *core.ManagedAgent) error {
		if err := x.put(core.DataManagedAgents, a.ID, a); err != nil {
			return err
		}
		return x.events(ctx, a.ID)
	}); err != nil {
		return err
	}
	err = eachOf(func(page core.Page) ([]*core.SessionRecord, core.PageInfo, error) {
		return s.opts.Store.FindSessions(ctx, core.SessionFilter{User: subject, Page: page})
	}, func(r *core.SessionRecord) error { return x.put(core.DataSessions, r.ID, r.UserSession) })
	if err != nil {
		return err
	}
	return s.eachAudit(ctx, subject, func(r *core.AuditRecord) error { return x.put(core.DataAudit, r.EventID, r) })
}

// execution exports an execution with what belongs to it.
func (x exporter) execution(ctx context.Context, id string) error {
	e, err := x.opts.Store.FindExecution(ctx, id)
	switch {
	case errors.Is(err, core.ErrUnreadable):
		err = x.put(core.DataExecutions, id, map[string]any{"id": id, "unreadable": true})
	case err != nil:
		return gone(err)
	default:
		err = x.put(core.DataExecutions, id, e)
	}
	if err != nil {
		return err
	}
	if err := x.events(ctx, id); err != nil {
		return err
	}
	err = x.eachThread(ctx, id, func(t *core.ThreadRecord) error {
		if err := x.put(core.DataThreads, t.ID, t.Thread); err != nil {
			return err
		}
		if t.ManagedAgentID != "" {
			if err := x.events(ctx, t.ManagedAgentID); err != nil {
				return err
			}
		}
		return x.events(ctx, t.ID)
	})
	if err != nil {
		return err
	}
	err = eachOf(func(page core.Page) ([]*core.Question, core.PageInfo, error) {
		return x.opts.Store.FindQuestions(ctx, core.QuestionFilter{ExecutionID: id, Page: page})
	}, func(q *core.Question) error { return x.put(core.DataQuestions, q.ID, q) })
	if err != nil {
		return err
	}
	err = eachOf(func(page core.Page) ([]*core.Decision, core.PageInfo, error) {
		return x.opts.Store.FindDecisions(ctx, core.DecisionFilter{ExecutionID: id, Page: page})
	}, func(d *core.Decision) error { return x.put(core.DataDecisions, d.ID, d.Decision) })
	if err != nil {
		return err
	}
	return eachOf(func(page core.Page) ([]*core.Experience, core.PageInfo, error) {
		return x.opts.Store.FindExperiences(ctx, core.ExperienceFilter{ExecutionID: id, Page: page})
	}, func(m *core.Experience) error { return x.put(core.DataExperiences, m.ID, m.Experience) })
}

// eventPage is how many events are read at a time.
const eventPage = 200

// events exports the events of something.
func (x exporter) events(ctx context.Context, subject string) error {
	for after, more := uint64(0), true; more; {
		page, on, err := x.opts.Store.Events(ctx, subject, after, eventPage)
		if err != nil {
			return err
		}
		for i := range page {
			if err := x.put(core.DataEvents, subject+"/"+strconv.FormatUint(page[i].Seq, 10), page[i]); err != nil {
				return err
			}
			after = page[i].Seq
		}
		more = on && len(page) > 0
	}
	return nil
}

// batch exports a batch with its inputs and results.
func (x exporter) batch(ctx context.Context, b *core.Batch) error {
	if err := x.put(core.DataBatches, b.ID, b); err != nil {
		return err
	}
	for index := range b.Total {
		input, err := x.opts.Store.FindBatchInput(ctx, b.ID, index)
		if gone(err) != nil {
			return err
		}
		if err != nil {
			continue
		}
		if err := x.put("batchInputs", b.ID+"/"+strconv.Itoa(index), json.RawMessage(input)); err != nil {
			return err
		}
	}
	for next := 0; next >= 0; {
		list, on, err := x.opts.Store.FindBatchResults(ctx, b.ID, next, core.MaxPageLimit)
		if err != nil {
			return err
		}
		for i := range list {
			if err := x.put("batchResults", b.ID+"/"+strconv.Itoa(list[i].Index), list[i]); err != nil {
				return err
			}
		}
		next = on
	}
	return nil
}
