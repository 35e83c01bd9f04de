package holder

import "io"

// maxEnding is how much of what a command writes to standard error is kept, in bytes: its last line is shown.
const maxEnding = 4 << 10

// ending is the end of what a command writes to standard error, however much that is. The zero value is ready.
type ending struct{ said []byte }

var _ io.Writer = (*ending)(nil)

// Write implements io.Writer.
func (e *ending) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(n-maxEnding, 0):]
	keep := min(len(e.said), maxEnding-len(p))
	e.said = append(e.said[:copy(e.said, e.said[len(e.said)-keep:])], p...)
	return n, nil
}
