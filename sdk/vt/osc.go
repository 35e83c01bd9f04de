package vt

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/internal/clip"
)

const (
	maxTitle  = 1024 // bytes
	maxTitles = 10   // pushed

	// What a program that asks for the colours gets: light grey on black.
	foreground = "rgb:d0d0/d0d0/d0d0"
	background = "rgb:0000/0000/0000"
)

// osc carries out a complete OSC and reports it. end is the position in this Write behind its terminator.
func (s *Screen) osc(end uint64, bell bool) {
	number, data, _ := bytes.Cut(s.parser.str, []byte{';'})
	code, err := strconv.Atoi(string(number))
	if err != nil || code < 0 || number[0] == '+' {
		code = -1
	}
	if s.drawing && code != 8 {
		return
	}
	switch code {
	case 0, 2:
		s.title = cleanTitle(data)
	case 8:
		s.link(data)
	case 10, 11:
		s.colours(code, data, bell)
	}
	if s.onOSC != nil {
		s.onOSC(OSC{Code: code, Data: data, Offset: s.offset + end})
	}
	if cap(s.parser.str) > keepString {
		s.parser.str = nil
	}
}

// cleanTitle returns data as valid text of a bounded size.
func cleanTitle(data []byte) string {
	return clip.Text(strings.ToValidUTF8(string(data), "\uFFFD"), maxTitle)
}

// link begins or ends a hyperlink: "params;uri".
func (s *Screen) link(data []byte) {
	s.cur.pen.link = 0
	_, uri, ok := bytes.Cut(data, []byte{';'})
	if ok && len(uri) > 0 && len(data) <= maxLink && utf8.Valid(data) {
		s.cur.pen = s.makeRoom(s.cur.pen)
		if s.tables.linkLen < maxLinks {
			s.cur.pen.link = s.tables.addLink(string(data))
		} else { // it counts all the same, so that in the end room is made for others
			s.tables.linkLen += len(data)
		}
	}
	s.penChanged()
}

// colours answers a query of the default colours; setting them is not honoured.
func (s *Screen) colours(code int, data []byte, bell bool) {
	end := "\x1b\\"
	if bell {
		end = "\x07"
	}
	for part := range bytes.SplitSeq(data, []byte{';'}) {
		if string(part) == "?" {
			switch code {
			case 10:
				s.reply("\x1b]10;" + foreground + end)
			case 11:
				s.reply("\x1b]11;" + background + end)
			}
		}
		code++
	}
}
