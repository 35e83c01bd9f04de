package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/sdk/wire"
)

// errStale says that a record was written by a transaction whose outcome was not known here.
var errStale = errors.New("the schedule was changed")

// advance does what is due of an entry, whose turn is taken, and returns when to look again; zero: after a change only.
func (s *Service) advance(ctx context.Context, e *entry) time.Time {
	for ctx.Err() == nil {
		now := s.now()
		if e.doubted && !s.reload(ctx, e) {
			return s.later(e)
		}
		if e.rec.Status == wire.SchedulePaused || e.cal.unreadable != "" {
			return time.Time{}
		}
		if e.retryAt.After(now) && e.retryAt.Sub(now) <= retryMost {
			return e.retryAt
		}
		if now.Before(e.rec.Cursor) { // the clock was set back; see the package's comment
			next := *e.rec
			next.Cursor = now
			if next.CatchUntil.After(now) {
				next.CatchUntil = now
			}
			e.rec = &next
		}
		if len(e.rec.Queue) > 0 && s.idle(ctx, e) {
			if !s.start(ctx, e, e.rec.Queue[0], true) {
				return s.later(e)
			}
			continue
		}
		tick, ok := e.cal.unfired(e.rec.Cursor, e.rec.Fired)
		at := time.Time{}
		if ok {
			at = e.cal.startOf(tick)
		}
		switch {
		case !ok && len(e.rec.Queue) == 0:
			return time.Time{}
		case (!ok || at.After(now)) && len(e.rec.Queue) > 0:
			return now.Add(queueEvery)
		case at.After(now):
			return at
		case now.Sub(at) > grace && tick.After(e.rec.CatchUntil) && e.failing.IsZero(): // it was not tried when it was due
			if !s.catchUp(ctx, e, now) {
				return s.later(e)
			}
		case !s.tick(ctx, e, tick):
			return s.later(e)
		}
	}
	return time.Time{}
}

// later returns when a start or a write that failed is tried again.
func (s *Service) later(e *entry) time.Time {
	now := s.now()
	if !e.retryAt.After(now) {
		e.retryAt = now.Add(retryFirst)
	}
	return e.retryAt
}

// backOff puts the next try of a start off.
func (s *Service) backOff(e *entry) {
	if e.failing.IsZero() {
		e.failing = s.opts.Clock.Now() // with a monotonic reading
	}
	e.retryAt = s.now().Add(min(retryFirst<<min(e.tries, 10), retryMost))
	e.tries++
}

// calm forgets the starts that failed.
func (e *entry) calm() { e.failing, e.tries, e.retryAt = time.Time{}, 0, time.Time{} }

// catchUp decides which of the ticks that are late are made up for. It returns false for what could not be written.
func (s *Service) catchUp(ctx context.Context, e *entry, now time.Time) bool {
	r := e.rec
	keep := 0
	switch r.CatchUp {
	case wire.CatchUpAll:
		keep = r.CatchUpLimit
	case wire.CatchUpLast:
		keep = 1
	}
	newest, rest := e.cal.overdue(ctx, r.Cursor, now.Add(-grace), r.Fired, keep)
	if ctx.Err() != nil {
		return false
	}
	if r.CatchUp == wire.CatchUpLast && len(newest) > 0 {
		// One that is on time makes up for all before it.
		if following, ok := e.cal.unfired(newest[0], r.Fired); ok && !e.cal.startOf(following).After(now) {
			rest = dropped{count: min(rest.count+1, maxCounted), last: newest[0]}
			newest = nil
		}
	}
	if len(newest) == 0 && rest.count == 0 { // the clock moved meanwhile
		return true
	}
	return s.write(ctx, e, func(next *core.ScheduleRecord) *core.ScheduleRun {
		if len(newest) > 0 {
			next.CatchUntil = newest[len(newest)-1]
		}
		if rest.count == 0 {
			return nil
		}
		next.Cursor = rest.last
		next.Counts.Missed += int64(rest.count)
		reason := "the server was not there, or its clock was set"
		if rest.count == maxCounted {
			reason += "; there were more"
		}
		return &core.ScheduleRun{Tick: &rest.last, Outcome: wire.TickMissed, Count: rest.count, Reason: reason}
	})
}

