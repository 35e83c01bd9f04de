package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/atrest"
)

// section says of the keys under a prefix what lies there.
type section struct {
	prefix string
	kind   string // in words
	// primary says that nothing else in the store says the same: what is not primary is made anew by a repair.
	primary bool
	decode  func(key, value []byte) error // key without the prefix
	noun    noun                          // nil: not a table of records
	prints  string                        // prefix of the table whose fingerprints lie here; empty: none do
}

// noun is a table, whatever its records are.
type noun interface {
	// derive takes in what follows from a record.
	derive(d *derived, id string, value []byte) error
	// follows reports whether anything does.
	follows() bool
	// names returns what begins the names of the table's lists in the index ("" for none), and its ids ("" where they do not
	// tell when they were made).
	names() (lists, ids string)
}

// jsonSection is a section of JSON records.
func jsonSection[T any](prefix, kind string) section {
	return section{prefix: prefix, kind: kind, primary: true, decode: func(_, value []byte) error { return json.Unmarshal(value, new(T)) }}
}

// numberSection is a section of numbers that follow from records.
func numberSection(prefix, kind string) section {
	return section{prefix: prefix, kind: kind, decode: func(_, value []byte) error {
		_, err := decodeUint64(value)
		return err
	}}
}

// keySection is a section whose keys say all.
func keySection(prefix, kind string) section {
	return section{prefix: prefix, kind: kind, decode: func(_, _ []byte) error { return nil }}
}

