package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/kv"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

// newEncryption has a master key in a file of its own.
func newEncryption(tb testing.TB) *Encryption {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "store.key")
	if err := os.WriteFile(path, []byte(atrest.NewMasterKey().Text()), 0o600); err != nil {
		tb.Fatal(err)
	}
	return &Encryption{Source: atrest.FromFile(path, "")}
}

// filesOf returns the files of a directory but for what a look at it makes.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "LOCK" {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// seedClear makes a store in clear, with large values too, that was killed, and returns what it holds.
func seedClear(t *testing.T, clock core.Clock) (dir string, want map[string]string) {
	t.Helper()
	from := t.TempDir()
	s, err := Open(context.Background(), Options{Path: from, MinFreeBytes: 1 << 20, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	seedPoison(t, s, clock.Now())
	for i := range 3 {
		err := s.Update(context.Background(), func(tx core.Tx) error {
			return tx.PutBatchInput("large", i, bytes.Repeat([]byte("canary-input "), 60_000))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want = keysOf(t, s.db)
	dir = filepath.Join(t.TempDir(), "image")
	if err := errors.Join(os.CopyFS(dir, os.DirFS(from)), os.Remove(filepath.Join(dir, "LOCK")), s.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, want
}

// wantStore checks that a store holds just that. What the start itself writes is left out.
func wantStore(t *testing.T, s *Store, want map[string]string) {
	t.Helper()
	got := keysOf(t, s.db)
	for _, keys := range []map[string]string{got, want} {
		delete(keys, keyClock)
	}
	if !maps.Equal(got, want) {
		for key := range want {
			if got[key] != want[key] {
				t.Errorf("%q is %.40q, want %.40q", key, got[key], want[key])
			}
		}
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
}

// A store in clear is encrypted by the next start, also when each of its steps is killed, and nothing is left in clear.
func TestConvert(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	clock := coretest.NewClock()
	image, want := seedClear(t, clock)
	encryption := newEncryption(t)
	if err := os.WriteFile(filepath.Join(image, "webhooks.key"), []byte("of another part"), 0o600); err != nil {
		t.Fatal(err)
	}
	// All but the last steps, which are then done one after the other.
	first := Options{Path: image, MinFreeBytes: 1 << 20, Clock: clock, Encryption: encryption}
	first.setDefaults()
	if err := convertUntil(t, first); err != nil {
		t.Fatal(err)
	}
	killed := errors.New("killed")
	for n := 0; ; n++ {
		dir := filepath.Join(t.TempDir(), "store")
		if err := os.CopyFS(dir, os.DirFS(image)); err != nil {
			t.Fatal(err)
		}
		opts := Options{Path: dir, MinFreeBytes: 1 << 20, Clock: clock, Encryption: encryption}
		steps := 0
		err := finishConversion(dir, func() error {
			if steps++; steps > n {
				return killed
			}
			return nil
		})
		if err != nil && !errors.Is(err, killed) {
			t.Fatal(err)
		}
		s, openErr := Open(ctx, opts)
		if openErr != nil {
			t.Fatalf("killed before step %d: %v", n, openErr)
		}
		wantStore(t, s, maps.Clone(want))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for name, data := range filesOf(t, dir) {
			if strings.Contains(name, convertDir) || strings.Contains(data, "canary-input") {
				t.Errorf("killed before step %d: %s is left", n, name)
			}
		}
		if data, err := os.ReadFile(filepath.Join(dir, "webhooks.key")); err != nil || string(data) != "of another part" {
			t.Errorf("%q, %v", data, err)
		}
		if err == nil {
			if n < 8 {
				t.Errorf("there were %d steps", n)
			}
			return
		}
	}
}

// convertUntil does what convert does until the copy is whole.
func convertUntil(t *testing.T, opts Options) error {
	t.Helper()
	dir := filepath.Join(opts.Path, convertDir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	ring, err := opts.Encryption.makeRing(context.Background(), dir, opts.Clock.Now())
	if err != nil {
		return err
	}
	from, err := openBadger(opts.Path, nil, opts.Logger)
	if err != nil {
		return err
	}
	to, err := openBadger(dir, ring, opts.Logger)
	if err != nil {
		return err
	}
	err = copyRecords(context.Background(), from, to, &valueSpace{dir: dir}, nil)
	return errors.Join(err, to.Close(), from.Close(), os.Rename(dir, filepath.Join(opts.Path, convertWhole)))
}

// A copy that is killed before any of its commits goes on where it was, whether or not the commit had reached the disk.
func TestCopyResumes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	ring, err := atrest.NewRing(ctx, newEncryption(t).Source, false, time.Now(), func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	from := memory.New()
	for i := range 3500 {
		if err := commitWrites(from, []write{{fmt.Appendf(nil, "key %05d", i), bytes.Repeat([]byte{byte(i)}, i%40*20)}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, kept := range []bool{false, true} {
		for n := 1; ; n++ {
			below := memory.New()
			to := atrest.Seal(below, ring)
			below.Fail(n, kept)
			var last int64
			err := copyRecords(ctx, from, to, &valueSpace{}, func(done, total int64) { last = done })
			failed := err != nil
			if failed {
				err = copyRecords(ctx, from, to, &valueSpace{}, func(done, total int64) { last = done })
			}
			if err := errors.Join(err, sameRecords(ctx, from, to)); err != nil || last != 3500 {
				t.Fatalf("killed at commit %d: %d records, %v", n, last, err)
			}
			if !failed {
				if n < 5 {
					t.Errorf("%d commits", n)
				}
				break
			}
		}
	}
	to := atrest.Seal(memory.New(), ring)
	if err := commitWrites(to, []write{{[]byte("key 00000"), []byte("another")}}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(copyRecords(ctx, from, to, &valueSpace{}, nil), sameRecords(ctx, from, to)); err == nil {
		t.Error("a copy that differs was taken for one that does not")
	}
}

// A key that is missing or wrong, and a ring that is gone, are refused in words, and nothing is touched.
func TestWrongKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	clock := coretest.NewClock()
	dir := t.TempDir()
	right := newEncryption(t)
	s, err := Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20, Clock: clock, Encryption: right})
	if err != nil {
		t.Fatal(err)
	}
	seedPoison(t, s, clock.Now())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clear, _ := seedClear(t, clock)
	cut := filepath.Join(t.TempDir(), "cut")
	gone := filepath.Join(t.TempDir(), "gone")
	if err := errors.Join(os.CopyFS(gone, os.DirFS(dir)), os.Remove(filepath.Join(gone, RingFile)),
		os.CopyFS(cut, os.DirFS(dir)), os.Truncate(filepath.Join(cut, RingFile), 20)); err != nil {
		t.Fatal(err)
	}
	nowhere := &Encryption{Source: atrest.FromFile("/nowhere/key", "")}
	for _, tt := range []struct {
		name       string
		dir        string
		encryption *Encryption
		free       uint64
		want       string
	}{
		{"None", dir, nil, 0, "no key is configured"},
		{"Other", dir, newEncryption(t), 0, "it was encrypted by key"},
		{"Missing", dir, nowhere, 0, "it is not there"},
		{"ClearMissing", clear, nowhere, 0, "it is not there"},
		{"ClearNoRoom", clear, right, 2 << 20, "MiB are needed to copy the store: nothing was changed"},
		{"RingGone", gone, right, 0, "is gone: put it back"},
		{"RingGoneNone", gone, nil, 0, "is gone: put it back"},
		{"RingCut", cut, right, 0, "is damaged"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := filesOf(t, tt.dir)
			opts := Options{Path: tt.dir, MinFreeBytes: 1 << 20, Clock: clock, Encryption: tt.encryption}
			if tt.free > 0 {
				opts.DiskFree = func(string) (uint64, error) { return tt.free, nil }
			}
			s, err := Open(ctx, opts)
			if err == nil {
				_ = s.Close()
				t.Fatal("it opened")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			// Whether the values are sealed is seen once the database is open, which writes out its logs.
			if after := filesOf(t, tt.dir); tt.dir != gone && !maps.Equal(before, after) {
				t.Error("files were changed")
			}
			if _, err := Check(ctx, CheckOptions{Path: tt.dir, Encryption: tt.encryption}); err == nil && tt.dir != clear {
				t.Error("it was checked")
			}
		})
	}
	if data, err := os.ReadFile(filepath.Join(dir, RingFile)); err != nil || os.WriteFile(filepath.Join(gone, RingFile), data, 0o600) != nil {
		t.Fatal(err)
	}
	if report, err := Check(ctx, CheckOptions{Path: gone, Encryption: right}); err != nil || !report.Well() {
		t.Errorf("the ring was put back: %+v, %v", report, err)
	}
	if report, err := Check(ctx, CheckOptions{Path: dir, Encryption: right}); err != nil || !report.Well() {
		t.Errorf("%+v, %v", report, err)
	}
}

// A change of keys while the store is in use leaves every record as it was, under the new key, at whatever commit it was
// killed, and what the former key sealed is gone.
func TestRotateKey(t *testing.T) {
	ctx := context.Background()
	encryption := newEncryption(t)
	for _, kept := range []bool{false, true} {
		for n := range 4 {
			var saved []byte
			save := func(data []byte) error { saved = data; return nil }
			ring, err := atrest.NewRing(ctx, encryption.Source, false, time.Now(), save)
			if err != nil {
				t.Fatal(err)
			}
			clock := coretest.NewClock()
			below := memory.New()
			s, err := OpenOn(ctx, atrest.Seal(below, ring), Options{Clock: clock})
			if err != nil {
				t.Fatal(err)
			}
			seedPoison(t, s, clock.Now())
			want := keysOf(t, s.db)
			below.Fail(n, kept)
			st, err := s.RotateKey(ctx)
			if err != nil || st.DataKey != 2 || !st.Resealing {
				t.Fatalf("%+v, %v", st, err)
			}
			if n == 0 {
				coretest.WaitFor(t, "the records to be sealed anew", func() bool { return !s.EncryptionStatus().Resealing })
				if st := s.EncryptionStatus(); st.Total == 0 || st.Done != st.Total || st.Failed != "" {
					t.Errorf("%+v", st)
				}
			} else {
				coretest.WaitFor(t, "the commit to fail", func() bool {
					st := s.EncryptionStatus()
					return !st.Resealing || st.Failed != ""
				})
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if ring, err = atrest.OpenRing(ctx, encryption.Source, saved, save); err != nil {
				t.Fatal(err)
			}
			db := atrest.Seal(below, ring)
			if s, err = OpenOn(ctx, db, Options{Clock: clock}); err != nil {
				t.Fatal(err)
			}
			coretest.WaitFor(t, "the next process to be through", func() bool { return !s.EncryptionStatus().Resealing })
			wantStore(t, s, maps.Clone(want))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if ring, err = atrest.OpenRing(ctx, encryption.Source, saved, save); err != nil || ring.Status().DataKeys != 1 {
				t.Fatal(err)
			}
			if got := keysOf(t, atrest.Seal(below, ring)); len(got) < len(want) || atrest.Unopened([]byte(got[keySeq])) {
				t.Errorf("%d records, want %d", len(got), len(want))
			}
			for key, value := range keysOf(t, atrest.Seal(below, ring)) {
				if atrest.Unopened([]byte(value)) {
					t.Errorf("killed at commit %d: %q does not open without the former key", n, key)
				}
			}
		}
	}
}

// Readers and writers go on while keys change on disk.
func TestRotateKeyOnDisk(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	clock := coretest.NewClock()
	dir := t.TempDir()
	opts := Options{Path: dir, MinFreeBytes: 1 << 20, Clock: clock, Encryption: newEncryption(t)}
	s, err := Open(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("canary"), 200_000)
	put := func(i int) {
		t.Helper()
		if err := s.Update(ctx, func(tx core.Tx) error {
			return errors.Join(tx.PutBatchInput("b", i, large[:i%3*500_000+1]), tx.SetCursor("c", uint64(i)))
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 {
		put(i)
	}
	for round := range 2 {
		if _, err := s.RotateKey(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RotateKey(ctx); err != nil && core.ErrorCode(err) != core.CodeConflict {
			t.Fatal(err)
		}
		for i := range 10 {
			put(30 + 10*round + i)
		}
		coretest.WaitFor(t, "the records to be sealed anew", func() bool { return !s.EncryptionStatus().Resealing })
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(ctx, opts); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for i := range 50 {
		if got, err := s.FindBatchInput(ctx, "b", i); err != nil || !bytes.Equal(got, large[:i%3*500_000+1]) {
			t.Fatalf("input %d: %d bytes, %v", i, len(got), err)
		}
	}
}

// No section of the store takes bytes that do not open for a record, and no single one of them keeps the store from starting.
func TestEachRecordChanged(t *testing.T) {
	ctx := context.Background()
	ring, err := atrest.NewRing(ctx, newEncryption(t).Source, false, time.Now(), func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	clock := coretest.NewClock()
	seeded := func() (*memory.DB, map[string]string) {
		below := memory.New()
		s, err := OpenOn(ctx, atrest.Seal(below, ring), Options{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		seedPoison(t, s, clock.Now())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return below, keysOf(t, below)
	}
	below, stored := seeded()
	looked := 0
	for key, value := range stored {
		if value == "" {
			continue
		}
		if looked++; looked%20 == 0 { // what starts and lists change adds up
			below, _ = seeded()
		}
		bad := []byte(value)
		bad[len(bad)-1] ^= 1
		if err := commitWrites(below, []write{{[]byte(key), bad}}); err != nil {
			t.Fatal(err)
		}
		s, err := OpenOn(ctx, atrest.Seal(below, ring), Options{Clock: clock})
		if err != nil {
			t.Fatalf("%q: %v", key, err)
		}
		err = s.view(ctx, func(txn kv.Snapshot) error {
			return scan(txn, nil, nil, true, func(key, value []byte) (bool, error) {
				if atrest.Unopened(value) && checkRecord(key, value) == nil {
					t.Errorf("%q is taken for a record", key)
				}
				return true, nil
			})
		})
		_, _, lists := s.FindExecutions(ctx, core.ExecutionFilter{})
		_, _, log := s.Log(ctx, 0, 0)
		if err := errors.Join(err, lists, log, s.Close()); err != nil {
			t.Errorf("%q: %v", key, err)
		}
	}
	if looked < 50 {
		t.Errorf("%d records", looked)
	}
}

// An encrypted store on a full disk serves reads, after a crash too.
func TestEncryptedOnFullDisk(t *testing.T) {
	ctx := context.Background()
	encryption := newEncryption(t)
	dir, _ := crashedLog(t, encryption)
	if err := os.RemoveAll(filepath.Join(dir, ballastFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, badger.ManifestFilename)); err != nil {
		t.Fatal(err)
	}
	s, err := Open(ctx, Options{
		Path: dir, MinFreeBytes: 1 << 20, Encryption: encryption, DiskFree: func(string) (uint64, error) { return 1000, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if got, err := s.FindBatchInput(ctx, "29", 1); err != nil || len(got) != 2900 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := s.RotateKey(ctx); err == nil {
		t.Error("the key was changed")
	}
}

// Nothing of any kind of record can be read in the files of an encrypted store, and with names not even its key.
func TestNothingInClear(t *testing.T) {
	t.Parallel()
	t.Run("Values", func(t *testing.T) { testNothingInClear(t, false, "canary-value") })
	t.Run("Names", func(t *testing.T) { testNothingInClear(t, true, "canary") })
}

func testNothingInClear(t *testing.T, names bool, canary string) {
	ctx := context.Background()
	dir := t.TempDir()
	encryption := newEncryption(t)
	encryption.Names = names
	s, err := Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20, Encryption: encryption})
	if err != nil {
		t.Fatal(err)
	}
	err = s.update(ctx, false, func(t *tx) error {
		var errs []error
		for _, section := range tables {
			for _, value := range []string{"canary-value", strings.Repeat("canary-value ", 60_000)} {
				key := fmt.Sprintf("%scanary-name-%d", section.prefix, len(value))
				errs = append(errs, t.set([]byte(key), []byte(value)))
			}
		}
		return errors.Join(errs...)
	})
	if err != nil {
		t.Fatal(err)
	}
	look := func(when string) {
		t.Helper()
		for name, data := range filesOf(t, dir) {
			if strings.Contains(data, canary) {
				t.Errorf("%s: %s holds what was stored", when, name)
			}
		}
	}
	look("while it runs") // logs and the value log
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	look("at rest") // tables
}
