package schedule

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// maxSpans bounds core.ScheduleRecord.Fired; beyond that the two oldest become one, with what lies between them.
const maxSpans = 16

// calendar is a plan with the bounds of a schedule.
type calendar struct {
	*plan
	id         string
	jitter     time.Duration
	start, end time.Time // zero: none
	// unreadable is why the times of a record, which another version took, cannot be read; plan is nil then, and there are no
	// ticks. Empty: they can.
	unreadable string
}

// newCalendar reads the calendar of a record.
func newCalendar(r *core.ScheduleRecord) (*calendar, []core.Problem) {
	p, problems := parse(r.Cron, r.TimeZone, r.Anchor)
	if problems != nil {
		return nil, problems
	}
	c := &calendar{plan: p, id: r.ID, jitter: r.Jitter.Duration()}
	if r.StartAt != nil {
		c.start = *r.StartAt
	}
	if r.EndAt != nil {
		c.end = *r.EndAt
	}
	return c, nil
}

// storedCalendar is newCalendar for a record of the store, which has one even if its times cannot be read: so it can still be
// looked at, changed and deleted.
func storedCalendar(r *core.ScheduleRecord) *calendar {
	c, problems := newCalendar(r)
	if problems != nil {
		return &calendar{id: r.ID, unreadable: problems[0].Path + ": " + problems[0].Reason}
	}
	return c
}

// next returns the first tick after a time within the bounds.
func (c *calendar) next(after time.Time) (time.Time, bool) {
	if c.unreadable != "" {
		return time.Time{}, false
	}
	if after.Before(c.start) {
		after = c.start.Add(-time.Nanosecond)
	}
	t, ok := c.plan.next(after)
	if !ok || !c.end.IsZero() && t.After(c.end) {
		return time.Time{}, false
	}
	return t, true
}

// bound is the field that leaves no tick where there is none.
func (c *calendar) bound() string {
	switch {
	case !c.end.IsZero():
		return "endAt"
	case !c.start.IsZero():
		return "startAt"
	}
	return "cron"
}

// startOf returns when a tick is to be started: the jitter of each is drawn by its time, so that it is the same after a
// crash, and never reaches the next tick.
func (c *calendar) startOf(tick time.Time) time.Time {
	most := min(c.jitter, lastTick.Sub(tick))
	if following, ok := c.plan.next(tick); ok {
		most = min(most, following.Sub(tick)-time.Second)
	}
	if most <= 0 {
		return tick
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.id)) // never fails
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(tick.Unix())))
	return tick.Add(time.Duration(mix(h.Sum64()) % uint64(most)).Truncate(time.Millisecond))
}

// mix spreads the bits of a hash: those of FNV change little for inputs that differ in their last bytes.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// preview returns up to count ticks after a time.
func (c *calendar) preview(after time.Time, count int, fired []core.TickSpan) *core.ScheduleTicks {
	if c.unreadable != "" {
		return &core.ScheduleTicks{Ticks: []core.ScheduleTick{}}
	}
	out := &core.ScheduleTicks{TimeZone: c.zone.String(), Ticks: make([]core.ScheduleTick, 0, count)}
	for len(out.Ticks) < count {
		t, ok := c.unfired(after, fired)
		if !ok {
			break
		}
		out.Ticks = append(out.Ticks, core.ScheduleTick{At: t, Local: t.In(c.zone).Format(time.RFC3339), StartAt: c.startOf(t)})
		after = t
	}
	return out
}

// unfired returns the first tick after a time that is not among those fired.
func (c *calendar) unfired(after time.Time, fired []core.TickSpan) (time.Time, bool) {
	for {
		t, ok := c.next(after)
		if !ok {
			return t, false
		}
		i := slices.IndexFunc(fired, func(s core.TickSpan) bool { return !t.Before(s.From) && !t.After(s.To) })
		if i < 0 {
			return t, true
		}
		after = fired[i].To
	}
}

// fire adds a tick to those fired.
func (c *calendar) fire(fired []core.TickSpan, tick time.Time) []core.TickSpan {
	fired = slices.Clone(fired)
	i := 0
	for i < len(fired) && fired[i].From.Before(tick) {
		i++
	}
	if i > 0 && !tick.After(fired[i-1].To) {
		return fired
	}
	follows := func(a, b time.Time) bool {
		t, ok := c.plan.next(a)
		return ok && !t.Before(b)
	}
	switch {
	case i > 0 && follows(fired[i-1].To, tick):
		i--
		fired[i].To = tick
	case i < len(fired) && fired[i].From.Equal(tick):
		return fired
	default:
		fired = slices.Insert(fired, i, core.TickSpan{From: tick, To: tick})
	}
	if i+1 < len(fired) && follows(fired[i].To, fired[i+1].From) {
		fired[i].To = fired[i+1].To
		fired = slices.Delete(fired, i+1, i+2)
	}
	if len(fired) > maxSpans {
		fired[0].To = fired[1].To
		fired = slices.Delete(fired, 1, 2)
	}
	return fired
}

// maxCounted bounds how many missed ticks are gone over one by one.
const maxCounted = 10_000

// dropped are ticks that are not made up for.
type dropped struct {
	count int // maxCounted at most
	last  time.Time
}

// overdue returns the newest ticks up to keep, in order, that were to be started after a time and up to now, and those
// before them. What it returns once ctx ended is not all.
func (c *calendar) overdue(ctx context.Context, after, now time.Time, fired []core.TickSpan, keep int) (newest []time.Time, rest dropped) {
	// However long it was: the window from now back grows until it holds enough.
	from := after
	for window := time.Hour; window > 0; window *= 4 {
		from = now.Add(-window)
		if !from.After(after) {
			from = after
			break
		}
		if found := c.within(ctx, from, now, fired, keep+1); len(found) > keep {
			break
		}
	}
	for t := from; ctx.Err() == nil; {
		tick, ok := c.unfired(t, fired)
		if !ok || c.startOf(tick).After(now) {
			break
		}
		if newest = append(newest, tick); len(newest) > keep {
			rest.last = newest[0]
			newest = newest[1:]
			rest.count++
		}
		t = tick
	}
	if from.After(after) {
		older := c.within(ctx, after, from, fired, maxCounted)
		rest.count += len(older)
		if rest.last.IsZero() && len(older) > 0 {
			rest.last = from
		}
	}
	rest.count = min(rest.count, maxCounted)
	return newest, rest
}

// within returns up to limit ticks after a time and up to another, until ctx ends.
func (c *calendar) within(ctx context.Context, after, until time.Time, fired []core.TickSpan, limit int) (list []time.Time) {
	for len(list) < limit && ctx.Err() == nil {
		t, ok := c.unfired(after, fired)
		if !ok || t.After(until) {
			break
		}
		list, after = append(list, t), t
	}
	return list
}
