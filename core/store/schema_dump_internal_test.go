package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/kv"
)

// former opens a store with migrations, and closes it.
func former(t *testing.T, opts Options, steps []migration) error {
	t.Helper()
	if opts.MinFreeBytes == 0 {
		opts.MinFreeBytes = 1 << 20
	}
	s, err := open(context.Background(), opts, steps)
	if err != nil {
		return err
	}
	return s.Close()
}

// mark is a migration that leaves a key, and then fails if the test says so.
func mark(to uint32, failure error) migration {
	return migration{to: to, what: "mark", run: func(_ context.Context, db kv.DB) error {
		return errors.Join(commitWrites(db, []write{{[]byte{'~', byte(to)}, []byte("x")}}), failure)
	}}
}

func schemaOfDump(t *testing.T, path string) (schema uint32, records uint64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := Verify(bytes.NewReader(data), nil)
	if err != nil {
		t.Fatal(err)
	}
	return sum.Schema, sum.Records
}

// Before the first migration the store is dumped; a migration that was cut goes on with the dump of before it.
func TestDumpBeforeMigration(t *testing.T) {
	dir := t.TempDir()
	lasting, during := filepath.Join(dir, formerDump), filepath.Join(dir, migratingDump)
	if err := former(t, Options{Path: dir}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(lasting); !os.IsNotExist(err) {
		t.Fatalf("a new store was dumped: %v", err)
	}
	cut := errors.New("power cut")
	if err := former(t, Options{Path: dir}, []migration{mark(2, nil), mark(3, cut)}); !errors.Is(err, cut) {
		t.Fatalf("got %v", err)
	}
	if schema, _ := schemaOfDump(t, during); schema != 1 {
		t.Fatalf("the dump has schema version %d", schema)
	}
	before, err := os.ReadFile(during)
	if err != nil {
		t.Fatal(err)
	}
	if err := former(t, Options{Path: dir}, []migration{mark(2, nil), mark(3, nil)}); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(lasting); err != nil || !bytes.Equal(before, after) {
		t.Fatalf("the dump was made again: %v", err)
	}
	if _, err := os.Stat(during); !os.IsNotExist(err) {
		t.Fatalf("two dumps: %v", err)
	}
	// The program of before is told the way back, and the dump is one for it.
	err = former(t, Options{Path: dir}, []migration{mark(2, nil)})
	if err == nil || !strings.Contains(err.Error(), "schema version 3") || !strings.Contains(err.Error(), lasting) {
		t.Fatalf("got %v", err)
	}
	f, err := os.Open(lasting)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	back := filepath.Join(t.TempDir(), "store")
	if _, err := Restore(context.Background(), f, back, nil, nil); err != nil {
		t.Fatal(err)
	}
	if v, err := reopen(t, back, nil); err != nil || v != 1 {
		t.Fatalf("the restored store has schema %d, %v", v, err)
	}
	// The next one takes its place, and it goes by age.
	if err := former(t, Options{Path: dir}, []migration{mark(2, nil), mark(3, nil), mark(4, nil)}); err != nil {
		t.Fatal(err)
	}
	if schema, _ := schemaOfDump(t, lasting); schema != 3 {
		t.Fatalf("the dump has schema version %d", schema)
	}
	if err := os.Chtimes(lasting, time.Time{}, time.Now().Add(-formerLife-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := former(t, Options{Path: dir}, []migration{mark(2, nil), mark(3, nil), mark(4, nil)}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(lasting); !os.IsNotExist(err) {
		t.Fatalf("an old dump stays: %v", err)
	}
}

// A clock that is ahead at a start does not take the way back: the dump is as old as the time that is known to have passed.
func TestDumpBeforeMigrationAfterClockStep(t *testing.T) {
	ctx := context.Background()
	clock := coretest.NewStepClock()
	opts := Options{Path: t.TempDir(), MinFreeBytes: 1 << 20, Clock: clock}
	steps := []migration{mark(2, nil)}
	if err := errors.Join(former(t, opts, nil), former(t, opts, steps)); err != nil {
		t.Fatal(err)
	}
	dump := filepath.Join(opts.Path, formerDump)
	if err := os.Chtimes(dump, clock.Now(), clock.Now()); err != nil {
		t.Fatal(err)
	}
	s, err := open(ctx, opts, steps)
	if err != nil {
		t.Fatal(err)
	}
	s.keepClock(ctx) // as RunMaintenance does
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clock.Step(10 * formerLife)
	if err := former(t, opts, steps); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dump); err != nil {
		t.Error(err)
	}
}

// Without room for the dump nothing is migrated and nothing is left; one that is to be migrated without a dump has none.
func TestDumpBeforeMigrationNoRoom(t *testing.T) {
	dir := t.TempDir()
	if err := former(t, Options{Path: dir}, nil); err != nil {
		t.Fatal(err)
	}
	looks := 0
	opts := Options{Path: dir, MinFreeBytes: 64 << 20, DiskFree: func(string) (uint64, error) {
		if looks++; looks > 1 { // there was enough to open it
			return 70 << 20, nil
		}
		return 1 << 40, nil
	}}
	err := former(t, opts, []migration{mark(2, nil)})
	if !errors.Is(err, errFull) || !strings.Contains(err.Error(), "from schema version 1 to 2") || !strings.Contains(err.Error(), "dumpBeforeMigration") {
		t.Fatalf("got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.dump*")); len(left) > 0 {
		t.Fatalf("left: %v", left)
	}
	if v, err := reopen(t, dir, nil); err != nil || v != 1 {
		t.Fatalf("schema %d, %v", v, err)
	}
	if err := former(t, Options{Path: dir, NoMigrationDump: true}, []migration{mark(2, nil)}); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.dump*")); len(left) > 0 {
		t.Fatalf("left: %v", left)
	}
}

// The dump of an encrypted store is encrypted too.
func TestDumpOfEncryptedStoreBeforeMigration(t *testing.T) {
	ctx := context.Background()
	opts := Options{Path: t.TempDir(), Encryption: newEncryption(t)}
	for _, steps := range [][]migration{nil, {mark(2, nil)}} {
		if err := former(t, opts, steps); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(opts.Path, formerDump))
	if err != nil {
		t.Fatal(err)
	}
	sealed, _, err := atrest.Sealed(bytes.NewReader(data))
	if err != nil || !sealed {
		t.Fatalf("sealed: %t, %v", sealed, err)
	}
	plain, err := atrest.NewReader(ctx, bytes.NewReader(data), opts.Encryption.Source)
	if err != nil {
		t.Fatal(err)
	}
	if sum, err := Verify(plain, nil); err != nil || sum.Schema != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// A dump of before a migration that was made in clear is encrypted once the store is, and keeps its age.
func TestDumpBeforeMigrationIsEncryptedLater(t *testing.T) {
	cut := errors.New("power cut")
	for name, failure := range map[string]error{formerDump: nil, migratingDump: cut} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			canary := migration{to: 2, what: "a secret", run: func(_ context.Context, db kv.DB) error {
				return commitWrites(db, []write{{[]byte("~2"), []byte("canary-of-the-store")}})
			}}
			if err := former(t, Options{Path: dir, NoMigrationDump: true}, []migration{canary}); err != nil {
				t.Fatal(err)
			}
			if err := former(t, Options{Path: dir}, []migration{canary, mark(3, failure)}); !errors.Is(err, failure) {
				t.Fatal(err)
			}
			made := time.Now().Add(-20 * 24 * time.Hour).Truncate(time.Second)
			if err := os.Chtimes(filepath.Join(dir, name), made, made); err != nil {
				t.Fatal(err)
			}
			encryption := newEncryption(t)
			if err := former(t, Options{Path: dir, Encryption: encryption}, []migration{canary, mark(3, nil)}); err != nil {
				t.Fatal(err)
			}
			for path, data := range filesOf(t, dir) {
				if strings.Contains(data, "canary-of-the-store") {
					t.Errorf("%s is in clear", filepath.Base(path))
				}
			}
			f, err := os.Open(filepath.Join(dir, formerDump))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			if info, err := f.Stat(); err != nil || !info.ModTime().Equal(made) {
				t.Errorf("%v, %v, want the time %v", info, err, made)
			}
			plain, err := atrest.NewReader(context.Background(), f, encryption.Source)
			if err != nil {
				t.Fatal(err)
			}
			if sum, err := Verify(plain, nil); err != nil || sum.Schema != 2 {
				t.Errorf("%+v, %v", sum, err)
			}
		})
	}
}
