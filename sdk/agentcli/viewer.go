package agentcli

import (
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/vt"
)

// How frames are made: output is handed on at once, so that echo is quick, until a viewer has had several small
// frames in a short time. Then it is gathered for a moment.
const (
	frameBytes  = 31 << 10               // this much is a frame
	frameMost   = frameBytes             // no frame is larger, repaints excepted: gRPC has a buffer of 32 KiB, and then one of 1 MiB
	frameGather = 4 * time.Millisecond   // longest wait for more
	frameBurst  = 8                      // so many small frames are handed on without a wait
	frameRefill = 2 * time.Millisecond   // ... and one more after each such time
	frameSync   = 100 * time.Millisecond // longest wait for the end of a synchronized update
	frameCalm   = 250 * time.Millisecond // after so long without output a viewer that missed some gets its scrollback back
)

// viewer is one attached terminal: a place in the output, and a wish for a size. It is a runtime.Terminal.
type viewer struct {
	d        *display
	s        *session // nil for the last screen of an agent that ended
	readOnly bool
	wake     chan struct{} // capacity 1
	closed   chan struct{}
	once     sync.Once
	detach   func() bool    // ends the watch over the caller's context; nil for none
	filter   vt.InputFilter // drops replies of the viewer's own terminal; guarded by inputMu
	inputMu  sync.Mutex

	// Guarded by d.ringMu.
	next  uint64 // offset of the next byte to take from the ring
	lost  bool   // output beyond the ring was missed: repaint
	grace time.Duration
	paced time.Time

	// Only Recv uses what follows.
	buf        []byte // what held is a part of; used again
	held       []byte // taken from the ring, not handed out
	off        uint64 // offset of held
	cols, rows int    // as told
	first      bool   // the first frame is still to come
	tail       int
	torn       bool // its scrollback lacks what it missed
	from       *uint64
	shown      time.Time // when the last frame was handed out
	prompt     time.Time // frames without a wait are counted from here: see patience
	ended      bool
}

var _ runtime.Terminal = (*viewer)(nil)

// attach adds a viewer.
func (d *display) attach(s *session, opts runtime.AttachOptions) *viewer {
	v := &viewer{
		d: d, s: s, readOnly: opts.ReadOnly, wake: make(chan struct{}, 1), closed: make(chan struct{}),
		first: true, tail: max(opts.Tail, 0), from: opts.From, grace: paceMost,
	}
	d.ringMu.Lock()
	v.next = d.ring.End()
	if opts.From != nil && *opts.From >= d.ring.Start() && *opts.From <= d.ring.End() {
		v.next = *opts.From
	}
	d.views[v] = struct{}{}
	d.ringMu.Unlock()
	return v
}

func (v *viewer) poke() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// Recv implements runtime.Terminal.
func (v *viewer) Recv() (runtime.Frame, error) {
	for {
		select {
		case <-v.closed:
			return runtime.Frame{}, io.EOF
		default:
		}
		if v.ended {
			return runtime.Frame{}, io.EOF
		}
		if v.first {
			v.first = false
			return v.begin(), nil
		}
		frame, ready, wait := v.step()
		if ready {
			v.shown = time.Now()
			return frame, nil
		}
		v.wait(wait)
	}
}

// wait sleeps until something happened, or for d unless that is 0.
func (v *viewer) wait(d time.Duration) {
	if d <= 0 {
		if cap(v.buf) > frameMost && len(v.held) == 0 {
			v.buf, v.held = nil, nil // it was needed for a flood
		}
		select {
		case <-v.wake:
		case <-v.closed:
		}
		return
	}
	select {
	case <-v.wake:
	case <-v.closed:
	case <-time.After(d):
	}
}

// begin returns the first frame: what the viewer missed, or the whole screen.
func (v *viewer) begin() runtime.Frame {
	v.shown = time.Now()
	v.cols, v.rows = v.d.size()
	if v.from != nil {
		v.awaitHistory()
		v.d.ringMu.Lock()
		within := *v.from >= v.d.ring.Start() && *v.from <= v.d.ring.End()
		if within {
			v.next = *v.from
		}
		v.d.ringMu.Unlock()
		if within {
			v.off = *v.from
			return runtime.Frame{Offset: v.off, Cols: v.cols, Rows: v.rows}
		}
	}
	frame := v.redraw(v.tail)
	if v.from != nil && *v.from < frame.Offset {
		frame.Lost = frame.Offset - *v.from
	}
	frame.Cols, frame.Rows = v.cols, v.rows
	return frame
}

