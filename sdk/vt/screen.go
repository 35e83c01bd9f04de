package vt

import "cmp"

// Sizes of a Screen. Others are brought into these bounds.
const (
	DefaultCols = 120
	DefaultRows = 40
	MinCols     = 2
	MinRows     = 1
	MaxCols     = 1000
	MaxRows     = 1000

	// DefaultScrollback is the number of scrollback lines that are kept.
	DefaultScrollback = 10000
)

// Options of a Screen. The zero value is usable.
type Options struct {
	Cols, Rows      int       // 0: 120x40
	ScrollbackLines int       // 0: 10000; negative: none. The memory they may take is bounded as well.
	OnOSC           func(OSC) // called in order, during Write, for every complete OSC; may be nil. It must not use the Screen.
}

// OSC is an operating system command: what a program tells about itself. It ended with BEL or ESC \.
type OSC struct {
	Code   int    // the number before the first ';', -1 if there is none
	Data   []byte // after the first ';', at most 64 KiB, without control characters; only valid during the call
	Offset uint64 // of the byte after the terminator, in bytes fed
}

// Screen is a terminal: a grid, an alternate grid, modes and scrollback. It honours what xterm honours of UTF-8
// streams. Not safe for concurrent use.
type Screen struct {
	state
	cols, rows int
	g          *grid // the one shown: main or alt
	main, alt  *grid // alt is nil unless it is shown
	spare      *grid // blank: the alternate screen of next time, or nil
	tables     tables
	history    history
	parser     parser
	onOSC      func(OSC)
	offset     uint64 // bytes fed before the current Write
	replies    []byte
	scratch    []byte // of one cluster

	penID, blankID uint32 // numbers of the pen and of what erases; valid when the flags below are set
	penOK, blankOK bool
	heldPen        *style // of the state that drawLine put aside; nil otherwise
}

// New returns a blank Screen.
func New(o Options) *Screen {
	o.Cols = cmp.Or(o.Cols, DefaultCols)
	o.Rows = cmp.Or(o.Rows, DefaultRows)
	o.ScrollbackLines = cmp.Or(o.ScrollbackLines, DefaultScrollback)
	cols, rows := clampSize(o.Cols, o.Rows)
	s := &Screen{cols: cols, rows: rows, main: newGrid(cols, rows), tables: newTables(), onOSC: o.OnOSC}
	s.history.limit = max(o.ScrollbackLines, 0)
	s.g = s.main
	s.state = initialState(rows)
	return s
}

func clampSize(cols, rows int) (int, int) {
	return min(max(cols, MinCols), MaxCols), min(max(rows, MinRows), MaxRows)
}

// Cursor returns the position of the cursor, counted from 0.
func (s *Screen) Cursor() (row, col int) { return s.cur.row, s.cur.col }

// LineStart returns the row in which the line begins that the cursor stands on, counted from 0: one that does not fit into a row
// goes on in the next.
func (s *Screen) LineStart() int {
	row := s.cur.row
	for row > 0 && s.g.wrapped[s.g.order[row-1]] {
		row--
	}
	return row
}

// Size returns the size in columns and rows.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// Title returns the title of the window as OSC 0 or 2 set it last.
func (s *Screen) Title() string { return s.title }

// AltScreen reports whether the alternate screen is shown, which has no scrollback.
func (s *Screen) AltScreen() bool { return s.alt != nil }

// BracketedPaste reports whether the program wants pasted text between brackets (mode 2004).
func (s *Screen) BracketedPaste() bool { return s.modes&modeBracketedPaste != 0 }

// AppCursor reports whether the cursor keys send their application sequences (mode 1), see EncodeKeys.
func (s *Screen) AppCursor() bool { return s.modes&modeAppCursor != 0 }

// SyncOutput reports whether the program is in the middle of a frame (mode 2026).
func (s *Screen) SyncOutput() bool { return s.modes&modeSync != 0 }

// Offset returns the number of bytes fed.
func (s *Screen) Offset() uint64 { return s.offset }

// Text returns the visible rows without their trailing blanks.
func (s *Screen) Text() []string {
	text := make([]string, s.rows)
	var line []byte
	for y := range text {
		line = s.appendText(line[:0], s.g.content(y))
		text[y] = string(line)
	}
	return text
}

// pen returns the number of the style that is printed with.
func (s *Screen) pen() uint32 {
	if !s.penOK {
		s.penID = s.styleID(s.cur.pen)
		s.penOK = true
	}
	return s.penID
}

// blank returns the cell that erased places get: the background of the pen, and nothing else of it.
func (s *Screen) blank() cell {
	if s.cur.pen.bg == 0 {
		return 0
	}
	if !s.blankOK {
		s.blankID = s.styleID(style{bg: s.cur.pen.bg})
		s.blankOK = true
	}
	return styleCell(s.blankID)
}

// penChanged voids what was derived from the pen.
func (s *Screen) penChanged() { s.penOK, s.blankOK = false, false }

// styleID returns the number of a style. It may renumber all styles: no number survives the next call.
func (s *Screen) styleID(st style) uint32 {
	if id, ok := s.tables.find(st); ok {
		return id
	}
	st = s.makeRoom(st)
	return s.tables.addStyle(st)
}

// makeRoom compacts the tables if they are full. st is a pen that has no number yet; its link is kept.
func (s *Screen) makeRoom(st style) style {
	if !s.tables.full() {
		return st
	}
	return s.compact(st)
}

// compact drops from the tables what nothing uses. It is apart from makeRoom because st moves to the heap here.
func (s *Screen) compact(st style) style {
	grids := []*grid{s.main}
	pens := []*style{&st, &s.cur.pen, &s.main.saved.pen}
	if s.alt != nil {
		grids = append(grids, s.alt)
		pens = append(pens, &s.alt.saved.pen)
	}
	if s.heldPen != nil {
		pens = append(pens, s.heldPen)
	}
	s.tables.compact(grids, pens)
	s.penChanged()
	return st
}
