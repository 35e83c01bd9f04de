package vt

import (
	"bytes"
	"fmt"
)

// RestoreFields is Restore without header and checksum, for fuzzing.
func RestoreFields(fields []byte, o Options) (*Screen, error) { return restoreFields(fields, o) }

// ShrinkTables makes the tables of s compact themselves at every chance.
func (s *Screen) ShrinkTables() {
	s.tables.styleLimit, s.tables.linkLimit, s.tables.clusterLimit = 1, 1, 0
}

// Settle makes s forget that the last thing done was to print: a viewer that starts here cannot know it, so REP, and
// a flag or a joined emoji that is cut here, are lost on it.
func (s *Screen) Settle() { s.joinable = false }

// Diff returns how two screens look different, "" if they do not.
func (s *Screen) Diff(o *Screen) string {
	if s.cols != o.cols || s.rows != o.rows {
		return fmt.Sprintf("size %dx%d, %dx%d", s.cols, s.rows, o.cols, o.rows)
	}
	if s.AltScreen() != o.AltScreen() {
		return fmt.Sprintf("alternate screen %v, %v", s.AltScreen(), o.AltScreen())
	}
	for y := range s.rows {
		if a, b := s.appendLine(nil, s.g.content(y)), o.appendLine(nil, o.g.content(y)); !bytes.Equal(a, b) {
			return fmt.Sprintf("row %d:\n%q\n%q", y, a, b)
		}
		if a, b := s.appendLine(nil, s.main.content(y)), o.appendLine(nil, o.main.content(y)); !bytes.Equal(a, b) {
			return fmt.Sprintf("main row %d:\n%q\n%q", y, a, b)
		}
	}
	a, b := s.flatState(), o.flatState()
	if a != b {
		return fmt.Sprintf("state:\n%s\n%s", a, b)
	}
	if a, b := s.parser.unfinished(), o.parser.unfinished(); !bytes.Equal(a, b) {
		return fmt.Sprintf("unfinished %q, %q", a, b)
	}
	return ""
}

// flatState describes the state that a viewer can tell, with links by their text.
func (s *Screen) flatState() string {
	flat := func(c cursor) cursor {
		c.pen.link = 0
		return c
	}
	saved := func(g *grid) string {
		c := initialCursor()
		if g.kept {
			c = g.saved
		}
		return fmt.Sprintf("%+v link %q", flat(c), s.tables.links[c.pen.link])
	}
	var tabs []int // those beyond the width cannot be told
	for col := range s.cols {
		if s.tabs.has(col) {
			tabs = append(tabs, col)
		}
	}
	return fmt.Sprintf("%+v link %q; saved %s; main saved %s; single %d region %d-%d modes %b mouse %d %d shape %d other %d title %q tabs %v",
		flat(s.cur), s.tables.links[s.cur.pen.link], saved(s.g), saved(s.main), s.single, s.top, s.bottom, s.modes,
		s.mouse, s.mouseFormat, s.cursorShape, s.modifyOther, s.title, tabs)
}

// TableSizes returns how many styles, links and clusters are kept.
func (s *Screen) TableSizes() (styles, links, clusters int) {
	return len(s.tables.styles), len(s.tables.links), len(s.tables.clusters)
}

// LinkBytes returns how many bytes of hyperlinks are kept.
func (s *Screen) LinkBytes() int {
	n := 0
	for _, link := range s.tables.links {
		n += len(link)
	}
	return n
}