// tick does what the overlap policy says of a tick that is due. It returns false for one that has to be tried again.
func (s *Service) tick(ctx context.Context, e *entry, tick time.Time) bool {
	busy := !s.idle(ctx, e)
	if ctx.Err() != nil { // then it is not known
		return false
	}
	running := len(e.rec.Running)
	skip := func(reason string) bool {
		return s.conclude(ctx, e, func(next *core.ScheduleRecord) *core.ScheduleRun {
			s.decided(e, next, tick)
			next.Counts.Skipped++
			return &core.ScheduleRun{Tick: &tick, Outcome: wire.TickSkipped, Reason: reason}
		})
	}
	switch e.rec.Overlap {
	case wire.OverlapQueue:
		switch {
		case !busy && len(e.rec.Queue) == 0:
		case len(e.rec.Queue) >= maxQueue:
			return skip(fmt.Sprintf("%d ticks wait already", maxQueue))
		default:
			return s.conclude(ctx, e, func(next *core.ScheduleRecord) *core.ScheduleRun {
				s.decided(e, next, tick)
				next.Queue = append(slices.Clip(next.Queue), tick)
				return &core.ScheduleRun{Tick: &tick, Outcome: wire.TickQueued, Reason: "the run before goes on"}
			})
		}
	case wire.OverlapAllow:
		if running >= maxRunning {
			return skip(fmt.Sprintf("%d runs go on already", maxRunning))
		}
	case wire.OverlapCancel:
		for _, ref := range e.rec.Running {
			if err := s.cancel(ctx, e, ref); err != nil {
				s.log.Warn("the run before was not cancelled", "schedule", e.rec.ID, "run", ref.ID(), "error", err)
				s.backOff(e)
				return false
			}
		}
	default:
		if busy {
			return skip("the run before goes on")
		}
	}
	return s.start(ctx, e, tick, false)
}

// cancel ends a run on behalf of whom it belongs to.
func (s *Service) cancel(ctx context.Context, e *entry, ref core.RunRef) error {
	ctx, done := context.WithTimeout(core.WithPrincipal(ctx, e.rec.Principal.Principal()), startTime)
	defer done()
	return s.opts.Launcher.Cancel(ctx, ref, "the next tick of schedule "+e.rec.Name+" came")
}

// idle forgets the runs that are over, and reports whether none is left. What cannot be told goes on.
func (s *Service) idle(ctx context.Context, e *entry) bool {
	left := s.running(ctx, e.rec.Running)
	if len(left) != len(e.rec.Running) {
		next := *e.rec
		next.Running = left
		e.rec = &next // written with what comes next; what is over stays so
	}
	return len(left) == 0
}

// running returns those of refs that are not over.
func (s *Service) running(ctx context.Context, refs []core.RunRef) []core.RunRef {
	left := make([]core.RunRef, 0, len(refs))
	for _, ref := range refs {
		over, err := s.opts.Launcher.Over(ctx, ref)
		if err != nil && ctx.Err() == nil {
			s.log.Warn("a run cannot be looked at; it counts as going on", "run", ref.ID(), "error", err)
		}
		if !over {
			left = append(left, ref)
		}
	}
	return left
}

// decided notes that a tick is done with.
func (s *Service) decided(e *entry, next *core.ScheduleRecord, tick time.Time) {
	next.Fired = e.cal.fire(next.Fired, tick)
	if next.Cursor.Before(tick) {
		next.Cursor = tick
	}
}

// start starts the target for a tick: the first of the queue, or one that is due. It returns false for one that has to be
// tried again.
func (s *Service) start(ctx context.Context, e *entry, tick time.Time, queued bool) bool {
	take := func(next *core.ScheduleRecord) {
		if queued {
			next.Queue = slices.Clone(next.Queue[1:])
			return
		}
		s.decided(e, next, tick)
	}
	late := !tick.After(e.rec.CatchUntil)
	_, err := s.launch(ctx, e, &tick, func(next *core.ScheduleRecord, run *core.ScheduleRun) {
		take(next)
		run.Late = late
	})
	code := core.ErrorCode(err)
	switch {
	case err == nil:
		e.calm()
		s.opts.Observer.Ticked(wire.TickStarted, 1)
		if !late && !queued {
			s.opts.Observer.Lag(max(0, s.now().Sub(e.cal.startOf(tick))))
		}
		return true
	case ctx.Err() != nil: // it counts as tried
		if e.failing.IsZero() {
			e.failing = s.opts.Clock.Now()
		}
		return false
	case errors.Is(err, errStale):
		return s.reload(ctx, e)
	case code == core.CodeForbidden || code == core.CodeUnauthorized:
		return s.block(ctx, e, tick, take, core.AsError(err))
	case passing(err):
		s.backOff(e)
		if s.opts.Clock.Now().Sub(e.failing) < retryFor {
			s.log.Warn("a tick waits, as its start failed", "schedule", e.rec.ID, "tick", tick, "error", err)
			return false
		}
	}
	return s.fail(ctx, e, tick, take, core.AsError(err))
}

