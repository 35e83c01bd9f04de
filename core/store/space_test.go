package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
)

// disk is a file system whose free space a test sets.
type disk struct {
	free   atomic.Uint64
	broken atomic.Bool
}

func (d *disk) Free(string) (uint64, error) {
	if d.broken.Load() {
		return 0, errors.New("input/output error")
	}
	return d.free.Load(), nil
}

// room gives the space back before the store is closed, which takes some.
func (d *disk) room(t *testing.T) {
	t.Cleanup(func() {
		d.free.Store(1 << 30)
		d.broken.Store(false)
	})
}

func TestReadOnly(t *testing.T) {
	const budget = 1 << 20
	var d disk
	d.free.Store(10 * budget)
	clock := coretest.NewClock()
	s := mustOpen(t, store.Options{MinFreeBytes: budget, DiskFree: d.Free, Clock: clock})
	d.room(t)
	mustUpdate(t, s, appendEvent("one"))

	d.free.Store(budget - 1)
	wantReason(t, s.Update(ctx, appendEvent("one")), "store_read_only") // at once, not a second later
	if readOnly, reason := s.State(); !readOnly || reason == "" {
		t.Fatalf("state: %v %q", readOnly, reason)
	}
	if events, _, err := s.Events(ctx, "one", 0, 0); err != nil || len(events) != 1 {
		t.Fatalf("reads must go on: %v, %v", events, err)
	}
	if _, err := s.Retain(ctx, store.Policy{Executions: time.Hour, Events: time.Nanosecond}); err != nil {
		t.Fatalf("retention makes room, so it must go on: %v", err)
	}

	d.free.Store(budget + budget/8) // above the budget, but not by enough
	wantReason(t, s.Update(ctx, appendEvent("one")), "store_read_only")

	d.free.Store(budget * 2)
	coretest.WaitFor(t, "the monitor's timer", func() bool { return clock.Pending() > 0 })
	coretest.WaitFor(t, "the store to be writable, though nobody writes", func() bool {
		clock.Advance(time.Second)
		readOnly, _ := s.State()
		return !readOnly
	})
	mustUpdate(t, s, appendEvent("one"))

	d.broken.Store(true) // what cannot be measured counts as full
	wantReason(t, s.Update(ctx, appendEvent("one")), "store_read_only")
	d.broken.Store(false)
	mustUpdate(t, s, appendEvent("one"))

	d.free.Store(budget / 4)
	_, err := s.Retain(ctx, store.Policy{Events: time.Nanosecond})
	if events, _, _ := s.Log(ctx, 0, 0); len(events) > 0 && err == nil {
		t.Fatal("not even retention may write below half of the budget")
	}
}

// Without a writer the monitor turns the store read-only, so that health says it before a request fails.
func TestMonitorSeesLowSpace(t *testing.T) {
	var d disk
	d.free.Store(10 << 20)
	clock := coretest.NewClock()
	s := mustOpen(t, store.Options{MinFreeBytes: 1 << 20, DiskFree: d.Free, Clock: clock})
	d.room(t)
	d.free.Store(1)
	coretest.WaitFor(t, "the store to be read-only", func() bool {
		clock.Advance(time.Second)
		readOnly, _ := s.State()
		return readOnly
	})
	if got := s.Stats().FreeBytes; got != 1 {
		t.Fatalf("free bytes: %d", got)
	}
}

func TestOpenOnFullDisk(t *testing.T) {
	var d disk
	d.free.Store(1 << 18)
	_, err := store.Open(ctx, store.Options{Path: t.TempDir(), MinFreeBytes: 1 << 20, DiskFree: d.Free})
	if err == nil || !strings.Contains(err.Error(), "free on disk") {
		t.Fatalf("got %v", err)
	}
	d.broken.Store(true)
	if _, err := store.Open(ctx, store.Options{Path: t.TempDir(), MinFreeBytes: 1 << 20, DiskFree: d.Free}); err == nil {
		t.Fatal("it opened though the space is unknown")
	}
}

// The write-ahead log has its blocks before anything is written into it.
func TestLogIsReserved(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, store.Options{Path: dir})
	mustUpdate(t, s, appendEvent("one"))
	logs, err := filepath.Glob(filepath.Join(dir, "*.mem"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	for _, path := range logs {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Blocks*512 < info.Size() {
			t.Fatalf("%s has %d bytes, but blocks for %d", path, info.Size(), st.Blocks*512)
		}
	}
}

// On a full disk neither a change nor its record is written, and the chain goes on where it ended.
func TestAuditOnFullDisk(t *testing.T) {
	const budget = 1 << 20
	var d disk
	d.free.Store(10 * budget)
	clock := coretest.NewClock()
	seal := func(dst []byte, sequence uint64, _ core.AuditHash) ([]byte, time.Time, core.AuditHash) {
		return append(dst, "{}"...), clock.Now(), core.AuditHash{byte(sequence)}
	}
	s := mustOpen(t, store.Options{MinFreeBytes: budget, DiskFree: d.Free, Clock: clock, Audit: func(_ context.Context, tx core.AuditTx) error {
		return tx.AppendAudit(seal)
	}})
	d.room(t)
	mustUpdate(t, s, appendEvent("one"))
	d.free.Store(budget - 1)
	wantReason(t, s.Update(ctx, appendEvent("one")), "store_read_only")
	wantReason(t, s.RecordAudit(ctx, func(tx core.AuditTx) error { return tx.AppendAudit(seal) }), "store_read_only")
	if head := s.AuditHead(); head.Sequence != 1 || head.Hash[0] != 1 || s.LastSeq() != 1 {
		t.Errorf("%+v", head)
	}
	d.free.Store(10 * budget)
	coretest.WaitFor(t, "room", func() bool {
		clock.Advance(time.Second)
		return s.Update(ctx, appendEvent("one")) == nil
	})
	if head := s.AuditHead(); head.Sequence != 2 || head.Hash[0] != 2 || head.First != 1 {
		t.Errorf("%+v", head)
	}
}
