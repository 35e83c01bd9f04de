package store

import (
	"context"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/wardroom/wardroom/core"
)

// retainChunk is how many records one transaction of retention removes, and retainKeys about how many keys,
// so that other writers wait little.
const (
	retainChunk = 100
	retainKeys  = 2000
)

// definitionGrace is how long a definition that nothing refers to is kept: whoever put it may be about to
// store what refers to it.
const definitionGrace = time.Hour

// Policy says how long records are kept after they came to rest. Zero keeps them for ever.
type Policy struct {
	Executions  time.Duration // after completion, with their journal, questions, threads and decisions
	Events      time.Duration // of the public log, and of the journals of subjects other than executions
	Batches     time.Duration // after completion, with inputs and results
	Agents      time.Duration // after they disconnected for good
	Idempotency time.Duration // after the claim; never less than core.IdempotencyTTL
	Deliveries  time.Duration // after the last attempt of one that is over
	// DeliveriesPerWebhook is how many deliveries that are over an endpoint keeps, the newest ones; 0: all.
	DeliveriesPerWebhook int
}

// Retired counts what a retention run removed.
type Retired struct {
	Executions, Events, Batches, Agents, Idempotency, Definitions, Deliveries int
}

// Retain removes what the policy no longer keeps, in small transactions between those of others. What
// is active is never removed, and the log is kept from its slowest consumer on; behind that, the events that deliveries
// may still be made from are kept. It may be stopped through ctx at any time and goes on where it was in the next run.
func (s *Store) Retain(ctx context.Context, policy Policy) (Retired, error) {
	s.retainMu.Lock()
	defer s.retainMu.Unlock()
	now := s.opts.Clock.Now()
	var done Retired
	var err error
	if done.Deliveries, err = s.purgeDeliveries(ctx); err != nil {
		return done, err
	}
	if policy.Deliveries > 0 || policy.DeliveriesPerWebhook > 0 {
		var before time.Time
		if policy.Deliveries > 0 {
			before = now.Add(-policy.Deliveries)
		}
		n, err := s.retainDeliveries(ctx, before, policy.DeliveriesPerWebhook)
		done.Deliveries += n
		if err != nil {
			return done, err
		}
	}
	steps := []struct {
		keep  time.Duration
		count *int
		run   func(ctx context.Context, before time.Time) (int, error)
	}{
		{policy.Executions, &done.Executions, s.retainExecutions},
		{policy.Batches, &done.Batches, s.retainBatches},
		{policy.Events, &done.Events, s.retainEvents},
		{policy.Agents, &done.Agents, s.retainAgents},
		{idempotencyAge(policy.Idempotency), &done.Idempotency, s.retainIdempotency},
		{definitionGrace, &done.Definitions, s.retainDefinitions},
	}
	for _, step := range steps {
		if step.keep <= 0 {
			continue
		}
		n, err := step.run(ctx, now.Add(-step.keep))
		*step.count = n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

func idempotencyAge(age time.Duration) time.Duration {
	if age <= 0 {
		return 0
	}
	return max(age, core.IdempotencyTTL)
}

// retired is one record that is to go.
type retired struct {
	id   string
	keys [][]byte // beside those that follow from its state
	// first, if not nil, removes what is too much for one transaction, ahead of it.
	first func(ctx context.Context) error
	// held, if not nil, tells in the transaction that the record must stay after all.
	held func(t *tx) (bool, error)
}

// retainExecutions walks the executions from the oldest on. One with an active thread stays.
func (s *Store) retainExecutions(ctx context.Context, before time.Time) (int, error) {
	end := core.IDBound(core.PrefixExecution, before)
	return s.retainEach(ctx, prefixExecution, func(txn *badger.Txn, id string, value []byte) (*retired, bool, error) {
		if id >= end {
			return nil, false, nil
		}
		var e core.Execution
		if err := decodeJSON("execution", id, value, &e); err != nil {
			return nil, false, err
		}
		ended := e.CompletedAt
		if ended == nil {
			ended = e.CancelledAt
		}
		if !e.Status.Terminal() || ended != nil && !ended.Before(before) {
			return nil, true, nil
		}
		if n, err := countActiveThreads(txn, id); err != nil || n > 0 {
			return nil, true, err
		}
		keys, err := questionKeys(txn, id)
		if err != nil {
			return nil, false, err
		}
		r := &retired{id: id, keys: keys, held: func(t *tx) (bool, error) {
			return hasThreads(id, t.number) // one came meanwhile: the next run sees to it
		}}
		has, err := hasThreads(id, func(key []byte) (uint64, error) { return number(txn, key) })
		if err != nil {
			return nil, false, err
		}
		if has {
			r.first = func(ctx context.Context) error { return s.removeThreads(ctx, id) }
		}
		return r, true, scan(txn, appendEscaped([]byte(prefixJournal), id), nil, false, func(key, _ []byte) (bool, error) {
			// An event that the log still holds goes with the log.
			held, err := get(txn, appendLogKey(nil, lastUint64(key)))
			if held == nil {
				r.keys = append(r.keys, slices.Clone(key))
			}
			return true, err
		})
	}, func(t *tx, r *retired) error {
		old, err := t.execState(r.id)
		if err != nil || !old.status.Terminal() {
			return err
		}
		t.delete(t.key(prefixExecution, r.id))
		return t.moveIndexes(r.id, old, execState{})
	})
}

// retainEach walks the records under prefix from the first on. pick returns the record when it is to go,
// and false to stop; remove deletes what follows from the record inside a transaction, after its keys.
func (s *Store) retainEach(ctx context.Context, prefix string,
	pick func(txn *badger.Txn, id string, value []byte) (*retired, bool, error),
	remove func(t *tx, r *retired) error,
) (int, error) {
	removed, from := 0, []byte(prefix)
	for more := true; more; {
		var chunk []*retired
		keys := 0
		err := s.view(ctx, func(txn *badger.Txn) error {
			more = false
			return scan(txn, []byte(prefix), from, true, func(key, value []byte) (bool, error) {
				if len(chunk) == retainChunk || keys >= retainKeys {
					from, more = slices.Clone(key), true
					return false, nil
				}
				r, on, err := pick(txn, string(key[len(prefix):]), value)
				if err != nil || !on {
					return false, err
				}
				if r != nil {
					chunk = append(chunk, r)
					keys += len(r.keys)
				}
				return true, ctx.Err()
			})
		})
		if err != nil {
			return removed, err
		}
		for len(chunk) > 0 {
			n, gone, err := s.removeSome(ctx, chunk, remove)
			removed += gone
			if err != nil {
				return removed, err
			}
			chunk = chunk[n:]
		}
	}
	return removed, nil
}

// removeSome removes as many whole records as one transaction takes, and tells how many it looked at, at least one,
// and how many are gone. A record with more keys than that loses them first, in transactions of their own.
func (s *Store) removeSome(ctx context.Context, chunk []*retired, remove func(t *tx, r *retired) error) (n, gone int, err error) {
	if first := chunk[0].first; first != nil {
		if err := first(ctx); err != nil {
			return 0, 0, err
		}
		chunk[0].first = nil
	}
	for len(chunk[0].keys) > retainKeys {
		some := chunk[0].keys[:retainKeys]
		if err := s.deleteKeys(ctx, some); err != nil {
			return 0, 0, err
		}
		chunk[0].keys = chunk[0].keys[retainKeys:]
	}
	keys := 0
	for n < len(chunk) && chunk[n].first == nil && (n == 0 || keys+len(chunk[n].keys) <= retainKeys) {
		keys += len(chunk[n].keys)
		n++
	}
	kept := 0
	err = s.update(ctx, true, func(t *tx) error {
		kept = 0
		for _, r := range chunk[:n] {
			if r.held != nil {
				if held, err := r.held(t); err != nil {
					return err
				} else if held {
					kept++
					continue
				}
			}
			for _, key := range r.keys {
				t.delete(key)
			}
			if err := remove(t, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	return n, n - kept, nil
}

func (s *Store) deleteKeys(ctx context.Context, keys [][]byte) error {
	return s.update(ctx, true, func(t *tx) error {
		for _, key := range keys {
			t.delete(key)
		}
		return nil
	})
}
