package schedule

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/internal/turn"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Bounds of what a schedule holds.
const (
	maxName    = 100 // bytes
	maxJitter  = 24 * time.Hour
	maxCatchUp = 100
	maxTarget  = 64 << 10 // bytes of JSON, as it is written at each tick; the environment has as many
	maxTicks   = 100      // of a preview
	maxReason  = 1024     // bytes
)

// status returns the state of a schedule, which ends by itself.
func (t snapshot) status() core.ScheduleStatus {
	switch {
	case t.rec.Status == wire.SchedulePaused:
		return t.rec.Status
	case t.cal.unreadable != "":
		return wire.ScheduleBlocked
	case len(t.rec.Queue) > 0:
		return t.rec.Status
	}
	if _, ok := t.cal.unfired(t.rec.Cursor, t.rec.Fired); !ok {
		return wire.ScheduleEnded
	}
	return t.rec.Status
}

// view is a schedule as others see it; whole with its history.
func (t snapshot) view(whole bool) *core.Schedule {
	r := t.rec
	out := r.Schedule
	out.Status, out.Queued, out.RunsAs = t.status(), len(r.Queue), r.Principal.ID
	if out.Status == wire.ScheduleBlocked && t.cal.unreadable != "" {
		out.StatusReason = "its times cannot be read; give it others: " + t.cal.unreadable
	}
	out.Running = slices.Concat([]core.RunRef{}, r.Running)
	if out.Status == wire.ScheduleActive || out.Status == wire.ScheduleBlocked {
		if next, ok := t.cal.unfired(r.Cursor, r.Fired); ok {
			out.NextAt = &next
		}
	}
	if out.Runs = nil; whole {
		out.Runs = slices.Concat([]core.ScheduleRun{}, r.Runs)
	}
	return &out
}

// FindSchedules implements core.ScheduleService.
func (s *Service) FindSchedules(_ context.Context, filter core.ScheduleFilter) ([]*core.Schedule, core.PageInfo, error) {
	if filter.Status != "" && !slices.Contains(core.ScheduleStatuses, filter.Status) {
		return nil, core.PageInfo{}, core.Invalid("status", "%q is not a status of a schedule", filter.Status)
	}
	list := slices.DeleteFunc(s.snapshots(), func(t snapshot) bool {
		return filter.Status != "" && t.status() != filter.Status || filter.CreatedBy != "" && t.rec.CreatedBy != filter.CreatedBy
	})
	list, info, err := core.PageOf(list, filter.Page, core.PrefixSchedule, func(t snapshot) string { return t.rec.ID })
	if err != nil {
		return nil, core.PageInfo{}, err
	}
	rows := make([]*core.Schedule, len(list))
	for i, t := range list {
		rows[i] = t.view(false)
	}
	return rows, info, nil
}

