package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/internal/durable"
)

const (
	journalSuffix = ".jsonl"
	// maxJournal is the size at which a journal is written anew with what is still needed.
	maxJournal = 1 << 20
)

// threadJournal is the file of one thread: a line for each thing that happened to it. Lines last over the end of the
// process, and over a loss of power once threads.hosted or threads.keep had them on disk. A nil journal keeps nothing.
// Guarded by threads.mu.
type threadJournal struct {
	path string
	file *os.File // nil: not opened yet
	size int
	full int   // size at which it is written anew
	torn bool  // a write failed, maybe within a line: it is written anew before anything else
	live bool  // the thread is hosted
	err  error // of opening it
}

// journalLine is one line; exactly one of its fields is set.
type journalLine struct {
	Thread *journalThread `json:"thread,omitempty"` // the first
	Hosted bool           `json:"hosted,omitempty"` // Spawn has returned
	Told   *journalTold   `json:"told,omitempty"`
	Acked  uint64         `json:"acked,omitempty"`
}

type journalThread struct {
	Spec protocol.ThreadSpawn `json:"spec"` // without what is secret or large
	Last uint64               `json:"last,omitempty"`
	Mark string               `json:"mark,omitempty"`
	Over bool                 `json:"over,omitempty"`
}

type journalTold struct {
	Seq   uint64          `json:"seq"`
	Frame json.RawMessage `json:"frame"`
	Mark  string          `json:"mark,omitempty"`
	Input string          `json:"input,omitempty"`
	Over  bool            `json:"over,omitempty"`
}

// newThreadJournal begins the journal of a thread that is to be spawned.
func newThreadJournal(dir string, t *Thread) *threadJournal {
	j := &threadJournal{path: filepath.Join(dir, t.Spec.ThreadID+journalSuffix)}
	j.err = os.MkdirAll(dir, 0o700)
	if j.err == nil {
		j.err = j.rewrite(t)
	}
	return j
}

// hosted notes that the thread is to be found again from now on.
func (j *threadJournal) hosted() error {
	if j == nil {
		return nil
	}
	if j.err != nil {
		return fmt.Errorf("the thread's state cannot be kept: %w", j.err)
	}
	j.live = true
	return j.write(journalLine{Hosted: true})
}

// told notes an event before it is sent.
func (j *threadJournal) told(t *Thread, ev *told) error {
	if j == nil || j.err != nil {
		return nil
	}
	if j.size > j.full || j.torn {
		return j.rewrite(t) // the event is among the unacknowledged ones already
	}
	return j.write(journalLine{Told: lineOf(ev, t.entry.over && ev.seq == t.entry.last)})
}

func lineOf(ev *told, over bool) *journalTold {
	return &journalTold{Seq: ev.seq, Frame: ev.payload, Mark: ev.mark, Input: ev.input, Over: over}
}

// acked notes what the server has. A line that is missing only has an event sent again.
func (j *threadJournal) acked(t *Thread, upTo uint64) {
	switch {
	case j == nil || j.err != nil:
	case j.torn:
		_ = j.rewrite(t)
	default:
		_ = j.write(journalLine{Acked: upTo})
	}
}

func (j *threadJournal) write(line journalLine) error {
	if j.file == nil {
		file, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		j.file = file
	}
	raw, err := json.Marshal(line)
	if err != nil {
		return err
	}
	n, err := j.file.Write(append(raw, '\n'))
	j.size += n
	j.torn = err != nil
	return err
}

// rewrite replaces the file by what is needed now, in one step.
func (j *threadJournal) rewrite(t *Thread) error {
	e := &t.entry
	head := journalThread{Spec: t.Spec, Last: e.last, Mark: e.mark, Over: e.over}
	head.Spec.Env, head.Spec.ContextFiles = nil, nil
	lines := []journalLine{{Thread: &head}}
	if j.live {
		lines = append(lines, journalLine{Hosted: true})
	}
	for _, ev := range e.unacked {
		lines = append(lines, journalLine{Told: lineOf(ev, e.over && ev.seq == e.last)})
	}
	var b bytes.Buffer
	for _, line := range lines {
		raw, err := json.Marshal(line)
		if err != nil {
			return err
		}
		b.Write(append(raw, '\n'))
	}
	if err := durable.WriteFile(j.path, b.Bytes(), j.live); err != nil { // a first one comes to the disk with hosted
		return err
	}
	j.close()
	j.size, j.torn = b.Len(), false
	j.full = maxJournal + 2*j.size
	return nil
}

// opened is the file as far as it was not written anew since, or nil.
func (j *threadJournal) opened() *os.File {
	if j == nil {
		return nil
	}
	return j.file
}

func (j *threadJournal) close() {
	if j != nil && j.file != nil {
		_ = j.file.Close() // every line was written by itself
		j.file = nil
	}
}

// remove ends the journal of a thread that is over.
func (j *threadJournal) remove() {
	if j != nil {
		j.close()
		_ = os.Remove(j.path) // at worst the thread is sent again and acknowledged
		j.err = fs.ErrClosed
	}
}

// savedThread is a thread of an earlier process.
type savedThread struct {
	journalThread
	last    uint64
	mark    string
	over    bool
	unacked []*told
	journal *threadJournal
}

// loadThreads reads the journals of a directory, and has sync bring them to the disk: an earlier process may not have come
// to it. Those of threads that were never hosted are removed: the server asks for them again.
func loadThreads(dir string, sync func(*os.File) error) ([]*savedThread, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var saved []*savedThread
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), journalSuffix)
		if !ok || !plainID(id) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s := readJournal(raw)
		if s == nil || s.Spec.ThreadID != id || s.over && len(s.unacked) == 0 {
			if err := os.Remove(path); err != nil {
				return nil, err
			}
			continue
		}
		if err := syncFile(path, sync); err != nil {
			return nil, err
		}
		s.journal = &threadJournal{path: path, size: 1, live: true} // written anew with the next event
		saved = append(saved, s)
	}
	return saved, nil
}

func syncFile(path string, sync func(*os.File) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(sync(f), f.Close())
}

// readJournal reads a journal, up to a line that was not written to its end. nil: the thread was never hosted.
func readJournal(raw []byte) *savedThread {
	var s *savedThread
	hosted := false
	for line := range bytes.Lines(raw) {
		var l journalLine
		if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &l) != nil {
			break
		}
		switch {
		case l.Thread != nil:
			s = &savedThread{journalThread: *l.Thread, last: l.Thread.Last, mark: l.Thread.Mark, over: l.Thread.Over}
		case s == nil:
			return nil
		case l.Hosted:
			hosted = true
		case l.Told != nil && l.Told.Seq > 0 && len(l.Told.Frame) > 0:
			s.last, s.mark, s.over = max(s.last, l.Told.Seq), l.Told.Mark, s.over || l.Told.Over
			s.unacked = append(s.unacked, &told{seq: l.Told.Seq, payload: l.Told.Frame, mark: l.Told.Mark, input: l.Told.Input})
		case l.Acked > 0:
			for len(s.unacked) > 0 && s.unacked[0].seq <= l.Acked {
				s.unacked = s.unacked[1:]
			}
		}
	}
	if !hosted {
		return nil
	}
	return s
}
