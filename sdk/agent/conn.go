package agent

import (
	"net"
	"sync"
	"time"
)

const (
	writeTimeout = 10 * time.Second // for one write to the network; the connection is given up after it
	corkBytes    = 64 << 10         // a corked connection writes out when this much has gathered
)

// coalescer is the network connection below the WebSocket. While corked it gathers what is written, so that
// many frames go out in one system call; and it tells before a read, which is when the reader has worked on
// all that had arrived. Writes are safe for concurrent use.
type coalescer struct {
	net.Conn
	beforeRead func() // or nil; set once, before the first concurrent use

	mu     sync.Mutex // guards all below
	corked bool
	buf    []byte
}

// Read implements net.Conn.
func (c *coalescer) Read(p []byte) (int, error) {
	if c.beforeRead != nil {
		c.beforeRead()
	}
	return c.Conn.Read(p)
}

// Write implements net.Conn.
func (c *coalescer) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.corked {
		return len(p), c.writeOut(p)
	}
	c.buf = append(c.buf, p...)
	if len(c.buf) >= corkBytes {
		return len(p), c.flush()
	}
	return len(p), nil
}

// SetWriteDeadline implements net.Conn and does nothing: each write to the network has writeTimeout, set once
// for all frames in it.
func (c *coalescer) SetWriteDeadline(time.Time) error { return nil }

// cork starts to gather.
func (c *coalescer) cork() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.corked = true
}

// uncork writes out what was gathered.
func (c *coalescer) uncork() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.corked = false
	return c.flush()
}

func (c *coalescer) flush() error {
	if len(c.buf) == 0 {
		return nil
	}
	err := c.writeOut(c.buf)
	if cap(c.buf) > maxSpare {
		c.buf = nil
	}
	c.buf = c.buf[:0]
	return err
}

func (c *coalescer) writeOut(p []byte) error {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := c.Conn.Write(p)
	return err
}
