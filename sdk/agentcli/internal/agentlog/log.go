package agentlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// Bounds.
const (
	MaxBytes = 8 << 20  // of both files together
	MaxLine  = 64 << 10 // bytes of text in one line; the rest is cut
)

const current, previous = "log.jsonl", "log.1.jsonl"

// Log is one agent's log. Safe for concurrent use.
type Log struct {
	dir string

	mu      sync.Mutex // guards all below
	file    *os.File   // opened with the first line
	size    int64
	age     int // how often the files were turned
	changed chan struct{}
	closed  bool
}

// New returns the log in a directory. It touches no file before the first line.
func New(dir string) *Log { return &Log{dir: dir, changed: make(chan struct{})} }

// Write appends lines. An error means that some of them are lost.
func (l *Log) Write(lines ...runtime.LogLine) error {
	if len(lines) == 0 {
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, line := range lines {
		if len(line.Line) > MaxLine {
			line.Line = line.Line[:MaxLine]
		}
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return os.ErrClosed
	}
	if err := l.open(); err != nil {
		return err
	}
	if l.size > MaxBytes/2 {
		if err := l.turn(); err != nil {
			return err
		}
	}
	n, err := l.file.Write(b.Bytes())
	l.size += int64(n)
	if err != nil {
		l.rest() // the next line mends what a full disk cut off
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return err
}

// Rest lets go of the file until the next line: the agents that have stopped are many.
func (l *Log) Rest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest()
}

// rest is Rest. The caller holds the lock.
func (l *Log) rest() {
	if l.file != nil {
		_ = l.file.Close() // every line was written when it came
		l.file = nil
	}
}

// open opens the file that is written. The caller holds the lock.
func (l *Log) open() error {
	if l.file != nil {
		return nil
	}
	file, err := os.OpenFile(filepath.Join(l.dir, current), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return err
	}
	l.file, l.size = file, info.Size()
	return l.mend()
}

// mend ends a last line that a crash tore, so that the next one begins on its own. The caller holds the lock.
func (l *Log) mend() error {
	if l.size == 0 {
		return nil
	}
	last := make([]byte, 1)
	if _, err := l.file.ReadAt(last, l.size-1); err != nil {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	_, err := l.file.Write([]byte{'\n'})
	l.size++
	return err
}

// turn makes the current file the previous one. The caller holds the lock.
func (l *Log) turn() error {
	if err := l.file.Close(); err != nil {
		return err
	}
	l.file = nil
	if err := os.Rename(filepath.Join(l.dir, current), filepath.Join(l.dir, previous)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l.age++
	return l.open()
}

// Close ends the log and its followers. Safe to call twice.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	close(l.changed)
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// after reports whether a line belongs to what a reader asked for.
func after(line *runtime.LogLine, since time.Time) bool {
	return since.IsZero() || line.Timestamp.After(since)
}
