package file

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/audit"
)

// Options are those of a Sink. Path is needed.
type Options struct {
	Path     string // absolute
	MaxSize  int64  // bytes from which on a new file is begun
	MaxAge   time.Duration
	Compress bool
	MaxFiles int // former files that are kept; 0: all
	Sync     string
	Interval time.Duration
	Logger   hclog.Logger     // nil: nothing is logged
	Now      func() time.Time // nil: time.Now
}

// known is how many records back one that comes again is recognised.
const known = 4096

// tailBytes is how much of a file is read to find its last records.
const tailBytes = 4 << 20

// Sink writes files. It is a audit.Sink.
type Sink struct {
	o       Options
	log     hclog.Logger
	reopen  atomic.Bool
	packing sync.WaitGroup // compression under way
	packed  sync.Mutex     // one at a time
	fsync   func(f *os.File) error

	mu       sync.Mutex // guards all below
	f        *os.File   // nil: not open
	size     int64
	kept     int64     // bytes of the file that are on disk
	began    time.Time // when the file was begun
	last     uint64    // sequence written last; 0: none is known
	durable  uint64
	synced   time.Time
	recent   map[uint64][sha256.Size]byte
	recalled bool // the newest former file was looked at
	buf      bytes.Buffer
	closed   bool
}

// New makes a sink. It opens nothing.
func New(o Options) *Sink {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Sink{o: o, log: o.Logger, fsync: (*os.File).Sync, recent: map[uint64][sha256.Size]byte{}}
}

// Reopen has the file opened anew before the next record.
func (s *Sink) Reopen() { s.reopen.Store(true) }

// Open implements audit.Sink.
func (s *Sink) Open(context.Context, uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return 0, failure("open", err)
	}
	s.packFormer()
	return s.durable, nil
}

// open opens the file and finds its end. mu is held.
func (s *Sink) open() error {
	if s.f != nil && s.durable < s.last { // it may be another file than the one that is there now
		if err := s.sync(); err != nil {
			return err
		}
	}
	s.shut()
	if s.closed {
		return fs.ErrClosed
	}
	if err := os.MkdirAll(filepath.Dir(s.o.Path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(s.o.Path, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is no regular file")
	}
	if err == nil {
		err = lock(f)
	}
	if err == nil {
		if info.Size() < tailBytes { // else it has all that is remembered
			s.recall()
		}
		err = s.findEnd(f, info.Size())
	}
	if err == nil {
		err = s.fsync(f)
	}
	if err == nil {
		err = syncDir(filepath.Dir(s.o.Path))
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	s.f, s.kept, s.synced = f, s.size, s.o.Now()
	s.durable = s.last
	s.reopen.Store(false)
	return nil
}

// errInUse is the error of a file that another sink has.
var errInUse = errors.New("another process writes the file")

// lock takes a file until it is closed: a sink cuts off what another one writes at its end. Where the file system has no locks there is
// none.
func lock(f *os.File) error {
	if errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		return errInUse
	}
	return nil
}

// shut closes the file. mu is held.
func (s *Sink) shut() {
	if s.f != nil {
		if err := s.f.Close(); err != nil {
			s.log.Warn("closing the file", "error", err)
		}
		s.f = nil
	}
}

// drop closes the file after a failure. What is not durable counts as written only if open finds it. mu is held.
func (s *Sink) drop() {
	s.shut()
	s.last = s.durable
	maps.DeleteFunc(s.recent, func(sequence uint64, _ [sha256.Size]byte) bool { return sequence > s.durable })
}

// findEnd cuts off a line that a crash left without its end, and remembers the last records. mu is held.
func (s *Sink) findEnd(f *os.File, size int64) error {
	in, at, err := tail(f, size)
	if err != nil {
		return err
	}
	n, rest, err := s.scan(in)
	if err != nil {
		return err
	}
	if !partOfRecord(rest) {
		return errors.New("its end is no part of a record: is it the file of another program?")
	}
	if len(rest) > 0 {
		s.log.Warn("a record was cut off by a crash; it is written again", "bytes", len(rest))
	}
	at += n
	s.size = at
	s.began = s.firstTime(f)
	return f.Truncate(at)
}

// tail returns the lines at the end of a file, and where they begin.
func tail(f *os.File, size int64) (in *bufio.Reader, at int64, err error) {
	from := max(size-tailBytes, 0)
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, 0, err
	}
	in = bufio.NewReaderSize(f, 256<<10)
	if from > 0 { // the first line may be a part of one
		part, err := in.ReadBytes('\n')
		if err != nil {
			return nil, 0, errors.New("its last line is longer than any record: is it the file of another program?")
		}
		from += int64(len(part))
	}
	return in, from, nil
}

// scan remembers the records of lines, and returns the bytes of those and what follows the last of them. mu is held.
func (s *Sink) scan(in *bufio.Reader) (n int64, rest []byte, err error) {
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return n, line, nil
		}
		if err != nil {
			return n, nil, err
		}
		n += int64(len(line))
		var r struct {
			Sequence uint64 `json:"sequence"`
		}
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if json.Unmarshal(line, &r) == nil && r.Sequence > 0 {
			s.remember(r.Sequence, line)
		}
	}
}

// partOfRecord reports whether a line without its end may be a record that a crash cut off, or what file systems put in place of one.
func partOfRecord(line []byte) bool {
	const begin = `{"sequence":`
	line = bytes.TrimRight(line, "\x00")
	return string(line[:min(len(line), len(begin))]) == begin[:min(len(line), len(begin))]
}