// FindSchedule implements core.ScheduleService.
func (s *Service) FindSchedule(ctx context.Context, id string) (*core.Schedule, error) {
	e, err := s.find(id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	t := e.shown
	s.mu.Unlock()
	out := t.view(true)
	out.Running = s.running(ctx, out.Running)
	return out, nil
}

// CreateSchedule implements core.ScheduleService.
func (s *Service) CreateSchedule(ctx context.Context, spec core.ScheduleSpec) (*core.Schedule, error) {
	now := s.opts.Clock.Now().UTC()
	p := core.PrincipalFrom(ctx)
	r := &core.ScheduleRecord{
		Schedule: core.Schedule{
			ID: s.opts.IDs.New(core.PrefixSchedule), Name: spec.Name, Cron: strings.TrimSpace(spec.Cron), TimeZone: cmp.Or(spec.TimeZone, "UTC"),
			Jitter: wire.MillisOf(spec.Jitter), Overlap: cmp.Or(spec.Overlap, wire.OverlapSkip), CatchUp: cmp.Or(spec.CatchUp, wire.CatchUpLast),
			CatchUpLimit: cmp.Or(spec.CatchUpLimit, core.DefaultCatchUpLimit), StartAt: spec.StartAt, EndAt: spec.EndAt, Target: spec.Target,
			Status: wire.ScheduleActive, CreatedBy: p.ID, CreatedAt: now, UpdatedAt: now,
		},
		Principal: core.RecordOf(p), Anchor: now, Cursor: s.now(),
	}
	if spec.Paused {
		r.Status = wire.SchedulePaused
	}
	cal, err := s.check(ctx, r, spec.Env)
	if err != nil {
		return nil, err
	}
	release, err := s.takeName(r.Name, r.ID)
	if err != nil {
		return nil, err
	}
	claim := core.IdempotencyFrom(ctx)
	shown := snapshot{r, cal}
	e := &entry{turn: turn.New(), rec: r, cal: cal, shown: shown}
	err = s.store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		if err := tx.ClaimIdempotency(claim, r.ID, now); err != nil {
			return err
		}
		if !s.holds(r.Name, r.ID) {
			return core.Conflict("schedule", "", "", "another schedule has the name %q already", r.Name)
		}
		if err := tx.PutSchedule(r); err != nil {
			return err
		}
		tx.AfterCommit(func() { s.enter(e, r) })
		return appendEvent(tx, r.ID, core.EventScheduleCreated, shown.view(false), now)
	})
	err = s.outcome(err, func(context.Context) (bool, error) { return s.has(e), nil })
	if err != nil {
		release()
		return nil, err
	}
	s.log.Info("schedule created", "schedule", r.ID, "name", r.Name, "cron", r.Cron, "zone", r.TimeZone, "target", r.Target.Name(), "by", r.CreatedBy)
	return shown.view(true), nil
}

// takeName reserves a name for an id, and room for one more schedule if that is new. release gives both back.
func (s *Service) takeName(name, id string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other, taken := s.names[name]; taken && other != id {
		return nil, core.Conflict("schedule", other, "", "the schedule %s has the name %q already", other, name)
	}
	if s.entries[id] == nil && len(s.names) >= maxSchedules {
		return nil, core.RateLimited(maxSchedules, 0, 0, "there are %d schedules, which is the limit; delete some that are over", len(s.names))
	}
	before, had := s.names[name]
	s.names[name] = id
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		e := s.entries[id]
		stored := e != nil && e.shown.rec.Name == name // its outcome was known meanwhile
		if s.names[name] == id && (!had || before != id) && !stored {
			delete(s.names, name)
		}
	}, nil
}

// holds reports whether an id still has a name that it took: one whose outcome was in doubt may have turned out to have it.
func (s *Service) holds(name, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names[name] == id
}

// enter makes a schedule known that is stored.
func (s *Service) enter(e *entry, r *core.ScheduleRecord) {
	s.mu.Lock()
	e.due = s.seen
	s.entries[r.ID] = e
	s.names[r.Name] = r.ID
	s.mu.Unlock()
	s.kick()
}

// outcome is doubt.Outcome for as long as the service is open.
func (s *Service) outcome(err error, stored func(ctx context.Context) (bool, error)) error {
	return doubt.Outcome(s.ctx, s.opts.Clock, s.store, err, stored, pause.For)
}

// hasChange reports whether the record that a change makes is stored.
func (s *Service) hasChange(next *core.ScheduleRecord) func(ctx context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		stored, err := s.read(ctx, next.ID)
		if err != nil {
			return false, err
		}
		return stored.Revision == next.Revision+1 && stored.UpdatedAt.Equal(next.UpdatedAt), nil
	}
}

// freeName gives back the name of an id, unless another has it: it may have been taken while the outcome of a change was not
// known. Called with mu held.
func (s *Service) freeName(name, id string) {
	if s.names[name] == id {
		delete(s.names, name)
	}
}

