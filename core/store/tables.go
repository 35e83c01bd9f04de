package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/atrest"
)

// section says of the keys under a prefix what lies there. The order in doc.go is that of this list.
type section struct {
	prefix string
	kind   string // in words
	// primary says that nothing else in the store says the same: what is not primary is made anew by a repair.
	primary bool
	decode  func(key, value []byte) error // key without the prefix
	noun    noun                          // nil: not a table of records
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
	keySection(prefixDecisionPrint, "fingerprint of a decision"),
	experiences.section(),
	keySection(prefixExperiencePrint, "fingerprint of an experience"),
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
	keySection(prefixAPIKeyName, "name of an API key"),
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
		id := recordID(rest)
		if id == "" {
			id = string(key)
		}
		return &damage{what: t.kind, id: id, err: err, key: key}
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
