package vt

import "bytes"

// param returns parameter i, or missing where it was left out.
func (s *Screen) param(i, missing int) int {
	if i >= s.parser.nparams || s.parser.params[i] < 0 {
		return missing
	}
	return int(s.parser.params[i])
}

// count returns parameter 0 of an operation that is done at least once.
func (s *Screen) count() int { return max(s.param(0, 1), 1) }

// csi carries out a complete CSI sequence.
func (s *Screen) csi(final byte) {
	pr := &s.parser
	if final == 'm' && pr.prefix == 0 && pr.inters == 0 {
		s.sgr()
		return
	}
	if s.drawing && final != 'G' {
		return
	}
	s.joinable = final == 'b' && s.joinable
	switch {
	case pr.inters == 0 && pr.prefix == 0:
		s.csiPlain(final)
	case pr.inters == 0 && pr.prefix == '?':
		s.csiPrivate(final)
	case pr.inters == 0 && pr.prefix == '>' && final == 'm':
		if s.param(0, 0) == 4 || pr.nparams == 0 {
			s.modifyOther = uint8(min(s.param(1, 0), 2))
		}
	case pr.inters == 1 && pr.inter == ' ' && final == 'q' && pr.prefix == 0:
		if shape := s.param(0, 0); shape <= 6 {
			s.cursorShape = uint8(shape)
		}
	case pr.inters == 1 && pr.inter == '!' && final == 'p' && pr.prefix == 0:
		s.softReset()
	}
}

// csiPrivate carries out a sequence with '?'.
func (s *Screen) csiPrivate(final byte) {
	switch final {
	case 'h', 'l':
		for i := range s.parser.nparams {
			s.setPrivate(s.param(i, 0), final == 'h')
		}
	case 'J':
		s.eraseDisplay(s.param(0, 0))
	case 'K':
		s.eraseLine(s.param(0, 0))
	case 'n':
		s.reportStatus('?', s.param(0, 0))
	}
}

// csiPlain carries out a sequence without prefix and intermediate bytes.
func (s *Screen) csiPlain(final byte) {
	row, col := s.cur.row, s.cur.col
	switch final {
	case '@':
		s.cur.pending = false
		s.g.insert(row, col, min(s.count(), s.cols), s.blank())
	case 'A':
		s.up(s.count())
	case 'B', 'e':
		s.down(s.count())
	case 'C', 'a':
		s.moveTo(row, col+s.count())
	case 'D':
		s.moveTo(row, col-s.count())
	case 'E':
		s.down(s.count())
		s.moveTo(s.cur.row, 0)
	case 'F':
		s.up(s.count())
		s.moveTo(s.cur.row, 0)
	case 'G', '`':
		s.moveTo(row, s.count()-1)
		s.cur.pending = s.drawing && s.count() > s.cols // beyond the edge nothing is drawn
	case 'H', 'f':
		s.moveOrigin(s.count()-1, max(s.param(1, 1), 1)-1)
	case 'I':
		s.tab(s.count())
	case 'J':
		s.eraseDisplay(s.param(0, 0))
	case 'K':
		s.eraseLine(s.param(0, 0))
	case 'L', 'M':
		s.moveLines(final, s.count())
	case 'P':
		s.cur.pending = false
		s.g.remove(row, col, min(s.count(), s.cols), s.blank())
	case 'S':
		s.scrollUp(s.count())
	case 'T':
		if s.parser.nparams <= 1 { // with five it is a mouse mode of the last century
			s.g.scrollDown(s.top, s.bottom, s.count(), s.blank())
		}
	case 'X':
		s.cur.pending = false
		s.g.erase(row, col, min(col+s.count(), s.cols), s.blank())
	case 'Z':
		s.tab(-s.count())
	case 'b':
		s.repeat(s.count())
	case 'c':
		if s.param(0, 0) == 0 {
			s.reportDevice()
		}
	case 'd':
		s.moveOrigin(s.count()-1, col)
	case 'g':
		s.clearTabs(s.param(0, 0))
	case 'h', 'l':
		for i := range s.parser.nparams {
			s.setANSI(s.param(i, 0), final == 'h')
		}
	case 'n':
		s.reportStatus(0, s.param(0, 0))
	case 'r':
		s.setMargins()
	case 's':
		s.save()
	case 't':
		s.windowOperation(s.param(0, 0))
	case 'u':
		s.restore()
	}
}

// setMargins is DECSTBM.
func (s *Screen) setMargins() {
	top, bottom := max(s.param(0, 1), 1)-1, s.param(1, s.rows)-1
	if bottom < 0 || bottom >= s.rows {
		bottom = s.rows - 1
	}
	if top >= bottom {
		return
	}
	s.top, s.bottom = top, bottom
	s.moveOrigin(0, 0)
}

// repeat is REP.
func (s *Screen) repeat(n int) {
	if !s.joinable || s.last == 0 {
		return
	}
	n = min(n, s.cols*s.rows)
	if s.plain && s.last >= ' ' && s.last < 0x7F {
		run := bytes.Repeat([]byte{byte(s.last)}, n)
		for len(run) > 0 {
			run = run[s.printASCII(run):]
		}
		return
	}
	for range n {
		s.joinable = false // each is a cluster of its own
		s.print(s.last)
	}
}

// clearTabs is TBC.
func (s *Screen) clearTabs(what int) {
	switch what {
	case 0:
		s.tabs.remove(s.cur.col)
	case 3:
		s.tabs = tabStops{}
	}
}

// windowOperation pushes and pops the title; a Screen has no window for the other operations.
func (s *Screen) windowOperation(what int) {
	if which := s.param(1, 0); which != 0 && which != 2 {
		return
	}
	switch {
	case what == 22 && len(s.titles) < maxTitles:
		s.titles = append(s.titles[:len(s.titles):len(s.titles)], s.title)
	case what == 23 && len(s.titles) > 0:
		s.title = s.titles[len(s.titles)-1]
		s.titles = s.titles[:len(s.titles)-1]
	}
}
