package vt

import (
	"bytes"

	"github.com/klauspost/compress/s2"
)

// Sizes of the scrollback. 10,000 lines of plain text fit without compression, which would cost a busy session a
// third of its speed; coloured ones may not.
const (
	blockSize    = 38 << 10 // a block is closed when it is larger
	blockRoom    = 40 << 10 // what is allocated for it: whole pages, with room for one more line
	historyBytes = 7 << 18  // of all blocks: older ones are compressed beyond it, then dropped
	historyText  = 32 << 20 // of all lines: older ones are dropped beyond it. What repeats itself takes next to nothing compressed
)

// block is a piece of the scrollback: lines, each with its newline. Rows that went on in the next one have a '\r'
// before it.
type block struct {
	first      uint64 // number of the first line
	lines      int
	data       []byte
	text       int // bytes of the lines; data has as many while it is not compressed
	compressed bool
}

// history is the scrollback. Lines are numbered from 0 for ever.
type history struct {
	limit  int     // lines
	blocks []block // oldest first; lines are added to the last
	first  uint64  // number of the oldest line that is kept
	next   uint64  // number of the line to come
	bytes  int     // of the blocks
	text   int     // bytes of the lines
	packed int     // blocks before this one are compressed
	spare  []byte  // buffer of a dropped block, for the next one
}

// pushRow adds row y of the main screen to the scrollback.
func (s *Screen) pushRow(y int) {
	h := &s.history
	if h.limit == 0 {
		h.next++
		h.first = h.next
		return
	}
	b := h.open()
	before := len(b.data)
	b.data = s.appendLine(b.data, s.main.content(y))
	if s.main.wrapped[s.main.order[y]] {
		b.data = append(b.data, '\r')
	}
	b.data = append(b.data, '\n')
	h.added(len(b.data) - before)
}

// push adds a line that was drawn before.
func (h *history) push(line []byte, wrapped bool) {
	if h.limit == 0 {
		h.next++
		h.first = h.next
		return
	}
	b := h.open()
	b.data = append(b.data, line...)
	n := len(line) + 1
	if wrapped {
		b.data = append(b.data, '\r')
		n++
	}
	b.data = append(b.data, '\n')
	h.added(n)
}

// open returns the block to add a line to.
func (h *history) open() *block {
	if n := len(h.blocks); n > 0 && len(h.blocks[n-1].data) < blockSize && !h.blocks[n-1].compressed {
		return &h.blocks[n-1]
	}
	if h.spare == nil && len(h.blocks) > 0 { // the first block grows with the session
		h.spare = make([]byte, 0, blockRoom)
	}
	h.blocks = append(h.blocks, block{first: h.next, data: h.spare[:0]})
	h.spare = nil
	return &h.blocks[len(h.blocks)-1]
}

// added counts a line of n bytes that was added to the last block, and keeps the bounds.
func (h *history) added(n int) {
	b := &h.blocks[len(h.blocks)-1]
	b.lines++
	b.text += n
	h.next++
	h.bytes += n
	h.text += n
	for h.bytes > historyBytes && h.shrink() {
	}
	for h.text > historyText && len(h.blocks) > 1 {
		h.drop()
	}
	if h.next-h.first > uint64(h.limit) {
		h.first = h.next - uint64(h.limit)
		for oldest := &h.blocks[0]; oldest.first+uint64(oldest.lines) <= h.first; oldest = &h.blocks[0] {
			h.drop()
		}
	}
}

// shrink compresses the oldest block that is not, or drops the oldest one. It returns false when only the one in use is
// left.
func (h *history) shrink() bool {
	last := len(h.blocks) - 1
	if h.packed < last {
		b := &h.blocks[h.packed]
		packed := s2.EncodeBetter(nil, b.data)
		h.bytes += len(packed) - len(b.data)
		h.spare = b.data
		b.data, b.compressed = bytes.Clone(packed), true
		h.packed++
		return true
	}
	if last <= 0 {
		return false
	}
	h.drop()
	return true
}

// drop forgets the oldest block.
func (h *history) drop() {
	b := &h.blocks[0]
	h.bytes -= len(b.data)
	h.text -= b.text
	if !b.compressed {
		h.spare = b.data
	}
	h.first = max(h.first, b.first+uint64(b.lines))
	copy(h.blocks, h.blocks[1:])
	h.blocks[len(h.blocks)-1] = block{}
	h.blocks = h.blocks[:len(h.blocks)-1]
	h.packed = max(h.packed-1, 0)
}

// clear forgets all lines.
func (h *history) clear() {
	*h = history{limit: h.limit, first: h.next, next: h.next}
}

// plain returns the lines of a block, uncompressed.
func (b *block) plain() []byte {
	if !b.compressed {
		return b.data
	}
	data, err := s2.Decode(nil, b.data)
	if err != nil {
		panic("term: a scrollback block that was compressed here does not decompress: " + err.Error())
	}
	return data
}

// each calls visit with the lines from number from on, with their newlines cut off.
func (h *history) each(from uint64, visit func(line []byte, wrapped bool)) {
	from = max(from, h.first)
	for i := range h.blocks {
		b := &h.blocks[i]
		if b.first+uint64(b.lines) <= from {
			continue
		}
		number := b.first
		for data := b.plain(); len(data) > 0; number++ {
			end := bytes.IndexByte(data, '\n')
			if number >= from {
				line, wrapped := bytes.CutSuffix(data[:end], []byte{'\r'})
				visit(line, wrapped)
			}
			data = data[end+1:]
		}
	}
}

// pop takes the newest line back. The result is valid until a line is added.
func (h *history) pop() (line []byte, wrapped, ok bool) {
	if h.next == h.first {
		return nil, false, false
	}
	b := &h.blocks[len(h.blocks)-1]
	if b.compressed {
		data := b.plain()
		h.bytes += len(data) - len(b.data)
		b.data, b.compressed = data, false
		h.packed = min(h.packed, len(h.blocks)-1)
	}
	data := b.data[:len(b.data)-1]
	start := bytes.LastIndexByte(data, '\n') + 1
	line, wrapped = bytes.CutSuffix(data[start:], []byte{'\r'})
	h.bytes -= len(b.data) - start
	h.text -= len(b.data) - start
	b.data, b.text = b.data[:start], start
	b.lines--
	h.next--
	if b.lines == 0 {
		h.blocks = h.blocks[:len(h.blocks)-1]
		h.packed = min(h.packed, len(h.blocks))
	}
	return line, wrapped, true
}

// Lines returns the scrollback lines from number from on as plain text. Lines are numbered from 0 for ever; first is the
// number of the first one returned, larger than from when older ones were dropped; next is where to go on.
//
// A line that a larger window pulls back onto the screen leaves the scrollback and gets its number again later.
func (s *Screen) Lines(from uint64) (lines []string, first uint64, next uint64) {
	h := &s.history
	if from >= h.next {
		return nil, from, from
	}
	first = max(from, h.first)
	lines = make([]string, 0, h.next-first)
	h.each(first, func(line []byte, _ bool) { lines = append(lines, plainText(line)) })
	return lines, first, h.next
}
