package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/core/store/kv"
	"github.com/wardroom/wardroom/sdk/wire"
)

var _ core.ErasureStore = (*Store)(nil)

var erasures = &table[core.ErasureRecord]{
	prefix: prefixErasure, kind: "erasure", lists: kindErasure, idPrefix: core.PrefixErasure,
	facets: func(e *core.ErasureRecord) []facet { return []facet{{'s', string(e.Status)}} },
}

// Bounds of one step of an erasure: what it looks at, and what it changes, in things and in bytes of what it writes.
const (
	eraseLook   = 5000
	eraseChange = 500
	eraseBytes  = 8 << 20
)

// PutErasure implements core.ErasureTx.
func (t *tx) PutErasure(e *core.ErasureRecord) error { return erasures.save(t, e.ID, e) }

// MarkErased implements core.ErasureTx.
func (t *tx) MarkErased(erasureID, kind, id string) (bool, error) {
	key := t.take(func(b []byte) []byte { return appendMark(b, erasureID, id) })
	if have, err := t.get(key); err != nil || have != nil {
		return false, err
	}
	return true, t.set(key, t.take(func(b []byte) []byte { return append(b, kind...) }))
}

func appendMark(dst []byte, erasureID, id string) []byte {
	return append(appendEscaped(append(dst, prefixErased...), erasureID), id...)
}

// FindErasure implements core.ErasureStore.
func (s *Store) FindErasure(ctx context.Context, id string) (*core.ErasureRecord, error) {
	return erasures.one(ctx, s, id)
}

// FindErasures implements core.ErasureStore.
func (s *Store) FindErasures(ctx context.Context, filter core.ErasureFilter) ([]*core.ErasureRecord, core.PageInfo, error) {
	if filter.CreatedBy == "" {
		return erasures.page(ctx, s, filter.Page, new(core.ErasureRecord))
	}
	if err := checkCreator(filter.CreatedBy); err != nil {
		return nil, core.PageInfo{}, err
	}
	// Erasures are few, so that each is looked at: there is no index of who asked for one.
	q := s.listOf(kindErasure, erasures.facets(new(core.ErasureRecord)), []facet{{letterCreator, filter.CreatedBy}}, filter.Page)
	whole := q.ids
	q.ids = func(txn kv.Snapshot) (idWalk, int, error) {
		ids, _, err := whole(txn)
		return func(below string, fn func(id string) (bool, error)) error {
			return ids(below, func(id string) (bool, error) {
				e, err := erasures.read(txn, id)
				if err != nil {
					return s.pass(appendKey(nil, prefixErasure, id), err)
				}
				if e.RequestedBy != filter.CreatedBy {
					return true, nil
				}
				return fn(id)
			})
		}, -1, err
	}
	return erasures.query(ctx, s, q, erasures.read)
}

// AllErasures implements core.ErasureStore.
func (s *Store) AllErasures(ctx context.Context) ([]*core.ErasureRecord, error) {
	return erasures.all(ctx, s)
}

// EraseBatch implements core.ErasureStore. Inputs and results go first, in as many transactions as that takes.
func (s *Store) EraseBatch(ctx context.Context, id string) error {
	b, err := batches.one(ctx, s, id)
	if core.ErrorCode(err) == core.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if !b.Status.Terminal() {
		return core.Conflict("batch", id, string(b.Status), "batch %s is %s; it can be erased once it is over", id, b.Status)
	}
	for _, prefix := range []string{prefixBatchInput, prefixBatchResult, prefixBatchValue} {
		if _, err := s.removePrefix(ctx, appendEscaped([]byte(prefix), id)); err != nil {
			return err
		}
	}
	return s.update(ctx, true, func(t *tx) error { return batches.drop(t, id) })
}

// errEraseStale ends a step of an erasure without a change: what it would write over changed since it was read.
var errEraseStale = errors.New("a record changed while it was being erased")

// eraseWrite is a write with the value that it was made of, which it does not go over another of. A write without a value deletes
// whatever is there.
type eraseWrite struct {
	write
	was []byte
}

