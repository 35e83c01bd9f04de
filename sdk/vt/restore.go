package vt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"unicode/utf8"

	"github.com/klauspost/compress/s2"
)

// ErrSnapshot is what every error of Restore wraps: the bytes are no snapshot, are damaged, or are of a version that is
// not known here. Start with a new Screen then.
var ErrSnapshot = errors.New("term: bad snapshot")

// Restore returns the Screen that Snapshot was called on. Its size is the size it had: of o only ScrollbackLines and
// OnOSC count.
func Restore(b []byte, o Options) (*Screen, error) {
	if len(b) < snapshotHeader || string(b[:len(snapshotMagic)]) != snapshotMagic {
		return nil, fmt.Errorf("%w: %d bytes without the header of one", ErrSnapshot, len(b))
	}
	if v := b[len(snapshotMagic)]; v != snapshotVersion {
		return nil, fmt.Errorf("%w: version %d, known is %d", ErrSnapshot, v, snapshotVersion)
	}
	body := b[snapshotHeader:]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(b[snapshotHeader-4:]) {
		return nil, fmt.Errorf("%w: wrong checksum", ErrSnapshot)
	}
	size, err := s2.DecodedLen(body)
	if err != nil || size > maxSnapshot {
		return nil, fmt.Errorf("%w: cannot be decompressed to at most %d bytes", ErrSnapshot, maxSnapshot)
	}
	fields, err := s2.Decode(nil, body)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot be decompressed: %w", ErrSnapshot, err)
	}
	return restoreFields(fields, o)
}

// restoreFields reads what snapshotWriter wrote.
func restoreFields(fields []byte, o Options) (*Screen, error) {
	r := &snapshotReader{b: fields}
	offset := r.number(1<<64 - 1)
	cols := int(r.number(MaxCols))
	rows := int(r.number(MaxRows))
	if r.err == nil && (cols < MinCols || rows < MinRows) {
		r.fail("size")
	}
	if r.err != nil {
		return nil, r.err
	}
	onOSC := o.OnOSC
	o.Cols, o.Rows, o.OnOSC = cols, rows, nil
	s := New(o)
	r.s = s
	r.state()
	r.grid(s.main)
	if r.flag() {
		s.showAlt(true)
		r.grid(s.alt)
	}
	unfinished := r.text(maxString + 8)
	r.history(&s.history)
	if r.err == nil && len(r.b) > 0 {
		r.fail("end")
	}
	if r.err != nil {
		return nil, r.err
	}
	s.penChanged()
	s.choosePlain()
	s.feed(unfinished)
	s.replies = nil
	s.offset, s.onOSC = offset, onOSC
	return s, nil
}

// snapshotReader takes fields; after the first bad one it returns zero values.
type snapshotReader struct {
	s   *Screen
	b   []byte
	err error
}

func (r *snapshotReader) fail(field string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: field %s", ErrSnapshot, field)
		r.b = nil
	}
}

func (r *snapshotReader) number(limit uint64) uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > limit {
		r.fail("number")
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *snapshotReader) flag() bool { return r.number(1) == 1 }

func (r *snapshotReader) text(limit int) []byte {
	n := int(r.number(uint64(limit)))
	if n > len(r.b) {
		r.fail("text")
		return nil
	}
	text := r.b[:n]
	r.b = r.b[n:]
	return text
}

// words takes a text that holds no control characters.
func (r *snapshotReader) words(limit int) string {
	text := r.text(limit)
	if !utf8.Valid(text) || slices.ContainsFunc(text, func(b byte) bool { return b < 0x20 || b == 0x7F }) {
		r.fail("words")
		return ""
	}
	return string(text)
}

// oneOf takes a number that is one of a few.
func (r *snapshotReader) oneOf(known ...uint64) uint64 {
	n := r.number(1 << 32)
	if !slices.Contains(known, n) {
		r.fail("choice")
		return 0
	}
	return n
}

func (r *snapshotReader) state() {
	st := &r.s.state
	st.cur = r.cursor()
	st.single = uint8(r.oneOf(0, 2, 3))
	st.joinable = r.flag()
	st.last = rune(r.number(utf8.MaxRune))
	if !utf8.ValidRune(st.last) || st.last != 0 && st.last < ' ' {
		r.fail("last rune")
	}
	st.top = int(r.number(uint64(r.s.rows - 1)))
	st.bottom = int(r.number(uint64(r.s.rows - 1)))
	if st.top > st.bottom || st.top == st.bottom && r.s.rows > 1 {
		r.fail("margins")
	}
	st.modes = mode(r.number(uint64(allModes)))
	st.mouse = uint16(r.oneOf(0, 9, 1000, 1001, 1002, 1003))
	st.mouseFormat = uint16(r.oneOf(0, 1005, 1006, 1015, 1016))
	st.cursorShape = uint8(r.number(6))
	st.modifyOther = uint8(r.number(2))
	st.title = r.words(maxTitle + utf8.UTFMax)
	for range r.number(maxTitles) {
		st.titles = append(st.titles, r.words(maxTitle+utf8.UTFMax))
	}
	for i := range st.tabs {
		st.tabs[i] = r.number(1<<64 - 1)
	}
}

func (r *snapshotReader) cursor() cursor {
	var c cursor
	c.row = int(r.number(uint64(r.s.rows - 1)))
	c.col = int(r.number(uint64(r.s.cols - 1)))
	c.pending = r.flag()
	c.origin = r.flag()
	c.pen.fg, c.pen.bg, c.pen.ul = r.color(), r.color(), r.color()
	c.pen.attr = uint16(r.number(uint64(underlineMask | 0xFF)))
	if c.pen.attr&underlineMask > 5<<underlineShift || c.pending && c.col != r.s.cols-1 {
		r.fail("cursor")
	}
	if link := r.words(maxLink); link != "" {
		c.pen.link = r.s.tables.addLink(link)
	}
	for i := range c.charsets {
		c.charsets[i] = byte(r.oneOf('0', 'A', 'B'))
	}
	c.shift = uint8(r.number(3))
	return c
}

func (r *snapshotReader) color() color {
	c := color(r.number(uint64(rgbColor | 0xFFFFFF)))
	if number := c &^ colorKind; c&colorKind == 0 && number != 0 || c&colorKind == paletteColor && number > 255 {
		r.fail("colour")
	}
	return c
}

// grid reads into g, which the Screen has already: drawing may renumber the styles of all its grids.
func (r *snapshotReader) grid(g *grid) {
	if g.kept = r.flag(); g.kept {
		g.saved = r.cursor()
	}
	for y := range g.rows() {
		wrapped := r.flag()
		line := r.line()
		if r.err != nil {
			return
		}
		r.s.drawLine(g, y, line)
		g.wrapped[g.order[y]] = wrapped
	}
}

// line takes a line; one with anything else in it would reach the viewers.
func (r *snapshotReader) line() []byte {
	line := r.text(len(r.b))
	if !validLine(line) {
		r.fail("line")
		return nil
	}
	return line
}

func (r *snapshotReader) history(h *history) {
	first, next := r.number(1<<64-1), r.number(1<<64-1)
	if next < first || next-first > uint64(len(r.b)) {
		r.fail("scrollback")
		return
	}
	h.first, h.next = first, first
	for h.next < next && r.err == nil {
		wrapped := r.flag()
		h.push(r.line(), wrapped)
	}
}
