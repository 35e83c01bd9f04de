package agentcli

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/vt"
)

// display is what an agent shows: its screen with scrollback, its newest bytes, and who looks at them. Offsets
// count the bytes of all lives of the agent. The ring may be ahead of the screen, never behind: a viewer that
// drew the screen goes on in the ring from the screen's offset. Safe for concurrent use.
type display struct {
	ringSize   int
	behind     uint64 // bytes that a viewer may be behind
	scrollback int
	history    time.Time // until then output of an earlier runtime process is read again; set before anybody attaches

	mu     sync.Mutex // guards the screen and what follows; taken before ring.mu if both are
	screen *vt.Screen
	at     uint64 // offset of the next byte for the screen
	oscs   []osc  // of the piece that is fed now
	muted  bool   // replies are dropped
	// counted is a number of scrollback lines that was right once; the lines since then are counted from it.
	counted uint64

	ringMu sync.Mutex // guards all below
	ring   *vt.Ring
	views  map[*viewer]struct{}
	exit   *runtime.Exit
	over   bool // no more bytes will come
	cols   int
	rows   int

	end     atomic.Uint64 // of the ring, for those who only look
	moved   chan struct{} // has an element when a viewer went on; capacity 1
	inFrame atomic.Bool   // the agent is in the middle of a synchronized update
	seen    atomic.Int64  // when output came last, Unix nanoseconds, for people
	made    time.Time     // that heard counts from; set once
	heard   atomic.Int64  // when output came last, in nanoseconds since made: no matter what becomes of the wall clock
}

// osc is an operating system command with its place in the output.
type osc struct {
	code int
	data []byte
	end  uint64
}

func newDisplay(o *Options, cols, rows int, offset uint64) *display {
	d := &display{
		ringSize: o.RingBytes, behind: uint64(o.ViewerBytes), scrollback: o.Scrollback, at: offset,
		ring: vt.NewRingAt(o.RingBytes, offset), views: map[*viewer]struct{}{}, cols: cols, rows: rows,
		moved: make(chan struct{}, 1), made: time.Now(),
	}
	d.screen = vt.New(d.screenOptions(cols, rows))
	d.end.Store(offset)
	return d
}

func (d *display) screenOptions(cols, rows int) vt.Options {
	return vt.Options{Cols: cols, Rows: rows, ScrollbackLines: d.scrollback, OnOSC: d.onOSC}
}

// restore replaces the blank screen by an earlier one, which had seen everything up to offset.
func (d *display) restore(snapshot []byte, offset uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	screen, err := vt.Restore(snapshot, d.screenOptions(d.cols, d.rows))
	if err != nil {
		return err
	}
	d.screen, d.at = screen, offset
	d.ringMu.Lock()
	defer d.ringMu.Unlock()
	d.cols, d.rows = screen.Size()
	d.ring = vt.NewRingAt(d.ringSize, offset)
	d.end.Store(offset)
	return nil
}

// onOSC runs within feed.
func (d *display) onOSC(o vt.OSC) {
	const most = 1 << 10 // of one piece; a flood of titles is cut, its last ones count
	if len(d.oscs) == most {
		copy(d.oscs, d.oscs[most/2:])
		d.oscs = d.oscs[:most/2]
	}
	end := d.at + (o.Offset - d.screen.Offset())
	d.oscs = append(d.oscs, osc{code: o.Code, data: append([]byte(nil), o.Data...), end: end})
}

// feed takes the next bytes of output. It returns the replies of the terminal and the commands in the bytes. It holds mu from
// the first to the last: who asks how far the output is, and how long it was quiet, sees a screen that is not older.
func (d *display) feed(p []byte) (replies []byte, oscs []osc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ringMu.Lock()
	_, _ = d.ring.Write(p)
	d.end.Store(d.ring.End())
	for v := range d.views {
		v.poke()
	}
	d.ringMu.Unlock()
	d.seen.Store(time.Now().UnixNano())
	d.heard.Store(int64(time.Since(d.made)))
	replies = d.screen.Write(p)
	d.at += uint64(len(p))
	was, is := d.inFrame.Load(), d.screen.SyncOutput()
	if was != is {
		d.inFrame.Store(is)
		if was {
			d.pokeAll()
		}
	}
	oscs, d.oscs = d.oscs, nil
	if d.muted {
		replies = nil
	}
	return replies, oscs
}

// skip reports that bytes are missing before what is fed next, which begins at offset. A sequence that the
// missing bytes ended is ended here.
func (d *display) skip(offset uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if offset <= d.at {
		return
	}
	d.screen.Write([]byte("\x18\x1b\\\x18"))
	d.oscs = nil
	d.at = offset
	d.ringMu.Lock()
	defer d.ringMu.Unlock()
	d.ring = vt.NewRingAt(d.ringSize, offset)
	d.end.Store(offset)
	for v := range d.views {
		v.poke()
	}
}

// mute drops the replies of the terminal as long as it is set: history is not answered twice.
func (d *display) mute(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.muted = on
}

// repaint returns bytes that draw the present screen with so many lines of scrollback, and its offset.
func (d *display) repaint(tail int) (data []byte, offset uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.screen.Repaint(tail), d.at
}

// snapshot returns the screen for a later process, and its offset.
func (d *display) snapshot() (note []byte, offset uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.screen.Snapshot(), d.at
}

// text returns the visible rows and the cursor.
func (d *display) text() (rows []string, cursorRow, cursorCol int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	cursorRow, cursorCol = d.screen.Cursor()
	return d.screen.Text(), cursorRow, cursorCol
}

// shown returns the visible rows.
func (d *display) shown() []string {
	rows, _, _ := d.text()
	return rows
}

// lines returns scrollback lines: see vt.Screen.Lines.
func (d *display) lines(from uint64) (lines []string, first, next uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.screen.Lines(from)
}

// modes reports how keys and pasted text are encoded.
func (d *display) modes() (bracketedPaste, appCursor bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.screen.BracketedPaste(), d.screen.AppCursor()
}

// offset is how far the output is; the screen may be behind.
func (d *display) offset() uint64 { return d.end.Load() }

// drawn is the output that the screen shows.
func (d *display) drawn() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

// size returns the size of the terminal.
func (d *display) size() (cols, rows int) {
	d.ringMu.Lock()
	defer d.ringMu.Unlock()
	return d.cols, d.rows
}

// resize sets the size, and sends it to every viewer.
func (d *display) resize(cols, rows int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.screen.Resize(cols, rows)
	d.ringMu.Lock()
	defer d.ringMu.Unlock()
	d.cols, d.rows = cols, rows
	for v := range d.views {
		v.poke()
	}
}

// finish tells viewers that no more output comes. A nil exit means that the runtime lets go of the agent.
func (d *display) finish(exit *runtime.Exit) {
	d.ringMu.Lock()
	defer d.ringMu.Unlock()
	if d.over {
		return
	}
	d.over, d.exit = true, exit
	for v := range d.views {
		v.poke()
	}
}

func (d *display) pokeAll() {
	d.ringMu.Lock()
	defer d.ringMu.Unlock()
	for v := range d.views {
		v.poke()
	}
}

// quiet is how long no output came, all of which is on the screen.
func (d *display) quiet() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Since(d.made) - time.Duration(d.heard.Load())
}

// scrolled is how many lines left the screen since it was made. The caller holds mu.
func (d *display) scrolled() uint64 {
	_, _, next := d.screen.Lines(d.counted)
	d.counted = next
	return next
}
