package vt

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/s2"
)

// A snapshot is the magic, a version, the CRC-32 (IEEE, little endian) of what follows, and an S2 block with the fields
// below: numbers as varints, texts with their length before them, rows and scrollback as lines.
const (
	snapshotMagic   = "WDTERM"
	snapshotVersion = 1
	snapshotHeader  = len(snapshotMagic) + 1 + 4
	maxSnapshot     = 64 << 20 // uncompressed bytes that Restore accepts
)

// Snapshot returns everything there is to know about the Screen, in the middle of a sequence or a rune as well, so that
// after Restore the stream goes on from Offset.
func (s *Screen) Snapshot() []byte {
	w := snapshotWriter{s: s, b: make([]byte, 0, s.history.text+s.cols*s.rows)}
	w.number(s.offset)
	w.number(uint64(s.cols))
	w.number(uint64(s.rows))
	w.state()
	w.grid(s.main)
	w.flag(s.alt != nil)
	if s.alt != nil {
		w.grid(s.alt)
	}
	w.text(s.parser.unfinished())
	w.history(&s.history)

	b := make([]byte, snapshotHeader, snapshotHeader+s2.MaxEncodedLen(len(w.b)))
	copy(b, snapshotMagic)
	b[len(snapshotMagic)] = snapshotVersion
	b = append(b, s2.Encode(nil, w.b)...)
	binary.LittleEndian.PutUint32(b[snapshotHeader-4:], crc32.ChecksumIEEE(b[snapshotHeader:]))
	return b
}

// snapshotWriter appends fields.
type snapshotWriter struct {
	s *Screen
	b []byte
}

func (w *snapshotWriter) number(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

func (w *snapshotWriter) flag(on bool) {
	if on {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

func (w *snapshotWriter) text(text []byte) {
	w.number(uint64(len(text)))
	w.b = append(w.b, text...)
}

func (w *snapshotWriter) state() {
	st := &w.s.state
	w.cursor(st.cur)
	w.number(uint64(st.single))
	w.flag(st.joinable)
	w.number(uint64(st.last))
	w.number(uint64(st.top))
	w.number(uint64(st.bottom))
	w.number(uint64(st.modes))
	w.number(uint64(st.mouse))
	w.number(uint64(st.mouseFormat))
	w.number(uint64(st.cursorShape))
	w.number(uint64(st.modifyOther))
	w.text([]byte(st.title))
	w.number(uint64(len(st.titles)))
	for _, title := range st.titles {
		w.text([]byte(title))
	}
	for _, word := range st.tabs {
		w.number(word)
	}
}

func (w *snapshotWriter) cursor(c cursor) {
	w.number(uint64(c.row))
	w.number(uint64(c.col))
	w.flag(c.pending)
	w.flag(c.origin)
	w.number(uint64(c.pen.fg))
	w.number(uint64(c.pen.bg))
	w.number(uint64(c.pen.ul))
	w.number(uint64(c.pen.attr))
	w.text([]byte(w.s.tables.links[c.pen.link]))
	w.b = append(w.b, c.charsets[:]...)
	w.number(uint64(c.shift))
}

func (w *snapshotWriter) grid(g *grid) {
	w.flag(g.kept)
	if g.kept {
		w.cursor(g.saved)
	}
	var line []byte
	for y := range g.rows() {
		line = w.s.appendLine(line[:0], g.content(y))
		w.flag(g.wrapped[g.order[y]])
		w.text(line)
	}
}

func (w *snapshotWriter) history(h *history) {
	w.number(h.first)
	w.number(h.next)
	h.each(h.first, func(line []byte, wrapped bool) {
		w.flag(wrapped)
		w.text(line)
	})
}
