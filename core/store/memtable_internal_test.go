package store

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
)

// A store that an earlier version with larger memtables left behind when it was killed has all it had.
func TestOpenAfterLargerMemtable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir, image := t.TempDir(), t.TempDir()
	s, err := Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := badger.Open(badgerOptions(dir, nil, hclog.NewNullLogger()).WithMemTableSize(4 * memTable))
	if err != nil {
		t.Fatal(err)
	}
	const n = 3 * memTable >> 16
	source := bytes.Repeat([]byte("x"), 1<<16)
	for i := range n {
		err := db.Update(func(txn *badger.Txn) error {
			return txn.Set(appendKey(nil, prefixDefinition, fmt.Sprint(i)), append(make([]byte, 8), source...)) // referred to by none
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// What a kill leaves are the files as they are while the store is open.
	if err := os.CopyFS(image, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(image, "LOCK")); err != nil {
		t.Fatal(err)
	}
	if size, err := largestLog(image); err != nil || size != 8*memTable {
		t.Fatalf("the image has logs of %d bytes, %v", size, err)
	}
	if s, err = Open(ctx, Options{Path: image, MinFreeBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for i := range n {
		if got, err := s.FindDefinition(ctx, fmt.Sprint(i)); err != nil || got != string(source) {
			t.Fatalf("definition %d has %d bytes, %v", i, len(got), err)
		}
	}
	if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutDefinition("hash", "source") }); err != nil {
		t.Fatal(err)
	}
}
