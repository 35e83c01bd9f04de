package vt

// set switches the modes of m.
func (s *Screen) set(m mode, on bool) {
	if on {
		s.modes |= m
	} else {
		s.modes &^= m
	}
}

// setANSI is SM and RM.
func (s *Screen) setANSI(number int, on bool) {
	switch number {
	case 4:
		s.set(modeInsert, on)
		s.choosePlain()
	case 20:
		s.set(modeNewline, on)
	}
}

// setPrivate is DECSET and DECRST.
func (s *Screen) setPrivate(number int, on bool) {
	if m := privateModes[number]; m != 0 {
		s.set(m, on)
		return
	}
	switch number {
	case 6:
		s.cur.origin = on
		s.moveOrigin(0, 0)
	case 9, 1000, 1001, 1002, 1003: // one of them at a time; switching any off switches the mouse off
		s.mouse = 0
		if on {
			s.mouse = uint16(number)
		}
	case 1005, 1006, 1015, 1016:
		if on {
			s.mouseFormat = uint16(number)
		} else if s.mouseFormat == uint16(number) {
			s.mouseFormat = 0
		}
	case 47, 1047, 1048, 1049:
		s.setAlt(number, on)
	}
}

// setAlt switches between the main and the alternate screen in the ways that have accumulated.
func (s *Screen) setAlt(number int, on bool) {
	was := s.AltScreen()
	if on && number >= 1048 {
		s.save()
	}
	if number != 1048 {
		s.cur.pending = false
		s.showAlt(on)
		if on && !was && number == 1049 {
			s.alt.eraseAll(s.blank())
		}
	}
	if !on && number >= 1048 {
		s.restore()
	}
}
