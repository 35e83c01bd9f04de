package vt

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// Bounds of what is kept of an unfinished sequence.
const (
	maxString  = 64 << 10 // OSC; the rest is dropped
	maxParams  = 32
	maxParam   = 1<<16 - 1
	keepString = 4 << 10 // a larger buffer is given back after use
)

// phase is where in a sequence the parser is.
type phase uint8

const (
	ground phase = iota
	escape
	escapeInter // ESC and intermediate bytes
	csi
	csiIgnore
	osc
	oscEscape // ESC within an OSC
	ignoreString
	ignoreEscape
)

// parser is the state between two bytes.
type parser struct {
	phase   phase
	utf8    [utf8.UTFMax]byte // an unfinished rune; ground only
	utf8Len int
	str     []byte // of an OSC, bounded

	prefix  byte // '?', '>', '<' or '=' of a CSI, 0 for none
	inter   byte // the last intermediate byte, 0 for none
	inters  int
	params  [maxParams]int32 // -1 where left out
	colon   uint32           // bit i: parameter i was joined to the one before by a colon
	nparams int
	inParam bool // a digit or separator was seen
}

// Write feeds the program's output. It takes any bytes, in any pieces. The result is the terminal's reply, to
// be written to the program; it is usually nil, and valid until the next call.
func (s *Screen) Write(p []byte) []byte {
	s.replies = s.replies[:0]
	s.feed(p)
	s.offset += uint64(len(p))
	if len(s.replies) == 0 {
		return nil
	}
	return s.replies
}

// feed runs the parser over p.
func (s *Screen) feed(p []byte) {
	for i := 0; i < len(p); {
		switch s.parser.phase {
		case ground:
			i = s.ground(p, i)
		case escape, escapeInter:
			i = s.escapeByte(p, i)
		case csi, csiIgnore:
			i = s.csiBytes(p, i)
		case osc, oscEscape:
			i = s.oscBytes(p, i)
		default:
			i = s.ignoreBytes(p, i)
		}
	}
}

// unfinished returns bytes that bring a parser in the ground phase to where this one is.
func (pr *parser) unfinished() []byte {
	switch pr.phase {
	case ground:
		return pr.utf8[:pr.utf8Len]
	case escape:
		return []byte{0x1B}
	case escapeInter:
		return append([]byte{0x1B}, pr.intermediates()...)
	case csi:
		return pr.unfinishedCSI()
	case csiIgnore:
		return []byte("\x1b[0<") // a prefix behind a parameter: the rest is ignored
	case osc:
		return append([]byte("\x1b]"), pr.str...)
	case oscEscape:
		return append(append([]byte("\x1b]"), pr.str...), 0x1B)
	case ignoreEscape:
		return []byte("\x1bX\x1b")
	default:
		return []byte("\x1bX") // whatever string it was: it is ignored to its end
	}
}

// intermediates returns as many intermediate bytes as matter: with more than one no sequence is known.
func (pr *parser) intermediates() []byte {
	return bytes.Repeat([]byte{pr.inter}, min(pr.inters, 2))
}

func (pr *parser) unfinishedCSI() []byte {
	b := []byte("\x1b[")
	if pr.prefix != 0 {
		b = append(b, pr.prefix)
	}
	if pr.inParam {
		for i := 0; i <= pr.nparams; i++ {
			switch {
			case i > 0 && pr.colon&(1<<i) != 0:
				b = append(b, ':')
			case i > 0:
				b = append(b, ';')
			}
			if pr.params[i] >= 0 {
				b = strconv.AppendInt(b, int64(pr.params[i]), 10)
			}
		}
	}
	return append(b, pr.intermediates()...)
}

// ground prints p from i on, until a sequence begins, and returns the position behind.
func (s *Screen) ground(p []byte, i int) int {
	for i < len(p) {
		b := p[i]
		switch {
		case s.parser.utf8Len > 0:
			i = s.continueRune(p, i)
		case b-0x20 < 0x5F:
			if s.plain {
				i += s.printASCII(p[i:])
			} else {
				s.printMapped(b)
				i++
			}
		case b == 0x1B:
			s.parser.phase = escape
			s.parser.inters, s.parser.inter = 0, 0
			return i + 1
		case b < 0x20:
			s.control(b)
			i++
		case b == 0x7F:
			i++
		default:
			i = s.printRune(p, i)
		}
	}
	return i
}

// printRune prints the rune of several bytes at p[i], or keeps it if it is unfinished.
func (s *Screen) printRune(p []byte, i int) int {
	r, size := utf8.DecodeRune(p[i:])
	if r == utf8.RuneError && size == 1 {
		rest := p[i:]
		if !utf8.FullRune(rest) {
			s.parser.utf8Len = copy(s.parser.utf8[:], rest)
			return len(p)
		}
		size = invalidLen(rest)
	}
	s.print(r)
	return i + size
}

// continueRune adds bytes to the unfinished rune.
func (s *Screen) continueRune(p []byte, i int) int {
	held := s.parser.utf8Len
	n := copy(s.parser.utf8[held:], p[i:])
	rest := s.parser.utf8[:held+n]
	if !utf8.FullRune(rest) {
		s.parser.utf8Len = len(rest)
		return i + n
	}
	s.parser.utf8Len = 0
	r, size := utf8.DecodeRune(rest)
	if r == utf8.RuneError && size == 1 {
		size = invalidLen(rest)
	}
	s.print(r)
	return i + size - held
}

// invalidLen returns how many bytes one U+FFFD stands for: the longest beginning of a rune.
func invalidLen(p []byte) int {
	n := 1
	for n < len(p) && n < utf8.UTFMax && !utf8.FullRune(p[:n+1]) {
		n++
	}
	return n
}

