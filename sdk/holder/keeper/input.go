package keeper

import (
	"sync"

	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// maxWaiting bounds the bytes of input that wait for the command to read.
const maxWaiting = 256 << 10

// typing is one piece of input and who hears what became of it.
type typing struct {
	id   uint32
	data []byte
	from *control
}

// input types pieces in the order in which they came. A command that does not read holds up the input, and
// nothing else.
type input struct {
	term *terminal

	mu      sync.Mutex
	change  sync.Cond
	queue   []typing // the first is being written
	bytes   int
	writing bool
	drop    bool // the piece that is being written is not wanted any more
	ended   bool
}

func newInput(term *terminal) *input {
	in := &input{term: term}
	in.change.L = &in.mu
	return in
}

// add queues a piece; the data is copied.
func (in *input) add(t typing) wire.Code {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.ended:
		return wire.CodeEnded
	case in.bytes+len(t.data) > maxWaiting:
		return wire.CodeBusy
	}
	t.data = append([]byte(nil), t.data...)
	in.queue = append(in.queue, t)
	in.bytes += len(t.data)
	in.change.Signal()
	return wire.CodeOK
}

// cancel drops one piece of a client's, and tells it so.
func (in *input) cancel(from *control, id uint32) {
	for _, t := range in.take(func(t typing) bool { return t.from == from && t.id == id }) {
		in.tell(t, wire.CodeCancelled)
	}
}

// forget drops all pieces of a client that is gone.
func (in *input) forget(from *control) {
	in.take(func(t typing) bool { return t.from == from })
}

// take removes the pieces that match, but for the one that is being written: run ends that one.
func (in *input) take(match func(typing) bool) (taken []typing) {
	in.mu.Lock()
	defer in.mu.Unlock()
	kept := in.queue[:0]
	for i, t := range in.queue {
		switch {
		case !match(t):
			kept = append(kept, t)
		case i == 0 && in.writing:
			in.drop = true
			in.term.interrupt()
			kept = append(kept, t)
		default:
			in.bytes -= len(t.data)
			taken = append(taken, t)
		}
	}
	in.queue = kept
	return taken
}

// stop ends run and refuses what comes.
func (in *input) stop() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ended = true
	in.term.interrupt()
	in.change.Signal()
}

// run types until stop.
func (in *input) run() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for {
		for len(in.queue) == 0 && !in.ended {
			in.change.Wait()
		}
		if in.ended {
			left := in.queue
			in.queue = nil
			in.mu.Unlock()
			for _, t := range left {
				in.tell(t, wire.CodeEnded)
			}
			in.mu.Lock()
			return
		}
		t := in.queue[0]
		in.writing = true
		in.mu.Unlock()
		_, err := in.term.write(t.data)
		in.mu.Lock()
		in.writing = false
		in.queue = in.queue[1:]
		if len(in.queue) == 0 {
			in.queue = nil
		}
		in.bytes -= len(t.data)
		code := wire.CodeOK
		switch {
		case err == nil:
		case in.ended:
			code = wire.CodeEnded
		case in.drop:
			code = wire.CodeCancelled
		default:
			code = wire.CodeEnded // the terminal is hung up; the exit follows
		}
		if in.drop && !in.ended {
			in.term.resume()
		}
		in.drop = false
		in.mu.Unlock()
		in.tell(t, code)
		in.mu.Lock()
	}
}

func (in *input) tell(t typing, code wire.Code) { t.from.done(t.id, code) }
