package netlimit

import (
	"errors"
	"net"
	"syscall"
)

// direct writes what a socket takes without waiting, for which no deadline has to be set. Its calls must not overlap.
type direct struct {
	raw  syscall.RawConn       // nil: there is no socket
	take func(fd uintptr) bool // made once, as it would be an allocation of each write

	p       []byte // of the write under way
	written int    // of p
}

// of makes d write to a connection.
func (d *direct) of(conn net.Conn) {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := socket.SyscallConn(); err == nil {
		d.raw, d.take = raw, d.once
	}
}

// write returns how many bytes of p were taken. Why not all were is what a write that waits returns.
func (d *direct) write(p []byte) int {
	if d.raw == nil {
		return 0
	}
	d.p, d.written = p, 0
	_ = d.raw.Write(d.take)
	d.p = nil
	return d.written
}

// once is one system call, after which nothing waits for room in the socket.
func (d *direct) once(fd uintptr) bool {
	for {
		n, err := syscall.Write(int(fd), d.p)
		if !errors.Is(err, syscall.EINTR) {
			d.written = max(n, 0)
			return true
		}
	}
}
