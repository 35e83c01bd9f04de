package vt

import (
	"slices"
	"strconv"
)

// defaultPen sets back what a saved cursor left behind: it homes the cursor as well.
const defaultPen = "\x1b[m\x1b]8;;\x1b\\\x1b[?6l\x1b(B\x1b)B\x1b*B\x1b+B\x0f"

// Repaint returns bytes that bring any xterm to the state of this Screen: reset, up to tail lines of scrollback, the
// grid, modes and cursor, and the beginning of the sequence that Write is in the middle of, so that what is written
// from Offset on may follow at once. Two things are lost on the viewer: that the last rune may be repeated (REP), and that
// a flag or a joined emoji of which the first half was printed may go on.
func (s *Screen) Repaint(tail int) []byte {
	lines := min(tail, int(s.history.next-s.history.first))
	b := make([]byte, 0, s.cols*(s.rows+max(lines, 0)/2))
	b = append(b, "\x1bc"...)
	b = s.appendTitle(b)
	b = s.appendMain(b, tail)
	if s.AltScreen() {
		b = s.appendCursor(b, s.main.saved, s.main.kept, s.main)
		// Entering may clear with the background of the saved pen, so clear again.
		b = append(b, "\x1b[?1049h"+defaultPen+"\x1b[2J"...)
		b = s.appendRows(b, s.alt)
	}
	if s.g.kept {
		b = s.appendCursor(b, s.g.saved, true, s.g)
		b = append(b, "\x1b7"+defaultPen...)
	}
	b = s.appendState(b)
	return append(b, s.parser.unfinished()...)
}

func (s *Screen) appendTitle(b []byte) []byte {
	if s.title == "" {
		return b
	}
	b = append(b, "\x1b]2;"...)
	b = append(b, s.title...)
	return append(b, "\x1b\\"...)
}

// appendMain appends scrollback and main screen, line by line, so that the viewer scrolls as well.
func (s *Screen) appendMain(b []byte, tail int) []byte {
	h := &s.history
	from := h.next
	if tail > 0 {
		from -= min(uint64(tail), h.next-h.first)
	}
	last := s.rows - 1
	if from == h.next { // nothing has to scroll: blank rows at the end are left out
		for last > 0 && len(s.main.content(last)) == 0 {
			last--
		}
	}
	var p lineWriter
	p.b, p.cols = b, s.cols
	h.each(from, p.write)
	var line []byte
	for y := 0; y <= last; y++ {
		line = s.appendLine(line[:0], s.main.content(y))
		p.write(line, s.main.wrapped[s.main.order[y]])
	}
	return p.b
}

// lineWriter joins lines for a terminal that wraps.
type lineWriter struct {
	b       []byte
	cols    int
	started bool
	wrapped bool // the last line went on
	at      int  // where the last line begins in b
}

func (w *lineWriter) write(line []byte, wrapped bool) {
	if w.started && !(w.wrapped && flows(w.b[w.at:], line, w.cols)) {
		w.b = append(w.b, "\r\n"...)
	}
	w.at = len(w.b)
	w.b = append(w.b, line...)
	w.started, w.wrapped = true, wrapped
}

// appendRows appends the rows of the alternate screen, each at its place.
func (s *Screen) appendRows(b []byte, g *grid) []byte {
	for y := range g.rows() {
		if content := g.content(y); len(content) > 0 {
			b = appendMove(b, y, 0)
			b = s.appendLine(b, content)
		}
	}
	return b
}

// appendCursor appends the position, pen and charsets of a saved cursor; home where none was saved. A pending wrap
// is brought about by printing what is in the last column again.
func (s *Screen) appendCursor(b []byte, c cursor, kept bool, g *grid) []byte {
	if !kept {
		return append(b, "\x1b[H"...)
	}
	if c.origin { // the margins are still those of the whole screen
		b = append(b, "\x1b[?6h"...)
	}
	b = s.appendPosition(b, c, 0, g)
	b = s.tables.appendStyle(b, style{}, c.pen)
	return appendCharsets(b, c)
}

