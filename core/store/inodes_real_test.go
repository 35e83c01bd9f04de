//go:build linux

package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
)

// A file system on which no more files can be made has room, and tables cannot be written: a merge that cannot make one
// would go on without it. So writes are refused before, what was acknowledged is there, and they go on once files can be made.
func TestNoMoreFiles(t *testing.T) {
	disk := smallDisk(t, 512)
	dir := filepath.Join(disk, "store")
	s, err := store.Open(ctx, store.Options{Path: dir, MinFreeBytes: 48 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	random := rand.NewChaCha8([32]byte{}) // what does not compress
	value := make([]byte, 64<<10)
	stored, refused := 0, error(nil)
	write := func() error {
		_, _ = random.Read(value) // it always succeeds
		err := s.Update(ctx, func(tx core.Tx) error { return tx.PutBatchInput("batch_1", stored, value) })
		if err == nil {
			stored++
		}
		return err
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	crowd := filepath.Join(disk, "crowd")
	if err := os.Mkdir(crowd, 0o700); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		f, err := os.Create(filepath.Join(crowd, fmt.Sprint(n)))
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for refused == nil && stored < 4000 {
		refused = write()
	}
	wantReason(t, refused, "store_read_only")
	if _, reason := s.State(); reason == "" {
		t.Error("no reason is told")
	}
	if err := os.RemoveAll(crowd); err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "the store to take writes again", func() bool { return write() == nil })
	for n := range stored {
		if got, err := s.FindBatchInput(ctx, "batch_1", n); err != nil || len(got) != len(value) {
			t.Fatalf("%d of %d: %d bytes, %v", n, stored, len(got), err)
		}
	}
}
