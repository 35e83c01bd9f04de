package store

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// The throughput of executions is kept per minute and per hour, in as many places as are shown: a minute lies in the
// place of its number modulo their count, and takes it over from the one before. So it needs no retention, and a clock
// that goes astray costs the places that it came by and no more. What is counted is written in the transaction of what it
// counts: in its minute, and in its hour unless that is the newest one. The minutes of the newest hour say all of it,
// and last longer than it does; it is written when a later one begins.

// A span is read back from:
//
//	version 1, varint number of the minute or hour since 1970, uvarints of how many executions started, completed,
//	failed and were cancelled, uvarint number of steps of duration, and for each the uvarint distance to the step before
//	and the uvarint number of executions

const (
	spanMinutes = 24 * 60
	spanHours   = 30 * 24
	// maxSpans bounds the spans that one batch changes: one minute and hour, or those around a change of them. What a
	// clock that jumps within a batch has beyond that is not counted. It may write one more, the hour that is over.
	maxSpans = 8
	// maxSpanSize is the size of a span whose executions took as long as is possible in every way, in bytes.
	maxSpanSize = 64 + maxStep*6
)

// Durations are counted in steps, of which each is at most an eighth longer than the one before: what is read from them
// is right to 6 %.
const (
	stepBits = 3
	maxStep  = 40 << stepBits // 2^42 ms and more
)

// stepOf returns the step of a duration in milliseconds.
func stepOf(ms int64) int {
	if ms < 1<<stepBits {
		return int(max(ms, 0))
	}
	shift := bits.Len64(uint64(ms)) - 1 - stepBits
	return min((shift+1)<<stepBits+int(ms>>shift)&(1<<stepBits-1), maxStep-1)
}

// durationOf returns the middle of a step, in milliseconds.
func durationOf(step int) int64 {
	if step < 1<<stepBits {
		return int64(step)
	}
	shift := step>>stepBits - 1
	low := int64(1<<stepBits+step&(1<<stepBits-1)) << shift
	return low + int64(1)<<shift/2
}

// stepCount is how many executions took as long as a step says.
type stepCount struct{ step, n uint32 }

// span counts what happened in a minute or an hour. A span that was stored never changes.
type span struct {
	number                                int64 // since 1970
	started, completed, failed, cancelled uint64
	times                                 []stepCount // of those that completed, sorted by step
}

// spanSet has the spans by place; nil where nothing was.
type spanSet struct {
	minutes [spanMinutes]*span
	hours   [spanHours]*span
	newest  int64 // number of the newest hour; 0 for none
}

// restore finds the newest hour of spans that were read, and counts it by its minutes.
func (s *spanSet) restore() {
	s.newest = 0
	for _, m := range s.minutes {
		if m != nil {
			s.newest = max(s.newest, m.number/60)
		}
	}
	for _, h := range s.hours {
		if h != nil {
			s.newest = max(s.newest, h.number)
		}
	}
	sum := &span{number: s.newest}
	for _, m := range s.minutes {
		if m != nil && m.number/60 == s.newest {
			sum.include(m)
		}
	}
	// One that was stored counts more if its minutes were taken over, after a clock that was ahead.
	place := s.at(spanPlaceOf(true, s.newest))
	if sum.changes() > 0 && (*place == nil || (*place).number != s.newest || (*place).changes() < sum.changes()) {
		*place = sum
	}
}

func (s *spanSet) at(p spanPlace) **span {
	if p.hour {
		return &s.hours[p.slot]
	}
	return &s.minutes[p.slot]
}

// spanPlace is where a span lies.
type spanPlace struct {
	hour bool
	slot uint16
}

func spanPlaceOf(hour bool, number int64) spanPlace {
	count := int64(spanMinutes)
	if hour {
		count = spanHours
	}
	return spanPlace{hour, uint16((number%count + count) % count)}
}

func appendSpanKey(dst []byte, p spanPlace) []byte {
	kind := byte('m')
	if p.hour {
		kind = 'h'
	}
	return binary.BigEndian.AppendUint16(append(append(dst, prefixSpan...), kind, '/'), p.slot)
}

func cutSpanKey(rest []byte) (p spanPlace, ok bool) {
	if len(rest) != 4 || rest[1] != '/' || rest[0] != 'm' && rest[0] != 'h' {
		return p, false
	}
	p = spanPlace{rest[0] == 'h', binary.BigEndian.Uint16(rest[2:])}
	return p, p.hour && p.slot < spanHours || !p.hour && p.slot < spanMinutes
}

func appendSpan(dst []byte, s *span) []byte {
	dst = binary.AppendVarint(append(dst, recordVersion), s.number)
	for _, n := range []uint64{s.started, s.completed, s.failed, s.cancelled, uint64(len(s.times))} {
		dst = binary.AppendUvarint(dst, n)
	}
	before := uint32(0)
	for _, t := range s.times {
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(t.step-before)), uint64(t.n))
		before = t.step
	}
	return dst
}