// check returns the calendar of a record, seals its environment, and returns all that is wrong with it for the principal
// of ctx.
func (s *Service) check(ctx context.Context, r *core.ScheduleRecord, env map[string]string) (*calendar, error) {
	cal, problems := newCalendar(r)
	wrong := func(bad bool, path, reason string) {
		if bad {
			problems = append(problems, core.Problem{Path: path, Reason: reason})
		}
	}
	wrong(r.Name == "" || len(r.Name) > maxName, "name", "must be 1 to 100 bytes")
	wrong(!utf8.ValidString(r.Name) || strings.ContainsFunc(r.Name, func(c rune) bool { return !unicode.IsPrint(c) }) || strings.TrimSpace(r.Name) != r.Name,
		"name", "must be printable text without space around it")
	wrong(core.ValidID(core.PrefixSchedule, r.Name), "name", "must not look like the id of a schedule")
	wrong(r.Jitter < 0 || r.Jitter.Duration() > maxJitter, "jitter", "must be from 0 to 24 hours")
	wrong(!slices.Contains([]core.OverlapPolicy{wire.OverlapSkip, wire.OverlapQueue, wire.OverlapAllow, wire.OverlapCancel}, r.Overlap),
		"overlap", "must be skip, queue, allow or cancel-previous")
	wrong(!slices.Contains([]core.CatchUpPolicy{wire.CatchUpNone, wire.CatchUpLast, wire.CatchUpAll}, r.CatchUp), "catchUp", "must be none, last or all")
	wrong(r.CatchUpLimit < 1 || r.CatchUpLimit > maxCatchUp, "catchUpLimit", "must be from 1 to 100")
	wrong(r.StartAt != nil && r.EndAt != nil && r.EndAt.Before(*r.StartAt), "endAt", "must not be before startAt")
	wrong((r.Target.Execution == nil) == (r.Target.Thread == nil), "target", "must have one of execution and thread")
	wrong(r.Target.Thread == nil && len(env) > 0, "target", "has an environment without a thread")
	text, err := json.Marshal(r.Target)
	wrong(err != nil, "target", "must be plain JSON")
	wrong(len(text) > maxTarget, "target", "must be at most 65536 bytes as JSON, as it is written at each tick")
	secret, err := json.Marshal(env)
	wrong(err != nil || len(secret) > maxTarget, "target.thread.preparation.env", "must be at most 65536 bytes as JSON")
	if cal != nil {
		_, ok := cal.next(r.Cursor)
		wrong(!ok, cal.bound(), "leaves no tick")
	}
	if err := core.InvalidAll("schedule", problems); err != nil {
		return nil, err
	}
	target := r.Target
	if x := target.Execution; x != nil && len(x.Input) == 0 {
		whole := *x
		whole.Input, target.Execution = json.RawMessage("{}"), &whole // there will be no other
	}
	if err := s.opts.Launcher.CheckTarget(ctx, target); err != nil {
		return nil, err
	}
	if len(env) > 0 {
		if r.SealedEnv, err = s.box.Seal(r.ID, env); err != nil {
			return nil, err
		}
	}
	return cal, nil
}

// UpdateSchedule implements core.ScheduleService.
func (s *Service) UpdateSchedule(ctx context.Context, id string, patch core.SchedulePatch) (*core.Schedule, error) {
	e, err := s.claimed(ctx, id)
	if err != nil {
		return nil, err
	}
	defer e.turn.Release()
	p := core.PrincipalFrom(ctx)
	next := *e.rec
	if len(next.SealedEnv) > 0 && patch.Target == nil && next.Principal.ID != p.ID {
		return nil, core.Invalid("target", "must be given again, with its environment: that was given by %s, whose secrets nobody else may use", next.Principal.ID)
	}
	retime := apply(&next, patch)
	if patch.Target != nil {
		next.SealedEnv = nil
	}
	now := s.opts.Clock.Now().UTC()
	next.Principal, next.UpdatedAt = core.RecordOf(p), now
	if next.Status == wire.ScheduleBlocked {
		next.Status, next.StatusReason = wire.ScheduleActive, ""
	}
	if retime { // what was due by the former times is not any more
		next.Cursor, next.CatchUntil, next.Fired = s.now(), time.Time{}, nil
	}
	if next.Cron != e.rec.Cron {
		next.Anchor = now
	}
	cal, err := s.check(ctx, &next, patch.Env)
	if err != nil {
		return nil, err
	}
	former := e.rec.Name
	release, err := s.takeName(next.Name, id)
	if err != nil {
		return nil, err
	}
	err = s.store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		fresh := next
		return put(tx, &fresh, core.EventScheduleUpdated, snapshot{&next, cal}.view(false), now)
	})
	if err = s.outcome(err, s.hasChange(&next)); err != nil {
		if errors.Is(err, core.ErrInDoubt) {
			e.asked = next.Name // reload gives back the name that is not stored
		} else {
			release()
		}
		return nil, s.changeError(ctx, e, err)
	}
	next.Revision++
	e.rec, e.cal = &next, cal
	if former != next.Name {
		s.mu.Lock()
		s.freeName(former, id)
		s.mu.Unlock()
	}
	if retime {
		e.calm()
	}
	s.changed(e)
	s.log.Info("schedule changed", "schedule", id, "name", next.Name, "cron", next.Cron, "zone", next.TimeZone, "by", p.ID)
	return snapshot{&next, cal}.view(true), nil
}

