package store

import (
	"encoding/binary"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// A row is what lists show of an execution. It is the value of the index entry that an execution has anyway, of the
// entry by its status once it is over and behind the state of an active one, so that it costs no key and a list reads
// no inputs and results:
//
//	version 1, pattern name and version, each with its uvarint length, then as varints the Unix nanoseconds of CreatedAt,
//	StartedAt, CompletedAt and CancelledAt; the least number for none. Behind them, if it does nothing but wait, for what
//
// Entries that an earlier version wrote have no row: the record is read then.

const noRowTime = -1 << 63

func appendRow(dst []byte, e *core.Execution) []byte {
	dst = append(dst, recordVersion)
	dst = appendString(appendString(dst, e.Pattern.Name), e.Pattern.Version)
	for _, at := range []*time.Time{&e.CreatedAt, e.StartedAt, e.CompletedAt, e.CancelledAt} {
		nanos := int64(noRowTime)
		if at != nil && !at.IsZero() {
			nanos = at.UnixNano()
		}
		dst = binary.AppendVarint(dst, nanos)
	}
	if e.Waiting != nil {
		dst = appendString(dst, string(e.Waiting.For))
	}
	return dst
}

// decodeRow reads a row into an execution that has its id and status.
func decodeRow(e *core.Execution, b []byte) error {
	if len(b) == 0 || b[0] != recordVersion {
		return errRecord
	}
	b = b[1:]
	for _, s := range []*string{&e.Pattern.Name, &e.Pattern.Version} {
		var err error
		if *s, b, err = cutString(b); err != nil {
			return err
		}
	}
	var times [4]*time.Time
	for i := range times {
		nanos, n := binary.Varint(b)
		if n <= 0 {
			return errRecord
		}
		if b = b[n:]; nanos != noRowTime {
			at := time.Unix(0, nanos).UTC()
			times[i] = &at
		}
	}
	if times[0] != nil {
		e.CreatedAt = *times[0]
	}
	e.StartedAt, e.CompletedAt, e.CancelledAt = times[1], times[2], times[3]
	if len(b) > 0 {
		reason, _, err := cutString(b)
		if err != nil {
			return err
		}
		e.Waiting = &core.ExecutionWait{For: core.WaitReason(reason)}
	}
	return nil
}

// readRow returns what lists show of an execution. NOT_FOUND if there is no such execution.
func (s *Store) readRow(txn kv.Snapshot, id string) (*core.Execution, error) {
	value, err := get(txn, appendKey(nil, prefixActive, id))
	if err != nil {
		return nil, err
	}
	if value != nil {
		state, row, err := cutActive(value)
		e := &core.Execution{ID: id, Status: state.status}
		if err == nil && decodeRow(e, row) == nil {
			return e, nil
		}
		return rowOfRecord(txn, id)
	}
	for _, status := range core.ExecutionStatuses {
		if !status.Terminal() {
			continue
		}
		value, err := get(txn, appendStatusIndex(nil, string(status), id))
		if err != nil {
			return nil, err
		}
		e := &core.Execution{ID: id, Status: status}
		if value != nil && decodeRow(e, value) == nil {
			return e, nil
		}
	}
	return rowOfRecord(txn, id)
}

func rowOfRecord(txn kv.Snapshot, id string) (*core.Execution, error) {
	e, err := executions.read(txn, id)
	if err != nil {
		return nil, err
	}
	row := &core.Execution{
		ID: e.ID, Pattern: e.Pattern, Status: e.Status,
		CreatedAt: e.CreatedAt, StartedAt: e.StartedAt, CompletedAt: e.CompletedAt, CancelledAt: e.CancelledAt,
	}
	if e.Waiting != nil {
		row.Waiting = &core.ExecutionWait{For: e.Waiting.For}
	}
	return row, nil
}