func decodeSpan(b []byte) (*span, error) {
	if len(b) == 0 || b[0] != recordVersion {
		return nil, errRecord
	}
	s := new(span)
	var n int
	if s.number, n = binary.Varint(b[1:]); n <= 0 {
		return nil, errRecord
	}
	b = b[1+n:]
	next := func() (v uint64) {
		if v, n = binary.Uvarint(b); n > 0 {
			b = b[n:]
		}
		return v
	}
	var count uint64
	for _, into := range []*uint64{&s.started, &s.completed, &s.failed, &s.cancelled, &count} {
		if *into = next(); n <= 0 {
			return nil, errRecord
		}
	}
	step := uint64(0)
	for i := range count {
		more := next()
		if n <= 0 || more >= maxStep || i > 0 && more == 0 {
			return nil, errRecord
		}
		step += more
		took := next()
		if n <= 0 || step >= maxStep || took > 1<<32-1 {
			return nil, errRecord
		}
		s.times = append(s.times, stepCount{uint32(step), uint32(took)})
	}
	if len(b) > 0 {
		return nil, errRecord
	}
	return s, nil
}

// spanDelta is the change of the throughput by one execution.
type spanDelta struct {
	started, ended time.Time // zero for neither
	status         core.ExecutionStatus
	step           int // of the duration; -1: it is not counted
}

// spansOf returns what a change adds; e is the execution in its new state, nil if it is removed. The time of an ad-hoc
// execution is that of its threads, and not counted.
func spansOf(old, fresh execState, e *core.Execution) (d spanDelta) {
	if e == nil || old.status.Terminal() {
		return d
	}
	d.step = -1
	if e.StartedAt != nil && (!old.exists() || old.status == core.ExecutionPending) && fresh.status != core.ExecutionPending {
		d.started = *e.StartedAt
	}
	if !fresh.status.Terminal() {
		return d
	}
	d.status = fresh.status
	switch {
	case e.CompletedAt != nil:
		d.ended = *e.CompletedAt
	case e.CancelledAt != nil:
		d.ended = *e.CancelledAt
	}
	if d.status == core.ExecutionCompleted && e.StartedAt != nil && !e.AdHoc {
		d.step = stepOf(d.ended.Sub(*e.StartedAt).Milliseconds())
	}
	return d
}

// add counts a change in the span of a time. set returns the span of a place that may be changed; nil where no more can.
func (d *spanDelta) add(now time.Time, set func(p spanPlace) **span) {
	count := func(at time.Time, fn func(s *span)) {
		if at.IsZero() {
			return
		}
		for _, hour := range []bool{false, true} {
			length := int64(60)
			if hour {
				length = 3600
			}
			number, newest := at.Unix()/length, now.Unix()/length
			if at.Unix() < 0 {
				continue
			}
			place := set(spanPlaceOf(hour, number))
			switch {
			case place == nil:
				continue
			case *place != nil && (*place).number > number && (*place).number <= newest+1:
				continue // it is older than what is shown
			case *place == nil || (*place).number != number:
				*place = &span{number: number}
			}
			fn(*place)
		}
	}
	count(d.started, func(s *span) { s.started++ })
	count(d.ended, func(s *span) {
		switch d.status {
		case core.ExecutionCompleted:
			s.completed++
		case core.ExecutionFailed:
			s.failed++
		case core.ExecutionCancelled:
			s.cancelled++
		}
		if d.step >= 0 {
			s.took(d.step, 1)
		}
	})
}

// took counts so many executions that took as long as a step says.
func (s *span) took(step int, n uint32) {
	i, found := slices.BinarySearchFunc(s.times, step, func(t stepCount, step int) int { return int(t.step) - step })
	if !found {
		s.times = slices.Insert(s.times, i, stepCount{uint32(step), n})
		return
	}
	s.times[i].n += min(n, math.MaxUint32-s.times[i].n)
}

// percentile returns the duration that so many of a hundred executions did not exceed, in milliseconds.
func (s *span) percentile(percent uint64) int64 {
	var all uint64
	for _, t := range s.times {
		all += uint64(t.n)
	}
	rank := (all*percent + 99) / 100
	for _, t := range s.times {
		if uint64(t.n) >= rank {
			return durationOf(int(t.step))
		}
		rank -= uint64(t.n)
	}
	return 0
}

// changes returns how much a span has counted.
func (s *span) changes() uint64 { return s.started + s.completed + s.failed + s.cancelled }

// clone returns a copy that may be changed.
func (s *span) clone() *span {
	if s == nil {
		return nil
	}
	own := *s
	own.times = slices.Clone(s.times)
	return &own
}