// appendPosition moves to the cursor, counted from row top.
func (s *Screen) appendPosition(b []byte, c cursor, top int, g *grid) []byte {
	if !c.pending {
		return appendMove(b, c.row-top, c.col)
	}
	row := g.row(c.row)
	col := s.cols - 1
	if row[col].isTail() {
		col--
	}
	b = appendMove(b, c.row-top, col)
	at := row[col]
	st := s.tables.styles[at.style()]
	b = s.tables.appendStyle(b, style{}, st)
	b = s.appendGlyph(b, at)
	return s.tables.appendStyle(b, st, style{})
}

func appendMove(b []byte, row, col int) []byte {
	b = append(b, "\x1b["...)
	b = strconv.AppendInt(b, int64(row+1), 10)
	b = append(b, ';')
	b = strconv.AppendInt(b, int64(col+1), 10)
	return append(b, 'H')
}

func appendCharsets(b []byte, c cursor) []byte {
	for i, set := range c.charsets {
		if set != 'B' {
			b = append(b, 0x1B, "()*+"[i], set)
		}
	}
	return append(b, [][]byte{nil, {0x0E}, []byte("\x1bn"), []byte("\x1bo")}[c.shift]...)
}

// appendState appends everything but the content. The order matters: margins and origin mode move the cursor, the
// charsets and insert mode change what a pending wrap prints.
func (s *Screen) appendState(b []byte) []byte {
	b = s.appendTabs(b)
	if s.top != 0 || s.bottom != s.rows-1 {
		b = append(b, "\x1b["...)
		b = strconv.AppendInt(b, int64(s.top+1), 10)
		b = append(b, ';')
		b = strconv.AppendInt(b, int64(s.bottom+1), 10)
		b = append(b, 'r')
	}
	top := 0
	if s.cur.origin {
		b = append(b, "\x1b[?6h"...)
		top = s.top
	}
	b = s.appendPosition(b, s.cur, top, s.g)
	b = s.tables.appendStyle(b, style{}, s.cur.pen)
	b = appendCharsets(b, s.cur)
	if s.single != 0 {
		b = append(b, 0x1B, 'N'+s.single-2)
	}
	return s.appendModes(b)
}

// appendTabs sets the tab stops if they are not the usual ones.
func (s *Screen) appendTabs(b []byte) []byte {
	usual := defaultTabs()
	if s.tabs == usual {
		return b
	}
	b = append(b, "\x1b[3g"...)
	for col := range s.cols {
		if s.tabs.has(col) {
			b = appendMove(b, 0, col)
			b = append(b, "\x1bH"...)
		}
	}
	return b
}

// appendModes switches the modes that are not as after a reset. None of these moves the cursor.
func (s *Screen) appendModes(b []byte) []byte {
	change := s.modes ^ defaultModes
	numbers := make([]int, 0, len(privateModes))
	for number, m := range privateModes {
		if change&m != 0 && m != modeKeypad && m != modeSync {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		b = appendPrivate(b, number, s.modes&privateModes[number] != 0)
	}
	if s.mouse != 0 {
		b = appendPrivate(b, int(s.mouse), true)
	}
	if s.mouseFormat != 0 {
		b = appendPrivate(b, int(s.mouseFormat), true)
	}
	for _, each := range []struct {
		on   bool
		text string
	}{
		{s.modes&modeKeypad != 0, "\x1b="},
		{s.modes&modeInsert != 0, "\x1b[4h"},
		{s.modes&modeNewline != 0, "\x1b[20h"},
		{s.modifyOther != 0, "\x1b[>4;" + string('0'+rune(s.modifyOther)) + "m"},
		{s.cursorShape != 0, "\x1b[" + string('0'+rune(s.cursorShape)) + " q"},
		{s.modes&modeSync != 0, "\x1b[?2026h"}, // last: the viewer shows nothing until the frame is complete
	} {
		if each.on {
			b = append(b, each.text...)
		}
	}
	return b
}

func appendPrivate(b []byte, number int, on bool) []byte {
	b = append(b, "\x1b[?"...)
	b = strconv.AppendInt(b, int64(number), 10)
	if on {
		return append(b, 'h')
	}
	return append(b, 'l')
}
