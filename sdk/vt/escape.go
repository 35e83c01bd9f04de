package vt

// escape carries out ESC and a final byte.
func (s *Screen) escape(final byte) {
	if s.drawing {
		return
	}
	s.joinable = false
	switch final {
	case '7':
		s.save()
	case '8':
		s.restore()
	case 'D':
		s.cur.pending = false
		s.index()
	case 'E':
		s.cur.pending = false
		s.cur.col = 0
		s.index()
	case 'H':
		s.tabs.set(s.cur.col)
	case 'M':
		s.cur.pending = false
		s.reverseIndex()
	case 'N', 'O':
		s.single = final - 'N' + 2
	case 'Z':
		s.reportDevice()
	case 'c':
		s.reset()
	case '=':
		s.modes |= modeKeypad
	case '>':
		s.modes &^= modeKeypad
	case 'n', 'o':
		s.cur.shift = final - 'n' + 2
	}
	s.choosePlain()
}

// escapeInter carries out ESC, an intermediate byte and a final byte.
func (s *Screen) escapeInter(final byte) {
	s.joinable = false
	if s.parser.inters != 1 || s.drawing {
		return
	}
	switch inter := s.parser.inter; inter {
	case '(', ')', '*', '+':
		if final != '0' && final != 'A' {
			final = 'B' // the national sets were never meant for a UTF-8 stream
		}
		s.cur.charsets[inter-'('] = final
		s.choosePlain()
	case '#':
		if final == '8' {
			s.align()
		}
	}
}

// align is DECALN: the screen full of E.
func (s *Screen) align() {
	s.top, s.bottom = 0, s.rows-1
	for y := range s.rows {
		s.g.eraseRow(y, 0)
		row := s.g.row(y)
		for x := range row {
			row[x] = 'E'
		}
		s.g.touch(y, s.cols)
	}
	s.cur.origin = false
	s.moveTo(0, 0)
}
