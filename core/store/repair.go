package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core/store/kv"
)

// repairChunk is how many writes a repair commits at a time.
const repairChunk = 1000

// repairBytes is how many bytes of them a migration commits at a time.
const repairBytes = 4 << 20

// maxRepairRounds bounds how often a repair goes over the store: what a round removes may leave something without an
// owner, at most two levels deep.
const maxRepairRounds = 5

// Finding is a record of a stopped store that cannot be read.
type Finding struct {
	BrokenRecord
	// RawKey and Value are the bytes themselves; they are valid during the call that gets them.
	RawKey []byte `json:"rawKey"`
	Value  []byte `json:"value"`
}

// Report is what Check found, or what Repair did.
type Report struct {
	Records int64 // looked at
	Broken  int64 // that cannot be read
	Orphans int64 // that belong to a record which is not there
	Entries int64 // of indexes and counts that do not agree with the records
}

// Well reports whether there is nothing to repair.
func (r Report) Well() bool { return r.Broken == 0 && r.Orphans == 0 && r.Entries == 0 }

// CheckOptions are those of Check and Repair. Only Path is required.
type CheckOptions struct {
	Path   string
	Logger hclog.Logger
	// Encryption is that of a store that is encrypted.
	Encryption *Encryption
	Found      func(Finding)        // gets each record that cannot be read
	Progress   func(records uint64) // called with the number of records looked at
}

// Check reads the whole of a store that no process uses, and changes nothing in it.
func Check(ctx context.Context, opts CheckOptions) (Report, error) {
	c, err := openChecker(ctx, opts)
	if err != nil {
		return Report{}, err
	}
	report, err := c.round(ctx)
	return report, errors.Join(err, c.db.Close())
}

// Repair removes from a store that no process uses what cannot be read and what belongs to that, and makes indexes and
// counts anew. Each record that cannot be read is written to export first, as a line of JSON; the caller makes that
// durable in keep, which is called once before anything is removed.
func Repair(ctx context.Context, opts CheckOptions, export io.Writer, keep func() error) (Report, error) {
	c, err := openChecker(ctx, opts)
	if err != nil {
		return Report{}, err
	}
	total, err := c.repair(ctx, export, keep)
	return total, errors.Join(err, c.db.Close())
}

// checker goes over a stopped store.
type checker struct {
	opts   CheckOptions
	db     kv.DB
	export *json.Encoder // nil for a check, and from the second round of a repair on
	mend   bool
	writes []write
}