// passing reports whether a start that failed may succeed later, as nothing is wrong with what was asked for.
func passing(err error) bool {
	switch core.ErrorCode(err) {
	case core.CodeInternal, core.CodeRateLimited, core.CodeNoAgents, core.CodeTimeout:
		return true
	}
	return false
}

// block notes a tick that was refused. Whether the right is back, the next tick asks.
func (s *Service) block(ctx context.Context, e *entry, tick time.Time, take func(*core.ScheduleRecord), cause *core.Error) bool {
	fresh := e.rec.Status != wire.ScheduleBlocked
	ok := s.conclude(ctx, e, func(next *core.ScheduleRecord) *core.ScheduleRun {
		take(next)
		next.Status, next.StatusReason = wire.ScheduleBlocked, cause.Message
		next.Counts.Blocked++
		return &core.ScheduleRun{Tick: &tick, Outcome: wire.TickBlocked, Reason: cause.Message, Code: cause.Code}
	})
	if ok && fresh {
		s.alert(e, "is blocked", cause)
	}
	return ok
}

// fail notes a tick that could not be started.
func (s *Service) fail(ctx context.Context, e *entry, tick time.Time, take func(*core.ScheduleRecord), cause *core.Error) bool {
	fresh := e.rec.LastRun == nil || e.rec.LastRun.Outcome != wire.TickFailed
	ok := s.conclude(ctx, e, func(next *core.ScheduleRecord) *core.ScheduleRun {
		take(next)
		next.Counts.Failed++
		return &core.ScheduleRun{Tick: &tick, Outcome: wire.TickFailed, Reason: cause.Message, Code: cause.Code}
	})
	if ok && fresh {
		s.alert(e, "could not start its run", cause)
	}
	return ok
}

func (s *Service) alert(e *entry, what string, cause *core.Error) {
	s.opts.Alert(e.rec.ID, fmt.Sprintf("schedule %s %s: %s", e.rec.Name, what, cause.Message), map[string]any{
		"scheduleId": e.rec.ID, "name": e.rec.Name, "target": e.rec.Target.Name(), "code": string(cause.Code), "runsAs": e.rec.Principal.ID,
	})
}

// launch starts the target of an entry, and writes the record with what change makes of it in the transaction that stores
// what was started. tick is nil for one that was asked for by hand. The entry has the new record once nil is returned.
func (s *Service) launch(ctx context.Context, e *entry, tick *time.Time, change func(next *core.ScheduleRecord, run *core.ScheduleRun)) (core.RunRef, error) {
	limit := startTime
	if tick != nil && e.tries > 0 {
		limit = retryTime
	}
	ctx, done := context.WithTimeout(ctx, limit)
	defer done()
	p, err := s.opts.Launcher.Principal(ctx, e.rec.Principal)
	if err != nil {
		return core.RunRef{}, err
	}
	env, err := s.env(e.rec)
	if err != nil {
		return core.RunRef{}, err
	}
	var written *core.ScheduleRecord
	ref, err := s.opts.Launcher.Launch(core.WithPrincipal(ctx, p), tagged(e.rec, tick), env, func(tx core.Tx, ref core.RunRef) error {
		run := core.ScheduleRun{Tick: tick, At: s.opts.Clock.Now().UTC(), Outcome: wire.TickStarted, RunRef: ref}
		next := *e.rec
		next.Running = append(slices.Clip(next.Running), ref)
		if len(next.Running) > maxRunning {
			next.Running = next.Running[1:]
		}
		next.Counts.Started++
		if next.Status == wire.ScheduleBlocked {
			next.Status, next.StatusReason = wire.ScheduleActive, ""
		}
		change(&next, &run)
		note(&next, &run)
		written = &next
		return put(tx, &next, core.EventScheduleTick, run, run.At)
	})
	if err != nil {
		return core.RunRef{}, err
	}
	e.rec = written
	return ref, nil
}

// tagged returns the target of a record, whose runs say in their metadata where they come from.
func tagged(r *core.ScheduleRecord, tick *time.Time) core.Target {
	from := core.Metadata{core.KeySchedule: r.ID}
	if tick != nil {
		from["scheduledAt"] = tick.UTC().Format(time.RFC3339)
	}
	tags := core.Metadata{}
	t := r.Target
	if t.Execution != nil {
		x := *t.Execution
		maps.Copy(tags, x.Options.Metadata)
		maps.Copy(tags, from)
		x.Options.Metadata = tags
		t.Execution = &x
	}
	if t.Thread != nil {
		x := *t.Thread
		maps.Copy(tags, x.Metadata)
		maps.Copy(tags, from)
		x.Metadata = tags
		t.Thread = &x
	}
	return t
}

