package store

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/store/kv"
)

// A row is what lists show of an execution. It is the value of the index entry that an execution has anyway, of the
// entry by its status once it is over and behind the state of an active one, so that it costs no key and a list reads
// no inputs and results:
//
//	version 3, pattern name and version, each with its uvarint length, then as varints the Unix nanoseconds of CreatedAt,
//	StartedAt, CompletedAt and CancelledAt; the least number for none. Behind them what it waits for, batch, creator, code
//	of the error and priority, each with its uvarint length, then uvarint number of pairs of metadata, each as key and
//	value. At the end, of one that is over, uvarint numbers of its agents and of the names that follow, each with its
//	uvarint length
//
// Rows of version 2 have no agents. Entries that an earlier version wrote have none of this: the record is read then.

const (
	rowVersion         = 3
	rowVersionTeamless = 2 // as the one before wrote it
	noRowTime          = -1 << 63
	maxTeamName        = 256 // bytes of a name of an agent
)

// isRow reports whether a version of a row can be read.
func isRow(version byte) bool { return version == rowVersion || version == rowVersionTeamless }

func appendRow(dst []byte, e *core.Execution) []byte {
	dst = append(dst, rowVersion)
	dst = appendString(appendString(dst, e.Pattern.Name), e.Pattern.Version)
	for _, at := range []*time.Time{&e.CreatedAt, e.StartedAt, e.CompletedAt, e.CancelledAt} {
		nanos := int64(noRowTime)
		if at != nil && !at.IsZero() {
			nanos = at.UnixNano()
		}
		dst = binary.AppendVarint(dst, nanos)
	}
	f := factsOf(e)
	for _, text := range []string{string(f.waiting), f.batch, f.createdBy, string(f.errorCode), string(f.priority)} {
		dst = appendString(dst, text)
	}
	dst = binary.AppendUvarint(dst, uint64(len(f.metadata)))
	for _, pair := range f.metadata {
		dst = appendString(appendString(dst, pair.Key), pair.Value)
	}
	return appendTeam(dst, teamOf(e))
}

// teamOf returns the agents of a record, or of a row.
func teamOf(e *core.Execution) core.Team {
	if len(e.Agents) > 0 {
		return core.TeamOf(e.Agents)
	}
	return e.Team
}

func appendTeam(dst []byte, t core.Team) []byte {
	dst = binary.AppendUvarint(dst, uint64(t.Count))
	dst = binary.AppendUvarint(dst, uint64(len(t.Names)))
	for _, name := range t.Names {
		dst = appendString(dst, clip.Text(name, maxTeamName))
	}
	return dst
}

// cutTeam reads the agents at the end of a row.
func cutTeam(b []byte) (t core.Team, err error) {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > math.MaxInt32 {
		return t, errRecord
	}
	names, m := binary.Uvarint(b[n:])
	if m <= 0 || names > min(count, core.MaxTeamNames) {
		return t, errRecord
	}
	b, t.Count = b[n+m:], int(count)
	for range names {
		var name string
		if name, b, err = cutString(b); err != nil {
			return t, err
		}
		if len(name) > maxTeamName {
			return t, errRecord
		}
		t.Names = append(t.Names, name)
	}
	return t, nil
}

// cutFacts reads the facts of a row. What is behind them is left.
func cutFacts(b []byte) (f executionFacts, left []byte, err error) {
	var waiting, code, priority string
	for _, text := range []*string{&waiting, &f.batch, &f.createdBy, &code, &priority} {
		if *text, b, err = cutString(b); err != nil {
			return f, nil, err
		}
	}
	f.waiting, f.errorCode, f.priority = core.WaitReason(waiting), core.Code(code), core.Priority(priority)
	count, n := binary.Uvarint(b)
	if n <= 0 || count > core.MaxIndexedMetadata {
		return f, nil, errRecord
	}
	b = b[n:]
	for range count {
		var pair core.MetadataPair
		if pair.Key, b, err = cutString(b); err != nil {
			return f, nil, err
		}
		if pair.Value, b, err = cutString(b); err != nil {
			return f, nil, err
		}
		if pair.Key == "" || len(pair.Key) > core.MaxIndexedBytes || len(pair.Value) > core.MaxIndexedBytes {
			return f, nil, errRecord
		}
		f.metadata = append(f.metadata, pair)
	}
	return f, b, nil
}

// show puts facts into a row.
func (f *executionFacts) show(e *core.Execution) {
	e.BatchID, e.CreatedBy, e.Options.Priority = f.batch, f.createdBy, f.priority
	if f.waiting != "" {
		e.Waiting = &core.ExecutionWait{For: f.waiting}
	}
	if f.errorCode != "" {
		e.Error = &core.ExecutionError{Code: f.errorCode}
	}
	if len(f.metadata) > 0 {
		e.Options.Metadata = core.Metadata{}
	}
	for _, pair := range f.metadata {
		e.Options.Metadata[pair.Key] = pair.Value
	}
}

// decodeRow reads a row into an execution that has its id and status.
func decodeRow(e *core.Execution, b []byte) error {
	if len(b) == 0 || !isRow(b[0]) {
		return errRecord
	}
	version := b[0]
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
	f, b, err := cutFacts(b)
	if err == nil && version == rowVersion {
		e.Team, err = cutTeam(b)
	}
	if err == nil {
		f.show(e)
	}
	return err
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
		if err != nil || decodeRow(e, row) != nil {
			if e, err = rowOfRecord(txn, id); err != nil {
				return nil, err
			}
		}
		open := questions.facets(&core.Question{ExecutionID: id, Status: core.QuestionOpen})
		n, err := s.rowCount(txn, appendList(nil, prefixRowCount, kindQuestion, open, selected(open)))
		e.OpenQuestions = int(n)
		return e, err
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
	f := factsOf(e)
	f.show(row)
	row.Team = teamOf(e)
	return row, nil
}
