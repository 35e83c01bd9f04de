package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
)

// crashedLog returns the log of a memtable of a store that is killed, with transactions of one write and of many.
func crashedLog(tb testing.TB, encryption *Encryption) (dir, name string) {
	tb.Helper()
	ctx := context.Background()
	from := tb.TempDir()
	s, err := Open(ctx, Options{Path: from, MinFreeBytes: 1 << 20, Encryption: encryption})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range 30 {
		err := s.Update(ctx, func(tx core.Tx) error {
			for n := range i%3 + 1 {
				if err := tx.PutBatchInput(fmt.Sprint(i), n, bytes.Repeat([]byte("x"), 100*i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	dir = filepath.Join(tb.TempDir(), "image")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		tb.Fatal(err)
	}
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "LOCK")); err != nil {
		tb.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.mem"))
	if err != nil || len(logs) != 1 {
		tb.Fatalf("logs %v, %v", logs, err)
	}
	return dir, logs[0]
}

// Wherever a log breaks off, it is cut just where Badger cuts it: Badger takes what is left as whole for reading only, and
// has the same of it as when it opens the uncut one for writing.
func TestTrimLogAsBadgerDoes(t *testing.T) {
	t.Parallel()
	t.Run("InClear", func(t *testing.T) { testTrimLog(t, nil) })
	t.Run("Encrypted", func(t *testing.T) { testTrimLog(t, newEncryption(t)) })
}

func testTrimLog(t *testing.T, encryption *Encryption) {
	if encryption != nil {
		encryption.Names = true
	}
	dir, name := crashedLog(t, encryption)
	ring, err := openRing(context.Background(), dir, encryption)
	if err != nil {
		t.Fatal(err)
	}
	key := tableKey(ring)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	end, err := endOfLog(bytes.NewReader(whole), keysOfLogs(t, dir, key))
	if err != nil || end <= logHead || end >= int64(len(whole)) {
		t.Fatalf("the log ends at %d of %d, %v", end, len(whole), err)
	}
	// Behind its end are zeros, which no case needs to write.
	size, zeros := int64(len(whole)), whole[end:]
	if bytes.Count(zeros, []byte{0}) != len(zeros) {
		t.Fatal("something is behind the end of the log")
	}
	whole = whole[:end+1]
	damaged := func(at int64, with byte) []byte {
		b := bytes.Clone(whole)
		b[at] ^= with
		return b
	}
	cases := map[string][]byte{"whole": whole, "cut at its end": whole[:end], "nothing but its head": whole[:logHead]}
	for _, at := range []int64{logHead + 1, end / 3, end / 2, end - 200, end - 3} {
		cases[fmt.Sprint("cut at ", at)] = whole[:at]
		cases[fmt.Sprint("damaged at ", at)] = damaged(at, 0x55)
	}
	keys := func(t *testing.T, dir string, readOnly bool) (found []string) {
		db, err := badger.Open(badgerOptions(dir, key, hclog.NewNullLogger()).WithReadOnly(readOnly).WithMemTableSize(2 * memTable))
		if err != nil {
			t.Fatalf("read-only %v: %v", readOnly, err)
		}
		defer func() { _ = db.Close() }()
		err = db.View(func(txn *badger.Txn) error {
			it := txn.NewIterator(badger.DefaultIteratorOptions)
			defer it.Close()
			for it.Rewind(); it.Valid(); it.Next() {
				found = append(found, fmt.Sprintf("%x %d", it.Item().Key(), it.Item().ValueSize()))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if err := os.Remove(name); err != nil { // each case has its own
		t.Fatal(err)
	}
	for title, log := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			both := map[bool][]string{}
			for _, readOnly := range []bool{true, false} {
				copied := filepath.Join(t.TempDir(), "store")
				if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				err := os.WriteFile(filepath.Join(copied, filepath.Base(name)), log, 0o600)
				if err == nil && len(log) == len(whole) {
					err = os.Truncate(filepath.Join(copied, filepath.Base(name)), size)
				}
				if err != nil {
					t.Fatal(err)
				}
				if readOnly {
					if err := trimLogs(copied, key, hclog.NewNullLogger()); err != nil {
						t.Fatal(err)
					}
				}
				both[readOnly] = keys(t, copied, readOnly)
			}
			if fmt.Sprint(both[true]) != fmt.Sprint(both[false]) {
				t.Errorf("%d records after trimming, %d for Badger", len(both[true]), len(both[false]))
			}
		})
	}
}

func FuzzEndOfLog(f *testing.F) {
	_, name := crashedLog(f, nil)
	whole, err := os.ReadFile(name)
	if err != nil {
		f.Fatal(err)
	}
	end, err := endOfLog(bytes.NewReader(whole), inClear)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole[:end])
	f.Add(whole[:end/2])
	f.Add(binary.AppendUvarint([]byte("01234567890123456789\x40\x00"), 1<<63))
	f.Fuzz(func(t *testing.T, log []byte) {
		end, err := endOfLog(bytes.NewReader(log), inClear)
		if err != nil || end < 0 || end > int64(len(log)) {
			t.Fatalf("ends at %d of %d, %v", end, len(log), err)
		}
		if again, err := endOfLog(bytes.NewReader(log[:end]), inClear); err != nil || again != end {
			t.Fatalf("what was cut at %d ends at %d, %v", end, again, err)
		}
	})
}

// keysOfLogs returns what finds the keys of the logs of a store.
func keysOfLogs(t *testing.T, dir string, key []byte) func(id uint64) ([]byte, error) {
	t.Helper()
	registry, err := badger.OpenKeyRegistry(badger.KeyRegistryOptions{Dir: dir, ReadOnly: true, EncryptionKey: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := registry.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(id uint64) ([]byte, error) {
		k, err := registry.DataKey(id)
		return k.GetData(), err
	}
}

// inClear is the key of logs that are not encrypted.
func inClear(uint64) ([]byte, error) { return nil, nil }
