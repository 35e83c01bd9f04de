package vt

// moveTo puts the cursor somewhere on the screen.
func (s *Screen) moveTo(row, col int) {
	s.cur.pending = false
	s.cur.row = min(max(row, 0), s.rows-1)
	s.cur.col = min(max(col, 0), s.cols-1)
}

// moveOrigin does so with a row that is counted from the top margin in origin mode.
func (s *Screen) moveOrigin(row, col int) {
	if s.cur.origin {
		row = min(max(row+s.top, s.top), s.bottom)
	}
	s.moveTo(row, col)
}

// up moves the cursor; the top margin stops it unless it is above already.
func (s *Screen) up(n int) {
	limit := 0
	if s.cur.row >= s.top {
		limit = s.top
	}
	s.moveTo(max(s.cur.row-n, limit), s.cur.col)
}

// down moves the cursor; the bottom margin stops it unless it is below already.
func (s *Screen) down(n int) {
	limit := s.rows - 1
	if s.cur.row <= s.bottom {
		limit = s.bottom
	}
	s.moveTo(min(s.cur.row+n, limit), s.cur.col)
}

// tab moves n tab stops on, or back.
func (s *Screen) tab(n int) {
	col := s.cur.col
	for ; n > 0 && col < s.cols-1; n-- {
		col = s.tabs.next(col, s.cols-1)
	}
	for ; n < 0 && col > 0; n++ {
		col = s.tabs.previous(col)
	}
	s.moveTo(s.cur.row, col)
}

// index moves down a row, and scrolls at the bottom margin.
func (s *Screen) index() {
	switch s.cur.row {
	case s.bottom:
		s.scrollUp(1)
	case s.rows - 1:
	default:
		s.cur.row++
	}
}

// reverseIndex moves up a row, and scrolls at the top margin.
func (s *Screen) reverseIndex() {
	switch s.cur.row {
	case s.top:
		s.g.scrollDown(s.top, s.bottom, 1, s.blank())
	case 0:
	default:
		s.cur.row--
	}
}

// scrollUp scrolls the region. What leaves the top of the main screen becomes scrollback.
func (s *Screen) scrollUp(n int) {
	blank := s.blank()
	n = min(n, s.bottom-s.top+1)
	if s.top == 0 && s.g == s.main {
		for y := range n {
			s.pushRow(y)
		}
	}
	s.g.scrollUp(s.top, s.bottom, n, blank)
}

// moveLines is IL and DL.
func (s *Screen) moveLines(final byte, n int) {
	if s.cur.row < s.top || s.cur.row > s.bottom {
		return
	}
	if final == 'L' {
		s.g.scrollDown(s.cur.row, s.bottom, n, s.blank())
	} else {
		s.g.scrollUp(s.cur.row, s.bottom, n, s.blank())
	}
	s.moveTo(s.cur.row, 0)
}

// eraseDisplay is ED.
func (s *Screen) eraseDisplay(what int) {
	s.cur.pending = false
	blank := s.blank()
	from, to := 0, s.rows
	switch what {
	case 0:
		s.g.erase(s.cur.row, s.cur.col, s.cols, blank)
		from = s.cur.row + 1
	case 1:
		s.g.erase(s.cur.row, 0, s.cur.col+1, blank)
		to = s.cur.row
	case 2:
	case 3:
		s.history.clear()
		return
	default:
		return
	}
	for y := from; y < to; y++ {
		s.g.eraseRow(y, blank)
	}
}

// eraseLine is EL.
func (s *Screen) eraseLine(what int) {
	s.cur.pending = false
	from, to := 0, s.cols
	switch what {
	case 0:
		from = s.cur.col
	case 1:
		to = s.cur.col + 1
	case 2:
	default:
		return
	}
	s.g.erase(s.cur.row, from, to, s.blank())
}
