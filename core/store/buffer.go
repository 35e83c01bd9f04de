package store

// keepBuffer is how much memory a buffer keeps between batches.
const keepBuffer = 4 << 20

// buffer is where a batch builds its keys and small values. Slices taken from it stay valid until reset,
// which the writer calls once the batch is over.
type buffer struct{ b []byte }

// take returns what build appends.
func (a *buffer) take(build func(dst []byte) []byte) []byte {
	from := len(a.b)
	a.b = build(a.b)
	return a.b[from:len(a.b):len(a.b)]
}

func (a *buffer) reset() {
	if cap(a.b) > keepBuffer {
		a.b = nil
		return
	}
	a.b = a.b[:0]
}