// eraseChanges are what a step of an erasure does.
type eraseChanges struct {
	writes []eraseWrite
	drops  []string // ids of deliveries
	moves  []creatorMove
	keys   []string // ids of API keys of others that name the subject
	size   int      // of the values of writes
	next   []byte   // where the next step goes on; nil: nowhere
	grown  int64    // bytes that audit records become longer by
	broken int      // records that cannot be read, and stay as they are
}

// replace adds a write of another value in the place of one that was read.
func (c *eraseChanges) replace(key, was, value []byte) {
	c.writes = append(c.writes, eraseWrite{write{slices.Clone(key), value}, slices.Clone(was)})
	c.size += len(value)
}

// remove adds a deletion.
func (c *eraseChanges) remove(key []byte) {
	c.writes = append(c.writes, eraseWrite{write: write{key: key}})
}

// creatorMove is a record that has another creator from then on.
type creatorMove struct{ prefix, kind, id, from, to string }

// move writes what follows from it, unless the record went meanwhile.
func (m creatorMove) move(t *tx) error {
	if have, err := t.get(t.key(m.prefix, m.id)); err != nil || have == nil {
		return err
	}
	if m.kind != kindThread {
		return t.recreate(m.kind, m.id, m.from, m.to)
	}
	old, err := t.threadState(m.id)
	if err != nil || !old.exists() {
		return err
	}
	old.creator = m.from
	fresh := old
	fresh.creator = m.to
	return t.moveThread(m.id, old, fresh)
}

// eraseStep looks at the keys under a prefix from the place of an erasure on, and makes the changes that look asks for
// together with the new place. look adds to c, and returns how many things it changed. Where a record changed since the look, nothing
// is written, and the next call looks again.
func (s *Store) eraseStep(ctx context.Context, e *core.ErasureRecord, kind, prefix string,
	look func(txn kv.Snapshot, key, value []byte, c *eraseChanges) (changed int, err error),
) (done bool, err error) {
	c := new(eraseChanges)
	changed := 0
	err = s.view(ctx, func(txn kv.Snapshot) error {
		looked := 0
		var from []byte
		if len(e.Place) > 0 {
			from = e.Place
		}
		return scan(txn, []byte(prefix), from, true, func(key, value []byte) (bool, error) {
			if looked == eraseLook || changed >= eraseChange || c.size >= eraseBytes {
				c.next = slices.Clone(key)
				return false, nil
			}
			looked++
			n, err := look(txn, key, value, c)
			changed += n
			if asDamage(err) != nil {
				c.broken++
				return s.pass(key, err)
			}
			if err != nil {
				return false, err
			}
			return true, ctx.Err()
		})
	})
	if err != nil {
		return false, err
	}
	next := *e
	next.Place = c.next
	next.Done = counted(e.Done, kind, changed)
	next.Unreadable = counted(e.Unreadable, kind, c.broken)
	err = s.update(ctx, true, func(t *tx) error {
		for _, w := range c.writes {
			// What went meanwhile, by retention, stays away.
			if have, err := t.get(w.key); err != nil || have == nil {
				if err != nil {
					return err
				}
				continue
			} else if w.value != nil && !bytes.Equal(have, w.was) {
				return errEraseStale
			}
			if w.value == nil {
				t.delete(w.key)
			} else if err := t.set(w.key, w.value); err != nil {
				return err
			}
		}
		for _, m := range c.moves {
			if err := m.move(t); err != nil {
				return err
			}
		}
		for _, id := range c.keys {
			if err := t.renameInKey(id, e.Subject, e.Pseudonym); err != nil {
				return err
			}
		}
		for _, id := range c.drops {
			if _, err := t.dropDelivery(id, func(d *core.Delivery, _ uint32) bool { return d.Status != core.DeliveryPending }); err != nil {
				return err
			}
		}
		t.audit.Bytes = max(t.audit.Bytes+c.grown, 0)
		return t.PutErasure(&next)
	})
	if errors.Is(err, errEraseStale) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	*e = next
	return c.next == nil, nil
}