// tables lists what is in the store. A key belongs to the section with the longest prefix that it begins with.
//
// esc(s) is the string with 0x00 written as 0x00 0xFF, ended by 0x00 0x01: no name is a prefix of another,
// and the order of names is the order of keys. be32 and be64 are big-endian numbers. JSON means the JSON
// form of the core type; the binary values are described in record.go and deliveryrecord.go. Status and event of a
// delivery are one byte each, as there.
//
//	x/<execution id>                          execution, JSON; ids sort by time, so this is the unfiltered list
//	ix/xa/<execution id>                      active executions only: status, pattern, hashes it refers to, row
//	ix/xs/esc(status)<execution id>           terminal executions: row, which is what lists show of one
//	ix/xps/esc(pattern)esc(status)<exec. id>  terminal executions; the active ones of a pattern are found in memory
//	ix/xb/esc(batch)<execution id>            items of a batch
//	ix/xc/esc(creator)<execution id>          executions by who made them
//	ix/xe/esc(code)<execution id>             executions by the code of their error
//	ix/xm/esc(key)esc(value)<execution id>    executions by metadata, as core.IndexedMetadata has it
//	ix/xz/esc(status)esc(end)<execution id>   terminal executions by when they ended: Unix milliseconds, 16 hex digits
//	tp/m/be16(place), tp/h/be16(place)        what happened to executions in a minute or an hour, see span.go
//	c/<pattern>                               executions per status, in the order of core.ExecutionStatuses
//	p/esc(name)<version>                      pattern version, JSON
//	d/<hash>                                  be64 Unix milliseconds of the put, then the definition's source
//	dr/<hash>                                 be64 number of executions and pattern versions with that hash
//	b/<batch id>                              batch, JSON without results
//	bi/esc(batch id)be32(index)               input of an item, as given
//	br/esc(batch id)be32(index)               how an item stands, JSON; of earlier versions with what came of it
//	bv/esc(batch id)be32(index)               what came of an item that is over, JSON
//	ix/ba/<batch id>                          running batches
//	a/<agent id>                              agent record, JSON
//	ma/<managed agent id>                     managed agent record, JSON
//	rt/<runtime>                              be64 sequence up to which the runtime's events are stored, then the id of their log, if it is known
//	q/<question id>                           question, JSON; ids sort by time
//	th/<thread id>                            thread record without its context files, JSON; ids sort by time
//	tf/<thread id>                            context files of a thread, JSON
//	ts/<thread id>                            what lists need of a thread: status, execution, role, agent type, creator
//	ti/esc(thread id)                         be64 number up to which inputs of a thread were forgotten
//	ti/esc(thread id)be64(number)             input of a thread, JSON
//	w/<workspace id>                          workspace, JSON
//	dc/<decision id>                          decision, JSON
//	df/esc(execution id)<fingerprint>         id of the decision with that fingerprint
//	e/<experience id>                         experience, JSON
//	ef/<fingerprint>                          id of the experience with that fingerprint
//	wh/<webhook id>                           webhook record, JSON
//	wn/<webhook id>                           be32 number of the webhook; one that is made anew has another
//	v/<delivery id>                           delivery; ids sort by time
//	k/<key id>                                API key, JSON with MACs of its secrets
//	kn/<name>                                 id of the API key that was put last under that name
//	at/<token id>                             registration token of agents, JSON with the MAC of its secret
//	s/<session id>                            session of a person, JSON with the MAC of its secret
//	au/be64(sequence)                         audit record: be64 Unix milliseconds, then the record, JSON
//	ac/<sink>                                 be64 sequence up to which an audit sink has every record
//	sc/<schedule id>                          schedule, JSON
//	tg/<trigger id>                           trigger, JSON with its secrets encrypted
//	er/<erasure id>                           erasure, JSON; with its subject until it is over
//	em/esc(erasure id)<id>                    kind of something that the erasure removes, until it is over
//	ix/vl/be32(number)<status><event><id>     every delivery: be64 sequence of its event while that is needed, or empty
//	ix/vd/be32(number)be64(next)<id>          pending deliveries by next attempt, Unix ns, so that times sort
//	vc/be32(number)                           deliveries of a webhook per status and event
//	ix/<kind><letters>/esc(value)...<id>      list of a kind by the properties that the letters name; see below
//	n/<kind><letters>/esc(value)...           be64 number of rows of that list
//	i/<sha256 of esc(scope)esc(key)>          idempotency record, JSON
//	ix/i/be64(claimed at, Unix ms)<sha256>    the same by age, for retention
//	j/esc(subject)be64(seq)                   event, the journal of its subject
//	j/esc(group)be64(seq)                     subject of an event that has a group, under the same sequence
//	o/be64(seq)                               subject of a public event: the log of all subjects
//	cur/<name>                                be64 sequence up to which a log consumer is done
//	bad/<key>                                 note of a record that cannot be read, JSON
//	meta/schema                               be32 schema version
//	meta/schema-copy                          the same, should that record become unreadable
//	meta/seq                                  be64 last sequence number given
//	meta/webhooks                             be64 last number that a webhook got
//	meta/audit                                end of the audit trail: 1, be64 sequence, oldest kept, bytes, then the hash
//	meta/installation                         id of the installation whose state this is
//	meta/redo                                 a transaction too large for one Badger commit, being applied
//	meta/redo-broken                          such a transaction that could not be read
//
// Kinds of lists and their letters, in this order: q questions (x execution, s status), t threads (x, s terminal status,
// r role, t agent type), ta active threads (x), w workspaces (x, s status), d decisions (x, t thread, c category), e
// experiences (x, g repository, r role, o outcome), k API keys (o owner), at registration tokens (b creator), s sessions (u
// user), b batches (s, p pattern, c creator) and z erasures (s). A record is in the list of every combination of properties that it has a
// value for. Threads, questions, decisions and API keys are beside these in one more list, b, of who made them, which is
// walked together with the others and has no count.
var tables = []section{
	executions.section(),
	{prefix: prefixActive, kind: "active execution", decode: func(_, value []byte) error {
		_, err := decodeActive(value)
		return err
	}},
	{prefix: prefixCounter, kind: "counter", decode: func(_, value []byte) error {
		_, err := decodeCounts(value)
		return err
	}},
	patterns.section(),
	{prefix: prefixDefinition, kind: "definition", primary: true, decode: func(_, value []byte) error {
		if len(value) < definitionHeader {
			return errRecord
		}
		return nil
	}},
	numberSection(prefixRefs, "reference count"),
	{prefix: prefixSpan, kind: "throughput", primary: true, decode: func(key, value []byte) error {
		if _, ok := cutSpanKey(key); !ok {
			return errRecord
		}
		_, err := decodeSpan(value)
		return err
	}},
	batches.section(),
	{prefix: prefixBatchInput, kind: "input of batch", primary: true, decode: func(_, _ []byte) error { return nil }},
	jsonSection[core.BatchResult](prefixBatchResult, "item of batch"),
	jsonSection[batchValue](prefixBatchValue, "result of batch"),
	agents.section(),
	managedAgents.section(),
	{prefix: prefixRuntime, kind: "position of runtime", primary: true, decode: decodeAnyNumber},
	questions.section(),
	threads.section(),
	jsonSection[[]core.ContextFile](prefixThreadFiles, "context files of thread"),
	{prefix: prefixThreadState, kind: "state of thread", decode: func(_, value []byte) error {
		_, err := decodeThreadState(value)
		return err
	}},
	{prefix: prefixThreadInput, kind: "input of thread", primary: true, decode: func(key, value []byte) error {
		if _, rest, ok := cutEscaped(key); ok && len(rest) > 0 {
			return json.Unmarshal(value, new(core.QueuedInput))
		}
		return decodeAnyNumber(key, value)
	}},
	workspaces.section(),
	decisions.section(),
	decisions.prints(prefixDecisionPrint, "fingerprint of a decision"),
	experiences.section(),
	experiences.prints(prefixExperiencePrint, "fingerprint of an experience"),
	webhooks.section(),
	{prefix: prefixWebhookNumber, kind: "number of webhook", primary: true, decode: func(key, value []byte) error {
		_, err := decodeWebhookNumber(string(key), value)
		return err
	}},
	deliveries.section(),
	{prefix: prefixDeliveries, kind: "place of a delivery", decode: func(key, value []byte) error {
		if len(value) == 0 {
			return nil
		}
		return decodeAnyNumber(key, value)
	}},
	apiKeys.section(),
	apiKeys.prints(prefixAPIKeyName, "name of an API key"),
	agentTokens.section(),
	sessions.section(),
	{prefix: prefixAudit, kind: "audit record", primary: true, decode: func(_, value []byte) error {
		if len(value) < auditHeader || !json.Valid(value[auditHeader:]) {
			return errRecord
		}
		return nil
	}},
	{prefix: prefixAuditCursor, kind: "cursor of audit sink", primary: true, decode: decodeAnyNumber},
	schedules.section(),
	triggers.section(),
	erasures.section(),
	{prefix: prefixErased, kind: "mark of an erasure", primary: true, decode: func(_, _ []byte) error { return nil }},
	keySection(prefixIndex, "index entry"),
	{prefix: prefixDeliveryCount, kind: "delivery counts of webhook", decode: func(_, value []byte) error {
		_, err := decodeDeliveryCounts(value)
		return err
	}},
	numberSection(prefixRowCount, "number"),
	jsonSection[core.IdempotencyRecord](prefixIdempotency, "idempotency key"),
	{prefix: prefixJournal, kind: "event of", primary: true, decode: func(key, value []byte) error {
		subject, rest, ok := cutEscaped(key)
		if !ok || len(rest) != 8 {
			return errRecord
		}
		if _, refers := decodeReference(value); refers {
			return nil
		}
		_, err := decodeEvent(subject, binary.BigEndian.Uint64(rest), value)
		return err
	}},
	keySection(prefixLog, "entry of the log for"),
	{prefix: prefixCursor, kind: "cursor", primary: true, decode: decodeAnyNumber},
	keySection(prefixBroken, "note of a broken record"),
	{prefix: keyRedoBroken, kind: "transaction", primary: true, decode: func(_, value []byte) error {
		_, err := decodeRedo(value)
		return err
	}},
	jsonSection[clockRecord](keyClock, "clock"),
	{prefix: keySelf, kind: "id of the installation", primary: true, decode: func(_, value []byte) error {
		_, err := decodeInstallation(value)
		return err
	}},
	{prefix: keySchema, kind: "schema version", decode: decodeSchemaRecord},
	{prefix: keySchemaCopy, kind: "schema version", decode: decodeSchemaRecord},
	{prefix: keySeq, kind: "number", decode: decodeAnyNumber},
	{prefix: keyWebhooks, kind: "number", decode: decodeAnyNumber},
	{prefix: keyAudit, kind: "end of the audit trail", decode: func(_, value []byte) error {
		_, err := decodeAuditHead(value)
		return err
	}},
	keySection("meta/", "meta"),
}

