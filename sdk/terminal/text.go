package terminal

import "unicode/utf8"

const replacement = "\uFFFD"

// textEncoder makes valid UTF-8 of output that comes in pieces. A character that a piece leaves unfinished
// is held back until its rest comes.
type textEncoder struct {
	held [utf8.UTFMax]byte
	n    int
}

// append appends p to dst as text.
func (e *textEncoder) append(dst, p []byte) []byte {
	for e.n > 0 && len(p) > 0 {
		// Finish what is held, byte by byte: it is one character at most.
		e.held[e.n] = p[0]
		if utf8.FullRune(e.held[:e.n+1]) {
			r, size := utf8.DecodeRune(e.held[:e.n+1])
			if r == utf8.RuneError && size <= 1 {
				// p[0] does not belong to it: each byte that is held stands for nothing.
				dst = e.flush(dst)
				break
			}
			dst = append(dst, e.held[:e.n+1]...)
			e.n, p = 0, p[1:]
			break
		}
		e.n, p = e.n+1, p[1:]
	}
	if len(p) == 0 {
		return dst
	}
	whole := len(p) - unfinished(p)
	if utf8.Valid(p[:whole]) {
		dst = append(dst, p[:whole]...)
	} else {
		dst = appendReplaced(dst, p[:whole])
	}
	e.n = copy(e.held[:], p[whole:])
	return dst
}

// flush ends a piece that will not be continued.
func (e *textEncoder) flush(dst []byte) []byte {
	for range e.n {
		dst = append(dst, replacement...)
	}
	e.n = 0
	return dst
}

// unfinished returns how many bytes at the end of p begin a character that more bytes could finish.
func unfinished(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if utf8.RuneStart(p[len(p)-n]) {
			if utf8.FullRune(p[len(p)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

func appendReplaced(dst, p []byte) []byte {
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, replacement...)
		} else {
			dst = append(dst, p[:size]...)
		}
		p = p[size:]
	}
	return dst
}
