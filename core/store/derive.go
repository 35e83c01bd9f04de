package store

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// derived is what follows from the records of a store: index entries one by one, and counts over all of them.
type derived struct {
	txn kv.Snapshot
	// emit gets each index entry of the record that is looked at.
	emit func(key, value []byte) error

	executions map[string]*statusCounts // by pattern
	refs       map[string]int64         // by definition
	rows       map[string]int64         // by key of the count
	deliveries map[uint32]*deliveryCounts
}

func newDerived(txn kv.Snapshot, emit func(key, value []byte) error) *derived {
	return &derived{
		txn: txn, emit: emit, executions: map[string]*statusCounts{}, refs: map[string]int64{}, rows: map[string]int64{},
		deliveries: map[uint32]*deliveryCounts{},
	}
}

// record takes in one record that can be read. A key that nothing follows from is ignored.
func (d *derived) record(key, value []byte) error {
	section, _ := sectionOf(key)
	id := string(key[len(section.prefix):])
	switch section.prefix {
	case prefixExecution:
		return d.execution(id, value)
	case prefixPattern:
		var p core.Pattern
		if err := decodeJSON(section.kind, id, value, &p); err != nil {
			return err
		}
		if p.Hash != "" {
			d.refs[p.Hash]++
		}
	case prefixBatch:
		if err := batches.derive(d, id, value); err != nil {
			return err
		}
		if b, err := batches.parse(id, value); err != nil || b.Status.Terminal() {
			return err
		}
		return d.emit(appendKey(nil, prefixBatchActive, id), []byte{})
	case prefixThread:
		return d.thread(id, value)
	case prefixDelivery:
		return d.delivery(id, value)
	case prefixIdempotency:
		var rec core.IdempotencyRecord
		if err := decodeJSON(section.kind, "", value, &rec); err != nil {
			return err
		}
		return d.emit(appendIdempotencyIndex(nil, claimedMs(rec.ClaimedAt), idempotencyHash(rec.Scope, rec.Key)), []byte{})
	default:
		if section.noun != nil && section.noun.follows() {
			return section.noun.derive(d, id, value)
		}
	}
	return nil
}

func (d *derived) execution(id string, value []byte) error {
	var e core.Execution
	if err := decodeJSON("execution", id, value, &e); err != nil {
		return err
	}
	state := stateOf(&e)
	c := d.executions[state.pattern]
	if c == nil {
		c = new(statusCounts)
		d.executions[state.pattern] = c
	}
	if i := statusIndex(state.status); i >= 0 {
		c[i]++
	}
	for _, hash := range state.refs {
		d.refs[hash]++
	}
	for _, prefix := range state.facts.lists() {
		if err := d.emit(append(prefix, id...), []byte{}); err != nil {
			return err
		}
	}
	if state.active() {
		return d.emit(appendKey(nil, prefixActive, id), appendRow(appendActive(nil, state), &e))
	}
	if err := d.emit(appendStatusIndex(nil, string(state.status), id), appendRow(nil, &e)); err != nil {
		return err
	}
	return d.emit(appendBothIndex(nil, state.pattern, string(state.status), id), []byte{})
}

func (d *derived) thread(id string, value []byte) error {
	r := new(core.ThreadRecord)
	if err := decodeJSON("thread", id, value, r); err != nil {
		return err
	}
	files, err := get(d.txn, appendKey(nil, prefixThreadFiles, id))
	if err != nil {
		return err
	}
	if err := takeFiles(r, files); err != nil && asDamage(err) == nil {
		return err
	}
	state := threadStateOf(r)
	if err := d.emit(appendKey(nil, prefixThreadState, id), appendThreadState(nil, state)); err != nil {
		return err
	}
	if err := d.creator(kindThread, id, state.creator); err != nil {
		return err
	}
	if err := d.lists(kindThread, id, state.facets()); err != nil {
		return err
	}
	return d.lists(kindActiveThread, id, state.activeFacets())
}

func (d *derived) delivery(id string, value []byte) error {
	v, err := deliveries.parse(id, value)
	if err != nil {
		return err
	}
	number, place := v.number, v.place()
	c := d.deliveries[number]
	if c == nil {
		c = new(deliveryCounts)
		d.deliveries[number] = c
	}
	c[place.status][place.event]++
	if place.status == pendingStatus {
		if err := d.emit(append(appendDue(nil, number, place.next), id...), []byte{}); err != nil {
			return err
		}
	}
	needs := []byte{}
	if place.needs != 0 {
		needs = appendUint64(nil, place.needs)
	}
	return d.emit(append(appendDeliveries(nil, number, place.status, place.event), id...), needs)
}

