package vt

import "slices"

// Ring keeps the last bytes of a stream by offset. It grows as it fills, so that a quiet stream costs little. Not safe
// for concurrent use.
type Ring struct {
	size int    // bytes that are kept at most
	end  uint64 // offset of the byte to come
	n    int    // bytes kept
	at   int    // where in buf the byte to come is put
	buf  []byte // circular
}

// smallRing is the first size of a buffer, in bytes.
const smallRing = 4 << 10

// NewRing returns an empty Ring that keeps up to size bytes (at least one) of a stream from offset 0 on.
func NewRing(size int) *Ring { return NewRingAt(size, 0) }

// NewRingAt does so for a stream whose first bytes, up to offset, were seen by somebody else.
func NewRingAt(size int, offset uint64) *Ring { return &Ring{size: max(size, 1), end: offset} }

// Start returns the offset of the oldest byte that is kept.
func (r *Ring) Start() uint64 { return r.end - uint64(r.n) }

// End returns the offset of the byte to come.
func (r *Ring) End() uint64 { return r.end }

// Write adds p. It always takes all of it.
func (r *Ring) Write(p []byte) (int, error) {
	written := len(p)
	r.end += uint64(written)
	if len(p) > r.size {
		p = p[len(p)-r.size:]
	}
	r.grow(len(p))
	r.n = min(r.n+len(p), len(r.buf))
	for len(p) > 0 {
		n := copy(r.buf[r.at:], p)
		p = p[n:]
		if r.at += n; r.at == len(r.buf) {
			r.at = 0
		}
	}
	return written, nil
}

// grow makes room for n more bytes, as far as size allows.
func (r *Ring) grow(n int) {
	need := min(r.n+n, r.size)
	if need <= len(r.buf) {
		return
	}
	length := max(smallRing, len(r.buf))
	for length < need {
		length *= 2
	}
	fresh := make([]byte, min(length, r.size))
	r.copyTail(fresh[:r.n])
	r.buf, r.at = fresh, r.n
	if r.at == len(r.buf) {
		r.at = 0
	}
}

// copyTail copies the last len(to) bytes that are kept.
func (r *Ring) copyTail(to []byte) {
	from := r.at - len(to)
	if from >= 0 {
		copy(to, r.buf[from:r.at])
		return
	}
	n := copy(to, r.buf[len(r.buf)+from:])
	copy(to[n:], r.buf[:r.at])
}

// From returns a copy of the bytes from offset on, and the offset of the first of them. start > offset: start-offset
// bytes are no longer kept. An offset at or beyond End gives no bytes, and End.
func (r *Ring) From(offset uint64) (data []byte, start uint64) {
	start = min(max(offset, r.Start()), r.end)
	if start == r.end {
		return nil, start
	}
	return r.AppendFrom(nil, start)
}

// AppendFrom is From, with the bytes appended to dst.
func (r *Ring) AppendFrom(dst []byte, offset uint64) (data []byte, start uint64) {
	start = min(max(offset, r.Start()), r.end)
	n := len(dst)
	dst = slices.Grow(dst, int(r.end-start))[:n+int(r.end-start)]
	r.copyTail(dst[n:])
	return dst, start
}
