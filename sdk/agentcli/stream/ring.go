package stream

// ring keeps the end of an output with its offset.
type ring struct {
	limit int
	data  []byte // up to twice the limit, so that dropping costs a copy once in limit bytes
	first uint64 // offset of data[0]
}

func (r *ring) end() uint64 { return r.first + uint64(len(r.data)) }

// start is the offset of the oldest byte that is promised.
func (r *ring) start() uint64 { return r.end() - uint64(min(len(r.data), r.limit)) }

func (r *ring) add(b []byte) {
	r.data = append(r.data, b...)
	if drop := len(r.data) - r.limit; drop > r.limit {
		r.data = append(r.data[:0], r.data[drop:]...)
		r.first += uint64(drop)
	}
}

// from returns the bytes from an offset on, which lies between start and end.
func (r *ring) from(at uint64) []byte { return r.data[at-r.first:] }
