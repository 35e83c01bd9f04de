package vt

import "math/bits"

// cursor is where and how the next rune is printed. DECSC saves it.
type cursor struct {
	row, col int
	pending  bool // a rune was printed in the last column: the next one wraps first
	origin   bool // rows are counted from the top margin (DECOM)
	pen      style
	charsets [4]byte // final bytes of what is designated as G0 to G3: 'B' or '0' or 'A'
	shift    uint8   // which of them is in use
}

// state is the state that a reset sets back: everything but the grids, the scrollback and the parser.
type state struct {
	cur         cursor
	single      uint8 // G2 or G3 for the next rune only; 0 for none
	plain       bool  // ASCII is printed as it is: no charset, no insert mode, no single shift
	joinable    bool  // the last thing done was to print the rune before the cursor
	last        rune  // the last rune printed, for REP
	top, bottom int   // scroll region, inclusive
	modes       mode
	mouse       uint16 // 0, 9, 1000, 1001, 1002 or 1003
	mouseFormat uint16 // 0, 1005, 1006, 1015 or 1016
	cursorShape uint8  // DECSCUSR
	modifyOther uint8  // xterm's modifyOtherKeys
	title       string
	titles      []string // pushed
	tabs        tabStops
	drawing     bool // only what lines are made of is honoured
}

func initialState(rows int) state {
	return state{
		cur:   initialCursor(),
		plain: true, top: 0, bottom: rows - 1,
		modes: defaultModes,
		tabs:  defaultTabs(),
	}
}

func initialCursor() cursor { return cursor{charsets: [4]byte{'B', 'B', 'B', 'B'}} }

// mode is a set of modes that are on or off.
type mode uint32

const (
	modeAppCursor mode = 1 << iota
	modeReverse        // the whole screen
	modeAutowrap
	modeBlink // of the cursor
	modeVisible
	modeKeypad
	modeFocus
	modeAltScroll
	modeBracketedPaste
	modeSync
	modeGraphemes
	modeColorScheme
	modeInsert
	modeNewline

	allModes = modeNewline<<1 - 1
)

const defaultModes = modeAutowrap | modeVisible

// privateModes are the DEC private modes that are kept as one bit.
var privateModes = map[int]mode{
	1: modeAppCursor, 5: modeReverse, 7: modeAutowrap, 12: modeBlink, 25: modeVisible, 66: modeKeypad,
	1004: modeFocus, 1007: modeAltScroll, 2004: modeBracketedPaste, 2026: modeSync, 2027: modeGraphemes,
	2031: modeColorScheme,
}

// tabStops is a set of columns.
type tabStops [(MaxCols + 63) / 64]uint64

func defaultTabs() tabStops {
	var t tabStops
	for i := range t {
		t[i] = 0x0101010101010101
	}
	t[0] &^= 1
	return t
}

func (t *tabStops) set(col int)      { t[col/64] |= 1 << (col % 64) }
func (t *tabStops) remove(col int)   { t[col/64] &^= 1 << (col % 64) }
func (t *tabStops) has(col int) bool { return t[col/64]&(1<<(col%64)) != 0 }

// next returns the first stop right of col, or end.
func (t *tabStops) next(col, end int) int {
	for col++; col < end; {
		if rest := t[col/64] >> (col % 64); rest != 0 {
			return min(col+bits.TrailingZeros64(rest), end)
		}
		col = (col/64 + 1) * 64
	}
	return end
}

// previous returns the first stop left of col, or 0.
func (t *tabStops) previous(col int) int {
	for col--; col > 0 && !t.has(col); col-- {
	}
	return max(col, 0)
}

// choosePlain decides whether ASCII may be printed without a look at each byte.
func (s *Screen) choosePlain() {
	s.plain = s.single == 0 && s.cur.charsets[s.cur.shift] == 'B' && s.modes&modeInsert == 0
}

// reset is RIS. The scrollback goes as well, as in xterm; its numbers go on.
func (s *Screen) reset() {
	s.showAlt(false)
	s.main.eraseAll(0)
	s.main.saved, s.main.kept = cursor{}, false
	s.state = initialState(s.rows)
	s.tables = newTables()
	s.penChanged()
	s.history.clear()
}

// softReset is DECSTR.
func (s *Screen) softReset() {
	s.modes = s.modes&^(modeAppCursor|modeInsert|modeKeypad|modeReverse) | modeVisible | modeAutowrap
	s.top, s.bottom = 0, s.rows-1
	row, col := s.cur.row, s.cur.col
	s.cur = initialCursor()
	s.cur.row, s.cur.col = row, col
	s.single, s.joinable = 0, false
	s.g.saved, s.g.kept = cursor{}, false
	s.penChanged()
	s.choosePlain()
}

// save is DECSC.
func (s *Screen) save() {
	s.g.saved, s.g.kept = s.cur, true
}

// restore is DECRC; without a save it goes home with a default pen.
func (s *Screen) restore() {
	if s.g.kept {
		s.cur = s.g.saved
	} else {
		s.cur = initialCursor()
	}
	s.cur.row = min(s.cur.row, s.rows-1)
	s.cur.col = min(s.cur.col, s.cols-1)
	if s.cur.origin {
		s.cur.row = min(max(s.cur.row, s.top), s.bottom)
	}
	s.penChanged()
	s.choosePlain()
}

// showAlt switches to the alternate screen, or back. It lives only as long as it is shown: what xterm keeps of it is
// cleared by every program that comes back to it.
func (s *Screen) showAlt(on bool) {
	switch {
	case on && s.alt == nil:
		if s.alt = s.spare; s.alt == nil {
			s.alt = newGrid(s.cols, s.rows)
		}
		s.g, s.spare = s.alt, nil
	case !on && s.alt != nil:
		s.spare = s.alt
		s.spare.eraseAll(0)
		s.spare.saved, s.spare.kept = cursor{}, false
		s.g, s.alt = s.main, nil
	}
}
