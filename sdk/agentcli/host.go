package agentcli

import (
	"context"
	"time"
)

// measureTimeout is how long the question may take whether an agent runs.
const measureTimeout = time.Second

// submitWatcher is a Driver whose submitted is called when a message was typed: before is the offset of the output just
// before its last key.
type submitWatcher interface{ submitted(before uint64) }

// echoReader is a Driver that can tell from the terminal whether a message, which an earlier process was typing on a line
// when it ended, was submitted. Then it goes on with it as if it had typed it itself.
type echoReader interface {
	submittedOn(line uint64, text string) bool
}

// turnResumer is a Driver that only remembers whether a turn runs, and gets that after a restart: a crash may have
// come between the event of a turn and the driver's state. begun is what is remembered of the message that began the turn
// that runs, or nil.
type turnResumer interface {
	resumeTurn(running bool, begun *inputRecord)
}

// outputWatcher is a Driver that receives, now and then, how far the output is.
type outputWatcher interface{ output(offset uint64) }

// keyWatcher is a Driver whose keyed is called when somebody pressed Enter, or the key that interrupts, past the queue of messages.
type keyWatcher interface {
	keyed(k pressed)
	// undecided reports whether it is not known yet what such an Enter began, or whose the prompt is: no message is typed meanwhile.
	undecided() bool
}

// terminalHost is what the driver of a declared type needs beyond Host: it has nothing but the terminal.
//
// It has many methods because a driver with nothing but the terminal has to look at all of it.
type terminalHost interface {
	Host
	// Cursor is the line of the cursor, counted from the first line of all scrollback, and its column.
	Cursor() (line uint64, col int)
	// LineStart is the line in which that begins which the cursor stands on: the terminal breaks a long one.
	LineStart() (line uint64)
	// Text returns the lines from a line on, down to the last row of the screen with text, and the number of
	// the first one that is left.
	Text(from uint64) (lines []string, first uint64)
	// Offset is that of the output which Rows, Text and Cursor show.
	Offset() uint64
	// Quiet is how long no output came.
	Quiet() time.Duration
	// Running calls done with whether something in the foreground of the terminal runs now, or waits for a processor: false
	// where that cannot be measured.
	Running(done func(running bool))
	// Foreground calls done with the group of processes that has the terminal; 0 where that is not known.
	Foreground(done func(group int))
}

// host is the session as its driver sees it.
type host struct{ s *session }

var _ terminalHost = host{}

func (h host) Signal(sig Signal) { h.s.fusion.signal(sig) }

func (h host) After(d time.Duration, fn func()) (cancel func()) {
	return h.s.after(d, func() {
		fn()
		h.s.dirty = true
	})
}

func (h host) Rows() []string { return h.s.display.shown() }

func (h host) BracketedPaste() bool {
	paste, _ := h.s.display.modes()
	return paste
}

func (h host) Now() time.Time { return h.s.o.Now() }

func (h host) Do(fn, done func()) { h.s.do(fn, done) }

func (h host) Offset() uint64 { return h.s.display.drawn() }

func (h host) Quiet() time.Duration { return h.s.display.quiet() }

func (h host) Running(done func(running bool)) {
	meter, ok := h.s.proc.(Meter)
	if !ok {
		done(false)
		return
	}
	running := false
	h.s.do(func() {
		ctx, cancel := context.WithTimeout(h.s.ctx, measureTimeout)
		defer cancel()
		usage, err := meter.Usage(ctx)
		running = err == nil && usage.Running > 0
	}, func() {
		done(running)
		h.s.dirty = true
	})
}

func (h host) Foreground(done func(group int)) {
	f, ok := h.s.proc.(Foregrounder)
	if !ok {
		done(0)
		return
	}
	group := 0
	h.s.do(func() {
		ctx, cancel := context.WithTimeout(h.s.ctx, measureTimeout)
		defer cancel()
		if g, err := f.Foreground(ctx); err == nil {
			group = g
		}
	}, func() {
		done(group)
		h.s.dirty = true
	})
}

// place is where the terminal is.
func (h host) place() place {
	line, _ := h.Cursor()
	return place{offset: h.s.display.offset(), line: line}
}

func (h host) Cursor() (line uint64, col int) {
	d := h.s.display
	d.mu.Lock()
	defer d.mu.Unlock()
	row, col := d.screen.Cursor()
	return d.scrolled() + uint64(row), col
}

func (h host) LineStart() (line uint64) {
	d := h.s.display
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.scrolled() + uint64(d.screen.LineStart())
}

func (h host) Text(from uint64) (lines []string, first uint64) {
	d := h.s.display
	d.mu.Lock()
	defer d.mu.Unlock()
	above := d.scrolled()
	first = min(from, above)
	if from < above {
		lines, first, _ = d.screen.Lines(from)
	}
	rows := d.screen.Text()
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	lines = append(lines, rows...)
	if from > first {
		lines = lines[min(from-first, uint64(len(lines))):]
		first = from
	}
	return lines, first
}