// firstTime returns when the file was begun: the time of its first record. mu is held.
func (s *Sink) firstTime(f *os.File) time.Time {
	begin := make([]byte, 512)
	n, _ := f.ReadAt(begin, 0) // a short file is read to its end
	const name = `"timestamp":"`
	if i := bytes.Index(begin[:n], []byte(name)); i >= 0 {
		text, _, _ := bytes.Cut(begin[i+len(name):n], []byte{'"'})
		if t, err := time.Parse(time.RFC3339Nano, string(text)); err == nil {
			return t
		}
	}
	return s.o.Now()
}

func (s *Sink) remember(sequence uint64, line []byte) {
	s.recent[sequence] = sha256.Sum256(line)
	s.last = sequence
	if sequence > known {
		delete(s.recent, sequence-known)
	}
}

// Write implements audit.Sink. A record that is there already, to the byte, is not written twice.
func (s *Sink) Write(_ context.Context, batch []audit.Record) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := audit.CheckGaps(batch); err != nil {
		return s.durable, err
	}
	if len(batch) == 0 {
		return s.durable, nil
	}
	if err := s.ready(); err != nil {
		return 0, failure("open", err)
	}
	// What is durable is reported for this batch: a sequence of a former trail must not be taken for it.
	before := batch[0].Sequence - 1
	s.durable = min(s.durable, before)
	for len(batch) > 0 {
		n, err := s.append(batch)
		if err != nil {
			s.drop() // the end of the file is found anew
			return s.durable, failure("write", err)
		}
		batch = batch[n:]
	}
	if s.o.Sync == syncAlways || s.o.Sync == syncInterval && s.o.Now().Sub(s.synced) >= s.o.Interval {
		if err := s.sync(); err != nil {
			return s.durable, failure("sync", err)
		}
	} else if s.o.Sync == syncNever {
		s.durable = s.last
	}
	return s.durable, nil
}

// ready opens the file if it is not, or if somebody moved it or cut it. mu is held.
func (s *Sink) ready() error {
	if s.f != nil && !s.reopen.Load() {
		mine, err := s.f.Stat()
		if err != nil {
			return err
		}
		now, err := os.Stat(s.o.Path)
		if err == nil && os.SameFile(mine, now) && mine.Size() == s.size {
			return nil
		}
	}
	return s.open()
}

// append writes as many records as the file has room for, at least one, and returns how many. mu is held.
func (s *Sink) append(batch []audit.Record) (int, error) {
	if now := s.o.Now(); s.began.After(now) { // the clock was set back: the age counts from then on
		s.began = now
	}
	if s.size > 0 && (s.size >= s.o.MaxSize || s.o.MaxAge > 0 && s.o.Now().Sub(s.began) >= s.o.MaxAge) {
		if err := s.rotate(); err != nil {
			return 0, err
		}
	}
	if s.size == 0 && !batch[0].Time.IsZero() {
		s.began = s.o.Now()
	}
	s.buf.Reset()
	n := 0
	for _, r := range batch {
		if n > 0 && s.size+int64(s.buf.Len()) >= s.o.MaxSize {
			break
		}
		n++
		if have, ok := s.recent[r.Sequence]; ok && have == sha256.Sum256(r.JSON) {
			s.last = r.Sequence
			continue
		}
		s.buf.Write(r.JSON)
		s.buf.WriteByte('\n')
	}
	if written, err := s.f.Write(s.buf.Bytes()); err != nil {
		if written > 0 {
			err = errors.Join(err, s.f.Truncate(s.size)) // no half of a line stays
		}
		return 0, err
	}
	s.size += int64(s.buf.Len())
	for _, r := range batch[:n] {
		s.remember(r.Sequence, r.JSON)
	}
	return n, nil
}

// sync forces what was written to disk. mu is held.
func (s *Sink) sync() error {
	if err := s.fsync(s.f); err != nil {
		if s.o.Sync != syncNever { // else it counts as durable, and does not come again
			// What of it is on disk is not known, and the system takes it for written from now on: the next sync, of a file that
			// shows it all, would succeed. It is written again.
			err = errors.Join(err, s.f.Truncate(s.kept))
		}
		s.drop()
		return err
	}
	s.durable, s.kept, s.synced = s.last, s.size, s.o.Now()
	return nil
}

// Flush implements audit.Sink.
func (s *Sink) Flush(context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil || s.durable == s.last {
		return s.durable, nil
	}
	if err := s.sync(); err != nil {
		return s.durable, failure("sync", err)
	}
	return s.durable, nil
}

// Close ends the sink; what was written is on disk then.
func (s *Sink) Close() error {
	s.mu.Lock()
	s.closed = true
	var err error
	if s.f != nil {
		err = s.f.Sync()
		s.shut()
	}
	s.mu.Unlock()
	s.packing.Wait()
	return err
}

// failure words an error of the file system for an operator. Paths are theirs.
func failure(what string, err error) *audit.Error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e := audit.Errorf(audit.CodeFull, "%s: no room is left on disk", what)
		e.Hint = "free some, or lower rotation.maxFiles; records are kept until then"
		return e
	case errors.Is(err, errInUse):
		e := audit.Errorf(audit.CodeUnavailable, "%s: %v", what, err)
		e.Hint = "end it, or give each its own file"
		return e
	case errors.Is(err, fs.ErrPermission):
		e := audit.Errorf(audit.CodeForbidden, "%s: %v", what, err)
		e.Hint = "the user of the service must be able to write the file and its directory"
		e.Retry = true
		return e
	}
	return audit.Errorf(audit.CodeUnavailable, "%s", fmt.Sprintf("%s: %v", what, err))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
