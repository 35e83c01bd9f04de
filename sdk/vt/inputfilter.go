package vt

import "bytes"

// maxReport bounds a reply of a viewer's terminal, in bytes. What is longer is passed on.
const maxReport = 128 << 10

// InputFilter drops from what a viewer sends the replies that the viewer's own terminal makes to questions in the
// output: the Screen has answered them, and a second answer would be typed into the program. Keys pass as they are.
// The zero value is ready. One per viewer; not safe for concurrent use.
//
// Dropped are reports of the device, of the cursor's position, of status and modes, of colours, of titles, of the version and
// of the keyboard protocol. Ambiguous is ESC [ 1 ; m R with m from 2 to 16, which is F3 with modifiers: it passes.
type InputFilter struct {
	held []byte // the beginning of what may be a reply; at least three bytes
	tail []byte // an introducer at the end of a chunk that was passed on: ESC, or ESC and one byte
}

// Filter returns what of p is to be passed on, together with what was held. It holds back the beginning of a reply only
// once that cannot be a single key: ESC alone passes at once, and when the rest of a reply follows as a whole in the
// next chunk, that rest is dropped. The result is valid until the next call, and may share memory with p.
func (f *InputFilter) Filter(p []byte) []byte {
	if len(p) == 0 {
		return nil
	}
	if len(f.held) > 0 {
		p = append(f.held, p...)
		f.held = nil
	} else if len(f.tail) > 0 {
		whole := append(f.tail, p...)
		if n, state := reportLen(whole); state == isReport {
			p = p[n-len(f.tail):]
		}
	}
	f.tail = nil
	if bytes.IndexByte(p, 0x1B) < 0 {
		return p
	}
	out := make([]byte, 0, len(p))
	for len(p) > 0 {
		at := bytes.IndexByte(p, 0x1B)
		if at < 0 {
			return append(out, p...)
		}
		out = append(out, p[:at]...)
		p = p[at:]
		n, state := reportLen(p)
		switch {
		case state == isReport:
			p = p[n:]
		case state == mayBeReport && len(p) >= 3 && len(p) < maxReport:
			f.held = bytes.Clone(p)
			return out
		case state == mayBeReport && len(p) < 3:
			f.tail = bytes.Clone(p)
			return append(out, p...)
		default:
			out = append(out, p[0])
			p = p[1:]
		}
	}
	return out
}

// Answers of reportLen.
const (
	noReport = iota
	mayBeReport
	isReport
)

// reportLen reports whether p, which begins with ESC, begins with a reply, and how long that is.
func reportLen(p []byte) (n, state int) {
	if len(p) < 2 {
		return 0, mayBeReport
	}
	switch p[1] {
	case '[':
		return csiReport(p)
	case ']':
		if len(p) > 2 && (p[2] < '0' || p[2] > '9') && p[2] != 'l' && p[2] != 'L' { // those begin a title
			return 0, noReport
		}
		return stringReport(p, true)
	case 'P':
		return dcsReport(p)
	case '_':
		if len(p) > 2 && p[2] != 'G' { // kitty graphics
			return 0, noReport
		}
		return stringReport(p, false)
	}
	return 0, noReport
}

// csiReport looks at ESC [.
func csiReport(p []byte) (int, int) {
	i := 2
	var prefix byte
	if i < len(p) && p[i] >= 0x3C && p[i] <= 0x3F {
		prefix = p[i]
		i++
	}
	start := i
	for i < len(p) && (p[i] >= '0' && p[i] <= '9' || p[i] == ';' || p[i] == ':') {
		i++
	}
	params := p[start:i]
	dollar := i < len(p) && p[i] == '$'
	if dollar {
		i++
	}
	if i == len(p) {
		return 0, mayBeReport
	}
	report := false
	switch final := p[i]; {
	case dollar:
		report = final == 'y' && len(params) > 0 && (prefix == 0 || prefix == '?')
	case prefix == '?':
		report = final == 'c' || final == 'n' || final == 'R' || final == 'u'
	case prefix == '>':
		report = final == 'c'
	case prefix != 0:
	case final == 'R':
		report = isPosition(params)
	case final == 'n':
		report = string(params) == "0" || string(params) == "3"
	case final == 't':
		report = bytes.Count(params, []byte{';'}) >= 2
	}
	if !report {
		return 0, noReport
	}
	return i + 1, isReport
}

// isPosition reports whether the parameters of ESC [ R are a row and a column, and not F3 with modifiers.
func isPosition(params []byte) bool {
	row, col, ok := bytes.Cut(params, []byte{';'})
	if !ok || len(row) == 0 || len(col) == 0 || bytes.ContainsAny(params, ":") || bytes.Contains(col, []byte{';'}) {
		return false
	}
	if string(row) != "1" {
		return true
	}
	modifier := 0
	for _, digit := range col {
		modifier = min(modifier*10+int(digit-'0'), 100)
	}
	return modifier < 2 || modifier > 16
}

// dcsReport looks at ESC P: ">|" version, "!|" unit, "0$r" and "1$r" settings, "0+r" and "1+r" capabilities.
func dcsReport(p []byte) (int, int) {
	if len(p) == 2 {
		return 0, mayBeReport
	}
	for _, intro := range []string{">|", "!|", "0$r", "1$r", "0+r", "1+r"} {
		head := p[2:min(len(p), 2+len(intro))]
		if string(head) != intro[:len(head)] {
			continue
		}
		return stringReport(p, false)
	}
	return 0, noReport
}

// stringReport finds the end of a string: ESC \, or for an OSC BEL as well. Anything that no reply contains ends the
// suspicion.
func stringReport(p []byte, bell bool) (int, int) {
	for i := 2; i < len(p); i++ {
		switch b := p[i]; {
		case b == 0x07 && bell:
			return i + 1, isReport
		case b == 0x1B:
			if i+1 == len(p) {
				return 0, mayBeReport
			}
			if p[i+1] != '\\' {
				return 0, noReport
			}
			return i + 2, isReport
		case b < 0x20 || b == 0x7F:
			return 0, noReport
		}
	}
	return 0, mayBeReport
}
