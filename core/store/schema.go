package store

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core/store/kv"
)

// baseSchema is the version that a new store begins with before the migrations run.
const baseSchema = 1

// migration brings a store from schema version to-1 to version to. run may commit as many transactions as
// it needs; a crash runs it again from its beginning, so it must be able to meet its own half-done work.
type migration struct {
	to   uint32
	what string
	run  func(ctx context.Context, db kv.DB) error
}

// migrations lists every migration in order. Schema 1 is the first.
var migrations = []migration{
	{to: 2, what: "lists and counts of questions", run: listQuestions},
	{to: 3, what: "lists of executions and batches by what they have", run: listFacts},
	{to: 4, what: "events of the server itself, and erasures", run: unchanged},
	{to: 5, what: "lists by who made something", run: listCreators},
	{to: 6, what: "executions of a pattern are found by its statuses", run: dropPatternLists},
	{to: 7, what: "lists of executions by when they ended", run: listEnds},
}

// unchanged is the way to a schema that adds what a former program cannot read, and changes nothing that is there.
func unchanged(context.Context, kv.DB) error { return nil }

func schemaVersion(steps []migration) uint32 {
	if len(steps) == 0 {
		return baseSchema
	}
	return steps[len(steps)-1].to
}

// SchemaVersion returns the version that this program writes, and the highest that it reads.
func SchemaVersion() uint32 { return schemaVersion(migrations) }

// migrate brings the store to the newest version, one recorded step at a time. A store of a newer version
// is refused, because this program does not know what its keys mean. A store that had data logs its steps.
func migrate(ctx context.Context, db kv.DB, steps []migration, log hclog.Logger) error {
	have, err := readSchema(db)
	if err != nil {
		return err
	}
	if have == 0 {
		empty, err := isEmpty(db)
		if err != nil {
			return err
		}
		if !empty {
			return fmt.Errorf("the store has data but no schema version")
		}
		if err := writeSchema(db, baseSchema); err != nil {
			return err
		}
		have, log = baseSchema, hclog.NewNullLogger()
	}
	if want := schemaVersion(steps); have > want {
		return fmt.Errorf("the store has schema version %d, but this program knows versions up to %d: "+
			"use the program that wrote it, or a newer one", have, want)
	}
	for _, step := range steps {
		if step.to <= have {
			continue
		}
		if step.to != have+1 {
			return fmt.Errorf("no migration leads from schema version %d to %d", have, have+1)
		}
		log.Info("the store is migrated", "from", have, "to", step.to, "what", step.what)
		if err := step.run(ctx, db); err != nil {
			return fmt.Errorf("migrate from schema version %d to %d (%s): %w", have, step.to, step.what, err)
		}
		if err := writeSchema(db, step.to); err != nil {
			return err
		}
		have = step.to
	}
	return healSchema(db)
}

// checkSchema refuses a store that would have to be migrated.
func checkSchema(db kv.DB, steps []migration) error {
	have, err := readSchema(db)
	if want := schemaVersion(steps); err == nil && have != want {
		err = fmt.Errorf("the store has schema version %d and is to be brought to %d, for which the disk has no room", have, want)
	}
	return err
}

// The version is recorded twice, as everything depends on it: where one record cannot be read, the other one counts.
var schemaKeys = []string{keySchema, keySchemaCopy}

// errSchema says that both records of the version are there and neither can be read.
var errSchema = fmt.Errorf("the record of the schema version cannot be read, nor its copy: "+
	"if this program or one of schema version %d was the last to write the store, `wardroom store repair` records the version anew",
	schemaVersion(migrations))

// readSchema returns the recorded version; 0 when there is none.
func readSchema(db kv.DB) (uint32, error) {
	txn := db.Snapshot()
	defer txn.Discard()
	version, _, err := schemaOf(txn)
	return version, err
}

// schemaOf returns the recorded version, 0 when there is none, and whether both records say it.
func schemaOf(txn kv.Snapshot) (version uint32, both bool, err error) {
	broken := false
	both = true
	for _, key := range schemaKeys {
		value, err := get(txn, []byte(key))
		if err != nil {
			return 0, false, err
		}
		n, err := decodeSchema(value)
		switch {
		case value == nil:
			both = false
		case err != nil:
			both, broken = false, true
		case version == 0:
			version = n
		default:
			both = both && n == version
		}
	}
	if version == 0 && broken {
		return 0, false, errSchema
	}
	return version, both, nil
}

func decodeSchema(value []byte) (uint32, error) {
	if len(value) != 4 {
		return 0, errRecord
	}
	return binary.BigEndian.Uint32(value), nil
}

func writeSchema(db kv.DB, version uint32) error {
	var writes []write
	for _, key := range schemaKeys {
		writes = append(writes, write{[]byte(key), binary.BigEndian.AppendUint32(nil, version)})
	}
	return commitWrites(db, writes)
}

// healSchema records the version again where only one of both records says it.
func healSchema(db kv.DB) error {
	txn := db.Snapshot()
	defer txn.Discard()
	version, both, err := schemaOf(txn)
	if err != nil || both {
		return err
	}
	return writeSchema(db, version)
}

func isEmpty(db kv.DB) (bool, error) {
	txn := db.Snapshot()
	defer txn.Discard()
	empty := true
	err := scan(txn, nil, nil, false, func(_, _ []byte) (bool, error) {
		empty = false
		return false, nil
	})
	return empty, err
}
