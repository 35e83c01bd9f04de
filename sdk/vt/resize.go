package vt

// Resize changes the size. As in xterm, nothing is wrapped anew: rows that no longer fit above the cursor go to the
// scrollback, rows come back from it when there is room, and columns beyond the new width are lost. The scroll region is
// reset. Sizes out of bounds are brought into them.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = clampSize(cols, rows)
	if cols == s.cols && rows == s.rows {
		return
	}
	alt := s.AltScreen()
	row := s.cur.row // of the cursor on the main screen
	if alt {
		row = s.main.saved.row
	}
	out := max(row-(rows-1), 0)
	for y := range out {
		s.pushRow(y)
	}
	grown := rows - s.rows
	s.cols, s.rows = cols, rows
	s.main = s.main.resized(cols, rows, out)
	s.spare = nil
	if s.alt != nil {
		s.alt = s.alt.resized(cols, rows, 0)
	}
	s.g = s.main
	in := s.pullRows(grown)
	s.main.saved.row += in - out
	if alt {
		s.g = s.alt
	} else {
		s.cur.row += in - out
	}
	s.top, s.bottom = 0, rows-1
	s.joinable = false
	s.moveTo(s.cur.row, s.cur.col)
	for _, g := range []*grid{s.main, s.alt} {
		if g != nil {
			g.saved.row = min(max(g.saved.row, 0), rows-1)
			g.saved.col = min(g.saved.col, cols-1)
			g.saved.pending = false
		}
	}
}

// pullRows takes up to n rows back from the scrollback to the top of the main screen, whose last rows are blank, and
// returns how many.
func (s *Screen) pullRows(n int) int {
	pulled := 0
	for ; pulled < n; pulled++ {
		line, wrapped, ok := s.history.pop()
		if !ok {
			break
		}
		s.main.scrollDown(0, s.rows-1, 1, 0)
		s.drawLine(s.main, 0, line)
		s.main.wrapped[s.main.order[0]] = wrapped
	}
	return pulled
}
