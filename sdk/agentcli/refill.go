package agentcli

import (
	"context"
	"io"
	"time"

	"github.com/wardroom/wardroom/sdk/vt"
)

// refillTimeout bounds the reading of history: whoever has it has it in memory.
const refillTimeout = 2 * time.Second

// refill reads the output before the screen's offset again, as far as it is kept: a viewer that comes back after
// the end of an earlier runtime process goes on where it was. Nothing else runs in the session yet.
func (s *session) refill(ctx context.Context, offset uint64) {
	from := s.base
	if size := uint64(s.display.ringSize); offset-s.base > size {
		from = offset - size
	}
	if from == offset {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, refillTimeout)
	defer cancel()
	out, err := s.proc.Output(ctx, from-s.base)
	if err != nil {
		s.logger.Debug("earlier output cannot be read again", "error", err)
		return
	}
	defer func() { _ = out.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = out.Close() })
	defer stop()
	start := out.Offset() + s.base
	if start >= offset {
		return
	}
	history := make([]byte, offset-start)
	if _, err := io.ReadFull(out, history); err != nil {
		s.logger.Debug("earlier output cannot be read again", "error", err)
		return
	}
	s.display.refill(history, start)
}

// refill puts what came before the screen's offset into the ring, which is empty.
func (d *display) refill(history []byte, start uint64) {
	d.ringMu.Lock()
	defer d.ringMu.Unlock()
	ring := vt.NewRingAt(d.ringSize, start)
	_, _ = ring.Write(history)
	d.ring = ring
}
