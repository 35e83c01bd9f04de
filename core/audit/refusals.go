package audit

import (
	"time"

	"github.com/wardroom/wardroom/core/internal/rawjson"
	sinks "github.com/wardroom/wardroom/sdk/audit"
)

// refusalsEvery is how long records that a sink refuses, and its failures, are only counted after a line of the log about them.
const refusalsEvery = time.Minute

// refusals are the records that a sink refused for good and the log has no line of. The zero value is none.
type refusals struct {
	logged   time.Time // when the last line was written; zero: never
	count    int
	from, to uint64 // sequences of the first and the last of them
	err      error  // of the last
}

// add notes a record, and reports whether it has a line of its own.
func (r *refusals) add(sequence uint64, err error, now time.Time) bool {
	if r.count == 0 && isDue(r.logged, refusalsEvery, now) {
		r.logged = now
		return true
	}
	if r.count++; r.count == 1 {
		r.from = sequence
	}
	r.to, r.err = sequence, err
	return false
}

// take returns the records of a line that is due, or, at the end, those there are.
func (r *refusals) take(now time.Time, end bool) (those refusals, ok bool) {
	if r.count == 0 || !end && !isDue(r.logged, refusalsEvery, now) {
		return those, false
	}
	those = *r
	*r = refusals{logged: now}
	return those, true
}

// isDue reports whether what was done at a time, zero for never, may be done again.
func isDue(last time.Time, every time.Duration, now time.Time) bool {
	return last.IsZero() || now.Sub(last) >= every
}

// failures are the times that a sink began to fail. One that does again and again has a line of the log each minute. The zero value
// is none.
type failures struct {
	logged time.Time // when the last line was written; zero: never
	times  int       // since then
	shown  bool      // the present one is in the log
}

// show reports whether the present failure is to be logged now, and how many times the sink began to fail.
func (f *failures) show(now time.Time) (times int, shown bool) {
	if f.shown || !isDue(f.logged, refusalsEvery, now) {
		return 0, false
	}
	times = f.times
	*f = failures{logged: now, shown: true}
	return times, true
}

// logRefusals writes the line of records that were refused, if it is due, or at the end.
func (k *outlet) logRefusals(end bool) {
	k.mu.Lock()
	those, ok := k.refusals.take(k.s.opts.Clock.Now(), end)
	k.mu.Unlock()
	if ok {
		k.s.log.Error("an audit sink refused more records for good", "sink", k.name, "count", those.count, "from", those.from, "to", those.to, "error", those.err)
	}
}

// eventOf returns the eventId of a record; "" if it has none.
func eventOf(r sinks.Record) string {
	id, _ := rawjson.Field(r.JSON, "eventId")
	return textOf(id)
}
