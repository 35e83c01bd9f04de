package runtimetest

import (
	"bytes"
	"sync"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/runtime"
)

const maxFrame = 64 << 10

// output keeps what an agent wrote: the last bytes of it, the size of its terminal, and how it ended.
type output struct {
	mu      sync.Mutex // guards all below
	data    []byte     // at most twice ringBytes
	part    []byte     // the beginning of a character, whose rest was not written yet
	end     uint64     // offset after data
	cols    int
	rows    int
	sized   int // counts changes of the size
	exit    *runtime.Exit
	changed chan struct{} // closed at the next change
}

func (o *output) wake() {
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
}

func (o *output) write(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p = append(o.part, p...) // a command's output comes in pieces of any length, frames are of whole characters
	whole := wholeChars(p)
	o.part = bytes.Clone(p[whole:])
	o.add(p[:whole])
}

// add keeps output and wakes viewers. The caller holds mu.
func (o *output) add(p []byte) {
	o.data = append(o.data, p...)
	o.end += uint64(len(p))
	if len(o.data) > 2*ringBytes {
		o.data = append(o.data[:0], o.data[len(o.data)-ringBytes:]...)
	}
	o.wake()
}

// size returns the bytes that are kept: all the memory that an agent here has.
func (o *output) size() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return int64(len(o.data))
}

func (o *output) resize(cols, rows int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if cols == o.cols && rows == o.rows {
		return
	}
	o.cols, o.rows = cols, rows
	o.sized++
	o.wake()
}

// finish ends the output, or with nil begins it again.
func (o *output) finish(exit *runtime.Exit) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.add(o.part)
	o.part = nil
	o.exit = exit
	o.wake()
}

// repaint redraws the last rows. The caller holds mu.
func (o *output) repaint(tail int) []byte {
	lines := bytes.Split(o.data, []byte("\r\n"))
	lines = lines[max(0, len(lines)-o.rows-tail):]
	return append([]byte("\x1b[H\x1b[2J"), bytes.Join(lines, []byte("\r\n"))...)
}

// viewer is where one viewer is in the output.
type viewer struct {
	offset uint64
	begun  bool // offset counts
	tail   int
	sized  int
	done   bool
	buf    []byte
}

// next returns what a viewer has not seen, or a channel that tells when to look again.
func (o *output) next(v *viewer) (runtime.Frame, bool, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var frame runtime.Frame
	fresh := !v.begun
	if v.sized != o.sized || fresh {
		frame.Cols, frame.Rows, v.sized = o.cols, o.rows, o.sized
		fresh = true
	}
	start := o.end - uint64(len(o.data))
	switch {
	case !v.begun || v.offset < start || v.offset > o.end:
		if v.begun && v.offset < start {
			frame.Lost = start - v.offset
		}
		frame.Data, frame.Repaint = o.repaint(v.tail), true
		v.offset, v.begun, v.tail = o.end, true, 0
	case v.offset < o.end:
		piece := o.data[v.offset-start:]
		piece = piece[:cutAt(piece, maxFrame)]
		v.buf = append(v.buf[:0], piece...)
		frame.Data = v.buf
		v.offset += uint64(len(piece))
	case o.exit != nil:
		exit := *o.exit
		frame.Exit, v.done = &exit, true
	case !fresh:
		if o.changed == nil {
			o.changed = make(chan struct{})
		}
		return frame, false, o.changed
	}
	frame.Offset = v.offset
	return frame, true, nil
}

// wholeChars returns how many bytes of p come before a character that p ends within, or all of them.
func wholeChars(p []byte) int {
	for i := len(p) - 1; i >= 0 && i > len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if utf8.FullRune(p[i:]) {
				break
			}
			return i
		}
	}
	return len(p)
}

// cutAt returns where to cut p, at most at n and at the border of a character.
func cutAt(p []byte, n int) int {
	if len(p) <= n {
		return len(p)
	}
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			return i
		}
	}
	return n
}
