package keeper

import (
	"errors"

	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// longString is from which length on the strings of a payload are cut that is too large as it is.
const longString = 64 << 10

// maxPipe bounds what is read of a payload, in bytes.
const maxPipe = 1 << 30

// cutMark ends a string that was cut.
const cutMark = "... [cut]"

var errPayload = errors.New("the payload is too large")

// shortener takes a JSON document in pieces and cuts its long strings. What is no JSON comes out as something that
// is none either. A decoder would do, and costs each holding process more memory than all the rest.
type shortener struct {
	most int // bytes of a string
	out  []byte

	inside  bool // of a string
	length  int  // of the string so far
	escape  int  // bytes that the escape sequence still has; -1: the next byte tells
	cutting bool // the rest of the string is dropped
}

// Write implements io.Writer.
func (s *shortener) Write(p []byte) (int, error) {
	for _, c := range p {
		s.take(c)
	}
	if len(s.out) > wire.MaxPayload {
		return 0, errPayload
	}
	return len(p), nil
}

func (s *shortener) take(c byte) {
	switch {
	case !s.inside:
		s.out = append(s.out, c)
		if c == '"' {
			s.inside, s.length, s.cutting = true, 0, false
		}
		return
	case s.escape == -1:
		s.escape = 0
		if c == 'u' {
			s.escape = 4
		}
	case s.escape > 0:
		s.escape--
	case c == '"':
		if s.cutting {
			s.out = append(s.out, cutMark...)
		}
		s.out = append(s.out, c)
		s.inside = false
		return
	default:
		// Neither an escape sequence nor a character of several bytes is cut in two.
		if s.length >= s.most && c&0xC0 != 0x80 {
			s.cutting = true
		}
		if c == '\\' {
			s.escape = -1
		}
	}
	s.length++
	if !s.cutting {
		s.out = append(s.out, c)
	}
}