// counted returns counts with n more of a kind; those it is given stay as they are.
func counted(counts core.DataCounts, kind string, n int) core.DataCounts {
	if n == 0 {
		return counts
	}
	next := maps.Clone(counts)
	if next == nil {
		next = core.DataCounts{}
	}
	next[kind] += n
	return next
}

// marked reports whether a thing is marked by an erasure. What is public of a thread or a managed agent goes with it.
func marked(txn kv.Snapshot, erasureID, id string) (bool, error) {
	id = cmp.Or(core.NoticeOf(id), id)
	if id == "" {
		return false, nil
	}
	return txn.Get(appendMark(nil, erasureID, id), nil)
}

// EraseEvents implements core.ErasureStore.
func (s *Store) EraseEvents(ctx context.Context, e *core.ErasureRecord) (bool, error) {
	return s.eraseStep(ctx, e, core.DataEvents, prefixJournal, func(txn kv.Snapshot, key, value []byte, c *eraseChanges) (int, error) {
		subject, _, ok := cutEscaped(key[len(prefixJournal):])
		if !ok {
			return 0, nil
		}
		owner, group := subject, false
		if to, refers := decodeReference(value); refers {
			owner, group = to, true
		}
		gone, err := marked(txn, e.ID, owner)
		if err != nil {
			return 0, err
		}
		seq := lastUint64(key)
		held, err := txn.Get(appendLogKey(nil, seq), nil)
		if err != nil {
			return 0, err
		}
		if gone && !held {
			c.remove(slices.Clone(key))
			return 1, nil
		}
		if group || !gone && !bytes.Contains(value, []byte(rawjson.Verbatim(e.Subject))) {
			return 0, nil
		}
		event, err := decodeEvent(subject, seq, value)
		if err != nil {
			return 0, damaged("event of", subject, err)
		}
		changed := false
		if event.By == e.Subject {
			event.By, changed = e.Pseudonym, true
		}
		data := event.Data
		if gone {
			data = erasedData(data)
		}
		if data = renamed(data, nameMembers, e.Subject, e.Pseudonym); !bytes.Equal(data, event.Data) {
			event.Data, changed = data, true
		}
		if !changed {
			return 0, nil
		}
		c.replace(key, value, appendEvent(nil, &event))
		return 1, nil
	})
}

// frameMembers are what events of something that was erased still tell: what they are about, and nothing that anybody wrote.
var frameMembers = []string{
	"executionId", "threadId", "batchId", "agentId", "managedAgentId", "scheduleId", "triggerId", "pattern", "status", "duration", "deletedBy",
}

// erasedData returns the data of an event without what people and agents wrote.
func erasedData(data json.RawMessage) json.RawMessage {
	var have, left map[string]json.RawMessage
	if len(data) == 0 || json.Unmarshal(data, &have) != nil {
		return nil
	}
	left = map[string]json.RawMessage{"erased": json.RawMessage("true")}
	for _, name := range frameMembers {
		if value, ok := have[name]; ok {
			left[name] = value
		}
	}
	out, _ := json.Marshal(left) // of JSON it does not fail
	return out
}

// nameMembers are where records and events name who did something.
var nameMembers = []string{"by", "createdBy", "updatedBy", "deletedBy", "answeredBy", "cancelledBy", "owner", "requestedBy"}

// renamed returns a JSON object with a pseudonym in the place of a name in some members; raw itself where the name is in none.
func renamed(raw []byte, members []string, name, pseudonym string) []byte {
	if !bytes.Contains(raw, []byte(rawjson.Verbatim(name))) {
		return raw
	}
	var have map[string]json.RawMessage
	if json.Unmarshal(raw, &have) != nil {
		return raw
	}
	changed := false
	for _, member := range members {
		var text string
		if value, ok := have[member]; ok && json.Unmarshal(value, &text) == nil && text == name {
			have[member], _ = json.Marshal(pseudonym)
			changed = true
		}
	}
	if !changed {
		return raw
	}
	out, _ := json.Marshal(have) // of JSON it does not fail
	return out
}