// lists takes in a record of a kind that has a list for each combination of its facets.
func (d *derived) lists(kind, id string, facets []facet) error {
	for mask := range 1 << len(facets) {
		if !listed(facets, mask) {
			continue
		}
		d.rows[string(appendList(nil, prefixRowCount, kind, facets, mask))]++
		if err := d.emit(append(appendList(nil, prefixIndex, kind, facets, mask), id...), []byte{}); err != nil {
			return err
		}
	}
	return nil
}

// creator takes in who made a record.
func (d *derived) creator(kind, id, creator string) error {
	if !indexed(creator) {
		return nil
	}
	return d.emit(appendCreator(nil, kind, creator, id), []byte{})
}

// fingerprint takes in that a record has a fingerprint. Several may have the same: any of them may be led to.
func (d *derived) fingerprint(key []byte, prefix, id string) error {
	owner, err := get(d.txn, key)
	if err != nil {
		return err
	}
	if owner != nil {
		if has, err := d.txn.Get(appendKey(nil, prefix, string(owner)), nil); err != nil || has {
			return err
		}
	}
	return d.emit(key, []byte(id))
}

// recordOf finds the key of the record that an index entry leads to; nil for an entry that is none of ours.
func recordOf(entry, value []byte) []byte {
	rest, from := entry, func(prefix string) bool {
		return bytes.HasPrefix(entry, []byte(prefix))
	}
	cut := func(prefix string, skip int) []byte {
		if len(rest) < len(prefix)+skip {
			return nil
		}
		return rest[len(prefix)+skip:]
	}
	section, _ := sectionOf(entry)
	switch {
	case section.prints != "":
		return appendKey(nil, section.prints, string(value))
	case from(prefixThreadState):
		return appendKey(nil, prefixThread, string(cut(prefixThreadState, 0)))
	case from(prefixActive):
		return appendKey(nil, prefixExecution, string(cut(prefixActive, 0)))
	case from(prefixBatchActive):
		return appendKey(nil, prefixBatch, string(cut(prefixBatchActive, 0)))
	case from(prefixDeliveries):
		return appendKey(nil, prefixDelivery, string(cut(prefixDeliveries, 6)))
	case from(prefixDue):
		return appendKey(nil, prefixDelivery, string(cut(prefixDue, 12)))
	case from(prefixIdemByTime):
		return appendKey(nil, prefixIdempotency, string(cut(prefixIdemByTime, 8)))
	}
	name, names, ok := bytes.Cut(entry[len(prefixIndex):], []byte("/"))
	if !ok {
		return nil
	}
	id := names // behind the last name that is escaped
	if i := bytes.LastIndex(names, []byte{0, 1}); i >= 0 {
		id = names[i+2:]
	}
	// Lists of threads and executions have keys of their own forms.
	for _, kind := range []struct{ name, prefix string }{{"x", prefixExecution}, {kindThread, prefixThread}} {
		if bytes.HasPrefix(name, []byte(kind.name)) {
			return appendKey(nil, kind.prefix, string(id))
		}
	}
	for _, s := range tables {
		if s.noun == nil {
			continue
		}
		if lists, _ := s.noun.names(); lists != "" && bytes.HasPrefix(name, []byte(lists)) {
			return appendKey(nil, s.prefix, string(id))
		}
	}
	return nil
}

// follows reports whether an index entry follows from a record.
func follows(txn kv.Snapshot, entry, entryValue, record, value []byte) (bool, error) {
	found := false
	d := newDerived(txn, func(key, value []byte) error {
		found = found || bytes.Equal(key, entry) && sameEntry(key, entryValue, value)
		return nil
	})
	err := d.record(record, value)
	if asDamage(err) != nil {
		return false, nil
	}
	if section, _ := sectionOf(entry); section.prints != "" {
		return err == nil, err // it leads to a record that is there
	}
	return found, err
}

// sameEntry reports whether a stored index entry has the value that follows from its record: entries that an earlier
// version wrote have no row, or one without what follows the version.
func sameEntry(key, stored, value []byte) bool {
	row := stored
	switch active := bytes.HasPrefix(key, []byte(prefixActive)); {
	case active:
		var err error
		if _, row, err = cutActive(stored); err != nil {
			return bytes.Equal(stored, value)
		}
	case !bytes.HasPrefix(key, []byte(prefixByStatus)):
		return bytes.Equal(stored, value)
	}
	at := len(stored) - len(row)
	switch {
	case len(row) == 0:
		return bytes.HasPrefix(value, stored)
	case row[0] == rowVersionTeamless && len(value) > at:
		return bytes.Equal(stored[:at], value[:at]) && bytes.HasPrefix(value[at+1:], row[1:])
	}
	return bytes.Equal(stored, value)
}