func decodeSchemaRecord(_, value []byte) error {
	_, err := decodeSchema(value)
	return err
}

func decodeAnyNumber(_, value []byte) error {
	_, err := decodeUint64(value)
	return err
}

// sectionOf finds the section of a key; ok is false for a key that is none of ours.
func sectionOf(key []byte) (t section, ok bool) {
	for _, c := range tables {
		if len(c.prefix) > len(t.prefix) && bytes.HasPrefix(key, []byte(c.prefix)) {
			t, ok = c, true
		}
	}
	return t, ok
}

// KindOf returns the word that NOT_FOUND has for what an id names; "" for an id that no table has records of.
func KindOf(id string) string {
	for _, s := range tables {
		if s.noun == nil {
			continue
		}
		if _, prefix := s.noun.names(); prefix != "" && core.ValidID(prefix, id) {
			return s.kind
		}
	}
	return ""
}

// checkRecord returns why the record under key cannot be read, or nil.
func checkRecord(key, value []byte) *damage {
	t, ok := sectionOf(key)
	if !ok {
		return &damage{what: "key", id: strconv.QuoteToASCII(string(key)), err: errRecord, key: key}
	}
	rest := key[len(t.prefix):]
	err := t.decode(rest, value)
	if atrest.Unopened(value) {
		err = atrest.ErrUnopened
	}
	if err != nil {
		return &damage{what: t.kind, id: cmp.Or(recordID(rest), string(key)), err: err, key: key}
	}
	return nil
}

// recordID names a record by the rest of its key: an id as it is, names that are escaped without their marks.
func recordID(rest []byte) string {
	name, tail, ok := cutEscaped(rest)
	switch {
	case !ok:
		return printable(rest)
	case len(tail) == 8:
		return name + "/" + strconv.FormatUint(binary.BigEndian.Uint64(tail), 10)
	case len(tail) == 4:
		return name + "/" + strconv.FormatUint(uint64(binary.BigEndian.Uint32(tail)), 10)
	}
	return name + "/" + printable(tail)
}

// printable returns text as it is, and anything else quoted.
func printable(b []byte) string {
	quoted := strconv.QuoteToASCII(string(b))
	if quoted == `"`+string(b)+`"` {
		return string(b)
	}
	return quoted
}