func openChecker(ctx context.Context, opts CheckOptions) (*checker, error) {
	opts.Logger = cmp.Or(opts.Logger, hclog.NewNullLogger())
	path, err := filepath.Abs(opts.Path)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if err := checkOwner(path); err != nil {
		return nil, fmt.Errorf("store: open %s: %w", path, err)
	}
	ring, err := openRing(ctx, path, opts.Encryption)
	if err != nil {
		return nil, fmt.Errorf("store: open %s: %w", path, err)
	}
	db, err := openBadger(path, ring, opts.Logger)
	if err != nil {
		return nil, err
	}
	have, err := readSchema(db)
	if errors.Is(err, errSchema) { // whoever asks for a repair knows which program wrote the store
		have, err = schemaVersion(migrations), nil
	}
	if err == nil && have != schemaVersion(migrations) {
		err = fmt.Errorf("store: %s has schema version %d, and this program looks at version %d only: "+
			"start the server on it once, or use the program that wrote it", path, have, schemaVersion(migrations))
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &checker{opts: opts, db: db}, nil
}

func (c *checker) repair(ctx context.Context, export io.Writer, keep func() error) (Report, error) {
	c.export = json.NewEncoder(export)
	total, err := c.round(ctx) // exports, and changes nothing yet
	if err != nil {
		return total, err
	}
	if err := keep(); err != nil {
		return total, err
	}
	c.export, c.mend, c.opts.Found = nil, true, nil
	total = Report{Records: total.Records}
	for range maxRepairRounds {
		done, err := c.round(ctx)
		total.Broken, total.Orphans, total.Entries = total.Broken+done.Broken, total.Orphans+done.Orphans, total.Entries+done.Entries
		if err != nil || done.Well() {
			return total, err
		}
	}
	return total, errors.New("store: the store does not come to rest: please report it")
}

// round goes over all records, then over all that follows from them.
func (c *checker) round(ctx context.Context) (Report, error) {
	var r Report
	txn := c.db.Snapshot()
	defer txn.Discard()
	d := newDerived(txn, func(key, value []byte) error {
		return c.expect(txn, key, value, &r)
	})
	err := scan(txn, nil, nil, true, func(key, value []byte) (bool, error) {
		if r.Records++; c.opts.Progress != nil && r.Records%progressEvery == 0 {
			c.opts.Progress(uint64(r.Records))
		}
		if err := c.record(txn, d, key, value, &r); err != nil {
			return false, err
		}
		return true, ctx.Err()
	})
	if err == nil {
		err = c.counts(ctx, txn, d, &r)
	}
	if err == nil {
		err = c.numbers(txn, &r)
	}
	if err == nil {
		err = c.flush(0)
	}
	if err == nil && c.opts.Progress != nil {
		c.opts.Progress(uint64(r.Records))
	}
	return r, err
}

// record looks at one key.
func (c *checker) record(txn kv.Snapshot, d *derived, key, value []byte, r *Report) error {
	if bytes.HasPrefix(key, []byte(prefixBroken)) {
		if c.mend {
			return c.remove(key) // the notes go with what they are about
		}
		return nil
	}
	if isDerived(key) {
		return c.entry(txn, key, value, r)
	}
	if broken := checkRecord(key, value); broken != nil {
		return c.broken(broken, key, value, r)
	}
	if owner := ownerOf(key, value); owner != nil {
		has, err := txn.Get(owner, nil)
		if err == nil && !has && bytes.HasPrefix(key, []byte(prefixJournal)) {
			has, err = txn.Get(appendLogKey(nil, lastUint64(key)), nil) // it goes with the log
		}
		if err != nil {
			return err
		}
		if !has {
			r.Orphans++
			return c.remove(key)
		}
	}
	return d.record(key, value)
}

func (c *checker) broken(broken *damage, key, value []byte, r *Report) error {
	r.Broken++
	f := Finding{BrokenRecord: BrokenRecord{
		Key: printable(key), Kind: broken.what, ID: broken.id, Reason: oneLine(broken.err.Error()), FoundAt: time.Now().UTC(),
	}, RawKey: key, Value: value}
	if c.export != nil {
		if err := c.export.Encode(f); err != nil {
			return fmt.Errorf("store: export: %w", err)
		}
	}
	if c.opts.Found != nil {
		c.opts.Found(f)
	}
	switch string(key) {
	case keySeq, keyWebhooks:
		return nil // made anew from what they number
	case keySchema, keySchemaCopy:
		return c.write(write{append([]byte{}, key...), binary.BigEndian.AppendUint32(nil, schemaVersion(migrations))})
	}
	return c.remove(key)
}

// entry looks at an index entry. Counts are looked at once all records are known.
func (c *checker) entry(txn kv.Snapshot, key, value []byte, r *Report) error {
	for _, prefix := range countPrefixes {
		if bytes.HasPrefix(key, []byte(prefix)) {
			return nil
		}
	}
	record := recordOf(key, value)
	if record != nil {
		stored, err := get(txn, record)
		if err != nil {
			return err
		}
		if stored != nil {
			if ok, err := follows(txn, key, value, record, stored); err != nil || ok {
				return err
			}
		}
	}
	r.Entries++
	return c.remove(key)
}

// expect sees to it that an entry or count is there.
func (c *checker) expect(txn kv.Snapshot, key, value []byte, r *Report) error {
	stored, err := get(txn, key)
	if err != nil || stored != nil && sameEntry(key, stored, value) {
		return err
	}
	r.Entries++
	return c.write(write{key, append([]byte{}, value...)})
}

// counts sees to counts: those that the records add up to, and those that nothing adds up to.
func (c *checker) counts(ctx context.Context, txn kv.Snapshot, d *derived, r *Report) error {
	if err := d.counts(func(key, value []byte) error { return c.expect(txn, key, value, r) }); err != nil {
		return err
	}
	for _, prefix := range countPrefixes {
		err := scan(txn, []byte(prefix), nil, false, func(key, _ []byte) (bool, error) {
			if d.counted(key) {
				return true, ctx.Err()
			}
			r.Entries++
			return true, c.remove(key)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// numbers sees to the numbers that were given last, and to webhooks that have none.
func (c *checker) numbers(txn kv.Snapshot, r *Report) error {
	seq, err := newestSeq(txn)
	if err != nil {
		return err
	}
	last, err := newestWebhookNumber(txn)
	if err != nil {
		return err
	}
	if last, err = c.atLeast(txn, keyWebhooks, last, r); err != nil {
		return err
	}
	if _, err := c.atLeast(txn, keySeq, seq, r); err != nil {
		return err
	}
	return scan(txn, []byte(prefixWebhook), nil, true, func(key, value []byte) (bool, error) {
		id := string(key[len(prefixWebhook):])
		has, err := txn.Get(appendKey(nil, prefixWebhookNumber, id), nil)
		if err != nil || has || checkRecord(key, value) != nil {
			return err == nil, err
		}
		last++
		number := binary.BigEndian.AppendUint32(nil, uint32(last))
		if err := c.expect(txn, appendKey(nil, prefixWebhookNumber, id), number, r); err != nil {
			return false, err
		}
		return true, c.write(write{[]byte(keyWebhooks), appendUint64(nil, last)})
	})
}

// atLeast sees to it that a number is not below what was given of it, and returns it.
func (c *checker) atLeast(txn kv.Snapshot, key string, least uint64, r *Report) (uint64, error) {
	value, err := get(txn, []byte(key))
	if err != nil {
		return 0, err
	}
	if n, err := decodeUint64(value); err == nil && n >= least {
		return n, nil
	}
	if value == nil && least == 0 {
		return 0, nil
	}
	return least, c.expect(txn, []byte(key), appendUint64(nil, least), r)
}

func (c *checker) remove(key []byte) error { return c.write(write{key: append([]byte{}, key...)}) }

func (c *checker) write(w write) error {
	if !c.mend {
		return nil
	}
	c.writes = append(c.writes, w)
	return c.flush(repairChunk)
}

// flush commits what waits once it is as much as that.
func (c *checker) flush(least int) error {
	if len(c.writes) == 0 || len(c.writes) < least {
		return nil
	}
	err := commitWrites(c.db, c.writes)
	c.writes = nil
	return err
}