// apply takes a patch over, and reports whether it changes when ticks are. What is given as it was changes nothing.
func apply(r *core.ScheduleRecord, p core.SchedulePatch) (retime bool) {
	former := *r
	take(&r.Name, p.Name)
	take(&r.Cron, p.Cron)
	take(&r.TimeZone, p.TimeZone)
	take(&r.Overlap, p.Overlap)
	take(&r.CatchUp, p.CatchUp)
	take(&r.CatchUpLimit, p.CatchUpLimit)
	take(&r.Target, p.Target)
	if p.Jitter != nil {
		r.Jitter = wire.MillisOf(*p.Jitter)
	}
	take(&r.StartAt, p.StartAt)
	take(&r.EndAt, p.EndAt)
	r.Cron = strings.TrimSpace(r.Cron)
	return r.Cron != former.Cron || r.TimeZone != former.TimeZone || !sameBound(r.StartAt, former.StartAt) || !sameBound(r.EndAt, former.EndAt)
}

// take sets a field that is given.
func take[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// sameBound reports whether two bounds are the same time, or none.
func sameBound(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// PauseSchedule implements core.ScheduleService.
func (s *Service) PauseSchedule(ctx context.Context, id, reason string) (*core.Schedule, error) {
	if len(reason) > maxReason {
		return nil, core.Invalid("reason", "must be at most %d bytes", maxReason)
	}
	return s.set(ctx, id, func(next *core.ScheduleRecord) bool {
		if next.Status == wire.SchedulePaused {
			return false
		}
		next.Status, next.StatusReason = wire.SchedulePaused, reason
		return true
	})
}

// ResumeSchedule implements core.ScheduleService.
func (s *Service) ResumeSchedule(ctx context.Context, id string) (*core.Schedule, error) {
	return s.set(ctx, id, func(next *core.ScheduleRecord) bool {
		if next.Status != wire.SchedulePaused {
			return false
		}
		next.Status, next.StatusReason = wire.ScheduleActive, ""
		next.Cursor, next.CatchUntil, next.Queue = s.now(), time.Time{}, nil
		return true
	})
}

// set writes what change makes of a record, if it makes anything.
func (s *Service) set(ctx context.Context, id string, change func(next *core.ScheduleRecord) bool) (*core.Schedule, error) {
	e, err := s.claimed(ctx, id)
	if err != nil {
		return nil, err
	}
	defer e.turn.Release()
	next := *e.rec
	if !change(&next) {
		return snapshot{e.rec, e.cal}.view(true), nil
	}
	now := s.opts.Clock.Now().UTC()
	next.UpdatedAt = now
	err = s.store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		fresh := next
		return put(tx, &fresh, core.EventScheduleUpdated, snapshot{&next, e.cal}.view(false), now)
	})
	if err = s.outcome(err, s.hasChange(&next)); err != nil {
		return nil, s.changeError(ctx, e, err)
	}
	next.Revision++
	e.rec = &next
	e.calm() // none of its ticks is due any more
	s.changed(e)
	s.log.Info("schedule "+string(next.Status), "schedule", id, "name", next.Name, "by", core.PrincipalFrom(ctx).ID)
	return snapshot{&next, e.cal}.view(true), nil
}

