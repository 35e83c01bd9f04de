package atrest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/kv"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

var (
	ctx = context.Background()
	now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// keyFile writes keys, the first one first.
func keyFile(tb testing.TB, keys ...atrest.MasterKey) string {
	tb.Helper()
	text := "# a comment\n\n"
	for _, k := range keys {
		text += k.Text() + "\n"
	}
	path := filepath.Join(tb.TempDir(), "store.key")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// ring makes one, and returns what it saved last.
func ring(tb testing.TB, source atrest.KeySource) (*atrest.Ring, *[]byte) {
	tb.Helper()
	saved := new([]byte)
	r, err := atrest.NewRing(ctx, source, true, now, func(data []byte) error {
		*saved = data
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return r, saved
}

func set(tb testing.TB, db kv.DB, key, value string) {
	tb.Helper()
	b := db.Begin()
	defer b.Discard()
	if err := errors.Join(b.Set([]byte(key), []byte(value)), b.Commit()); err != nil {
		tb.Fatal(err)
	}
}

func get(tb testing.TB, db kv.DB, key string) []byte {
	tb.Helper()
	s := db.Snapshot()
	defer s.Discard()
	var got []byte
	if _, err := s.Get([]byte(key), func(v []byte) error { got = append([]byte{}, v...); return nil }); err != nil {
		tb.Fatal(err)
	}
	return got
}

// A value reads as it was written, and as none that is known once anything of it was changed.
func TestRecords(t *testing.T) {
	source := atrest.FromFile(keyFile(t, atrest.NewMasterKey()), "")
	r, saved := ring(t, source)
	below := memory.New()
	db := atrest.Seal(below, r)
	values := map[string]string{"a": "canary one", "b": "canary one", "empty": "", "large": strings.Repeat("canary", 100_000)}
	for key, value := range values {
		set(t, db, key, value)
	}
	if bytes.Equal(get(t, below, "a"), get(t, below, "b")) {
		t.Error("the same value is stored twice in the same way")
	}
	again, err := atrest.OpenRing(ctx, source, *saved, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range values {
		if bytes.Contains(get(t, below, key), []byte("canary")) {
			t.Errorf("%s is stored in clear", key)
		}
		if got := get(t, atrest.Seal(below, again), key); string(got) != value {
			t.Errorf("%s is %.20q after another open", key, got)
		}
	}
	stored := get(t, below, "a")
	broken := map[string][]byte{
		"swapped": get(t, below, "b"), "in clear": []byte(`{"forged":true}`), "short": stored[:10], "cut": stored[:len(stored)-1],
		"longer": append(bytes.Clone(stored), 0), "another key": func() []byte {
			other, _ := ring(t, source)
			return other.Seal([]byte("a"), []byte("canary one"))
		}(),
	}
	for i := range stored {
		flipped := bytes.Clone(stored)
		flipped[i] ^= 1
		broken[fmt.Sprintf("bit of byte %d", i)] = flipped
	}
	for what, value := range broken {
		set(t, below, "a", string(value))
		if got := get(t, db, "a"); !atrest.Unopened(got) || bytes.Contains(got, []byte("canary")) {
			t.Errorf("%s: reads as %q", what, got)
		}
	}
	it := db.Snapshot().Iterate(nil, true)
	defer it.Close()
	it.Seek([]byte("large"))
	if err := it.Value(func(v []byte) error {
		if string(v) != values["large"] || it.Size() != int64(len(v)) {
			t.Errorf("%d bytes, told as %d", len(v), it.Size())
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// After a change of keys what is there reads as before, is told to be stale, and does not read without the former key.
func TestRotate(t *testing.T) {
	first, second := atrest.NewMasterKey(), atrest.NewMasterKey()
	path := keyFile(t, first)
	r, saved := ring(t, atrest.FromFile(path, ""))
	below := memory.New()
	db := atrest.Seal(below, r)
	set(t, db, "old", "canary")
	if err := os.WriteFile(path, []byte(second.Text()+"\n"+first.Text()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Rotate(ctx, now); err != nil {
		t.Fatal(err)
	}
	if s := r.Status(); s.MasterKey != second.ID() || s.DataKey != 2 || s.DataKeys != 2 {
		t.Errorf("%+v", s)
	}
	set(t, db, "new", "canary")
	only := atrest.FromFile(keyFile(t, second), "") // the first one is not needed any more
	for _, dropped := range []bool{false, true} {
		if dropped {
			if err := r.Drop(); err != nil {
				t.Fatal(err)
			}
		}
		again, err := atrest.OpenRing(ctx, only, *saved, nil)
		if err != nil {
			t.Fatal(err)
		}
		db := atrest.Seal(below, again)
		if got := get(t, db, "new"); string(got) != "canary" {
			t.Errorf("%q", got)
		}
		if got := get(t, db, "old"); atrest.Unopened(got) != dropped {
			t.Errorf("%q", got)
		}
	}
	it := db.Snapshot().Iterate(nil, false)
	defer it.Close()
	for key, want := range map[string]bool{"old": true, "new": false} {
		it.Seek([]byte(key))
		if stale, err := db.Stale(it); stale != want || err != nil {
			t.Errorf("%s: %v, %v", key, stale, err)
		}
	}
}

// slowSource is a source whose Wrap waits for release, once waiting is set.
type slowSource struct {
	atrest.KeySource
	waiting          atomic.Bool
	entered, release chan struct{}
}

func (s *slowSource) Wrap(ctx context.Context, key []byte, about string) (atrest.Wrapped, error) {
	if s.waiting.Swap(false) {
		close(s.entered)
		<-s.release
	}
	return s.KeySource.Wrap(ctx, key, about)
}

// While a slow source wraps keys, the ring tells how it stands, and what is stored is read and written.
func TestRotateSlowly(t *testing.T) {
	source := &slowSource{
		KeySource: atrest.FromFile(keyFile(t, atrest.NewMasterKey()), ""), entered: make(chan struct{}), release: make(chan struct{}),
	}
	r, _ := ring(t, source)
	db := atrest.Seal(memory.New(), r)
	source.waiting.Store(true)
	rotated, read := make(chan error, 1), make(chan atrest.RingStatus, 1)
	go func() { rotated <- r.Rotate(ctx, now) }()
	<-source.entered
	go func() {
		set(t, db, "key", "value")
		_ = r.TableKey()
		read <- r.Status()
	}()
	select {
	case s := <-read:
		if s.DataKey != 1 {
			t.Errorf("%+v", s)
		}
	case <-time.After(10 * time.Second):
		t.Error("the ring is not readable while the source wraps")
	}
	close(source.release)
	if err := <-rotated; err != nil {
		t.Fatal(err)
	}
	if s := r.Status(); s.DataKey != 2 {
		t.Errorf("%+v", s)
	}
}

// A source without the key says which one it lacks, and shows none.
func TestSources(t *testing.T) {
	key, other := atrest.NewMasterKey(), atrest.NewMasterKey()
	r, saved := ring(t, atrest.FromFile(keyFile(t, key), key.ID()))
	_ = r
	open := keyFile(t, key)
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	t.Setenv("STORE_KEY", key.Text())
	t.Setenv("STORE_KEY_BAD", strings.Replace(key.Text(), key.ID(), other.ID(), 1))
	t.Setenv("CREDENTIALS_DIRECTORY", filepath.Dir(open))
	for _, tt := range []struct {
		name   string
		source atrest.KeySource
		want   string // "": it opens
	}{
		{"File", atrest.FromFile(keyFile(t, other, key), ""), ""},
		{"Environment", atrest.FromEnvironment("STORE_KEY", key.ID()), ""},
		{"Credential", atrest.FromCredential("store.key", ""), ""},
		{"Other", atrest.FromFile(keyFile(t, other), ""), "it was encrypted by key " + key.ID() + ", and the file"},
		{"Missing", atrest.FromFile("/nowhere/store.key", ""), "it is not there"},
		{"Readable", atrest.FromFile(open, ""), "others may read it (mode 0640)"},
		{"Unset", atrest.FromEnvironment("STORE_KEY_NOT", ""), "it is not set"},
		{"Changed", atrest.FromEnvironment("STORE_KEY_BAD", ""), "line 1 was changed"},
		{"KeyID", atrest.FromEnvironment("STORE_KEY", other.ID()), "keyId says " + other.ID()},
		{"NoCredential", atrest.FromCredential("other", ""), "it is not there"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := atrest.OpenRing(ctx, tt.source, *saved, nil)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !errors.Is(err, atrest.ErrKey) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			if secret := key.Text()[len(key.Text())-43:]; strings.Contains(err.Error(), secret) {
				t.Error("the error shows the key")
			}
		})
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, key); text != "master key "+key.ID() {
			t.Errorf("%s shows %q", format, text)
		}
	}
}

// A sealed file reads as what was written, or not to its end.
func TestFiles(t *testing.T) {
	source := atrest.FromFile(keyFile(t, atrest.NewMasterKey()), "")
	for _, size := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 300_000} {
		content := bytes.Repeat([]byte("canary!"), size/7+1)[:size]
		e, err := atrest.NewEnvelope(ctx, source)
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		w, err := atrest.NewWriter(&file, e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, iotest.HalfReader(bytes.NewReader(content))); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		read := func(data []byte) ([]byte, error) {
			r, err := atrest.NewReader(ctx, bytes.NewReader(data), source)
			if err != nil {
				return nil, err
			}
			return io.ReadAll(r)
		}
		whole := file.Bytes()
		if sealed, _, err := atrest.Sealed(bytes.NewReader(whole)); !sealed || err != nil || bytes.Contains(whole, []byte("canary")) {
			t.Errorf("%d bytes: sealed %v, %v", size, sealed, err)
		}
		if got, err := read(whole); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%d bytes: %d read, %v", size, len(got), err)
		}
		for n := 0; n < len(whole); n += 1 + len(whole)/50 {
			if _, err := read(whole[:n]); !errors.Is(err, atrest.ErrFile) {
				t.Fatalf("%d bytes, cut to %d of %d: %v", size, n, len(whole), err)
			}
			bad := bytes.Clone(whole)
			bad[n] ^= 4
			if got, err := read(bad); err == nil && !bytes.Equal(got, content) {
				t.Fatalf("%d bytes, changed at %d: unnoticed", size, n)
			}
		}
		if _, err := read(append(bytes.Clone(whole), 0)); !errors.Is(err, atrest.ErrFile) {
			t.Errorf("%d bytes, and one more: %v", size, err)
		}
	}
}

// FuzzOpen reads records of any bytes: none panics, and none but the true one reads as a record.
func FuzzOpen(f *testing.F) {
	r, _ := ring(f, atrest.FromFile(keyFile(f, atrest.NewMasterKey()), ""))
	below := memory.New()
	db := atrest.Seal(below, r)
	whole := r.Seal([]byte("k"), []byte("value"))
	f.Add([]byte("k"), whole)
	f.Add([]byte("l"), whole)
	f.Add([]byte("k"), whole[:20])
	f.Add([]byte("k"), []byte("{}"))
	f.Fuzz(func(t *testing.T, key, stored []byte) {
		if len(key) == 0 || len(stored) == 0 || string(key) == "k" && bytes.Equal(stored, whole) {
			return
		}
		set(t, below, string(key), string(stored))
		if got := get(t, db, string(key)); !atrest.Unopened(got) {
			t.Fatalf("%q reads as %q", stored, got)
		}
	})
}

// FuzzReader reads files of any bytes.
func FuzzReader(f *testing.F) {
	source := atrest.FromFile(keyFile(f, atrest.NewMasterKey()), "")
	e, err := atrest.NewEnvelope(ctx, source)
	if err != nil {
		f.Fatal(err)
	}
	var file bytes.Buffer
	w, err := atrest.NewWriter(&file, e)
	if err != nil {
		f.Fatal(err)
	}
	_, _ = w.Write([]byte("content"))
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add([]byte("WRSEAL\r\n\xff\xff\xff\xff"))
	f.Add(file.Bytes()[:40])
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := atrest.NewReader(ctx, bytes.NewReader(data), source)
		if err != nil {
			return
		}
		if got, err := io.ReadAll(r); err == nil && string(got) != "content" {
			t.Fatalf("reads as %q", got)
		}
	})
}

// FuzzParseMasterKeys reads key files of any text.
func FuzzParseMasterKeys(f *testing.F) {
	f.Add([]byte(atrest.NewMasterKey().Text()))
	f.Add([]byte("# nothing\n"))
	f.Add([]byte("wardroom-store-key-1:0011223344556677:AAAA"))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := atrest.ParseMasterKeys(text)
		if (err == nil) != (len(keys) > 0) {
			t.Fatal(keys, err)
		}
		for _, k := range keys {
			if again, err := atrest.ParseMasterKeys([]byte(k.Text())); err != nil || again[0] != k {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	r, _ := ring(b, atrest.FromFile(keyFile(b, atrest.NewMasterKey()), ""))
	for _, size := range []int{64, 1024, 16 << 10} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			value := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				r.Seal([]byte("x/exec_01"), value)
			}
		})
	}
}
