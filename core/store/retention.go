package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
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

// orphanGrace is how long what belongs to no record is kept: the record may be about to be stored.
const orphanGrace = time.Hour

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
	// PendingPerWebhook is how many deliveries may wait for an endpoint; 0: any number. Beyond that the oldest are
	// given up: they have failed then. So are those that wait for longer than PendingAge; 0: for ever.
	PendingPerWebhook int
	PendingAge        time.Duration

	// What finished executions, the log and finished deliveries may take, in bytes of keys and values with all that
	// belongs to them; 0: any size. Beyond that the oldest go, whatever their age.
	ExecutionBytes, EventBytes, DeliveryBytes int64

	// What workspaces whose thread is over may take on disk; 0: any size. Only for MeasureUsage: they are removed by who has
	// the files.
	WorkspaceBytes int64
}

// Retired counts what a retention run removed.
type Retired struct {
	Executions, Events, Batches, Agents, Idempotency, Definitions, Deliveries int
	Journals                                                                  int // events of managed agents
	Inputs                                                                    int // of batches that were never stored
}

// Kinds of what retention removes, as metrics and alerts name them.
const (
	KindExecutions  = "executions"
	KindEvents      = "events"
	KindBatches     = "batches"
	KindAgents      = "agents"
	KindIdempotency = "idempotency"
	KindDefinitions = "definitions"
	KindDeliveries  = "deliveries"
	KindJournals    = "journals"
	KindInputs      = "inputs"
)

// RetentionKinds lists the kinds in the order in which a run goes through them.
var RetentionKinds = []string{
	KindDeliveries, KindExecutions, KindBatches, KindEvents, KindAgents, KindIdempotency, KindDefinitions, KindJournals, KindInputs,
}

// Retain removes what the policy no longer keeps, in small transactions between those of others, by the clock as it
// stands. What is active is never removed, and the log is kept from its slowest consumer on; behind that, the events
// that deliveries may still be made from are kept. A kind that fails does not keep the others from being retired, and
// a record that cannot be read stays (see Broken); the error joins those of all kinds. It may be stopped through ctx at
// any time and goes on where it was in the next run.
func (s *Store) Retain(ctx context.Context, policy Policy) (Retired, error) {
	return s.retain(ctx, policy, nil)
}

// retain is Retain with what is known of the steps of the clock.
func (s *Store) retain(ctx context.Context, policy Policy, steps []clockStep) (Retired, error) {
	s.retainMu.Lock()
	defer s.retainMu.Unlock()
	now := s.opts.Clock.Now()
	old := func(keep time.Duration) cutoff {
		if keep <= 0 {
			return cutoff{}
		}
		return cutoff{before: now.Add(-keep), now: now, steps: steps}
	}
	// A measurement that failed removes nothing; the next run measures anew.
	excess, sizeErr := s.sizeExcess(ctx, policy)
	dropping := func(kind string, c cutoff) cutoff {
		if n := excess[kind]; n > 0 {
			c.drop, c.now = &n, now
		}
		return c
	}
	var done Retired
	kinds := map[string]struct {
		count *int
		run   func(ctx context.Context) (int, error)
	}{
		KindDeliveries: {&done.Deliveries, func(ctx context.Context) (int, error) {
			n, err := s.purgeDeliveries(ctx)
			_, capErr := s.capPending(ctx, old(policy.PendingAge), policy.PendingPerWebhook)
			more, also := s.retainDeliveries(ctx, dropping(KindDeliveries, old(policy.Deliveries)), policy.DeliveriesPerWebhook)
			return n + more, errors.Join(err, capErr, also, sizeErr)
		}},
		KindExecutions:  aged(&done.Executions, s.retainExecutions, dropping(KindExecutions, old(policy.Executions))),
		KindBatches:     aged(&done.Batches, s.retainBatches, old(policy.Batches)),
		KindEvents:      aged(&done.Events, s.retainEvents, dropping(KindEvents, old(policy.Events))),
		KindAgents:      aged(&done.Agents, s.retainAgents, old(policy.Agents)),
		KindIdempotency: aged(&done.Idempotency, s.retainIdempotency, old(idempotencyAge(policy.Idempotency))),
		KindDefinitions: aged(&done.Definitions, s.retainDefinitions, old(definitionGrace)),
		KindJournals: {&done.Journals, func(ctx context.Context) (int, error) {
			return s.retainJournals(ctx, old(orphanGrace), old(policy.Events))
		}},
		KindInputs: aged(&done.Inputs, s.retainInputs, old(orphanGrace)),
	}
	var all []error
	for _, kind := range RetentionKinds {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		k := kinds[kind]
		n, err := k.run(ctx)
		*k.count = n
		if ctx.Err() == nil {
			s.retention.note(kind, err, now)
		}
		if err != nil {
			all = append(all, fmt.Errorf("%s: %w", kind, err))
		}
	}
	return done, errors.Join(all...)
}