// EraseDeliveries implements core.ErasureStore.
func (s *Store) EraseDeliveries(ctx context.Context, e *core.ErasureRecord) (bool, error) {
	return s.eraseStep(ctx, e, core.DataDeliveries, prefixDelivery, func(txn kv.Snapshot, key, value []byte, c *eraseChanges) (int, error) {
		id := string(key[len(prefixDelivery):])
		d, err := decodeDelivery(id, value)
		if err != nil {
			return 0, err
		}
		if gone, err := marked(txn, e.ID, d.Subject); err != nil || !gone {
			return 0, err
		}
		if d.Status != core.DeliveryPending {
			c.drops = append(c.drops, id)
			return 1, nil
		}
		if d.ResponseBody == "" && d.LastError == "" && len(d.Former) == 0 {
			return 0, nil
		}
		place := d.place()
		d.ResponseBody, d.LastError, d.Former = "", "", nil
		c.replace(key, value, appendDelivery(nil, place, &d.Delivery))
		return 1, nil
	})
}

// EraseIdempotency implements core.ErasureStore.
func (s *Store) EraseIdempotency(ctx context.Context, e *core.ErasureRecord) (bool, error) {
	return s.eraseStep(ctx, e, core.DataIdempotency, prefixIdempotency, func(txn kv.Snapshot, key, value []byte, c *eraseChanges) (int, error) {
		var rec core.IdempotencyRecord
		hash := key[len(prefixIdempotency):]
		if err := decodeJSON("idempotency key", "", value, &rec); err != nil {
			return 0, err
		}
		gone, err := marked(txn, e.ID, rec.ResourceID)
		if err != nil || !gone && rec.Principal() != e.Subject {
			return 0, err
		}
		index := binary.BigEndian.AppendUint64([]byte(prefixIdemByTime), claimedMs(rec.ClaimedAt))
		c.remove(slices.Clone(key))
		c.remove(append(index, hash...))
		return 1, nil
	})
}

// EraseNames implements core.ErasureStore. The place begins with the prefix of the table that is being looked at.
func (s *Store) EraseNames(ctx context.Context, e *core.ErasureRecord) (bool, error) {
	tables := []struct {
		prefix, kind, list string
		members            []string
	}{
		{prefixQuestion, core.DataQuestions, kindQuestion, nameMembers}, {prefixDecision, core.DataDecisions, kindDecision, nameMembers},
		{prefixThread, core.DataThreads, kindThread, nameMembers},
		// What the subject made itself goes, or was started after the request: that stays.
		{prefixExecution, core.DataExecutions, "", []string{"cancelledBy"}}, {prefixErasure, core.DataErasures, "", []string{"requestedBy"}},
		{prefixAPIKey, core.DataAPIKeys, kindAPIKey, nil},
	}
	at := 0
	for i, tb := range tables {
		if bytes.HasPrefix(e.Place, []byte(tb.prefix)) {
			at = i
		}
	}
	done, err := s.eraseStep(ctx, e, tables[at].kind, tables[at].prefix, func(_ kv.Snapshot, key, value []byte, c *eraseChanges) (int, error) {
		if bytes.Contains(value, []byte(rawjson.Verbatim(e.Subject))) && !json.Valid(value) {
			return 0, damaged(tables[at].kind, string(key[len(tables[at].prefix):]), errRecord)
		}
		if tables[at].prefix == prefixAPIKey {
			id := string(key[len(prefixAPIKey):])
			k, err := apiKeys.parse(id, value)
			if err != nil || !namedInKey(k, e.Subject) {
				return 0, err
			}
			c.keys = append(c.keys, id) // it may change, or be revoked, until the transaction
			return 1, nil
		}
		fresh := renamed(value, tables[at].members, e.Subject, e.Pseudonym)
		if bytes.Equal(fresh, value) {
			return 0, nil
		}
		if !atRest(tables[at].prefix, value) {
			return 0, nil // who works on it would write the name again
		}
		c.replace(key, value, fresh)
		var was, is struct {
			CreatedBy string `json:"createdBy"`
		}
		tb := tables[at]
		if err := errors.Join(json.Unmarshal(value, &was), json.Unmarshal(fresh, &is)); err == nil && was != is && tb.list != "" {
			c.moves = append(c.moves, creatorMove{tb.prefix, tb.list, string(key[len(tb.prefix):]), was.CreatedBy, is.CreatedBy})
		}
		return 1, nil
	})
	if err != nil || !done || at == len(tables)-1 {
		return done, err
	}
	e.Place = []byte(tables[at+1].prefix)
	return false, nil
}

