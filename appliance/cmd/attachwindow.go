package cmd

import (
	"sync"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/vt"
)

// window fits the agent's terminal, which has one size for all who look at it, into this one. Where this one is large
// enough the bytes are shown as they come. Otherwise they would wrap and scroll at the wrong places, so a screen of the
// real size is kept, and the part of it around the cursor is drawn.
type window struct {
	mu         sync.Mutex // guards all below
	cols, rows int        // of the agent's terminal; 0: not known yet
	screen     *vt.Screen
	clips      bool
}

// fit returns what to write to a terminal of cols x rows for a frame, and whether it draws the whole screen; 0: the size
// is not known, and the bytes are shown as they come.
func (w *window) fit(frame runtime.Frame, cols, rows int) (data []byte, repaint bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if frame.Cols > 0 && frame.Rows > 0 {
		w.cols, w.rows = frame.Cols, frame.Rows
	}
	if w.cols == 0 {
		return frame.Data, frame.Repaint
	}
	if w.screen == nil {
		w.screen = vt.New(vt.Options{Cols: w.cols, Rows: w.rows, ScrollbackLines: -1})
	}
	if c, r := w.screen.Size(); c != w.cols || r != w.rows {
		w.screen.Resize(w.cols, w.rows)
	}
	w.screen.Write(frame.Data)
	if data, repaint := w.draw(cols, rows); data != nil {
		return data, repaint
	}
	return frame.Data, frame.Repaint
}

// resized returns what to write when this terminal has got another size, or nothing: what follows is right by itself.
func (w *window) resized(cols, rows int) (data []byte, repaint bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.screen == nil {
		return nil, false
	}
	return w.draw(cols, rows)
}

// again returns what draws the agent's screen anew, or nothing where it is not known.
func (w *window) again(cols, rows int) (data []byte, repaint bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.screen == nil {
		return nil, false
	}
	if data, repaint := w.draw(cols, rows); data != nil {
		return data, repaint
	}
	return w.screen.Repaint(0), true
}

// draw returns what draws the agent's screen where its bytes cannot be shown as they came, else nothing.
func (w *window) draw(cols, rows int) (data []byte, repaint bool) {
	switch {
	case cols > 0 && rows > 0 && (cols < w.cols || rows < w.rows):
		w.clips = true
		return append(keyModes(w.screen), w.screen.Clip(cols, rows)...), false
	case w.clips: // this terminal has grown, or the other one shrunk
		w.clips = false
		return w.screen.Repaint(0), true
	}
	return nil, false
}

// keyModes returns the modes of the keyboard that the agent has switched on: it takes keys by them.
func keyModes(s *vt.Screen) []byte {
	b := []byte("\x1b[?1l\x1b[?2004l")
	if s.AppCursor() {
		b = append(b, "\x1b[?1h"...)
	}
	if s.BracketedPaste() {
		b = append(b, "\x1b[?2004h"...)
	}
	return b
}
