package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

var updateDump = flag.Bool("update-dump", false, "write the dump of the present schema to testdata")

// everything stores at least one record of each kind.
func everything(tb testing.TB, s *store.Store) {
	tb.Helper()
	mustUpdate(tb, s, func(tx core.Tx) error {
		for i, status := range core.ExecutionStatuses {
			if err := tx.PutExecution(execution(idAt(start, i+1), "vote", status)); err != nil {
				return err
			}
		}
		claim := &core.IdempotencyClaim{Scope: "me", Key: "k", BodyHash: "b"}
		done := start.Add(time.Second)
		return errors.Join(
			tx.PutPattern(&core.Pattern{Name: "vote", Version: "1.0.0", Source: "name: vote", Hash: "hash-vote", CreatedAt: start}),
			tx.PutDefinition("hash-vote", "name: vote"),
			tx.PutBatch(&core.Batch{ID: "batch_1", Status: core.BatchRunning, Total: 1, CreatedAt: start}),
			tx.PutBatch(&core.Batch{ID: "batch_0", Status: core.BatchCompleted, CreatedAt: start, CompletedAt: &done}),
			tx.PutBatchInput("batch_1", 0, []byte(`{"text":"a"}`)),
			tx.PutBatchResult("batch_1", core.BatchResult{Index: 0, Status: core.ExecutionRunning}),
			tx.PutAgent(&core.AgentRecord{Agent: core.Agent{ID: "agent_1", Status: core.AgentConnected, ConnectedAt: start}}),
			tx.ClaimIdempotency(claim, "exec_1", start),
			tx.Append(core.Event{Type: core.EventPatternCreated, ID: "evt_1", Subject: "vote", Time: start, Data: []byte(`{}`)},
				core.Event{Type: core.EventTaskCompleted, Subject: idAt(start, 1), Time: start}),
		)
	})
	if err := s.SetCursor(ctx, "webhooks", 1); err != nil {
		tb.Fatal(err)
	}
}

// snapshot reads all that everything stored.
func snapshot(tb testing.TB, s *store.Store) []any {
	tb.Helper()
	var all []any
	add := func(v any, err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, v)
	}
	list, info, err := s.FindExecutions(ctx, core.ExecutionFilter{})
	add(list, err)
	add(info, nil)
	for _, status := range core.ExecutionStatuses {
		list, info, err := s.FindExecutions(ctx, core.ExecutionFilter{Pattern: "vote", Statuses: []core.ExecutionStatus{status}})
		add(list, err)
		add(info, nil)
	}
	counts, err := s.CountExecutions(ctx)
	add(counts, err)
	patterns, err := s.AllPatterns(ctx)
	add(patterns, err)
	source, err := s.FindDefinition(ctx, "hash-vote")
	add(source, err)
	batches, err := s.ActiveBatches(ctx)
	add(batches, err)
	ended, err := s.FindBatch(ctx, "batch_0")
	add(ended, err)
	input, err := s.FindBatchInput(ctx, "batch_1", 0)
	add(input, err)
	agents, err := s.AllAgents(ctx)
	add(agents, err)
	rec, err := s.FindIdempotency(ctx, "me", "k", start)
	add(rec, err)
	log, _, err := s.Log(ctx, 0, 0)
	add(log, err)
	events, _, err := s.Events(ctx, idAt(start, 1), 0, 0)
	add(events, err)
	cursor, err := s.Cursor(ctx, "webhooks")
	add(cursor, err)
	return all
}

func TestDumpAndRestore(t *testing.T) {
	s := mustOpen(t, store.Options{})
	everything(t, s)
	dump := mustDump(t, s)
	verified, err := store.Verify(bytes.NewReader(dump), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "new", "store")
	restored, err := store.Restore(ctx, iotest.OneByteReader(bytes.NewReader(dump)), dir, nil, nil)
	if err != nil || restored != verified {
		t.Fatalf("%+v, %v, want %+v", restored, err, verified)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatal(info.Mode(), err)
	}
	again := mustOpen(t, store.Options{Path: dir})
	if got, want := snapshot(t, again), snapshot(t, s); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v\nwant %+v", got, want)
	}
	if got := mustDump(t, again); !bytes.Equal(got, dump) {
		t.Fatal("the dump of the restored store differs")
	}
	list := []core.Event{{Type: core.EventTaskCompleted, Subject: "one", Time: start}}
	mustUpdate(t, again, func(tx core.Tx) error { return tx.Append(list...) })
	if list[0].Seq != 3 {
		t.Fatalf("sequence goes on at %d, want 3", list[0].Seq)
	}
}

