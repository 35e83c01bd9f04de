package vt

import "unicode/utf8"

// printASCII prints the printable ASCII that p begins with, up to the end of the row, and returns how many bytes
// that were. Only called when s.plain and p begins with such a byte.
func (s *Screen) printASCII(p []byte) int {
	if s.cur.pending && !s.wrap() {
		for n, b := range p {
			if b-0x20 >= 0x5F {
				return n
			}
		}
		return len(p)
	}
	base := cell(s.pen()) << styleShift
	g, col := s.g, s.cur.col
	row := g.row(s.cur.row)
	free := row[col:]
	if len(p) > len(free) {
		p = p[:len(free)]
	}
	if free[0].isTail() {
		g.split(row, col)
	}
	n := len(p)
	for i, b := range p {
		if b-0x20 >= 0x5F {
			n = i
			break
		}
		free[i] = base | cell(b)
	}
	end := col + n
	if end < len(row) && row[end].isTail() { // its head was overwritten
		row[end] &^= lowMask
	}
	g.touch(s.cur.row, end)
	s.last, s.joinable = rune(p[n-1]), true
	if end == s.cols {
		end--
		s.cur.pending = true
	}
	s.cur.col = end
	return n
}

// wrap goes to the start of the next row because a rune did not fit, if the program wants that. It returns false if
// the rune is to be dropped: a line that is drawn ends at the edge.
func (s *Screen) wrap() bool {
	if s.drawing {
		return false
	}
	s.cur.pending = false
	if s.modes&modeAutowrap == 0 {
		return true
	}
	s.g.wrapped[s.g.order[s.cur.row]] = true
	s.index()
	s.cur.col = 0
	return true
}

// decGraphics is the DEC special graphics set from '_' on.
var decGraphics = [...]rune{' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─',
	'⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·'}

// printMapped prints a byte of ASCII through the charset in use.
func (s *Screen) printMapped(b byte) {
	set := s.cur.charsets[s.cur.shift]
	if s.single != 0 {
		set = s.cur.charsets[s.single]
		s.single = 0
		s.choosePlain()
	}
	r := rune(b)
	switch {
	case set == '0' && b >= '_' && b <= '~':
		r = decGraphics[b-'_']
	case set == 'A' && b == '#':
		r = '£'
	}
	s.print(r)
}

// print prints one rune at the cursor.
func (s *Screen) print(r rune) {
	switch runeWidth(r) {
	case ignored:
	case mark:
		s.combine(r)
	case narrow:
		s.place(r, 1)
	default:
		if s.joinable && (isModifier(r) || isRegional(r) || s.awaitsMore()) && s.join(r) {
			return
		}
		s.place(r, 2)
	}
}

// place puts a rune of one or two columns at the cursor.
func (s *Screen) place(r rune, width int) {
	if s.joinable && width == 1 && s.awaitsMore() && s.join(r) {
		return
	}
	if s.cur.pending && !s.wrap() {
		return
	}
	if width == 2 && s.cur.col == s.cols-1 {
		if s.drawing {
			s.cur.pending = true
			return
		}
		if s.modes&modeAutowrap != 0 {
			s.g.erase(s.cur.row, s.cur.col, s.cols, s.blank())
			s.wrap()
		} else {
			s.cur.col--
		}
	}
	if s.modes&modeInsert != 0 {
		s.g.insert(s.cur.row, s.cur.col, width, s.blank())
	}
	pen := s.pen()
	g, col := s.g, s.cur.col
	row := g.row(s.cur.row)
	g.split(row, col)
	g.split(row, col+width)
	row[col] = styleCell(pen) | cell(r)
	if width == 2 {
		row[col] |= wideBit
		row[col+1] = styleCell(pen) | tailBit
	}
	g.touch(s.cur.row, col+width)
	s.last, s.joinable = r, true
	s.advance(col + width)
}

