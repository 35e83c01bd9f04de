package erasure

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// filters select the executions of a subject: those that it made, and those that are labelled with it.
func filters(subject string) []core.ExecutionFilter {
	page := core.Page{Limit: core.MaxPageLimit}
	return []core.ExecutionFilter{
		{CreatedBy: subject, Page: page},
		{Metadata: map[string]string{core.SubjectKey: subject}, Page: page},
	}
}

// farAhead is how far behind an erasure an id lies that was there when it was asked for, by its time: it was made while the clock
// was ahead.
const farAhead = 36 * time.Hour

// covers reports whether an erasure takes what has an id, because it was there when the erasure was asked for. The id decides, not
// the time, since ids rise also where the clock is set back.
func covers(e *core.ErasureRecord, id string) bool {
	_, made, _ := strings.Cut(id, "_")
	_, asked, _ := strings.Cut(e.ID, "_")
	if made <= asked {
		return true
	}
	at, known := core.IDTime(id)
	own, ours := core.IDTime(e.ID)
	return made <= e.Through && known && ours && at.Sub(own) > farAhead
}

// coversRow is covers for an execution: items of a batch go with it, whenever they began.
func coversRow(e *core.ErasureRecord, row *core.Execution) bool {
	return covers(e, row.ID) || row.BatchID != "" && covers(e, row.BatchID)
}

// eachExecution calls fn with each execution of a subject once, as rows of a list.
func (s *Service) eachExecution(ctx context.Context, subject string, fn func(row *core.Execution) error) error {
	for i, filter := range filters(subject) {
		for {
			rows, info, err := s.opts.Store.FindExecutions(ctx, filter)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if i == 1 && row.CreatedBy == subject {
					continue // it was among the first
				}
				if err := fn(row); err != nil {
					return err
				}
			}
			if filter.Cursor = info.NextCursor; !info.HasMore || filter.Cursor == "" {
				break
			}
		}
	}
	return nil
}

// labelled reports whether metadata names a subject.
func labelled(m core.Metadata, subject string) bool {
	return slices.Contains(core.IndexedMetadata(m), core.MetadataPair{Key: core.SubjectKey, Value: subject})
}

// eachBatch calls fn with each batch of a subject.
func (s *Service) eachBatch(ctx context.Context, subject string, fn func(b *core.Batch) error) error {
	return eachOf(func(page core.Page) ([]*core.Batch, core.PageInfo, error) {
		return s.opts.Store.FindBatches(ctx, core.BatchFilter{Page: page})
	}, func(b *core.Batch) error {
		if b.CreatedBy != subject && !labelled(b.Options.Metadata, subject) {
			return nil
		}
		return fn(b)
	})
}

// ofTarget reports whether what a target starts is labelled with a subject.
func ofTarget(t *core.Target, subject string) bool {
	return t.Execution != nil && labelled(t.Execution.Options.Metadata, subject) || t.Thread != nil && labelled(t.Thread.Metadata, subject)
}

// schedules returns those of a subject.
func (s *Service) schedules(ctx context.Context, subject string) ([]*core.ScheduleRecord, error) {
	list, err := s.opts.Store.AllSchedules(ctx)
	return slices.DeleteFunc(list, func(r *core.ScheduleRecord) bool {
		return r.CreatedBy != subject && !ofTarget(&r.Target, subject)
	}), err
}

// triggers returns those of a subject.
func (s *Service) triggers(ctx context.Context, subject string) ([]*core.TriggerRecord, error) {
	list, err := s.opts.Store.AllTriggers(ctx)
	return slices.DeleteFunc(list, func(r *core.TriggerRecord) bool { return r.CreatedBy != subject && !ofTarget(&r.Target, subject) }), err
}

// eachManaged calls fn with each managed agent that a subject spawned.
func (s *Service) eachManaged(ctx context.Context, subject string, fn func(a *core.ManagedAgent) error) error {
	var mine []*core.ManagedAgent
	err := eachOf(func(page core.Page) ([]*core.ManagedAgent, core.PageInfo, error) {
		return s.opts.Managed.FindManagedAgents(ctx, core.ManagedAgentFilter{CreatedBy: subject, Page: page})
	}, func(a *core.ManagedAgent) error {
		mine = append(mine, a)
		return nil
	})
	if err != nil {
		return err
	}
	for _, a := range mine {
		if err := fn(a); err != nil {
			return err
		}
	}
	return nil
}

