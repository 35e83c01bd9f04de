package store

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/wardroom/wardroom/core"
)

// note is a migration that leaves a key, so that tests see that it ran and in which order.
func note(to uint32, ran *[]uint32) migration {
	return migration{to: to, what: "note", run: func(context.Context, *badger.DB) error {
		*ran = append(*ran, to)
		return nil
	}}
}

func reopen(t *testing.T, dir string, steps []migration) (uint32, error) {
	t.Helper()
	s, err := open(context.Background(), Options{Path: dir, MinFreeBytes: 1 << 20}, steps)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	return readSchema(s.db)
}

func TestMigrations(t *testing.T) {
	dir := t.TempDir()
	var ran []uint32
	if v, err := reopen(t, dir, nil); err != nil || v != 1 {
		t.Fatalf("a new store has schema %d, %v", v, err)
	}
	two, three, four := note(2, &ran), note(3, &ran), note(4, &ran)
	if v, err := reopen(t, dir, []migration{two}); err != nil || v != 2 || len(ran) != 1 {
		t.Fatalf("schema %d, %v, ran %v", v, err, ran)
	}
	broken := three
	broken.run = func(context.Context, *badger.DB) error { return errors.New("out of luck") }
	_, err := reopen(t, dir, []migration{two, broken, four})
	if err == nil || !strings.Contains(err.Error(), "from schema version 2 to 3 (note): out of luck") {
		t.Fatalf("got %v", err)
	}
	if v, err := reopen(t, dir, []migration{two, three, four}); err != nil || v != 4 || len(ran) != 3 || ran[1] != 3 {
		t.Fatalf("schema %d, %v, ran %v", v, err, ran)
	}
	if v, err := reopen(t, dir, []migration{two, three, four}); err != nil || v != 4 || len(ran) != 3 {
		t.Fatalf("schema %d, %v, ran %v again", v, err, ran)
	}
	_, err = reopen(t, dir, []migration{two})
	if err == nil || !strings.Contains(err.Error(), "schema version 4") || !strings.Contains(err.Error(), "up to 2") {
		t.Fatalf("a newer store must be refused naming both versions: %v", err)
	}
	_, err = reopen(t, dir, []migration{two, three, four, note(6, &ran)})
	if err == nil || !strings.Contains(err.Error(), "from schema version 4 to 5") {
		t.Fatalf("a gap must be refused: %v", err)
	}
}

func TestSchemaMissing(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(context.Background(), Options{Path: dir, MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	err = commitWrites(s.db, []write{{key: []byte(keySchema)}, {[]byte("a/agent_1"), []byte("{}")}})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := reopen(t, dir, nil); err == nil || !strings.Contains(err.Error(), "no schema version") {
		t.Fatalf("got %v", err)
	}
}

// A damaged record is an internal error that names nothing to the caller, and the key to the log.
func TestDamagedRecords(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, Options{Path: t.TempDir(), MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	id := core.PrefixExecution + "01JABCDEFGHJKMNPQRSTVWXYZ0"
	err = commitWrites(s.db, []write{
		{appendKey(nil, prefixExecution, id), []byte("{")},
		{appendPatternKey(nil, "vote", "1"), []byte("{")},
		{appendKey(nil, prefixDefinition, "h"), []byte("x")},
		{appendKey(nil, prefixBatch, "batch_1"), []byte("{")},
		{appendKey(nil, prefixBatchActive, "batch_1"), []byte{}},
		{appendKey(nil, prefixAgent, "agent_1"), []byte("{")},
		{appendJournalKey(nil, "one", 1), []byte{9}},
		{appendLogKey(nil, 1), []byte("one")},
		{appendLogKey(nil, 2), []byte("gone")},
		{appendKey(nil, prefixCursor, "c"), []byte("x")},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.seq.Store(2) // those below were written past the writer
	for name, call := range map[string]func() error{
		"Execution":  func() error { _, err := s.FindExecution(ctx, id); return err },
		"Executions": func() error { _, _, err := s.FindExecutions(ctx, core.ExecutionFilter{}); return err },
		"Patterns":   func() error { _, err := s.AllPatterns(ctx); return err },
		"Definition": func() error { _, err := s.FindDefinition(ctx, "h"); return err },
		"Batch":      func() error { _, err := s.ActiveBatches(ctx); return err },
		"Agents":     func() error { _, err := s.AllAgents(ctx); return err },
		"Events":     func() error { _, err := s.Events(ctx, "one", 0, 0); return err },
		"Log":        func() error { _, err := s.Log(ctx, 0, 0); return err },
		"LogGone":    func() error { _, err := s.Log(ctx, 1, 0); return err },
		"Cursor":     func() error { _, err := s.Cursor(ctx, "c"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			err := call()
			if core.ErrorCode(err) != core.CodeInternal || core.AsError(err).Message != "internal error" {
				t.Fatalf("got %v", err)
			}
		})
	}
}
