package store

import (
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// load reads the writer's memory from the database. It costs by the number of active executions, patterns
// and definitions, not by what is stored.
func (w *writer) load() error {
	db := w.s.db
	w.maxSize, w.maxCount = db.MaxBatchSize()-entryOverhead, db.MaxBatchCount()-2
	w.threshold = db.Opts().ValueThreshold
	if w.latest == nil {
		w.latest = map[string]execState{}
		w.counts = map[string]*statusCounts{}
		w.defs = map[string]definition{}
		w.tallies = map[uint32]*deliveryCounts{}
	}
	if err := finishLarge(db, w.maxSize, w.maxCount); err != nil {
		return err
	}
	txn := db.NewTransaction(false)
	defer txn.Discard()
	fresh := newState()
	w.seq, w.maxID, w.numbers = 0, "", nil
	seq, err := get(txn, []byte(keySeq))
	if err != nil {
		return err
	}
	if seq != nil {
		if w.seq, err = decodeUint64(seq); err != nil {
			return fmt.Errorf("%s: %w", keySeq, err)
		}
	}
	err = scanBack(txn, []byte(prefixExecution), nil, func(key []byte) (bool, error) {
		w.maxID = string(key[len(prefixExecution):])
		return false, nil
	})
	if err != nil {
		return err
	}
	if err := fresh.read(txn); err != nil {
		return err
	}
	w.s.state.replace(fresh)
	w.s.floors.reset()
	w.s.seq.Store(w.seq)
	return nil
}

// read fills an empty state.
func (s *state) read(txn *badger.Txn) error {
	err := scan(txn, []byte(prefixActive), nil, true, func(key, value []byte) (bool, error) {
		id := string(key[len(prefixActive):])
		e, err := decodeActive(value)
		if err != nil {
			return false, damaged("active execution", id, err)
		}
		s.active[id] = e
		s.order = append(s.order, id)
		return true, nil
	})
	if err != nil {
		return err
	}
	err = scan(txn, []byte(prefixCounter), nil, true, func(key, value []byte) (bool, error) {
		pattern := string(key[len(prefixCounter):])
		c, err := decodeCounts(value)
		if err != nil {
			return false, damaged("counter", pattern, err)
		}
		s.addCounts(pattern, c)
		return true, nil
	})
	if err != nil {
		return err
	}
	err = scan(txn, []byte(prefixRefs), nil, true, func(key, value []byte) (bool, error) {
		hash := string(key[len(prefixRefs):])
		n, err := decodeUint64(value)
		if err != nil {
			return false, damaged("reference count", hash, err)
		}
		s.defs[hash] = definition{refs: int64(n)}
		return true, nil
	})
	if err != nil {
		return err
	}
	return scan(txn, []byte(prefixDefinition), nil, false, func(key, _ []byte) (bool, error) {
		hash := string(key[len(prefixDefinition):])
		d := s.defs[hash]
		d.stored = true
		s.defs[hash] = d
		return true, nil
	})
}

// replace takes over what another state holds; the other must not be used afterwards.
func (s *state) replace(o *state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active, s.order, s.counts, s.byStatus, s.total, s.defs = o.active, o.order, o.counts, o.byStatus, o.total, o.defs
}