// note puts a run into the history of a record.
func note(r *core.ScheduleRecord, run *core.ScheduleRun) {
	run.Reason, r.StatusReason = clip.Marked(run.Reason, maxReason, "..."), clip.Marked(r.StatusReason, maxReason, "...")
	r.LastRun = run
	r.Runs = append([]core.ScheduleRun{*run}, r.Runs[:min(len(r.Runs), maxRuns-1)]...)
}

// put writes the next state of a record with an event about it, unless kind is empty. errStale when the stored one is not
// that before it.
func put(tx core.Tx, next *core.ScheduleRecord, kind core.EventType, data any, now time.Time) error {
	stored, err := tx.FindScheduleRecord(next.ID)
	if err != nil {
		return err
	}
	if stored.Revision != next.Revision {
		return errStale
	}
	next.Revision++
	if err := tx.PutSchedule(next); err != nil || kind == "" {
		return err
	}
	return appendEvent(tx, next.ID, kind, data, now)
}

func appendEvent(tx core.Tx, id string, kind core.EventType, data any, now time.Time) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return tx.Append(core.Event{Type: kind, Time: now, Subject: id, Data: raw})
}

// write stores what change makes of an entry's record, with the entry that it returns for the history; nil: none. It
// returns false for what was not written.
func (s *Service) write(ctx context.Context, e *entry, change func(next *core.ScheduleRecord) *core.ScheduleRun) bool {
	var next core.ScheduleRecord
	var run *core.ScheduleRun
	now := s.opts.Clock.Now().UTC()
	err := s.store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		next = *e.rec
		if run = change(&next); run == nil {
			return put(tx, &next, "", nil, now)
		}
		run.At = now
		note(&next, run)
		kind := core.EventScheduleTick
		if run.Outcome == wire.TickSkipped || run.Outcome == wire.TickQueued {
			kind = "" // there may be one a minute for as long as a run goes on; the history has it
		}
		return put(tx, &next, kind, run, now)
	})
	switch {
	case err == nil:
		e.rec = &next
		if run != nil {
			s.opts.Observer.Ticked(run.Outcome, max(run.Count, 1))
		}
		return true
	case errors.Is(err, errStale):
		return s.reload(ctx, e)
	}
	s.log.Warn("what became of a tick was not written; it is tried again", "schedule", e.rec.ID, "error", err)
	s.backOff(e)
	return false
}

// conclude is write for what a tick came to; what failed before was of that tick.
func (s *Service) conclude(ctx context.Context, e *entry, change func(next *core.ScheduleRecord) *core.ScheduleRun) bool {
	ok := s.write(ctx, e, change)
	if ok {
		e.calm()
	}
	return ok
}

// reload reads an entry's record, after a transaction whose outcome was not known.
func (s *Service) reload(ctx context.Context, e *entry) bool {
	stored, err := s.read(ctx, e.rec.ID)
	if err != nil {
		s.log.Warn("a schedule cannot be read again", "schedule", e.rec.ID, "error", err)
		s.backOff(e)
		return false
	}
	former := e.rec.Name
	e.rec, e.cal, e.doubted = stored, storedCalendar(stored), false
	s.mu.Lock()
	defer s.mu.Unlock()
	s.freeName(former, stored.ID)
	s.freeName(e.asked, stored.ID)
	e.asked = ""
	if _, taken := s.names[stored.Name]; !taken {
		s.names[stored.Name] = stored.ID
	}
	return true
}

// read returns the record of a schedule as it is stored, once the store takes writes.
func (s *Service) read(ctx context.Context, id string) (stored *core.ScheduleRecord, err error) {
	err = s.store.Update(context.WithoutCancel(ctx), func(tx core.Tx) (err error) {
		stored, err = tx.FindScheduleRecord(id)
		return err
	})
	return stored, err
}

// env returns the environment that the threads of a record get.
func (s *Service) env(r *core.ScheduleRecord) (map[string]string, error) {
	if len(r.SealedEnv) == 0 {
		return nil, nil
	}
	var env map[string]string
	if !s.box.Open(r.ID, r.SealedEnv, &env) {
		return nil, core.Conflict("schedule", r.ID, string(r.Status), "the environment of the thread cannot be read any more: the key that sealed it "+
			"(schedules.key) was replaced; give the target again")
	}
	return env, nil
}
