package store

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/store/kv"
)

// note is a migration that leaves a key, so that tests see that it ran and in which order.
func note(to uint32, ran *[]uint32) migration {
	return migration{to: to, what: "note", run: func(context.Context, kv.DB) error {
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
	broken.run = func(context.Context, kv.DB) error { return errors.New("out of luck") }
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
	err = commitWrites(s.db, []write{{key: []byte(keySchema)}, {key: []byte(keySchemaCopy)}, {[]byte("a/agent_1"), []byte("{}")}})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := reopen(t, dir, nil); err == nil || !strings.Contains(err.Error(), "no schema version") {
		t.Fatalf("got %v", err)
	}
}

// A record of the version that cannot be read is made anew from its copy, and the other way round; with neither, the
// start says what to do, and a repair does it.
func TestSchemaUnreadable(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	spoil := func(keys ...string) {
		t.Helper()
		s, err := Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		var writes []write
		for _, key := range keys {
			writes = append(writes, write{[]byte(key), []byte("{\xff")})
		}
		if err := errors.Join(commitWrites(s.db, writes), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range schemaKeys {
		spoil(key)
		if r, err := Check(ctx, CheckOptions{Path: dir}); err != nil || r.Broken != 1 {
			t.Errorf("a check with a broken %s: %+v, %v", key, r, err)
		}
		if v, err := reopen(t, dir, migrations); err != nil || v != schemaVersion(migrations) {
			t.Fatalf("with a broken %s: %d, %v", key, v, err)
		}
		if r, err := Check(ctx, CheckOptions{Path: dir}); err != nil || !r.Well() {
			t.Errorf("after a start with a broken %s: %+v, %v", key, r, err)
		}
	}
	spoil(schemaKeys...)
	if _, err := reopen(t, dir, migrations); err == nil || !strings.Contains(err.Error(), "store repair") {
		t.Fatalf("with neither: %v", err)
	}
	if r, err := Repair(ctx, CheckOptions{Path: dir}, io.Discard, func() error { return nil }); err != nil || r.Broken != 2 {
		t.Fatalf("the repair: %+v, %v", r, err)
	}
	if v, err := reopen(t, dir, migrations); err != nil || v != schemaVersion(migrations) {
		t.Fatalf("after the repair: %d, %v", v, err)
	}
}
