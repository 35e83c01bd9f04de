package netlimit

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// steps is into how many looks at the peer's progress a stall limit is divided.
const steps = 4

// Conn is a connection whose writes fail once its peer takes nothing for the stall limit. Deadlines set on it hold as
// well, whichever comes first.
type Conn struct {
	net.Conn
	listener *Listener
	address  netip.Addr
	limit    atomic.Int64 // nanoseconds; 0: the listener's
	taken    atomic.Bool  // by a protocol other than HTTP
	closed   sync.Once

	writing sync.Mutex // held by the write under way; guards the two below
	written int64      // bytes that the system took
	direct  direct

	mu        sync.Mutex // guards all below
	armed     time.Time  // the write deadline that is set below
	writeTill time.Time  // the caller's own write deadline; zero: none
	readTill  time.Time  // the read deadline that is set below; zero: none
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.closed.Do(func() { c.listener.leave(c) })
	return c.Conn.Close()
}

// stall returns the limit in effect; 0: none.
func (c *Conn) stall() time.Duration {
	limit := time.Duration(c.limit.Load())
	if limit == 0 {
		limit = c.listener.limits.Load().Stall
	}
	if drained := time.Duration(c.listener.drained.Load()); drained > 0 && !c.taken.Load() && (limit == 0 || drained < limit) {
		limit = drained
	}
	return limit
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	done := c.direct.write(p)
	c.written += int64(done)
	if done > 0 && done == len(p) {
		return done, nil
	}
	defer c.disarm()
	var acked int64     // of all bytes that were written; counts once since is set
	var since time.Time // when the peer took something last, as far as is known
	for {
		now := time.Now()
		c.arm(now)
		n, err := c.Conn.Write(p[done:])
		done += n
		c.written += int64(n)
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || c.over() {
			return done, err
		}
		// What counts is not what the system took, which buffers megabytes, but what the peer did.
		taken := c.written - unsent(c.Conn)
		if since.IsZero() {
			acked, since = taken, now
		} else if taken > acked {
			acked, since = taken, time.Now()
		}
		if limit := c.stall(); limit > 0 && time.Since(since) >= limit {
			c.listener.stalled.Add(1)
			return done, err
		}
	}
}

// CloseWrite ends the way to the peer, so that what was written last is not lost with what the peer still sends.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// arm sets the deadline of the next step of a write: that of the next look at the peer, or the caller's own if it comes
// first. Setting one costs more than comparing it, so one that is far enough away stays.
func (c *Conn) arm(now time.Time) {
	limit := c.stall()
	c.mu.Lock()
	defer c.mu.Unlock()
	till := c.writeTill
	if limit > 0 {
		if step := now.Add(limit / steps); till.IsZero() || step.Before(till) {
			till = step
		}
	}
	if c.armed.Equal(till) || limit > 0 && !c.armed.After(till) && c.armed.Sub(now) > limit/(2*steps) {
		return
	}
	c.armed = till
	_ = c.Conn.SetWriteDeadline(till) // the write shows an error
}

// disarm takes back the deadline of a step, which would wake the process up when it is over though no write waits.
func (c *Conn) disarm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.armed.Equal(c.writeTill) {
		c.armed = c.writeTill
		_ = c.Conn.SetWriteDeadline(c.armed) // the next write shows an error
	}
}

// over reports whether the caller's own write deadline has passed.
func (c *Conn) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.writeTill.IsZero() && !time.Now().Before(c.writeTill)
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !t.IsZero() {
		t = c.hastened(t)
	}
	c.readTill = t
	return c.Conn.SetReadDeadline(t)
}

// hastened returns the read deadline that stands for t while the server stops.
func (c *Conn) hastened(t time.Time) time.Time {
	if drained := time.Duration(c.listener.drained.Load()); drained > 0 && !c.taken.Load() {
		if soon := time.Now().Add(drained); soon.Before(t) {
			return soon
		}
	}
	return t
}

// SetWriteDeadline implements net.Conn. It interrupts a write under way.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeTill = t
	if t.IsZero() || !c.armed.IsZero() && c.armed.Before(t) {
		return nil // the next step of a write sets its own
	}
	c.armed = t
	return c.Conn.SetWriteDeadline(t)
}

// hasten takes up the limits of a server that stops.
func (c *Conn) hasten() {
	if c.taken.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.readTill.IsZero() {
		c.readTill = c.hastened(c.readTill)
		_ = c.Conn.SetReadDeadline(c.readTill) // the read shows an error
	}
	if soon := time.Now().Add(c.stall() / steps); c.armed.IsZero() || soon.Before(c.armed) {
		c.armed = soon
		_ = c.Conn.SetWriteDeadline(soon) // the write shows an error
	}
}