// advance moves the cursor behind what was printed.
func (s *Screen) advance(col int) {
	s.cur.pending = col >= s.cols
	s.cur.col = min(col, s.cols-1)
}

// before returns the cell before the cursor, which a mark joins, and its column; nil at the start of a row.
func (s *Screen) before() (*cell, int) {
	col := s.cur.col - 1
	if s.cur.pending {
		col++
	}
	if col < 0 {
		return nil, 0
	}
	row := s.g.row(s.cur.row)
	if row[col].isTail() && col > 0 {
		col--
	}
	return &row[col], col
}

// appendGlyph appends what a cell shows.
func (s *Screen) appendGlyph(b []byte, c cell) []byte {
	switch {
	case c.isCluster():
		return append(b, s.tables.clusters[c.cluster()]...)
	case c&glyphMask == 0:
		return append(b, ' ')
	}
	return utf8.AppendRune(b, c.glyph())
}

// combine adds a mark to the cell before the cursor.
func (s *Screen) combine(r rune) {
	c, col := s.before()
	if c == nil {
		return
	}
	base := s.appendGlyph(s.scratch[:0], *c)
	text := utf8.AppendRune(base, r)
	s.scratch = text
	if len(text) > maxCluster {
		return
	}
	widen := !c.isWide() && (r == emojiVS && widensToEmoji(text) || r == keycap && isKeycap(base))
	if widen && !s.fitsWide(col) {
		return // a mark that changes the width would have another effect when the cell is drawn elsewhere
	}
	s.setCluster(col, text)
	if widen {
		s.widen(col)
	}
}

// isKeycap reports whether base becomes a keycap with the enclosing mark.
func isKeycap(base []byte) bool {
	return len(base) == 1+len("\uFE0F") && string(base[1:]) == "\uFE0F" &&
		(base[0] >= '0' && base[0] <= '9' || base[0] == '#' || base[0] == '*')
}

// awaitsMore reports whether the cluster before the cursor ends with a joiner.
func (s *Screen) awaitsMore() bool {
	c, _ := s.before()
	if c == nil || !c.isCluster() {
		return false
	}
	text := s.tables.clusters[c.cluster()]
	return len(text) > 3 && text[len(text)-3:] == "\u200d"
}

// join adds a rune that is none but looks like a mark to the cluster before the cursor: the second half of a flag, a
// skin tone, what follows a joiner. It returns false if r starts a cluster of its own.
func (s *Screen) join(r rune) bool {
	c, col := s.before()
	if c == nil {
		return false
	}
	text := utf8.AppendRune(s.appendGlyph(s.scratch[:0], *c), r)
	s.scratch = text
	if len(text) > maxCluster || !oneCluster(text) {
		return false
	}
	widen := !c.isWide() && runeWidth(r) == wide
	s.last = r
	if widen && !s.fitsWide(col) {
		return true
	}
	s.setCluster(col, text)
	if widen {
		s.widen(col)
	}
	return true
}

// setCluster gives the cell at col of the cursor's row another text; width and style stay.
func (s *Screen) setCluster(col int, text []byte) {
	s.cur.pen = s.makeRoom(s.cur.pen)
	id := s.tables.addCluster(text)
	row := s.g.row(s.cur.row)
	row[col] = row[col]&^glyphMask | clusterBit | cell(id)
	s.g.touch(s.cur.row, col+1)
}

// fitsWide reports whether the narrow cell before the cursor may become two columns wide.
func (s *Screen) fitsWide(col int) bool { return col+1 < s.cols && !s.cur.pending }

// widen makes that cell two columns wide.
func (s *Screen) widen(col int) {
	if s.modes&modeInsert != 0 {
		s.g.insert(s.cur.row, col+1, 1, s.blank())
	}
	row := s.g.row(s.cur.row)
	s.g.split(row, col+2)
	row[col] |= wideBit
	row[col+1] = styleCell(row[col].style()) | tailBit
	s.g.touch(s.cur.row, col+2)
	s.advance(col + 2)
}