// Dumps of former schema versions must be readable for ever, and the present one has its own. Run with -update-dump only to
// make that.
func TestGoldenDump(t *testing.T) {
	s := mustOpen(t, store.Options{Clock: fixedClock()})
	everything(t, s)
	present := store.SchemaVersion()
	if *updateDump {
		if err := os.WriteFile(fmt.Sprintf("testdata/v%d.dump", present), mustDump(t, s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range []uint32{1, 3, 4, 5, 6, present} { // none of 2 was kept
		f, err := os.Open(fmt.Sprintf("testdata/v%d.dump", version))
		if err != nil {
			t.Fatalf("%v: make the dump of a new schema with -update-dump, and name its predecessor here", err)
		}
		dir := filepath.Join(t.TempDir(), "store")
		sum, err := store.Restore(ctx, f, dir, nil, nil)
		_ = f.Close()
		if err != nil || sum.Schema != version {
			t.Fatalf("%+v, %v", sum, err)
		}
		old := mustOpen(t, store.Options{Path: dir})
		want := snapshot(t, s)
		if version < 4 {
			unattributed(want)
		}
		if got := snapshot(t, old); !reflect.DeepEqual(got, want) {
			t.Fatalf("schema %d: got %+v\nwant %+v", version, got, want)
		}
		_, err = os.Stat(filepath.Join(dir, "before-migration.dump"))
		if dumped := err == nil; dumped != (version < present) {
			t.Errorf("schema %d: dumped before the migration: %t, %v", version, dumped, err)
		}
	}
}

// unattributed takes the principals off the events of a snapshot: those before schema 4 had none.
func unattributed(list []any) {
	for _, of := range list {
		if events, ok := of.([]core.Event); ok {
			for i := range events {
				events[i].By = ""
			}
		}
	}
}

// Whatever byte is missing or wrong, nothing is kept.
func TestDamagedDump(t *testing.T) {
	s := mustOpen(t, store.Options{})
	mustUpdate(t, s, appendEvent("one"))
	dump := mustDump(t, s)
	for n := range dump {
		if _, err := store.Verify(bytes.NewReader(dump[:n]), nil); !errors.Is(err, store.ErrDump) {
			t.Fatalf("cut after %d of %d bytes: %v", n, len(dump), err)
		}
		for bit := range 8 {
			flipped := bytes.Clone(dump)
			flipped[n] ^= 1 << bit
			if _, err := store.Verify(bytes.NewReader(flipped), nil); !errors.Is(err, store.ErrDump) {
				t.Fatalf("bit %d of byte %d flipped: %v", bit, n, err)
			}
		}
	}
	if _, err := store.Verify(bytes.NewReader(append(bytes.Clone(dump), 0)), nil); !errors.Is(err, store.ErrDump) {
		t.Fatalf("one byte more: %v", err)
	}
	parent := t.TempDir()
	for _, n := range []int{0, 20, len(dump) / 2, len(dump) - 1} {
		if _, err := store.Restore(ctx, bytes.NewReader(dump[:n]), filepath.Join(parent, "store"), nil, nil); !errors.Is(err, store.ErrDump) {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
		if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
			t.Fatalf("a failed restore left %v, %v", left, err)
		}
	}
}

func TestRestoreErrors(t *testing.T) {
	s := mustOpen(t, store.Options{})
	dump := mustDump(t, s)
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Restore(ctx, bytes.NewReader(dump), full, nil, nil); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Fatalf("got %v", err)
	}
	if _, err := store.Restore(ctx, bytes.NewReader(dump), filepath.Join(full, "file"), nil, nil); err == nil {
		t.Fatal("it was restored over a file")
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := store.Restore(cancelled, bytes.NewReader(dump), filepath.Join(full, "new"), nil, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if _, err := store.Restore(ctx, iotest.ErrReader(errRefused), filepath.Join(full, "new"), nil, nil); !errors.Is(err, errRefused) {
		t.Fatalf("got %v", err)
	}
	newer := resum(dump, func(b []byte) { // schema 9 in header and record
		binary.BigEndian.PutUint32(b[12:], 9)
		at := bytes.Index(b, []byte("meta/schema")) + len("meta/schema")
		binary.BigEndian.PutUint32(b[at:], 9)
	})
	_, err := store.Restore(ctx, bytes.NewReader(newer), filepath.Join(full, "new"), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "schema version 9") {
		t.Fatalf("got %v", err)
	}
	mixed := resum(dump, func(b []byte) { binary.BigEndian.PutUint32(b[12:], 9) })
	if _, err := store.Restore(ctx, bytes.NewReader(mixed), filepath.Join(full, "new"), nil, nil); !errors.Is(err, store.ErrDump) {
		t.Fatalf("got %v", err)
	}
	if left, err := os.ReadDir(full); err != nil || len(left) != 1 {
		t.Fatalf("failed restores left %v, %v", left, err)
	}
	if _, err := s.Dump(ctx, failingWriter{}, nil); !errors.Is(err, errRefused) {
		t.Fatalf("got %v", err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errRefused }

// resum changes a dump and mends its checksum.
func resum(dump []byte, change func(b []byte)) []byte {
	b := bytes.Clone(dump)
	change(b)
	body := b[:len(b)-sha256.Size]
	sum := sha256.Sum256(body)
	return append(body, sum[:]...)
}

func FuzzVerify(f *testing.F) {
	s := mustOpen(f, store.Options{})
	mustUpdate(f, s, appendEvent("one"))
	f.Add(mustDump(f, s))
	f.Add([]byte("WRDUMP\r\n\x00\x00\x00\x01\x00\x00\x00\x01\xFF\xFF\xFF\xFF"))
	f.Fuzz(func(t *testing.T, b []byte) {
		sum, err := store.Verify(bytes.NewReader(b), nil)
		if err == nil && sum != func() store.Summary { s, _ := store.Verify(bytes.NewReader(b), nil); return s }() {
			t.Fatal("two reads differ")
		}
		if err != nil && !errors.Is(err, store.ErrDump) {
			t.Fatal(err)
		}
	})
}