// counts calls fn with the counts that the records taken in add up to.
func (d *derived) counts(fn func(key, value []byte) error) error {
	for pattern, c := range d.executions {
		if err := fn(appendKey(nil, prefixCounter, pattern), appendCounts(nil, *c)); err != nil {
			return err
		}
	}
	for hash, n := range d.refs {
		if err := fn(appendKey(nil, prefixRefs, hash), appendUint64(nil, uint64(n))); err != nil {
			return err
		}
	}
	for key, n := range d.rows {
		if err := fn([]byte(key), appendUint64(nil, uint64(n))); err != nil {
			return err
		}
	}
	for number, c := range d.deliveries {
		if err := fn(appendCountKey(nil, number), appendDeliveryCounts(nil, c)); err != nil {
			return err
		}
	}
	return nil
}

// counted reports whether a key is a count that the records taken in add up to.
func (d *derived) counted(key []byte) bool {
	has := func(prefix string) (string, bool) {
		rest, ok := bytes.CutPrefix(key, []byte(prefix))
		return string(rest), ok
	}
	if pattern, ok := has(prefixCounter); ok {
		return d.executions[pattern] != nil
	}
	if hash, ok := has(prefixRefs); ok {
		return d.refs[hash] > 0
	}
	if _, ok := has(prefixRowCount); ok {
		return d.rows[string(key)] > 0
	}
	if number, ok := has(prefixDeliveryCount); ok && len(number) == 4 {
		return d.deliveries[binary.BigEndian.Uint32([]byte(number))] != nil
	}
	return false
}

// Prefixes of all that follows from records beside fingerprints: index entries, and counts.
var (
	entryPrefixes = []string{prefixIndex, prefixThreadState}
	countPrefixes = []string{prefixCounter, prefixRefs, prefixRowCount, prefixDeliveryCount}
)

// ownerOf finds the key of the record that a record goes with; nil for one that stands alone.
func ownerOf(key, value []byte) []byte {
	section, _ := sectionOf(key)
	rest := key[len(section.prefix):]
	switch section.prefix {
	case prefixBatchInput, prefixBatchResult, prefixBatchValue:
		if id, _, ok := cutEscaped(rest); ok {
			return appendKey(nil, prefixBatch, id)
		}
	case prefixThreadInput:
		if id, _, ok := cutEscaped(rest); ok {
			return appendKey(nil, prefixThread, id)
		}
	case prefixThreadFiles:
		return appendKey(nil, prefixThread, string(rest))
	case prefixErased:
		if id, _, ok := cutEscaped(rest); ok {
			return appendKey(nil, prefixErasure, id)
		}
	case prefixWebhookNumber:
		return appendKey(nil, prefixWebhook, string(rest))
	case prefixLog:
		return appendJournalKey(nil, string(value), lastUint64(key))
	case prefixQuestion:
		var q core.Question
		if decodeJSON(section.kind, "", value, &q) == nil {
			return appendKey(nil, prefixExecution, q.ExecutionID)
		}
	case prefixThread:
		var r core.ThreadRecord
		if decodeJSON(section.kind, "", value, &r) == nil {
			return appendKey(nil, prefixExecution, r.ExecutionID)
		}
	case prefixDecision:
		var d core.Decision
		if decodeJSON(section.kind, "", value, &d) == nil {
			return appendKey(nil, prefixExecution, d.ExecutionID)
		}
	case prefixJournal:
		return journalOwner(rest)
	}
	return nil
}

// journalOwner finds the record that a journal goes with; nil for one of a subject that has none, which goes by age.
func journalOwner(rest []byte) []byte {
	name, _, ok := cutEscaped(rest)
	if !ok {
		return nil
	}
	for prefix, table := range map[string]string{
		core.PrefixExecution: prefixExecution, core.PrefixThread: prefixThread, core.PrefixManaged: prefixManaged,
	} {
		if core.ValidID(prefix, name) {
			return appendKey(nil, table, name)
		}
	}
	return nil
}

// isDerived reports whether a key is a fingerprint, an index entry or a count.
func isDerived(key []byte) bool {
	begins := func(prefix string) bool { return bytes.HasPrefix(key, []byte(prefix)) }
	section, _ := sectionOf(key)
	return section.prints != "" || slices.ContainsFunc(entryPrefixes, begins) || slices.ContainsFunc(countPrefixes, begins)
}
