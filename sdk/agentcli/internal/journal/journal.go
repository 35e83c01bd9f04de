package journal

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// syncEvery is how long an event may stay in the memory of the machine before it is on disk. The end of the
// process loses nothing in any case.
const syncEvery = time.Second

// maxBytes bounds the events that are kept, in memory and in the file; it is above what the usual number of usual
// events takes.
const maxBytes = 32 << 20

// Journal is the list of events. Safe for concurrent use.
type Journal struct {
	path string
	id   string // of this journal: see runtime.Event.Log
	keep int

	stop chan struct{}
	done sync.WaitGroup

	mu     sync.Mutex // guards all below
	file   *os.File
	events []entry // newest last; immutable once appended
	bytes  int     // sum of their sizes
	seq    uint64  // of the newest event
	// trimmed is the number of the newest event that was dropped since the journal was opened; 0: none was. A number below the
	// oldest event alone means nothing: after a crash numbers are left out that no event had.
	trimmed  uint64
	reserved uint64
	lines    int // in the file
	written  int // bytes in the file
	dirty    bool
	unclean  bool          // the file may hold events that were removed
	failed   error         // the file cannot be written; events live in memory only
	again    time.Time     // when writing it is tried again
	changed  chan struct{} // closed and replaced with every event
	closed   bool
}

// Open reads the journal at path, or begins one, that keeps the newest events.
func Open(path string, keep int) (*Journal, error) {
	events, last, id, err := load(path, keep)
	if err != nil {
		return nil, err
	}
	if id == "" {
		id = rand.Text()
	}
	j := &Journal{
		path: path, id: id, keep: keep, events: events, seq: last, changed: make(chan struct{}), stop: make(chan struct{}),
	}
	for _, e := range events {
		j.bytes += e.size
	}
	if err := j.compact(); err != nil {
		return nil, err
	}
	j.done.Go(j.syncer)
	return j, nil
}

// Append gives the event its number and keeps it, with a mark that Last returns. An error tells that the event is
// kept in memory only.
func (j *Journal) Append(e *runtime.Event, mark uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return os.ErrClosed
	}
	if j.seq >= j.reserved && j.failed == nil {
		j.failed = j.reserve()
	}
	j.seq++
	e.Seq, e.Agent.Seq = j.seq, j.seq
	data, encodeErr := json.Marshal(line{Event: e, Mark: mark})
	if encodeErr != nil {
		// Nothing that an event is made of fails, but for values that JSON does not have.
		return encodeErr
	}
	j.events, j.bytes = append(j.events, entry{e, mark, len(data) + 1}), j.bytes+len(data)+1
	if len(j.events) > j.keep+j.keep/4 || j.bytes > maxBytes+maxBytes/4 {
		j.trim()
	}
	if j.failed == nil {
		j.failed = j.write(data)
	}
	close(j.changed)
	j.changed = make(chan struct{})
	err := j.failed
	switch now := time.Now(); {
	case err != nil && now.After(j.again):
		// A full disk may have room again: a rewrite brings the file up to date.
		j.again = now.Add(syncEvery)
		j.failed = j.compact()
		err = j.failed
	case err == nil && (j.lines > 2*j.keep+64 || j.written > 4*maxBytes):
		j.failed = j.compact()
	}
	return err
}

// Since returns the kept events of an agent that are newer than a sequence number, oldest first, with the mark of the
// last one.
func (j *Journal) Since(agentID string, seq uint64) (list []*runtime.Event, mark uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range slices.Backward(j.events) {
		if e.AgentID != agentID {
			continue
		}
		if e.Seq <= seq {
			break
		}
		if list = append(list, e.Event); mark == 0 {
			mark = e.mark
		}
	}
	slices.Reverse(list)
	return list, mark
}

// Remove drops the events of agents for which drop returns true, from memory and from the file, and reports how many there
// were. Readers go on without them. After an error they may still be in the file, and Remove is to be called again.
func (j *Journal) Remove(drop func(agentID string) bool) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return 0, os.ErrClosed
	}
	left := slices.DeleteFunc(slices.Clone(j.events), func(e entry) bool { return drop(e.AgentID) })
	n := len(j.events) - len(left)
	if n == 0 && !j.unclean {
		return 0, nil
	}
	j.events, j.bytes, j.unclean = left, 0, true
	for _, e := range left {
		j.bytes += e.size
	}
	j.failed = j.compact()
	return n, j.failed
}

// Sync makes what was appended durable.
func (j *Journal) Sync() error {
	j.mu.Lock()
	file, dirty := j.file, j.dirty
	j.dirty = false
	j.mu.Unlock()
	if !dirty || file == nil {
		return nil
	}
	return file.Sync()
}

// Close ends all readers and writes what is left.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	close(j.changed)
	j.mu.Unlock()
	close(j.stop)
	j.done.Wait()
	err := j.Sync()
	if e := j.file.Close(); err == nil {
		err = e
	}
	return err
}

func (j *Journal) syncer() {
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for {
		select {
		case <-j.stop:
			return
		case <-tick.C:
			_ = j.Sync() // a disk that fails shows in the next Append
		}
	}
}

// write appends one line. The caller holds the lock.
func (j *Journal) write(data []byte) error {
	if _, err := j.file.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("write the events: %w", err)
	}
	j.lines++
	j.written += len(data) + 1
	j.dirty = true
	return nil
}

// reserve promises the next numbers, durably: a crash of the machine must not make a number appear twice.
// The caller holds the lock.
func (j *Journal) reserve() error {
	next := j.seq + reserveStep
	data, err := json.Marshal(line{Reserve: next, Log: j.id})
	if err != nil {
		return err
	}
	if err := j.write(data); err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	j.reserved = next
	return nil
}

// compact writes the file anew with what is kept. The caller holds the lock, or is alone.
func (j *Journal) compact() error {
	j.trim()
	next := j.seq + reserveStep
	if err := rewrite(j.path, j.id, j.events, next); err != nil {
		return err
	}
	file, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if j.file != nil {
		_ = j.file.Close()
	}
	j.file, j.reserved, j.lines, j.written, j.unclean = file, next, len(j.events)+1, j.bytes, false
	return nil
}

// trim drops the oldest events, down to what is kept. The newest stays whatever it takes. The caller holds the
// lock, or is alone.
func (j *Journal) trim() {
	drop := max(0, len(j.events)-j.keep)
	bytes := j.bytes
	for i, e := range j.events {
		if i >= drop && (bytes <= maxBytes || i == len(j.events)-1) {
			drop = i
			break
		}
		bytes -= e.size
	}
	if drop > 0 && len(j.events) > 0 {
		j.trimmed = j.events[drop-1].Seq
		j.events, j.bytes = slices.Clone(j.events[drop:]), bytes
	}
}
