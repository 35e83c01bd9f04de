package store

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// listFacts is the way to schema 3: executions are in lists by batch, creator, error and metadata, their rows tell of
// these, batches are listed, and the throughput is known as far as executions are stored. What is there of this is removed
// first: an earlier run may have been killed, and a former version of this program may have changed records since.
func listFacts(ctx context.Context, db kv.DB) error {
	txn := db.Snapshot()
	defer txn.Discard()
	out := chunks{db: db}
	put := out.put
	for _, prefix := range []string{
		prefixByBatch, prefixByCreator, prefixByError, prefixByMetadata, prefixSpan,
		prefixIndex + kindBatch + "/", prefixIndex + kindBatch + "s", prefixIndex + kindBatch + "p", prefixIndex + kindBatch + "c",
		prefixRowCount + kindBatch,
	} {
		err := scan(txn, []byte(prefix), nil, false, func(key, _ []byte) (bool, error) {
			return true, put(append([]byte(nil), key...), nil)
		})
		if err != nil {
			return err
		}
	}
	d := newDerived(txn, put)
	var spans spanSet
	// As if all records were of the past, so that none of them takes the place of a younger one.
	now := time.Unix(1<<40, 0)
	// What cannot be read is noted by whoever meets it, and a repair sees to it.
	err := scan(txn, []byte(prefixExecution), nil, true, func(key, value []byte) (bool, error) {
		e, err := executions.parse(string(key[len(prefixExecution):]), value)
		if err != nil {
			return true, nil
		}
		e.ID = string(key[len(prefixExecution):])
		if err := relistExecution(e, put); err != nil {
			return false, err
		}
		added := spansOf(execState{}, stateOf(e), e)
		added.add(now, spans.at)
		return true, ctx.Err()
	})
	if err != nil {
		return err
	}
	err = scan(txn, []byte(prefixBatch), nil, true, func(key, value []byte) (bool, error) {
		err := batches.derive(d, string(key[len(prefixBatch):]), value)
		if asDamage(err) != nil {
			err = nil
		}
		if err == nil {
			err = ctx.Err()
		}
		return true, err
	})
	if err == nil {
		err = d.counts(put)
	}
	spans.restore()
	for _, hour := range []bool{false, true} {
		places := spans.minutes[:]
		if hour {
			places = spans.hours[:]
		}
		for slot, s := range places {
			if s != nil && err == nil && !(hour && s.number == spans.newest) {
				err = put(appendSpanKey(nil, spanPlace{hour, uint16(slot)}), appendSpan(nil, s))
			}
		}
	}
	return out.end(err)
}

// relistExecution writes what schema 3 added to what follows from an execution.
func relistExecution(e *core.Execution, put func(key, value []byte) error) error {
	state := stateOf(e)
	for _, prefix := range state.facts.lists() {
		if err := put(append(prefix, e.ID...), []byte{}); err != nil {
			return err
		}
	}
	if state.active() {
		return put(appendKey(nil, prefixActive, e.ID), appendRow(appendActive(nil, state), e))
	}
	return put(appendStatusIndex(nil, string(state.status), e.ID), appendRow(nil, e))
}