// eachThread calls fn with each thread of an execution.
func (s *Service) eachThread(ctx context.Context, executionID string, fn func(t *core.ThreadRecord) error) error {
	return eachOf(func(page core.Page) ([]*core.ThreadRecord, core.PageInfo, error) {
		return s.opts.Store.FindThreads(ctx, core.ThreadFilter{ExecutionID: executionID, Page: page})
	}, fn)
}

// eachOf calls fn with each row of all pages that find returns. A page is read after fn has had all rows of the one before.
func eachOf[T any](find func(page core.Page) ([]T, core.PageInfo, error), fn func(row T) error) error {
	page := core.Page{Limit: core.MaxPageLimit}
	for {
		list, info, err := find(page)
		if err != nil {
			return err
		}
		for _, row := range list {
			if err := fn(row); err != nil {
				return err
			}
		}
		if page.Cursor = info.NextCursor; !info.HasMore || page.Cursor == "" {
			return nil
		}
	}
}

// count fills p with what there is of a subject, and what of it runs. through is the greatest of the ids of executions, batches and
// managed agents, without its prefix.
func (s *Service) count(ctx context.Context, subject string, p *core.Erasure) (through string, err error) {
	see := func(id string) {
		_, made, _ := strings.Cut(id, "_")
		through = max(through, made)
	}
	add := func(counts core.DataCounts, kind string, n int) {
		if n > 0 {
			counts[kind] += n
		}
	}
	one := core.Page{Limit: 1}
	err = s.eachExecution(ctx, subject, func(row *core.Execution) error {
		see(row.ID)
		add(p.Planned, core.DataExecutions, 1)
		if !row.Status.Terminal() {
			add(p.Active, core.DataExecutions, 1)
		}
		_, threads, err := s.opts.Store.FindThreads(ctx, core.ThreadFilter{ExecutionID: row.ID, Page: one})
		if err != nil {
			return err
		}
		_, workspaces, err := s.opts.Store.FindWorkspaces(ctx, core.WorkspaceFilter{ExecutionID: row.ID, Page: one})
		if err != nil {
			return err
		}
		_, experiences, err := s.opts.Store.FindExperiences(ctx, core.ExperienceFilter{ExecutionID: row.ID, Page: one})
		add(p.Planned, core.DataThreads, threads.Total)
		add(p.Planned, core.DataWorkspaces, workspaces.Total)
		add(p.Planned, core.DataExperiences, experiences.Total)
		return err
	})
	if err != nil {
		return "", err
	}
	err = s.eachBatch(ctx, subject, func(b *core.Batch) error {
		see(b.ID)
		add(p.Planned, core.DataBatches, 1)
		if !b.Status.Terminal() {
			add(p.Active, core.DataBatches, 1)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	err = s.eachManaged(ctx, subject, func(a *core.ManagedAgent) error {
		see(a.ID)
		add(p.Planned, core.DataManagedAgents, 1)
		if a.StoppedAt == nil && a.Status != wire.ManagedStopped {
			add(p.Active, core.DataManagedAgents, 1)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	schedules, err := s.schedules(ctx, subject)
	if err != nil {
		return "", err
	}
	triggers, err := s.triggers(ctx, subject)
	if err != nil {
		return "", err
	}
	_, sessions, err := s.opts.Store.FindSessions(ctx, core.SessionFilter{User: subject, Page: one})
	if err != nil {
		return "", err
	}
	add(p.Planned, core.DataSchedules, len(schedules))
	add(p.Planned, core.DataTriggers, len(triggers))
	add(p.Planned, core.DataSessions, sessions.Total)
	return through, s.eachAudit(ctx, subject, func(*core.AuditRecord) error {
		add(p.Planned, core.DataAudit, 1)
		return nil
	})
}

// eachAudit calls fn with each audit record of what a subject did, newest first.
func (s *Service) eachAudit(ctx context.Context, subject string, fn func(r *core.AuditRecord) error) error {
	filter := core.AuditFilter{Actor: subject, Limit: core.MaxPageLimit}
	for {
		page, err := s.opts.Trail.FindAudit(ctx, filter)
		if err != nil {
			return err
		}
		for _, r := range page.Records {
			if err := fn(r); err != nil {
				return err
			}
		}
		if filter.Cursor = page.NextCursor; !page.HasMore {
			return nil
		}
	}
}
