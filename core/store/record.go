package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/encode"
	"github.com/wardroom/wardroom/core/store/atrest"
)

// Values that are written on every step of an execution have a binary form; all others are JSON. The
// first byte of each binary form is its version.
//
//	event (j/):      1, uvarint length and type, varint Unix seconds, uvarint nanoseconds,
//	                 uvarint length and id, then the data up to the end. Seq and subject are in the key. One that
//	                 somebody caused begins with 3, and has uvarint length and principal ahead of the data.
//	active (ix/xa/): 1, status as its index in core.ExecutionStatuses, uvarint length and pattern,
//	                 uvarint number of hashes, each with its uvarint length, then a row (see executionrow.go)
//	counter (c/):    1, one uvarint per status in the order of core.ExecutionStatuses
//	thread state (ts/): 1, status as its index in core.ThreadStatuses, then execution, role and agent type, each
//	                 with its uvarint length, then uvarint sum of the context files (see contextfile.go)
const recordVersion = 1

// referenceVersion begins the value of a j/ key whose name is a group: the subject follows, up to the end.
const referenceVersion = 2

// attributedVersion begins an event with a principal.
const attributedVersion = 3

// ownVersion begins an event of core.System, which most are: its principal takes no place.
const ownVersion = 4

var errRecord = errors.New("record is malformed")

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func cutString(b []byte) (s string, rest []byte, err error) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return "", nil, errRecord
	}
	end := used + int(n)
	return string(b[used:end]), b[end:], nil
}

func appendEvent(dst []byte, e *core.Event) []byte {
	version := byte(recordVersion)
	switch e.By {
	case "":
	case core.System.ID:
		version = ownVersion
	default:
		version = attributedVersion
	}
	dst = append(dst, version)
	dst = appendString(dst, string(e.Type))
	dst = binary.AppendVarint(dst, e.Time.Unix())
	dst = binary.AppendUvarint(dst, uint64(e.Time.Nanosecond()))
	dst = appendString(dst, e.ID)
	if version == attributedVersion {
		dst = appendString(dst, e.By)
	}
	return append(dst, e.Data...)
}

// decodeEvent reads the value of a j/ key. The data is a copy, so b may be reused.
func decodeEvent(subject string, seq uint64, b []byte) (core.Event, error) {
	e := core.Event{Seq: seq, Subject: subject}
	if len(b) == 0 || b[0] != recordVersion && b[0] != attributedVersion && b[0] != ownVersion {
		return e, errRecord
	}
	attributed := b[0] == attributedVersion
	if b[0] == ownVersion {
		e.By = core.System.ID
	}
	kind, b, err := cutString(b[1:])
	if err != nil {
		return e, err
	}
	sec, n := binary.Varint(b)
	if n <= 0 {
		return e, errRecord
	}
	b = b[n:]
	nsec, n := binary.Uvarint(b)
	if n <= 0 || nsec >= uint64(time.Second) {
		return e, errRecord
	}
	if e.ID, b, err = cutString(b[n:]); err != nil {
		return e, err
	}
	if attributed {
		if e.By, b, err = cutString(b); err != nil {
			return e, err
		}
	}
	e.Type = core.EventType(kind)
	e.Time = time.Unix(sec, int64(nsec)).UTC()
	if len(b) > 0 {
		e.Data = slices.Clone(b)
	}
	return e, nil
}

// appendReference makes the value that leads from a group to the event in the journal of its subject.
func appendReference(dst []byte, subject string) []byte {
	return append(append(dst, referenceVersion), subject...)
}

// decodeReference returns the subject; ok is false for a value that is an event.
func decodeReference(b []byte) (subject string, ok bool) {
	if len(b) == 0 || b[0] != referenceVersion {
		return "", false
	}
	return string(b[1:]), true
}

func appendThreadState(dst []byte, s threadState) []byte {
	dst = append(dst, recordVersion, byte(slices.Index(core.ThreadStatuses, s.status)))
	for _, name := range []string{s.executionID, s.role, s.agentType} {
		dst = appendString(dst, name)
	}
	return appendString(binary.AppendUvarint(dst, s.files), s.creator)
}

func decodeThreadState(b []byte) (s threadState, err error) {
	if len(b) < 2 || b[0] != recordVersion || int(b[1]) >= len(core.ThreadStatuses) {
		return s, errRecord
	}
	s.status = core.ThreadStatuses[b[1]]
	b = b[2:]
	for _, name := range []*string{&s.executionID, &s.role, &s.agentType} {
		if *name, b, err = cutString(b); err != nil {
			return s, err
		}
	}
	var n int
	if s.files, n = binary.Uvarint(b); n <= 0 {
		return s, errRecord
	}
	if b = b[n:]; len(b) == 0 { // of a schema before 5
		return s, nil
	}
	s.creator, _, err = cutString(b)
	return s, err
}

// statusIndex places a status in core.ExecutionStatuses; -1 when it is unknown.
func statusIndex(s core.ExecutionStatus) int { return slices.Index(core.ExecutionStatuses, s) }

