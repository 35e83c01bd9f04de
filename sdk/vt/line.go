package vt

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A line is the content of a row as the bytes that draw it, from a default pen to a default pen: UTF-8 text with SGR,
// hyperlinks and, behind clusters that terminals disagree about, absolute columns. Scrollback, snapshots and repaints
// are made of lines, so that none of them needs a format of its own.

// appendText appends cells as plain text, without trailing blanks.
func (s *Screen) appendText(b []byte, cells []cell) []byte {
	for _, c := range cells {
		if c.isTail() {
			continue
		}
		if g := c & (glyphMask | clusterBit); g < 0x80 && g != 0 {
			b = append(b, byte(g))
		} else {
			b = s.appendGlyph(b, c)
		}
	}
	return bytes.TrimRight(b, " ")
}

// maxLineLinks bounds the bytes of hyperlinks in a line: each change of the link repeats it, so a row of many costs more than
// the program wrote.
const maxLineLinks = 16 << 10

// appendLine appends cells as a line. Blanks at the end that look like nothing are left out, and so are hyperlinks beyond
// maxLineLinks.
func (s *Screen) appendLine(b []byte, cells []cell) []byte {
	for len(cells) > 0 && (cells[len(cells)-1] == 0 || cells[len(cells)-1] == ' ') {
		cells = cells[:len(cells)-1]
	}
	b = slices.Grow(b, len(cells))
	plain := appendPlain(b, cells)
	begin := len(plain) - len(b)
	b = plain
	var pen uint32
	var drawn style // of the pen, without a link that was left out
	links := maxLineLinks
	special := false // the cluster before may join what follows, or may have another width elsewhere
	for x := begin; x < len(cells); x++ {
		c := cells[x]
		if c.style() != pen {
			pen = c.style()
			next := s.tables.styles[pen]
			if next.link != drawn.link {
				if n := len(s.tables.links[next.link]); n > links {
					next.link = 0
				} else {
					links -= n
				}
			}
			b = s.tables.appendStyle(b, drawn, next)
			drawn = next
		}
		g := c & lowMask
		if g < 0x80 && !special {
			if g == 0 {
				g = ' '
			}
			b = append(b, byte(g))
			continue
		}
		if c.isTail() {
			continue
		}
		joins := c.isCluster() || isRegional(c.glyph()) || isModifier(c.glyph())
		if special || joins {
			b = append(b, "\x1b["...)
			b = strconv.AppendInt(b, int64(x+1), 10)
			b = append(b, 'G')
		}
		special = joins
		b = s.appendGlyph(b, c)
	}
	return s.tables.appendStyle(b, drawn, style{})
}

// appendPlain appends the cells up to the first that is more than ASCII without a style. b has room for them all.
func appendPlain(b []byte, cells []cell) []byte {
	text := b[len(b) : len(b)+len(cells)]
	for i, c := range cells {
		if c >= utf8.RuneSelf {
			return b[:len(b)+i]
		}
		if c == 0 {
			c = ' '
		}
		text[i] = byte(c)
	}
	return b[:len(b)+len(cells)]
}

// drawLine puts a line into row y, which is blank. Nothing else of the Screen changes: a line that was tampered with
// spoils rows at worst.
func (s *Screen) drawLine(g *grid, y int, line []byte) {
	held, heldParser, shown, onOSC := s.state, s.parser, s.g, s.onOSC
	s.state, s.parser, s.g, s.onOSC = initialState(s.rows), parser{}, g, nil
	s.heldPen = &held.cur.pen
	s.drawing = true
	s.modes &^= modeAutowrap
	s.cur.row = y
	s.penChanged()
	s.feed(line)
	s.state, s.parser, s.g, s.onOSC = held, heldParser, shown, onOSC
	s.heldPen = nil
	s.penChanged()
}

// plainText returns a line without its sequences.
func plainText(line []byte) string {
	at := bytes.IndexByte(line, 0x1B)
	if at < 0 {
		return string(line)
	}
	text := make([]byte, 0, len(line))
	for at >= 0 {
		text = append(text, line[:at]...)
		line = line[at+sequenceLen(line[at:]):]
		at = bytes.IndexByte(line, 0x1B)
	}
	return string(bytes.TrimRight(append(text, line...), " "))
}

// validLine reports whether a line holds nothing but text and the sequences of a line.
func validLine(line []byte) bool {
	if !utf8.Valid(line) {
		return false
	}
	for i := 0; i < len(line); i++ {
		switch b := line[i]; {
		case b == 0x1B:
			sequence := line[i : i+sequenceLen(line[i:])]
			if !validSequence(sequence) {
				return false
			}
			i += len(sequence) - 1
		case b < 0x20 || b == 0x7F:
			return false
		}
	}
	return true
}

func validSequence(p []byte) bool {
	if link, ok := bytes.CutPrefix(p, []byte("\x1b]8;")); ok {
		link, ok = bytes.CutSuffix(link, []byte("\x1b\\"))
		return ok && bytes.IndexFunc(link, func(r rune) bool { return r < 0x20 || r == 0x7F }) < 0
	}
	if len(p) < 3 || p[1] != '[' || p[len(p)-1] != 'm' && p[len(p)-1] != 'G' {
		return false
	}
	return len(bytes.Trim(p[2:len(p)-1], "0123456789;:")) == 0
}

// sequenceLen returns the length of the CSI or OSC 8 sequence that p begins with.
func sequenceLen(p []byte) int {
	if len(p) > 1 && p[1] == ']' {
		if end := bytes.Index(p, []byte("\x1b\\")); end >= 0 {
			return end + 2
		}
		return len(p)
	}
	for i := 2; i < len(p); i++ {
		if p[i] >= 0x40 && p[i] <= 0x7E {
			return i + 1
		}
	}
	return len(p)
}

// flows reports whether a row that was full and its successor may be drawn without a line feed between them, so that a
// viewer knows them as one line. Only where no terminal can disagree: plain ASCII.
func flows(line, next []byte, cols int) bool {
	if len(line) != cols || len(next) == 0 || next[0] < 0x20 || next[0] >= utf8.RuneSelf {
		return false
	}
	for _, b := range line {
		if b < 0x20 || b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
