package store

import (
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// load reads the writer's memory from the database. It costs by the number of active executions, patterns
// and definitions, not by what is stored.
func (w *writer) load() error {
	db := w.s.db
	w.limits = db.Limits()
	if w.latest == nil {
		w.latest = map[string]execState{}
		w.counts = map[string]statusCounts{}
		w.defs = map[string]definition{}
		w.spans = map[spanPlace]**span{}
		w.tallies = map[uint32]*deliveryCounts{}
	}
	if !w.limits.ReadOnly {
		if err := w.s.finishLarge(db); err != nil {
			return err
		}
	}
	txn := db.Snapshot()
	defer txn.Discard()
	fresh := newState()
	w.seq, w.maxID, w.numbers = 0, "", nil
	var healed []write
	seq, err := get(txn, []byte(keySeq))
	if err != nil {
		return err
	}
	if seq != nil {
		if w.seq, err = decodeUint64(seq); err != nil {
			w.s.note([]byte(keySeq), asDamage(damaged("number", keySeq, err)))
			if w.seq, err = newestSeq(txn); err != nil {
				return err
			}
			healed = append(healed, write{[]byte(keySeq), appendUint64(nil, w.seq)})
		}
	}
	err = scanBack(txn, []byte(prefixExecution), nil, func(key []byte) (bool, error) {
		w.maxID = string(key[len(prefixExecution):])
		return false, nil
	})
	if err != nil {
		return err
	}
	more, err := readState(w.s, txn, fresh)
	if err != nil {
		return err
	}
	if healed = append(healed, more...); len(healed) > 0 && !w.limits.ReadOnly {
		// What was made anew follows from records that can be read, so it may as well be made again at the next start.
		if err := commitWrites(db, healed); err != nil {
			w.s.log.Warn("what was made anew is not on disk yet", "error", oneLine(err.Error()))
		}
	}
	if err := w.loadAudit(txn); err != nil {
		return err
	}
	if err := w.s.loadBroken(txn); err != nil {
		return err
	}
	w.s.state.replace(fresh)
	w.s.floors.reset()
	w.s.seq.Store(w.seq)
	return nil
}

// newestSeq finds the last sequence number given by what it was given to, and by what consumers of the log are done with: retention
// may have removed the events.
func newestSeq(txn kv.Snapshot) (seq uint64, err error) {
	err = scan(txn, []byte(prefixJournal), nil, false, func(key, _ []byte) (bool, error) {
		seq = max(seq, lastUint64(key))
		return true, nil
	})
	if err != nil {
		return 0, err
	}
	err = scan(txn, []byte(prefixCursor), nil, true, func(_, value []byte) (bool, error) {
		if done, err := decodeUint64(value); err == nil {
			seq = max(seq, done)
		}
		return true, nil
	})
	return seq, err
}

// unknownRefs stands for a number of references that cannot be read: it never comes down to 0, so that the definition
// stays until a repair counts anew.
const unknownRefs = 1 << 40

// readState fills an empty state. What cannot be read is made anew from what it follows from, or passed over; healed
// are the writes that put the former right.
func readState(store *Store, txn kv.Snapshot, s *state) (healed []write, err error) {
	err = scan(txn, []byte(prefixActive), nil, true, func(key, value []byte) (bool, error) {
		id := string(key[len(prefixActive):])
		e, err := decodeActive(value)
		if err != nil {
			record, missing := executions.read(txn, id)
			if missing != nil {
				return store.pass(key, damaged("active execution", id, errRecord))
			}
			store.note(key, asDamage(damaged("active execution", id, errRecord)))
			if e = stateOf(record); !e.active() {
				healed = append(healed, write{key: slices.Clone(key)})
				return true, nil
			}
			healed = append(healed, write{slices.Clone(key), appendRow(appendActive(nil, e), record)})
		}
		s.active[id] = e
		s.order = append(s.order, id)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	err = scan(txn, []byte(prefixCounter), nil, true, func(key, value []byte) (bool, error) {
		pattern := string(key[len(prefixCounter):])
		c, err := decodeCounts(value)
		if err != nil {
			store.note(key, asDamage(damaged("counter", pattern, err)))
			if c, err = countStatuses(txn, s, pattern); err != nil {
				return false, err
			}
			healed = append(healed, write{slices.Clone(key), appendCounts(nil, c)})
		}
		s.addCounts(pattern, c)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	err = scan(txn, []byte(prefixRefs), nil, true, func(key, value []byte) (bool, error) {
		hash := string(key[len(prefixRefs):])
		n, err := decodeUint64(value)
		if err != nil {
			store.note(key, asDamage(damaged("reference count", hash, err)))
			n = unknownRefs
			healed = append(healed, write{slices.Clone(key), appendUint64(nil, n)})
		}
		s.defs[hash] = definition{refs: int64(n)}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	if err := s.loadSpans(store, txn); err != nil {
		return nil, err
	}
	return healed, scan(txn, []byte(prefixDefinition), nil, false, func(key, _ []byte) (bool, error) {
		hash := string(key[len(prefixDefinition):])
		d := s.defs[hash]
		d.stored = true
		s.defs[hash] = d
		return true, nil
	})
}

// countStatuses counts the executions of a pattern in its lists, and the active ones in a state that has them already.
func countStatuses(txn kv.Snapshot, s *state, pattern string) (c statusCounts, err error) {
	for _, e := range s.active {
		if e.pattern == pattern {
			c[statusIndex(e.status)]++
		}
	}
	for i, status := range core.ExecutionStatuses {
		if !status.Terminal() {
			continue
		}
		err = scan(txn, appendBothIndex(nil, pattern, string(status), ""), nil, false, func(_, _ []byte) (bool, error) {
			c[i]++
			return true, nil
		})
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// replace takes over what another state holds; the other must not be used afterwards.
func (s *state) replace(o *state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active, s.order, s.counts, s.byStatus, s.total, s.defs = o.active, o.order, o.counts, o.byStatus, o.total, o.defs
	s.spans = o.spans
}