func appendActive(dst []byte, s execState) []byte {
	dst = append(dst, recordVersion, byte(statusIndex(s.status)))
	dst = appendString(dst, s.pattern)
	dst = binary.AppendUvarint(dst, uint64(len(s.refs)))
	for _, hash := range s.refs {
		dst = appendString(dst, hash)
	}
	return dst
}

func decodeActive(b []byte) (s execState, err error) {
	s, row, err := cutActive(b)
	if err != nil || len(row) == 0 || !isRow(row[0]) {
		return s, err // an earlier version wrote it: what follows from the row is missing
	}
	e := &core.Execution{Status: s.status}
	if err := decodeRow(e, row); err != nil {
		return s, err
	}
	s.facts = factsOf(e)
	return s, nil
}

// cutActive splits the row off what appendActive wrote; it is empty in entries that an earlier version wrote.
func cutActive(b []byte) (s execState, row []byte, err error) {
	if len(b) < 2 || b[0] != recordVersion || int(b[1]) >= len(core.ExecutionStatuses) {
		return s, nil, errRecord
	}
	s.status = core.ExecutionStatuses[b[1]]
	if s.pattern, b, err = cutString(b[2:]); err != nil {
		return s, nil, err
	}
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(len(b)) {
		return s, nil, errRecord
	}
	b = b[n:]
	for range count {
		var hash string
		if hash, b, err = cutString(b); err != nil {
			return s, nil, err
		}
		s.refs = append(s.refs, hash)
	}
	return s, b, nil
}

func appendCounts(dst []byte, c statusCounts) []byte {
	dst = append(dst, recordVersion)
	for _, n := range c {
		dst = binary.AppendUvarint(dst, uint64(max(n, 0)))
	}
	return dst
}

func decodeCounts(b []byte) (c statusCounts, err error) {
	if len(b) == 0 || b[0] != recordVersion {
		return c, errRecord
	}
	b = b[1:]
	for i := range c {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return c, errRecord
		}
		c[i], b = int64(v), b[n:]
	}
	return c, nil
}

func appendUint64(dst []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(dst, v) }

func decodeUint64(b []byte) (uint64, error) {
	if len(b) < 8 {
		return 0, errRecord
	}
	if atrest.Unopened(b) {
		return 0, atrest.ErrUnopened
	}
	return binary.BigEndian.Uint64(b), nil
}

// maxDepth is how deeply encoding/json lets a value that it reads be nested. It writes what is deeper, if only its parts
// are not.
const maxDepth = 10_000

// appendJSON appends a JSON record that decodeJSON reads back.
func appendJSON(dst []byte, record any) ([]byte, error) {
	value, err := encode.Stored.Append(dst, record)
	if err != nil {
		return dst, core.Invalid("body", "cannot be stored: it is no JSON that can be read back")
	}
	if depth(value[len(dst):]) > maxDepth {
		return dst, core.Invalid("body", "cannot be stored: it is nested more than %d deep", maxDepth)
	}
	return value, nil
}

// depth returns how deeply JSON is nested; 0 for JSON that is too short to be nested too deeply.
func depth(value []byte) (deepest int) {
	if len(value) <= 2*maxDepth {
		return 0
	}
	level := 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '[', '{':
			level++
			deepest = max(deepest, level)
		case ']', '}':
			level--
		case '"':
			for i++; i < len(value) && value[i] != '"'; i++ {
				if value[i] == '\\' {
					i++
				}
			}
		}
	}
	return deepest
}

// decodeJSON reads a JSON record; what names the record for the log.
func decodeJSON(what, id string, b []byte, into any) error {
	if atrest.Unopened(b) {
		return damaged(what, id, atrest.ErrUnopened)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return damaged(what, id, err)
	}
	return nil
}

// unreadable returns why a value is no record.
func unreadable(value []byte) error {
	if atrest.Unopened(value) {
		return atrest.ErrUnopened
	}
	return errRecord
}

// damage is why a stored record cannot be read. Its text holds nothing of the record but its name.
type damage struct {
	what, id string
	err      error
	key      []byte // of the record; nil where only the walk knows it
}

func (d *damage) Error() string { return fmt.Sprintf("stored %s %q: %v", d.what, d.id, d.err) }
func (d *damage) Unwrap() error { return d.err }

// Is has services that go over many records pass over this one.
func (d *damage) Is(target error) bool { return target == core.ErrUnreadable }

// damaged is the error for a stored record that cannot be read: never the caller's fault.
func damaged(what, id string, err error) error {
	return core.Errorf(core.CodeInternal, "the stored %s %q cannot be read", what, id).WithCause(&damage{what: what, id: id, err: err})
}

// asDamage returns why a record cannot be read, or nil if err is about something else.
func asDamage(err error) *damage {
	var d *damage
	if errors.As(err, &d) {
		return d
	}
	return nil
}
