package keeper

import (
	"errors"
	"os"
	"time"

	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// piece is how much output one frame carries at most.
const piece = 128 << 10

// output is a connection that takes the output.
type output struct {
	conn  *sock
	taker taker
	done  chan struct{} // closed when it takes nothing more
}

// serveOutput makes conn the one that takes the output, and stays until it ends.
func (k *Keeper) serveOutput(conn *sock, hello wire.Hello) {
	out := &output{conn: conn, done: make(chan struct{})}
	k.mu.Lock()
	if k.control == nil || k.control.number != hello.Client || k.closing {
		k.mu.Unlock()
		refuse(conn, wire.CodeSuperseded, "another client took over")
		return
	}
	earlier := k.output
	k.output = out
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		if k.output == out {
			k.output = nil
		}
		k.mu.Unlock()
		close(out.done)
	}()
	if earlier != nil {
		k.end(earlier)
	}
	start := k.ring.attach(&out.taker, hello.From)
	defer k.ring.detach(&out.taker)
	if err := k.write(conn, wire.OutputStart{Offset: start}); err != nil {
		return
	}
	k.send(out)
}

// end makes an output let go and waits for that.
func (k *Keeper) end(out *output) {
	k.ring.stop(&out.taker)
	_ = out.conn.Close()
	<-out.done
}

// send writes what the ring has until the end, straight from the ring's memory.
func (k *Keeper) send(out *output) {
	var head [wire.HeaderLen]byte
	for {
		p, ended := k.ring.take(&out.taker, piece)
		if len(p) == 0 {
			if ended {
				_ = k.write(out.conn, wire.End{})
			}
			return
		}
		wire.PutHeader(head[:], wire.KindData, len(p))
		if !k.writeAll(out.conn, head[:], p) {
			return
		}
		k.ring.taken(&out.taker, len(p))
	}
}

// writeAll writes until everything went out. A reader that took nothing within the stall time fails it; a slow
// one does not.
func (k *Keeper) writeAll(conn *sock, head, body []byte) bool {
	for {
		if err := conn.SetWriteDeadline(time.Now().Add(k.launch.Stall)); err != nil {
			return false
		}
		n, err := conn.writev(head, body)
		if err == nil {
			return true
		}
		if n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
		skip := min(n, len(head))
		head, body = head[skip:], body[n-skip:]
	}
}

// write writes one message within writeTime.
func (k *Keeper) write(conn *sock, m wire.Message) error {
	if err := conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	return wire.Write(conn, m)
}

// refuse reports why a connection ends. The caller closes it.
func refuse(conn *sock, code wire.Code, text string) {
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_ = wire.Write(conn, wire.Refused{Code: code, Text: text})
}
