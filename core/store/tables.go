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
}

// jsonSection is a section of JSON records.
func jsonSection[T any](prefix, kind string) section {
	return section{prefix, kind, true, func(_, value []byte) error { return json.Unmarshal(value, new(T)) }}
}

// numberSection is a section of numbers that follow from records.
func numberSection(prefix, kind string) section {
	return section{prefix, kind, false, func(_, value []byte) error {
		_, err := decodeUint64(value)
		return err
	}}
}

// keySection is a section whose keys say all.
func keySection(prefix, kind string) section {
	return section{prefix, kind, false, func(_, _ []byte) error { return nil }}
}

// tables lists what is in the store. A key belongs to the section with the longest prefix that it begins with.
var tables = []section{
	executions.section(),
	{prefixActive, "active execution", false, func(_, value []byte) error {
		_, err := decodeActive(value)
		return err
	}},
	{prefixCounter, "counter", false, func(_, value []byte) error {
		_, err := decodeCounts(value)
		return err
	}},
	patterns.section(),
	{prefixDefinition, "definition", true, func(_, value []byte) error {
		if len(value) < definitionHeader {
			return errRecord
		}
		return nil
	}},
	numberSection(prefixRefs, "reference count"),
	{prefixSpan, "throughput", true, func(key, value []byte) error {
		if _, ok := cutSpanKey(key); !ok {
			return errRecord
		}
		_, err := decodeSpan(value)
		return err
	}},
	batches.section(),
	{prefixBatchInput, "input of batch", true, func(_, _ []byte) error { return nil }},
	jsonSection[core.BatchResult](prefixBatchResult, "item of batch"),
	jsonSection[batchValue](prefixBatchValue, "result of batch"),
	agents.section(),
	managedAgents.section(),
	{prefixRuntime, "position of runtime", true, decodeAnyNumber},
	questions.section(),
	threads.section(),
	jsonSection[[]core.ContextFile](prefixThreadFiles, "context files of thread"),
	{prefixThreadState, "state of thread", false, func(_, value []byte) error {
		_, err := decodeThreadState(value)
		return err
	}},
	{prefixThreadInput, "input of thread", true, func(key, value []byte) error {
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
	{prefixWebhookNumber, "number of webhook", true, func(key, value []byte) error {
		_, err := decodeWebhookNumber(string(key), value)
		return err
	}},
	deliveries.section(),
	{prefixDeliveries, "place of a delivery", false, func(key, value []byte) error {
		if len(value) == 0 {
			return nil
		}
		return decodeAnyNumber(key, value)
	}},
	apiKeys.section(),
	keySection(prefixAPIKeyName, "name of an API key"),
	agentTokens.section(),
	sessions.section(),
	{prefixAudit, "audit record", true, func(_, value []byte) error {
		if len(value) < auditHeader || !json.Valid(value[auditHeader:]) {
			return errRecord
		}
		return nil
	}},
	{prefixAuditCursor, "cursor of audit sink", true, decodeAnyNumber},
	schedules.section(),
	triggers.section(),
	erasures.section(),
	{prefixErased, "mark of an erasure", true, func(_, _ []byte) error { return nil }},
	keySection(prefixIndex, "index entry"),
	{prefixDeliveryCount, "delivery counts of webhook", false, func(_, value []byte) error {
		_, err := decodeDeliveryCounts(value)
		return err
	}},
	numberSection(prefixRowCount, "number"),
	jsonSection[core.IdempotencyRecord](prefixIdempotency, "idempotency key"),
	{prefixJournal, "event of", true, func(key, value []byte) error {
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
	{prefixCursor, "cursor", true, decodeAnyNumber},
	keySection(prefixBroken, "note of a broken record"),
	{keyRedoBroken, "transaction", true, func(_, value []byte) error {
		_, err := decodeRedo(value)
		return err
	}},
	jsonSection[clockRecord](keyClock, "clock"),
	{keySelf, "id of the installation", true, func(_, value []byte) error {
		_, err := decodeInstallation(value)
		return err
	}},
	{keySchema, "schema version", false, decodeSchemaRecord},
	{keySchemaCopy, "schema version", false, decodeSchemaRecord},
	{keySeq, "number", false, decodeAnyNumber},
	{keyWebhooks, "number", false, decodeAnyNumber},
	{keyAudit, "end of the audit trail", false, func(_, value []byte) error {
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