// control carries out a C0 control.
func (s *Screen) control(b byte) {
	if s.drawing {
		return
	}
	switch b {
	case '\n', '\v', '\f':
		s.cur.pending = false
		s.index()
		if s.modes&modeNewline != 0 {
			s.cur.col = 0
		}
	case '\r':
		s.cur.pending = false
		s.cur.col = 0
	case '\b':
		s.moveTo(s.cur.row, s.cur.col-1)
	case '\t':
		s.moveTo(s.cur.row, s.tabs.next(s.cur.col, s.cols-1))
	case 0x0E, 0x0F:
		s.cur.shift = 0x0F - b
		s.choosePlain()
	default:
		return
	}
	s.joinable = false
}

// escapeByte takes one byte of an ESC sequence.
func (s *Screen) escapeByte(p []byte, i int) int {
	b := p[i]
	pr := &s.parser
	switch {
	case b == 0x1B:
		pr.phase = escape
		pr.inters, pr.inter = 0, 0
	case b == 0x18 || b == 0x1A:
		pr.phase = ground
	case b < 0x20:
		s.control(b)
	case b < 0x30:
		pr.phase = escapeInter
		pr.inter = b
		pr.inters++
	case b == 0x7F:
	case b > 0x7F:
		pr.phase = ground
		return i
	case pr.phase == escapeInter:
		pr.phase = ground
		s.escapeInter(b)
	default:
		s.startString(b)
	}
	return i + 1
}

// startString begins what ESC and b introduce, or carries out the sequence.
func (s *Screen) startString(b byte) {
	pr := &s.parser
	switch b {
	case '[':
		pr.phase = csi
		pr.prefix, pr.inter, pr.inters = 0, 0, 0
		pr.nparams, pr.colon, pr.inParam = 0, 0, false
		pr.params[0] = -1
	case ']':
		pr.phase = osc
		pr.str = pr.str[:0]
	case 'P', 'X', '^', '_':
		pr.phase = ignoreString
	default:
		pr.phase = ground
		s.escape(b)
	}
}

// csiBytes takes the bytes of a CSI sequence.
func (s *Screen) csiBytes(p []byte, i int) int {
	pr := &s.parser
	for ; i < len(p); i++ {
		b := p[i]
		switch {
		case b >= 0x40 && b < 0x7F:
			finish := pr.phase == csi
			pr.phase = ground
			if finish {
				if pr.inParam {
					pr.nparams++
				}
				s.csi(b)
			}
			return i + 1
		case pr.phase == csiIgnore && b >= 0x20 && b < 0x7F:
		case b >= '0' && b <= '9' && pr.inters == 0:
			v := max(pr.params[pr.nparams], 0)*10 + int32(b-'0')
			pr.params[pr.nparams] = min(v, maxParam)
			pr.inParam = true
		case (b == ';' || b == ':') && pr.inters == 0:
			pr.inParam = true
			if pr.nparams == maxParams-1 { // further ones are lost, as in xterm
				pr.phase = csiIgnore
				continue
			}
			pr.nparams++
			pr.params[pr.nparams] = -1
			if b == ':' {
				pr.colon |= 1 << pr.nparams
			}
		case b >= 0x3C && b <= 0x3F:
			if pr.inParam || pr.prefix != 0 || pr.inters > 0 {
				pr.phase = csiIgnore
				continue
			}
			pr.prefix = b
		case b >= 0x20 && b < 0x30:
			pr.inter = b
			pr.inters++
		case b == 0x1B:
			pr.phase = escape
			pr.inters, pr.inter = 0, 0
			return i + 1
		case b == 0x18 || b == 0x1A:
			pr.phase = ground
			return i + 1
		case b < 0x20:
			s.control(b)
		case b == 0x7F:
		case b > 0x7F:
			pr.phase = ground
			return i
		default: // a parameter after an intermediate byte
			pr.phase = csiIgnore
		}
	}
	return i
}

// oscBytes takes the bytes of an OSC, which only BEL and ESC \ end: 0x9C is a part of many runes.
func (s *Screen) oscBytes(p []byte, i int) int {
	pr := &s.parser
	if pr.phase == oscEscape {
		if p[i] == '\\' {
			pr.phase = ground
			s.osc(uint64(i+1), false)
			return i + 1
		}
		pr.phase = escape // not its end: the OSC is void
		pr.inters, pr.inter = 0, 0
		return i
	}
	from := i
	for ; i < len(p); i++ {
		b := p[i]
		if b >= 0x20 && b != 0x7F {
			continue
		}
		s.keepString(p[from:i])
		from = i + 1
		switch b {
		case 0x07:
			pr.phase = ground
			s.osc(uint64(i+1), true)
			return i + 1
		case 0x1B:
			pr.phase = oscEscape
			return i + 1
		case 0x18, 0x1A:
			pr.phase = ground
			return i + 1
		}
	}
	s.keepString(p[from:])
	return i
}

func (s *Screen) keepString(p []byte) {
	pr := &s.parser
	if room := maxString - len(pr.str); len(p) > room {
		p = p[:room]
	}
	pr.str = append(pr.str, p...)
}

// ignoreBytes skips the bytes of a DCS, SOS, PM or APC string.
func (s *Screen) ignoreBytes(p []byte, i int) int {
	pr := &s.parser
	if pr.phase == ignoreEscape {
		if p[i] == '\\' {
			pr.phase = ground
			return i + 1
		}
		pr.phase = escape
		pr.inters, pr.inter = 0, 0
		return i
	}
	for ; i < len(p); i++ {
		switch p[i] {
		case 0x1B:
			pr.phase = ignoreEscape
			return i + 1
		case 0x18, 0x1A:
			pr.phase = ground
			return i + 1
		}
	}
	return i
}
