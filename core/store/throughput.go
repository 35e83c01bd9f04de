package store

import (
	"context"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// countSpans counts the changes of a batch, and hands put the spans that they change.
func (w *writer) countSpans(put func(write) error) error {
	now := w.s.opts.Clock.Now()
	for i := range w.changes {
		w.changes[i].spans.add(now, w.span)
	}
	stored := &w.s.state.spans
	w.newestHour = stored.newest
	for place, s := range w.spans {
		if *s != nil && place.hour {
			w.newestHour = max(w.newestHour, (*s).number)
		}
	}
	store := func(place spanPlace, s *span) error {
		return put(write{
			key:   w.buf.take(func(dst []byte) []byte { return appendSpanKey(dst, place) }),
			value: w.buf.take(func(dst []byte) []byte { return appendSpan(dst, s) }),
		})
	}
	for place, s := range w.spans {
		if *s == nil || place.hour && (*s).number == w.newestHour {
			continue
		}
		if err := store(place, *s); err != nil {
			return err
		}
	}
	place := spanPlaceOf(true, stored.newest)
	over := *stored.at(place)
	if w.newestHour == stored.newest || over == nil || over.number != stored.newest || w.spans[place] != nil {
		return nil
	}
	return store(place, over)
}

// span returns the span of a place as the batch leaves it, nil if the batch has changed as many as it may.
func (w *writer) span(p spanPlace) **span {
	if s, ok := w.spans[p]; ok {
		return s
	}
	if len(w.spans) == maxSpans {
		return nil
	}
	// Only this goroutine changes the state, so it may read without the lock.
	own := (*w.s.state.spans.at(p)).clone()
	w.spans[p] = &own
	return &own
}

// loadSpans reads the spans. One that cannot be read is passed over: its place is taken again a day or a month later.
func (s *state) loadSpans(store *Store, txn kv.Snapshot) error {
	defer s.spans.restore()
	return scan(txn, []byte(prefixSpan), nil, true, func(key, value []byte) (bool, error) {
		place, ok := cutSpanKey(key[len(prefixSpan):])
		if !ok {
			return true, nil
		}
		read, err := decodeSpan(value)
		if err != nil {
			return store.pass(key, damaged("throughput", recordID(key[len(prefixSpan):]), err))
		}
		*s.spans.at(place) = read
		return true, nil
	})
}

// Throughput implements core.ExecutionReader. It reads memory only.
func (s *Store) Throughput(ctx context.Context) (*core.Throughput, error) {
	if err := s.alive(ctx); err != nil {
		return nil, err
	}
	now := s.opts.Clock.Now().Unix()
	s.state.mu.RLock()
	all := s.state.spans // spans that are stored do not change
	s.state.mu.RUnlock()
	t := &core.Throughput{Minutes: shownSpans(all.minutes[:], now/60, 60), Hours: shownSpans(all.hours[:], now/3600, 3600)}
	for _, r := range throughputRanges {
		places, newest := all.minutes[:], now/60
		if r.length == 3600 {
			places, newest = all.hours[:], now/3600
		}
		sum := &span{number: newest - r.count + 1}
		for _, s := range places {
			if s != nil && s.number <= newest && s.number >= sum.number {
				sum.include(s)
			}
		}
		t.Ranges = append(t.Ranges, core.ThroughputRange{Range: r.name, OverviewSpan: sum.shown(r.length)})
	}
	return t, nil
}

// throughputRanges are summed up: so many minutes or hours, of so many seconds each.
var throughputRanges = []struct {
	name          string
	count, length int64
}{{"1h", 60, 60}, {"24h", 24 * 60, 60}, {"7d", 7 * 24, 3600}, {"30d", 30 * 24, 3600}}

// include adds what another span counted.
func (s *span) include(o *span) {
	s.started, s.completed, s.failed, s.cancelled = s.started+o.started, s.completed+o.completed, s.failed+o.failed, s.cancelled+o.cancelled
	for _, t := range o.times {
		s.took(int(t.step), t.n)
	}
}

// shown is what callers see of a span of so many seconds.
func (s *span) shown(length int64) core.ThroughputSpan {
	row := core.ThroughputSpan{
		At: time.Unix(s.number*length, 0).UTC(), Started: int(s.started), Completed: int(s.completed), Failed: int(s.failed), Cancelled: int(s.cancelled),
	}
	if len(s.times) > 0 {
		p50, p95 := s.percentile(50), s.percentile(95)
		row.P50, row.P95 = &p50, &p95
	}
	return row
}

// shownSpans returns those that are neither over for longer than all places last nor of the future, oldest first.
func shownSpans(places []*span, newest, length int64) []core.ThroughputSpan {
	list := []core.ThroughputSpan{}
	for _, s := range places {
		if s != nil && s.number <= newest && s.number > newest-int64(len(places)) {
			list = append(list, s.shown(length))
		}
	}
	slices.SortFunc(list, func(a, b core.ThroughputSpan) int { return a.At.Compare(b.At) })
	return list
}