// awaitHistory waits, for a moment after an earlier runtime process ended, until the output is read again up to where
// the viewer was: the runtime is behind, and not the viewer ahead.
func (v *viewer) awaitHistory() {
	for {
		v.d.ringMu.Lock()
		ahead := *v.from > v.d.ring.End() && !v.d.over
		v.d.ringMu.Unlock()
		rest := time.Until(v.d.history)
		if !ahead || rest <= 0 {
			return
		}
		timer := time.NewTimer(rest)
		select {
		case <-v.wake:
		case <-timer.C:
		case <-v.closed:
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// redraw returns the whole screen, and lets the viewer go on behind it.
func (v *viewer) redraw(tail int) runtime.Frame {
	data, offset := v.d.repaint(tail)
	v.held, v.off = nil, offset
	v.d.ringMu.Lock()
	v.next, v.lost = offset, false
	v.d.ringMu.Unlock()
	return runtime.Frame{Data: data, Offset: offset, Repaint: true}
}

// skip is redraw in the midst of output: Lost of the frame is what the viewer did not get.
func (v *viewer) skip(tail int) runtime.Frame {
	before := v.off
	frame := v.redraw(tail)
	if frame.Offset > before {
		frame.Lost = frame.Offset - before
	}
	return frame
}

// step returns the next frame if there is one, or how long to wait for more at most; 0: for ever.
func (v *viewer) step() (frame runtime.Frame, ready bool, wait time.Duration) {
	cols, rows, over, exit, missed := v.gather()
	if cols != v.cols || rows != v.rows {
		v.cols, v.rows = cols, rows
		return runtime.Frame{Offset: v.off, Cols: cols, Rows: rows}, true, 0
	}
	if missed {
		v.torn = v.tail > 0
		return v.skip(0), true, 0
	}
	if v.torn && len(v.held) == 0 {
		if rest := frameCalm - v.d.quiet(); rest > 0 && !over {
			return frame, false, rest
		}
		frame = v.skip(v.tail)
		v.torn = frame.Lost > 0 // output came in between: once more when it is calm
		return frame, true, 0
	}
	n := whole(v.held, over)
	if n == 0 {
		if !over {
			return frame, false, 0
		}
		v.ended = true
		if exit == nil {
			return runtime.Frame{Offset: v.off}, true, 0
		}
		return runtime.Frame{Offset: v.off, Exit: exit}, true, 0
	}
	if n < frameBytes && !over {
		if wait := v.patience(); wait > 0 {
			return frame, false, wait
		}
	}
	if n > frameMost {
		n = max(whole(v.held[:frameMost], false), 1)
	}
	frame.Data, v.held = v.held[:n:n], v.held[n:]
	v.off += uint64(n)
	frame.Offset = v.off
	return frame, true, 0
}

// patience is how long to wait for more output before a small frame is handed out.
func (v *viewer) patience() time.Duration {
	now := time.Now()
	since := now.Sub(v.shown)
	if v.d.inFrame.Load() {
		return frameSync - since
	}
	if since >= frameGather {
		return 0
	}
	// A bucket of frames, kept as the time at which it was empty.
	if full := now.Add(-frameBurst * frameRefill); v.prompt.Before(full) {
		v.prompt = full
	}
	if next := v.prompt.Add(frameRefill); !next.After(now) {
		v.prompt = next
		return 0
	}
	return frameGather - since
}

// gather takes what the ring has for the viewer.
func (v *viewer) gather() (cols, rows int, over bool, exit *runtime.Exit, missed bool) {
	d := v.d
	d.ringMu.Lock()
	defer d.ringMu.Unlock()
	end := d.ring.End()
	if v.next < d.ring.Start() || end-min(v.next, end) > d.behind {
		v.lost = true
	}
	if len(v.held) < frameBytes && v.next < end && !v.lost {
		// The frame that was handed out last is not used any more.
		v.buf, _ = d.ring.AppendFrom(append(v.buf[:0], v.held...), v.next)
		v.held, v.next = v.buf, end
		select {
		case d.moved <- struct{}{}:
		default:
		}
	}
	return d.cols, d.rows, d.over, d.exit, v.lost
}

// whole returns how much of p can be handed out without cutting a UTF-8 character. At the end of the output
// everything can.
func whole(p []byte, over bool) int {
	if over {
		return len(p)
	}
	for back := 1; back <= min(utf8.UTFMax-1, len(p)); back++ {
		c := p[len(p)-back]
		if c < utf8.RuneSelf {
			break
		}
		if utf8.RuneStart(c) {
			if !utf8.FullRune(p[len(p)-back:]) {
				return len(p) - back
			}
			break
		}
	}
	return len(p)
}

// Input implements runtime.Terminal.
func (v *viewer) Input(p []byte) error {
	if v.readOnly {
		return runtime.Errorf(runtime.CodeForbidden, "the terminal is read-only")
	}
	if v.s == nil {
		return runtime.Errorf(runtime.CodeNotRunning, "the agent is not running")
	}
	select {
	case <-v.closed:
		return runtime.Errorf(runtime.CodeUnavailable, "the terminal is closed")
	default:
	}
	v.inputMu.Lock()
	defer v.inputMu.Unlock()
	p = v.filter.Filter(p)
	if len(p) == 0 {
		return nil
	}
	v.s.sizes.typed(v)
	return v.s.typist.person(append([]byte(nil), p...), v.closed)
}

// Resize implements runtime.Terminal.
func (v *viewer) Resize(cols, rows int) error {
	if cols < 1 || rows < 1 || cols > maxSize || rows > maxSize {
		return runtime.Errorf(runtime.CodeInvalidArgument, "a terminal of %d columns and %d rows is not within 1..%d", cols, rows, maxSize)
	}
	if v.s != nil && !v.readOnly {
		v.s.sizes.wish(v, cols, rows)
	}
	return nil
}

// Close implements runtime.Terminal.
func (v *viewer) Close() error {
	v.shut()
	if v.detach != nil {
		v.detach()
	}
	return nil
}

// shut ends the viewer. It leaves the watch over the context alone, which may be what calls it.
func (v *viewer) shut() {
	v.once.Do(func() {
		close(v.closed)
		v.d.ringMu.Lock()
		delete(v.d.views, v)
		v.d.ringMu.Unlock()
		if v.s != nil {
			v.s.sizes.leave(v)
		}
	})
}
