package file

import (
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// records are n sealed records behind a sequence.
func records(after uint64, n int, actor string) []audit.Record {
	var list []audit.Record
	var last trail.Hash
	for i := range n {
		r := wire.AuditRecord{
			Sequence: after + uint64(i) + 1, EventID: fmt.Sprintf("aud_%s%d", actor, after+uint64(i)), Timestamp: time.Unix(1_800_000_000+int64(i), 0),
			Category: wire.AuditAdmin, Action: "keys.create", Outcome: wire.AuditSuccess, Actor: wire.AuditActor{Type: "user", ID: actor},
			Resource: wire.AuditResource{Type: "keys"},
		}
		var line []byte
		line, last = trail.AppendSealed(nil, &r, last)
		list = append(list, audit.Record{Sequence: r.Sequence, Time: r.Timestamp, JSON: line})
	}
	return list
}

func options(t *testing.T) Options {
	return Options{Path: filepath.Join(t.TempDir(), "audit.log"), MaxSize: 1 << 20, Sync: syncAlways, Interval: time.Hour}
}

func start(t testing.TB, o Options) *Sink {
	t.Helper()
	s := New(o)
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Open(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t *testing.T, s *Sink, list []audit.Record) uint64 {
	t.Helper()
	last, err := s.Write(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	return last
}

// all reads every file of a sink, the oldest first.
func all(t *testing.T, s *Sink) []byte {
	t.Helper()
	s.packing.Wait()
	var text []byte
	for _, path := range append(s.former(), s.o.Path) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var in io.Reader = f
		if strings.HasSuffix(path, ".gz") {
			if in, err = gzip.NewReader(f); err != nil {
				t.Fatal(err)
			}
		}
		data, err := io.ReadAll(in)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		text = append(text, data...)
	}
	return text
}

func sound(t *testing.T, text []byte, want int) {
	t.Helper()
	v := &trail.Verifier{Keys: []ed25519.PublicKey{make([]byte, 32)}}
	if err := trail.VerifyFile(bytes.NewReader(text), v); err != nil {
		t.Fatal(err)
	}
	if r := v.Report(); !r.OK || r.Records != want {
		t.Errorf("%d records of %d, %+v", r.Records, want, r.Findings)
	}
}

func TestRotation(t *testing.T) {
	o := options(t)
	o.MaxSize, o.Compress = 64<<10, true
	s := start(t, o)
	list := records(0, 1000, "ann")
	for len(list) > 0 {
		write(t, s, list[:100])
		list = list[100:]
	}
	text := all(t, s)
	sound(t, text, 1000)
	former := s.former()
	if len(former) < 3 || !strings.HasSuffix(former[0], ".log.gz") {
		t.Errorf("former files: %v", former)
	}
	for _, path := range append(former, o.Path) {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || info.Size() > 70<<10 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}

func TestAgeAndMaxFiles(t *testing.T) {
	o := options(t)
	now := time.Unix(1_800_000_000, 0)
	o.Now, o.MaxAge, o.MaxFiles = func() time.Time { return now }, time.Hour, 2
	s := start(t, o)
	for i := range 5 {
		write(t, s, records(uint64(i*10), 10, "ann"))
		now = now.Add(2 * time.Hour)
		s.packing.Wait()
	}
	if got := s.former(); len(got) != 2 {
		t.Errorf("former files: %v", got)
	}
}

// A line that a crash cut off is written again, and nothing that is there is written twice.
// Files that a clock made which ran ahead are not taken for the newest ones: those of records that come later would go in their place.
func TestClockSetBack(t *testing.T) {
	o := options(t)
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	o.MaxSize, o.MaxFiles, o.Now = 1, 3, func() time.Time { return now }
	s := start(t, o)
	list := records(0, 12, "ann")
	for i := range list {
		if i == 6 {
			now = now.AddDate(-5, 0, 0)
		}
		write(t, s, list[i:i+1]) // to a file of its own
		s.packing.Wait()
	}
	var want []byte
	for _, r := range list[8:] {
		want = append(append(want, r.JSON...), '\n')
	}
	if got := all(t, s); !bytes.Equal(got, want) {
		t.Errorf("kept are\n%s\nwant\n%s", got, want)
	}
}

func TestCrash(t *testing.T) {
	o := options(t)
	s := start(t, o)
	list := records(0, 20, "ann")
	write(t, s, list[:10])
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(o.Path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(list[10].JSON[:50])
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	s = start(t, o)
	if last := write(t, s, list[5:]); last != 20 {
		t.Errorf("durable up to %d", last)
	}
	sound(t, all(t, s), 20)
	// After an older dump was restored the same sequences come with another content: they are kept as well.
	other := records(15, 3, "bob")
	write(t, s, other)
	for _, r := range other {
		if !bytes.Contains(all(t, s), r.JSON) {
			t.Errorf("record %d of the other trail is not there", r.Sequence)
		}
	}
}

// Whoever moves the file gets a new one, with a signal or without.
func TestMoved(t *testing.T) {
	o := options(t)
	s := start(t, o)
	list := records(0, 30, "ann")
	write(t, s, list[:10])
	if err := os.Rename(o.Path, o.Path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, s, list[10:20])
	s.Reopen()
	write(t, s, list[20:])
	first, _ := os.ReadFile(o.Path + ".1")
	second, _ := os.ReadFile(o.Path)
	sound(t, first, 10)
	sound(t, append(first, second...), 30)
}

// Whoever copies the file and cuts it, as logrotate does with copytruncate, finds each record in one of both.
func TestCut(t *testing.T) {
	for _, size := range []int64{0, 10} { // with the begin of a line
		o := options(t)
		s := start(t, o)
		list := records(0, 30, "ann")
		write(t, s, list[:20])
		first, _ := os.ReadFile(o.Path)
		if err := os.Truncate(o.Path, size); err != nil {
			t.Fatal(err)
		}
		if last := write(t, s, list[20:]); last != 30 {
			t.Errorf("durable up to %d", last)
		}
		second, _ := os.ReadFile(o.Path)
		sound(t, append(first, second...), 30)
	}
}

// What is in a file that was moved counts as durable only once that file is synced.
func TestMovedBeforeItIsSynced(t *testing.T) {
	o := options(t)
	o.Sync = syncInterval
	s := start(t, o)
	list := records(0, 20, "ann")
	write(t, s, list[:10])
	if err := errors.Join(os.Rename(o.Path, o.Path+".1"), s.f.Close()); err != nil { // a closed file cannot be synced
		t.Fatal(err)
	}
	s.Reopen()
	if last, err := s.Write(t.Context(), list[10:]); last != 0 || err == nil {
		t.Errorf("durable up to %d, %v", last, err)
	}
	write(t, s, list)
	text, _ := os.ReadFile(o.Path)
	sound(t, text, 20)
}

func TestFsync(t *testing.T) {
	o := options(t)
	o.Sync = syncInterval
	s := start(t, o)
	if last := write(t, s, records(0, 10, "ann")); last != 0 {
		t.Errorf("durable up to %d before anything was synced", last)
	}
	if last, err := s.Flush(t.Context()); err != nil || last != 10 {
		t.Errorf("%d, %v", last, err)
	}
	o = options(t)
	o.Sync = syncNever
	s = start(t, o)
	if last := write(t, s, records(0, 10, "ann")); last != 10 {
		t.Errorf("durable up to %d", last)
	}
}

// What a failed sync leaves in the file may never get to disk, though the file shows it and the next sync succeeds: it is written
// again when it comes again.
func TestFailedSync(t *testing.T) {
	for _, policy := range []string{syncAlways, syncInterval} {
		t.Run(policy, func(t *testing.T) {
			o := options(t)
			o.Sync = policy
			s := start(t, o)
			list := records(0, 6, "ann")
			write(t, s, list[:2])
			if last, err := s.Flush(t.Context()); last != 2 || err != nil {
				t.Fatal(last, err)
			}
			kept := all(t, s)
			s.fsync = func(*os.File) error { return syscall.EIO }
			last, err := s.Write(t.Context(), list[2:])
			if err == nil {
				last, err = s.Flush(t.Context())
			}
			if last != 2 || audit.AsError(err).Code != audit.CodeUnavailable {
				t.Fatalf("durable is %d, %v", last, err)
			}
			if text := all(t, s); !bytes.Equal(text, kept) {
				t.Errorf("the file shows %d bytes of records that may not be on disk", len(text)-len(kept))
			}
			s.fsync = (*os.File).Sync
			if _, err := s.Open(t.Context(), 3); err != nil {
				t.Fatal(err)
			}
			write(t, s, list[2:])
			if last, err := s.Flush(t.Context()); last != 6 || err != nil {
				t.Errorf("durable is %d, %v", last, err)
			}
			sound(t, all(t, s), 6)
		})
	}
}

func TestFailures(t *testing.T) {
	o := options(t)
	s := start(t, o)
	list := records(0, 10, "ann")
	write(t, s, list[:5])
	// Its directory becomes a file: the sink says so, and goes on when that is over.
	dir := filepath.Dir(o.Path)
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(t.Context(), list[5:]); audit.AsError(err).Code != audit.CodeUnavailable {
		t.Errorf("%v", err)
	}
	if err := errors.Join(os.Remove(dir), os.Rename(dir+".away", dir)); err != nil {
		t.Fatal(err)
	}
	if last := write(t, s, list[5:]); last != 10 {
		t.Errorf("durable up to %d", last)
	}
	sound(t, all(t, s), 10)
	if e := failure("write", &os.PathError{Op: "write", Err: syscall.ENOSPC}); e.Code != audit.CodeFull || !e.Retry {
		t.Errorf("%+v", e)
	}
	if err := os.Symlink("/dev/null", o.Path+".link"); err != nil {
		t.Fatal(err)
	}
	o.Path += ".link"
	if _, err := New(o).Open(t.Context(), 1); err == nil {
		t.Error("a symbolic link was followed")
	}
}

func TestSettings(t *testing.T) {
	for text, want := range map[string]string{
		`{"rotation": {"maxSize": "1KiB"}}`: "rotation.maxSize: must be at least 64KiB", `{"rotation": {"maxSize": "big"}}`: "rotation.maxSize: is not a size",
		`{"rotation": {"maxAge": "soon"}}`: "rotation.maxAge", `{"interval": "2h"}`: "interval", `{"path": "audit.log"}`: "path: must be absolute",
	} {
		if _, err := parse(json.RawMessage(text), "/state"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	o, err := parse(json.RawMessage(`{"rotation": {"maxSize": 1048576, "maxAge": "0s", "compress": true, "maxFiles": 3}, "fsync": "interval", "interval": "2s"}`), "/state")
	if err != nil || o.Path != "/state/audit.log" || o.MaxSize != 1<<20 || o.MaxAge != 0 || !o.Compress || o.MaxFiles != 3 || o.Sync != syncInterval || o.Interval != 2*time.Second {
		t.Errorf("%+v, %v", o, err)
	}
}

// How many records a second the sink takes, each batch forced to disk.
func BenchmarkWrite(b *testing.B) {
	o := Options{Path: filepath.Join(b.TempDir(), "audit.log"), MaxSize: 100 << 20, MaxAge: time.Hour, Sync: syncAlways}
	o.Now = time.Now
	s := start(b, o)
	const batch = 1000
	list := records(0, batch, "ann")
	next := uint64(0)
	for b.Loop() {
		for i := range list {
			next++
			list[i].Sequence = next
		}
		s.recent = nil
		s.recent = map[uint64][32]byte{}
		if _, err := s.Write(b.Context(), list); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "records/s")
}