// namedInKey reports whether a name stands in an API key of another owner. Its own keys stay as they are.
func namedInKey(k *core.APIKeyRecord, name string) bool {
	return k.Owner != name && (k.CreatedBy == name || k.RevokedBy == name)
}

// renameInKey puts a pseudonym in the place of a name in an API key of another owner, unless the key went meanwhile.
func (t *tx) renameInKey(id, name, pseudonym string) error {
	old, err := apiKeys.get(t, id)
	if err != nil || old == nil || !namedInKey(old, name) {
		return err
	}
	fresh := *old
	if fresh.CreatedBy == name {
		fresh.CreatedBy = pseudonym
	}
	if fresh.RevokedBy == name {
		fresh.RevokedBy = pseudonym
	}
	return apiKeys.put(t, id, old, &fresh)
}

// atRest reports whether a thread, an execution or an erasure is over. Other records are at rest.
func atRest(prefix string, value []byte) bool {
	var of struct {
		Status string `json:"status"`
	}
	if json.Unmarshal(value, &of) != nil {
		return false
	}
	switch prefix {
	case prefixThread:
		return core.ThreadStatus(of.Status).Terminal()
	case prefixExecution:
		return core.ExecutionStatus(of.Status).Terminal()
	case prefixErasure:
		return of.Status != string(wire.ErasureRunning)
	}
	return true
}

// RedactAudit implements core.ErasureStore.
func (s *Store) RedactAudit(ctx context.Context, e *core.ErasureRecord, redact func(row core.AuditRow, marked func(id string) bool) ([]byte, error)) (bool, error) {
	last := s.AuditHead().Sequence
	return s.eraseStep(ctx, e, core.DataAudit, prefixAudit, func(txn kv.Snapshot, key, value []byte, c *eraseChanges) (int, error) {
		row := core.AuditRow{Sequence: lastUint64(key)}
		if row.Sequence > last {
			return 0, nil
		}
		if len(value) < auditHeader {
			return 0, damaged("audit record", strconv.FormatUint(row.Sequence, 10), errRecord)
		}
		row.Record = value[auditHeader:]
		var failed error
		record, err := redact(row, func(id string) bool {
			gone, err := marked(txn, e.ID, id)
			failed = errors.Join(failed, err)
			return gone
		})
		if errors.Is(err, core.ErrUnreadable) {
			return 0, damaged("audit record", strconv.FormatUint(row.Sequence, 10), err)
		}
		if err = errors.Join(err, failed); err != nil || record == nil {
			return 0, err
		}
		c.grown += int64(len(record) - len(row.Record))
		c.replace(key, value, append(slices.Clone(value[:auditHeader]), record...))
		return 1, nil
	})
}

// DropMarks implements core.ErasureStore.
func (s *Store) DropMarks(ctx context.Context, erasureID string) error {
	_, err := s.removePrefix(ctx, appendMark(nil, erasureID, ""))
	return err
}

// Compact implements core.ErasureStore: the memtable is written out, all tables are merged into one level, and files of
// the value log of which half is garbage are collected. Badger keeps a value of a large record in a file that is mostly in
// use, until more of that file has gone.
func (s *Store) Compact(ctx context.Context) error {
	s.retainMu.Lock()
	defer s.retainMu.Unlock()
	return s.merge(ctx, Retired{})
}
