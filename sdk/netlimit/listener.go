package netlimit

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Limits bound a listener. A zero field is no limit.
type Limits struct {
	Stall      time.Duration // how long a peer may take nothing of what is written to it
	Total      int           // open connections
	PerAddress int           // open connections of one address of a peer
}

// Stats counts connections.
type Stats struct {
	Open    int   // now
	Refused int64 // closed right after they were accepted, because there were too many
	Stalled int64 // ended because the peer took nothing
}

// Listener bounds the connections of another listener. A connection beyond a limit is closed as soon as it is accepted:
// left waiting, it would hold a place of the system's queue which others need. It is safe for concurrent use.
type Listener struct {
	net.Listener
	limits  atomic.Pointer[Limits]
	drained atomic.Int64 // nanoseconds; the stall limit since Drain, 0 before
	refused atomic.Int64
	stalled atomic.Int64

	mu    sync.Mutex // guards all below
	conns map[*Conn]struct{}
	of    map[netip.Addr]int // open connections of an address
}

// New wraps a listener.
func New(inner net.Listener, limits Limits) *Listener {
	l := &Listener{Listener: inner, conns: map[*Conn]struct{}{}, of: map[netip.Addr]int{}}
	l.Apply(limits)
	return l
}

// Apply replaces the limits. Open connections stay, whatever their number; a new stall limit counts for them too.
func (l *Listener) Apply(limits Limits) { l.limits.Store(&limits) }

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &Conn{Conn: inner, listener: l, address: addressOf(inner.RemoteAddr())}
		if l.enter(c) {
			c.direct.of(inner)
			return c, nil
		}
		l.refused.Add(1)
		_ = inner.Close() // there is nothing to be lost on it
	}
}

// enter counts a connection in, if there is room.
func (l *Listener) enter(c *Conn) bool {
	limits := l.limits.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	if limits.Total > 0 && len(l.conns) >= limits.Total || limits.PerAddress > 0 && l.of[c.address] >= limits.PerAddress {
		return false
	}
	l.conns[c] = struct{}{}
	l.of[c.address]++
	return true
}

// leave counts a connection out.
func (l *Listener) leave(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	if l.of[c.address]--; l.of[c.address] == 0 {
		delete(l.of, c.address)
	}
}

// Drain is called when the server begins to stop: from now on peers that take nothing for the given time are given up,
// and so are those that are waited for with a deadline, as for the rest of a header or of a body. Connections that were
// taken over (WebSockets) keep the deadlines of who took them.
func (l *Listener) Drain(stall time.Duration) {
	l.drained.Store(int64(max(stall, time.Millisecond)))
	l.mu.Lock()
	all := slices.Collect(maps.Keys(l.conns))
	l.mu.Unlock()
	for _, c := range all {
		c.hasten()
	}
}

// Stats returns the counts.
func (l *Listener) Stats() Stats {
	l.mu.Lock()
	open := len(l.conns)
	l.mu.Unlock()
	return Stats{Open: open, Refused: l.refused.Load(), Stalled: l.stalled.Load()}
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

// ConnContext is to be the ConnContext of the http.Server, for LimitStall.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	if c := find(conn); c != nil {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// ConnState is to be the ConnState of the http.Server: a connection that was taken over is left to who took it.
func ConnState(conn net.Conn, state http.ConnState) {
	if state == http.StateHijacked {
		if c := find(conn); c != nil {
			c.taken.Store(true)
		}
	}
}

// LimitStall sets the stall limit of the connection that a request came over; 0 sets that of the listener again. It
// reports whether the connection has a stall limit at all: if not, the caller must bound its writes by itself.
func LimitStall(ctx context.Context, limit time.Duration) bool {
	c, ok := ctx.Value(connKey{}).(*Conn)
	if ok {
		c.limit.Store(int64(limit))
	}
	return ok
}

// Limited reports whether the writes to a connection are bounded by a stall limit.
func Limited(conn net.Conn) bool { return find(conn) != nil }

// find looks for our connection under those that wrap it, such as that of TLS.
func find(conn net.Conn) *Conn {
	for {
		switch c := conn.(type) {
		case *Conn:
			return c
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

// addressOf returns the address of a peer without its port. Peers without one, as on a Unix socket, share the zero value.
func addressOf(addr net.Addr) netip.Addr {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}
