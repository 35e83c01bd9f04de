package vt

import "fmt"

// maxReplies bounds what one Write answers, in bytes: output full of questions must not flood the program.
const maxReplies = 4 << 10

// reply adds an answer.
func (s *Screen) reply(text string) {
	if len(s.replies)+len(text) <= maxReplies {
		s.replies = append(s.replies, text...)
	}
}

// reportStatus answers DSR. Other reports are met with silence: an answer without a reader would be typed into the
// program.
func (s *Screen) reportStatus(prefix byte, what int) {
	row, col := s.cur.row+1, s.cur.col+1
	if s.cur.origin {
		row -= s.top
	}
	switch {
	case what == 5 && prefix == 0:
		s.reply("\x1b[0n")
	case what == 6 && prefix == 0:
		s.reply(fmt.Sprintf("\x1b[%d;%dR", row, col))
	case what == 6 && prefix == '?':
		s.reply(fmt.Sprintf("\x1b[?%d;%dR", row, col))
	}
}

// reportDevice answers DA1: a VT220 with colours.
func (s *Screen) reportDevice() { s.reply("\x1b[?62;22c") }
