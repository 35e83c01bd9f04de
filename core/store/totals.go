package store

// prepare hands put the keys that every batch writes once: the counters and references it touches and the
// sequence number.
func (w *writer) prepare(put func(write) error) error {
	for i := range w.changes {
		c := &w.changes[i]
		w.tally(c.old, -1)
		w.tally(c.new, 1)
	}
	for pattern, c := range w.counts {
		wr := write{key: w.buf.take(func(dst []byte) []byte { return appendKey(dst, prefixCounter, pattern) })}
		if c != (statusCounts{}) {
			wr.value = w.buf.take(func(dst []byte) []byte { return appendCounts(dst, c) })
		}
		if err := put(wr); err != nil {
			return err
		}
	}
	for _, r := range w.refs {
		d, ok := w.defs[r.hash]
		if !ok {
			d = w.s.state.defs[r.hash]
		}
		d.refs = max(d.refs+r.by, 0)
		d.stored = (d.stored || r.stored) && !r.dropped
		w.defs[r.hash] = d
	}
	for hash, d := range w.defs {
		wr := write{key: w.buf.take(func(dst []byte) []byte { return appendKey(dst, prefixRefs, hash) })}
		if d.refs > 0 {
			wr.value = w.buf.take(func(dst []byte) []byte { return appendUint64(dst, uint64(d.refs)) })
		}
		if err := put(wr); err != nil {
			return err
		}
	}
	if err := w.countSpans(put); err != nil {
		return err
	}
	if err := w.countDeliveries(put); err != nil {
		return err
	}
	if w.batchAudit != w.audit {
		key := w.buf.take(func(dst []byte) []byte { return append(dst, keyAudit...) })
		if err := put(write{key, w.buf.take(func(dst []byte) []byte { return appendAuditHead(dst, w.batchAudit) })}); err != nil {
			return err
		}
	}
	if w.batchSeq == w.seq {
		return nil
	}
	key := w.buf.take(func(dst []byte) []byte { return append(dst, keySeq...) })
	return put(write{key, w.buf.take(func(dst []byte) []byte { return appendUint64(dst, w.batchSeq) })})
}

// tally counts one execution in the new values of its pattern's counters.
func (w *writer) tally(e execState, by int64) {
	if !e.exists() {
		return
	}
	c, known := w.counts[e.pattern]
	// Only this goroutine changes the state, so it may read without the lock.
	if stored := w.s.state.counts[e.pattern]; !known && stored != nil {
		c = *stored
	}
	c[statusIndex(e.status)] += by
	w.counts[e.pattern] = c
}

// publish moves the state on by a committed batch.
func (w *writer) publish() {
	if len(w.changes) == 0 && len(w.defs) == 0 {
		return
	}
	s := w.s.state
	s.mu.Lock()
	defer s.mu.Unlock()
	for place, own := range w.spans {
		*s.spans.at(place) = *own
		s.spans.newest = max(s.spans.newest, w.newestHour)
	}
	for i := range w.changes {
		s.apply(&w.changes[i])
	}
	for hash, d := range w.defs {
		if d.refs == 0 && !d.stored {
			delete(s.defs, hash)
		} else {
			s.defs[hash] = d
		}
	}
}