// changeError returns the error of a change that was not written.
func (s *Service) changeError(ctx context.Context, e *entry, err error) error {
	if errors.Is(err, errStale) && s.reload(ctx, e) {
		s.changed(e)
		return changedMeanwhile(e)
	}
	if errors.Is(err, core.ErrInDoubt) {
		e.doubted = true
		s.changed(e)
	}
	return err
}

func changedMeanwhile(e *entry) error {
	return core.Conflict("schedule", e.rec.ID, "", "the schedule was changed meanwhile; look at it and try again")
}

// DeleteSchedule implements core.ScheduleService.
func (s *Service) DeleteSchedule(ctx context.Context, id string) error {
	e, err := s.claimed(ctx, id)
	if err != nil {
		return err
	}
	defer e.turn.Release()
	by := core.PrincipalFrom(ctx).ID
	name := e.rec.Name
	err = s.store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		if err := tx.DeleteSchedule(id); err != nil {
			return err
		}
		tx.AfterCommit(func() { s.leave(id, name) })
		return appendEvent(tx, id, core.EventScheduleDeleted, map[string]string{"id": id, "name": name, "by": by}, s.opts.Clock.Now().UTC())
	})
	err = s.outcome(err, func(context.Context) (bool, error) { return !s.has(e), nil })
	if err != nil {
		return err
	}
	s.log.Info("schedule deleted", "schedule", id, "name", name, "by", by)
	return nil
}

// leave makes known that a schedule is deleted.
func (s *Service) leave(id, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.entries, id)
	s.freeName(name, id)
}

// RunSchedule implements core.ScheduleService.
func (s *Service) RunSchedule(ctx context.Context, id string) (core.RunRef, error) {
	e, err := s.find(id)
	if err != nil {
		return core.RunRef{}, err
	}
	work, err := e.turn.Take(ctx)
	if err != nil {
		return core.RunRef{}, err
	}
	defer e.turn.Release()
	if !s.has(e) {
		return core.RunRef{}, core.NotFound("schedule", id)
	}
	by := core.PrincipalFrom(ctx).ID
	ref, err := s.launch(work, e, nil, func(_ *core.ScheduleRecord, run *core.ScheduleRun) { run.Reason = "asked for by " + by })
	if err != nil && errors.Is(context.Cause(work), turn.ErrWanted) {
		return core.RunRef{}, changedMeanwhile(e)
	}
	if err != nil {
		return core.RunRef{}, s.changeError(ctx, e, err)
	}
	s.opts.Observer.Ticked(wire.TickStarted, 1)
	s.changed(e)
	return ref, nil
}

// NextTicks implements core.ScheduleService.
func (s *Service) NextTicks(_ context.Context, id string, count int) (*core.ScheduleTicks, error) {
	if count < 1 || count > maxTicks {
		return nil, core.Invalid("count", "must be from 1 to %d", maxTicks)
	}
	e, err := s.find(id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	t := e.shown
	s.mu.Unlock()
	return t.cal.preview(s.now(), count, t.rec.Fired), nil
}

// PreviewTicks implements core.ScheduleService.
func (s *Service) PreviewTicks(_ context.Context, spec core.ScheduleSpec, count int) (*core.ScheduleTicks, error) {
	if count < 1 || count > maxTicks {
		return nil, core.Invalid("count", "must be from 1 to %d", maxTicks)
	}
	if spec.Jitter < 0 || spec.Jitter > maxJitter {
		return nil, core.Invalid("jitter", "must be from 0 to 24 hours")
	}
	now := s.now()
	r := &core.ScheduleRecord{Schedule: core.Schedule{
		Cron: strings.TrimSpace(spec.Cron), TimeZone: cmp.Or(spec.TimeZone, "UTC"), Jitter: wire.MillisOf(spec.Jitter), StartAt: spec.StartAt, EndAt: spec.EndAt,
	}, Anchor: now}
	cal, problems := newCalendar(r)
	if problems != nil {
		return nil, core.InvalidAll("schedule", problems)
	}
	return cal.preview(now, count, nil), nil
}
