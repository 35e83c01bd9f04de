package webhook

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// envelope makes the body of every attempt for an event. It depends on the event alone, so that all have the same bytes;
// only fields that are masked from some time on differ.
func envelope(id string, kind core.EventType, at time.Time, data json.RawMessage) []byte {
	if len(data) == 0 {
		data = json.RawMessage("{}")
	}
	quoted, _ := json.Marshal(id) // a string always has a JSON text
	b := append(make([]byte, 0, len(id)+len(data)+100), `{"id":`...)
	b = append(append(b, quoted...), `,"type":"`...)
	b = append(b, kind...)
	b = append(append(b, `","timestamp":"`...), at.UTC().Format(wire.TimeLayout)...)
	b = append(append(b, `","data":`...), data...)
	return append(b, '}')
}

// bodies keeps the bodies of events that many endpoints get at about the same time.
type bodies struct {
	mu    sync.Mutex // guards all below
	held  map[uint64][]byte
	order []uint64 // oldest first
	bytes int
}

const (
	maxBodies    = 4096
	maxBodyBytes = 8 << 20
)

func (c *bodies) get(seq uint64) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[seq]
}

func (c *bodies) put(seq uint64, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = make(map[uint64][]byte)
	}
	if _, ok := c.held[seq]; ok || len(body) > maxBodyBytes/4 {
		return
	}
	for len(c.order) > 0 && (len(c.order) >= maxBodies || c.bytes+len(body) > maxBodyBytes) {
		c.bytes -= len(c.held[c.order[0]])
		delete(c.held, c.order[0])
		c.order = c.order[1:]
	}
	c.held[seq] = body
	c.order = append(c.order, seq)
	c.bytes += len(body)
}

// bodyOf makes the body of an event as receivers may read it.
func (s *Service) bodyOf(e *core.Event) []byte {
	b := envelope(e.ID, e.Type, e.Time, e.Data)
	if m := s.opts.Mask; m != nil && m.Active() {
		return m.Mask(b)
	}
	return b
}

// clear forgets all bodies: they were made by other rules.
func (c *bodies) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held, c.order, c.bytes = nil, nil, 0
}

// body returns what is sent for a delivery. NOT_FOUND when its event is not stored any more.
func (s *Service) body(ctx context.Context, d *core.Delivery) ([]byte, error) {
	if len(d.Body) > 0 {
		return d.Body, nil
	}
	if b := s.bodies.get(d.Seq); b != nil {
		return b, nil
	}
	e, err := s.opts.Store.FindEvent(ctx, d.Seq)
	if err != nil {
		return nil, err
	}
	b := s.bodyOf(&e)
	s.bodies.put(d.Seq, b)
	return b, nil
}