// aged makes a kind of what goes by age alone; a cutoff that is zero leaves all.
func aged(count *int, run func(ctx context.Context, old cutoff) (int, error), old cutoff) (kind struct {
	count *int
	run   func(ctx context.Context) (int, error)
}) {
	kind.count = count
	kind.run = func(ctx context.Context) (int, error) {
		if old.zero() {
			return 0, nil
		}
		return run(ctx, old)
	}
	return kind
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
func (s *Store) retainExecutions(ctx context.Context, old cutoff) (int, error) {
	return s.retainByID(ctx, prefixExecution, core.PrefixExecution, old, func(txn kv.Snapshot, id string, value []byte) (*retired, bool, error) {
		var e core.Execution
		if err := decodeJSON("execution", id, value, &e); err != nil {
			return nil, false, err
		}
		ended := cmp.Or(e.CompletedAt, e.CancelledAt)
		dropping := old.dropping()
		if !e.Status.Terminal() || ended != nil && !dropping && !old.passed(*ended) {
			return nil, true, nil
		}
		r, on, err := s.retiredExecution(txn, id)
		if r != nil && err == nil && dropping { // one that stays does not count: the next one goes in its place
			*old.drop--
		}
		return r, on, err
	}, dropExecution)
}

// retiredExecution says what goes with an execution; nil if it must stay.
func (s *Store) retiredExecution(txn kv.Snapshot, id string) (*retired, bool, error) {
	if n, err := s.countActiveThreads(txn, id); err != nil || n > 0 {
		return nil, true, err
	}
	r := &retired{id: id, held: func(t *tx) (bool, error) {
		return holdsRows(id, t.rowCount) // one came meanwhile: the next run sees to it
	}}
	has, err := holdsRows(id, func(key []byte) (uint64, error) { return s.rowCount(txn, key) })
	if err != nil {
		return nil, false, err
	}
	if has {
		r.first = func(ctx context.Context) error { return s.removeHeld(ctx, id) }
	}
	return r, true, scan(txn, appendEscaped([]byte(prefixJournal), id), nil, false, func(key, _ []byte) (bool, error) {
		// An event that the log still holds goes with the log.
		held, err := get(txn, appendLogKey(nil, lastUint64(key)))
		if held == nil {
			r.keys = append(r.keys, slices.Clone(key))
		}
		return true, err
	})
}

func dropExecution(t *tx, r *retired) error {
	old, err := t.execState(r.id)
	if err != nil || !old.status.Terminal() {
		return err
	}
	t.delete(t.key(prefixExecution, r.id))
	return t.moveIndexes(r.id, old, execState{}, nil)
}

// pickFunc looks at a record: it returns the record when it is to go, and false to stop.
type pickFunc func(txn kv.Snapshot, id string, value []byte) (*retired, bool, error)

// retainByID is retainEach for records whose ids tell when they were made: it stops at the first that is too young,
// and then looks at those whose ids are of the future. They were made while the clock was ahead, or after that.
func (s *Store) retainByID(ctx context.Context, prefix, idPrefix string, old cutoff, pick pickFunc, remove func(t *tx, r *retired) error) (int, error) {
	end := core.IDBound(idPrefix, old.before)
	n, err := s.retainEach(ctx, prefix, "", func(txn kv.Snapshot, id string, value []byte) (*retired, bool, error) {
		if id >= end && !old.dropping() {
			return nil, false, nil
		}
		return pick(txn, id, value)
	}, remove)
	if err != nil || old.drop != nil { // then all were looked at, or enough went
		return n, err
	}
	more, err := s.retainEach(ctx, prefix, core.IDBound(idPrefix, old.now.Add(futureAfter)), pick, remove)
	return n + more, err
}

// retainEach walks the records under prefix from an id on. remove deletes what follows from the record inside a
// transaction, after its keys. A record that cannot be read, or of which a part cannot, stays.
func (s *Store) retainEach(ctx context.Context, prefix, first string, pick pickFunc, remove func(t *tx, r *retired) error) (int, error) {
	removed, from := 0, []byte(prefix+first)
	for more := true; more; {
		var chunk []*retired
		keys := 0
		err := s.view(ctx, func(txn kv.Snapshot) error {
			more = false
			return scan(txn, []byte(prefix), from, true, func(key, value []byte) (bool, error) {
				if len(chunk) == retainChunk || keys >= retainKeys {
					from, more = slices.Clone(key), true
					return false, nil
				}
				r, on, err := pick(txn, string(key[len(prefix):]), value)
				if asDamage(err) != nil {
					return s.pass(key, err)
				}
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
			if asDamage(err) != nil { // of one of them: the others go without it
				n, gone, err = s.removeSingly(ctx, prefix, chunk, remove)
				removed += gone
			}
			if err != nil {
				return removed, err
			}
			chunk = chunk[n:]
		}
	}
	return removed, nil
}

// removeSingly removes each record in a transaction of its own, and passes over those of which something cannot be
// read.
func (s *Store) removeSingly(ctx context.Context, prefix string, chunk []*retired, remove func(t *tx, r *retired) error) (n, gone int, err error) {
	for i := range chunk {
		_, one, err := s.removeSome(ctx, chunk[i:i+1], remove)
		gone += one
		if err != nil {
			if _, err = s.pass([]byte(prefix+chunk[i].id), err); err != nil {
				return i, gone, err
			}
		}
	}
	return len(chunk), gone, nil
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
