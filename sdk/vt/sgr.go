package vt

// sgr carries out SGR: it changes the pen.
func (s *Screen) sgr() {
	pr := &s.parser
	pen := &s.cur.pen
	s.penChanged()
	if pr.nparams == 0 {
		*pen = style{link: pen.link}
		return
	}
	for i := 0; i < pr.nparams; {
		end := i + 1 // of the parameter with its sub-parameters
		for end < pr.nparams && pr.colon&(1<<end) != 0 {
			end++
		}
		switch n := s.param(i, 0); n {
		case 38, 48, 58:
			c, next, ok := s.sgrColor(i, end)
			if ok {
				switch n {
				case 38:
					pen.fg = c
				case 48:
					pen.bg = c
				default:
					pen.ul = c
				}
			}
			end = next
		case 4:
			kind := 1
			if end > i+1 {
				kind = s.param(i+1, 1)
			}
			if kind <= 5 {
				pen.attr = pen.attr&^underlineMask | uint16(kind)<<underlineShift
			}
		default:
			pen.apply(n)
		}
		i = end
	}
}

// attributes that SGR n switches on, for n below 10.
var attributes = [10]uint16{1: attrBold, 2: attrFaint, 3: attrItalic, 5: attrBlink, 6: attrBlink, 7: attrInverse,
	8: attrInvisible, 9: attrStrike}

// apply carries out an SGR parameter that stands alone.
func (pen *style) apply(n int) {
	switch {
	case n == 0:
		*pen = style{link: pen.link}
	case n < 10:
		pen.attr |= attributes[n]
	case n >= 30 && n <= 37:
		pen.fg = paletteColor | color(n-30)
	case n >= 40 && n <= 47:
		pen.bg = paletteColor | color(n-40)
	case n >= 90 && n <= 97:
		pen.fg = paletteColor | color(n-90+8)
	case n >= 100 && n <= 107:
		pen.bg = paletteColor | color(n-100+8)
	case n == 39:
		pen.fg = 0
	case n == 49:
		pen.bg = 0
	case n == 59:
		pen.ul = 0
	case n == 21:
		pen.attr = pen.attr&^underlineMask | 2<<underlineShift
	case n == 22:
		pen.attr &^= attrBold | attrFaint
	case n == 23:
		pen.attr &^= attrItalic
	case n == 24:
		pen.attr &^= underlineMask
	case n == 25:
		pen.attr &^= attrBlink
	case n == 27:
		pen.attr &^= attrInverse
	case n == 28:
		pen.attr &^= attrInvisible
	case n == 29:
		pen.attr &^= attrStrike
	case n == 53:
		pen.attr |= attrOverline
	case n == 55:
		pen.attr &^= attrOverline
	}
}

// sgrColor reads the colour that parameter i introduces, with sub-parameters up to end ("38:2::r:g:b", "38:5:n") or
// with parameters behind it ("38;2;r;g;b"). next is where to go on.
func (s *Screen) sgrColor(i, end int) (c color, next int, ok bool) {
	pr := &s.parser
	kind := s.param(i+1, 0)
	if end > i+1 { // colons
		count := end - i - 2
		switch {
		case kind == 5 && count >= 1:
			c, ok = palette(s.param(i+2, 0))
		case kind == 2 && count >= 4: // with a colour space before the values
			c, ok = rgb(s.param(i+3, 0), s.param(i+4, 0), s.param(i+5, 0))
		case kind == 2 && count == 3:
			c, ok = rgb(s.param(i+2, 0), s.param(i+3, 0), s.param(i+4, 0))
		}
		return c, end, ok
	}
	switch kind {
	case 5:
		if i+2 < pr.nparams {
			c, ok = palette(s.param(i+2, 0))
		}
		return c, i + 3, ok
	case 2:
		if i+4 < pr.nparams {
			c, ok = rgb(s.param(i+2, 0), s.param(i+3, 0), s.param(i+4, 0))
		}
		return c, i + 5, ok
	}
	return 0, i + 2, false
}

func palette(n int) (color, bool) { return paletteColor | color(n&0xFF), n <= 255 }

func rgb(r, g, b int) (color, bool) {
	return rgbColor | color(r&0xFF)<<16 | color(g&0xFF)<<8 | color(b&0xFF), r <= 255 && g <= 255 && b <= 255
}
