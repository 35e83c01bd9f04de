//go:build linux

package store_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// dumpOf makes the dump of a store with values of that size that do not compress, in a file.
func dumpOf(t *testing.T, size, total int) *os.File {
	t.Helper()
	s := mustOpen(t, store.Options{})
	value := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(value)
	for from := 0; from < total/size; from += 16 {
		mustUpdate(t, s, func(tx core.Tx) error {
			for i := from; i < min(from+16, total/size); i++ {
				if err := tx.PutBatchInput("batch_1", i, value); err != nil {
					return err
				}
			}
			return nil
		})
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "dump"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if _, err := s.Dump(ctx, f, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	return f
}

// A restore onto a disk that is too small is refused with what is missing, and leaves nothing there.
func TestRestoreDiskFills(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct{ size, total, disk int }{"Small": {400_000, 48 << 20, 40}, "Large": {2 << 20, 108 << 20, 100}} {
		t.Run(name, func(t *testing.T) {
			dump := dumpOf(t, of.size, of.total)
			disk := smallDisk(t, of.disk)
			_, err := store.Restore(ctx, dump, filepath.Join(disk, "store"), nil, nil)
			if err == nil || !strings.Contains(err.Error(), "the disk is full") {
				t.Errorf("got %v", err)
			}
			if left, err := os.ReadDir(disk); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

// A restore onto a disk that is full already is refused before the database, which dies there, is opened.
func TestRestoreOnFullDisk(t *testing.T) {
	t.Parallel()
	dump, disk := dumpOf(t, 1<<10, 4<<10), smallDisk(t, 1)
	fill, err := os.Create(filepath.Join(disk, "fill"))
	if err != nil {
		t.Fatal(err)
	}
	n, _ := fill.Write(make([]byte, 2<<20)) // as much as there is room for
	if err := errors.Join(fill.Truncate(int64(n)-16<<10), fill.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = store.Restore(ctx, dump, filepath.Join(disk, "store"), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(disk); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

// live is a reader that notes what the process holds in memory while it is read.
type live struct {
	r     io.Reader
	read  int
	bytes uint64 // the most
}

func (l *live) Read(p []byte) (n int, err error) {
	n, err = l.r.Read(p)
	if before := l.read; (before+n)>>24 != before>>24 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		l.bytes = max(l.bytes, m.HeapAlloc)
	}
	l.read += n
	return n, err
}

// Large values are written as they come, however many of them follow each other.
func TestRestoreHoldsLittle(t *testing.T) {
	const total = 96 << 20
	r := &live{r: dumpOf(t, 1<<20, total)}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if _, err := store.Restore(ctx, r, filepath.Join(t.TempDir(), "store"), nil, nil); err != nil {
		t.Fatal(err)
	}
	if held := int64(r.bytes) - int64(before.HeapAlloc); held > total/2 {
		t.Errorf("the restore held %d MiB of %d", held>>20, total>>20)
	}
}
