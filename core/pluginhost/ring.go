package pluginhost

import (
	"context"
	"sync"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
)

// Bounds of the log that is kept of a plugin.
const (
	ringLines = 1000
	ringLine  = 8 << 10 // bytes of one line; the rest is cut
)

// ring keeps the last lines of a plugin. Writers never wait for readers. It is safe for concurrent use.
type ring struct {
	mu     sync.Mutex // guards all below
	lines  []core.PluginLogLine
	next   uint64        // number of the next line, from 0
	closed bool          // no line comes any more
	moved  chan struct{} // closed, and replaced, with each line
}

func newRing() *ring { return &ring{moved: make(chan struct{})} }

func (r *ring) add(line core.PluginLogLine) {
	if len(line.Message) > ringLine {
		line.Message = clip.Text(line.Message, ringLine) + " [cut]"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lines) < ringLines {
		r.lines = append(r.lines, line)
	} else {
		r.lines[r.next%ringLines] = line
	}
	r.next++
	close(r.moved)
	r.moved = make(chan struct{})
}

// close ends those who follow, once they have read what is there.
func (r *ring) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		close(r.moved)
		r.moved = make(chan struct{})
	}
}

// from returns the lines from a number on, how many of them are gone, the number to go on with, and a channel
// that is closed when there are more.
func (r *ring) from(number uint64) (lines []core.PluginLogLine, lost int, next uint64, moved <-chan struct{}, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	oldest := r.next - uint64(len(r.lines))
	if number < oldest {
		lost, number = int(oldest-number), oldest
	}
	for ; number < r.next; number++ {
		lines = append(lines, r.lines[number%ringLines])
	}
	return lines, lost, r.next, r.moved, r.closed
}

// tail returns the last n lines; 0 is all.
func (r *ring) tail(n int) ([]core.PluginLogLine, uint64) {
	lines, _, next, _, _ := r.from(0)
	if n > 0 && len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return lines, next
}

// follow visits the last lines and each new one until ctx ends, visit fails or the ring is closed.
func (r *ring) follow(ctx context.Context, tail int, visit func(core.PluginLogLine, int) error) error {
	lines, number := r.tail(tail)
	lost := 0
	for {
		for _, line := range lines {
			if err := visit(line, lost); err != nil {
				return err
			}
			lost = 0
		}
		var moved <-chan struct{}
		var closed bool
		lines, lost, number, moved, closed = r.from(number)
		if len(lines) > 0 {
			continue
		}
		if closed {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
