package keeper

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// acceptRest is the pause after the system had no room for a connection.
const acceptRest = 100 * time.Millisecond

// control is the connection of the client.
type control struct {
	conn   *sock
	frames *wire.Reader
	number uint64

	mu sync.Mutex // one message at a time
}

// send writes one message; a client that takes nothing for writeTime is dropped.
func (c *control) send(m wire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTime))
	if err := wire.Write(c.conn, m); err != nil {
		_ = c.conn.Close()
	}
}

func (c *control) done(id uint32, code wire.Code) { c.fail(id, code, "") }

func (c *control) fail(id uint32, code wire.Code, text string) {
	c.send(wire.Done{ID: id, Code: code, Text: text})
}

// client is who controls now, or nil.
func (k *Keeper) client() *control {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.control
}

// tell sends a message to the client, if there is one.
func (k *Keeper) tell(m wire.Message) {
	if c := k.client(); c != nil {
		c.send(m)
	}
}

// accept serves connections until the listener is closed.
func (k *Keeper) accept() {
	for {
		conn, err := k.listener.accept()
		if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM) {
			time.Sleep(acceptRest)
			continue
		}
		if err != nil {
			return
		}
		k.mu.Lock()
		if k.closing {
			k.mu.Unlock()
			_ = conn.Close()
			return
		}
		k.conns[conn] = struct{}{}
		k.mu.Unlock()
		k.wg.Go(func() {
			k.serve(conn)
			_ = conn.Close()
			k.mu.Lock()
			delete(k.conns, conn)
			k.mu.Unlock()
		})
	}
}

// serve reads the first frame, which says what the connection is for.
func (k *Keeper) serve(conn *sock) {
	user, pid, err := conn.peer()
	if err != nil {
		return
	}
	trusted := user == 0 || int(user) == unix.Getuid()
	if u := k.launch.User; !trusted && (u == nil || user != u.UID) {
		return
	}
	frames := wire.NewReader(conn)
	_ = conn.SetReadDeadline(time.Now().Add(helloTime))
	kind, body, err := frames.Next()
	if err != nil || kind != wire.KindHello {
		return
	}
	hello, err := wire.ParseHello(body)
	if err != nil {
		return
	}
	version := wire.Negotiate(hello.Min, hello.Max)
	switch {
	case version == 0:
		refuse(conn, wire.CodeVersion, fmt.Sprintf("this holder speaks versions %d to %d of the protocol", wire.MinVersion, wire.Version))
		return
	case hello.Role != wire.RoleHook && !trusted:
		return
	case hello.Role == wire.RoleHook && !descends(pid):
		return // another agent's process must not speak for this one
	case hello.Role != wire.RoleHook && hello.Nonce != k.launch.Nonce:
		refuse(conn, wire.CodeNonce, "this holder holds another life")
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	switch hello.Role {
	case wire.RoleControl:
		k.serveControl(conn, frames, version)
	case wire.RoleOutput:
		k.serveOutput(conn, hello)
	case wire.RoleHook:
		k.serveHook(conn, frames)
	}
}

// descends reports whether a process was started by the command, or by what it started, however deep: all of that has
// this process for its last ancestor, which takes in what loses its parent.
func descends(pid int) bool {
	const deepest = 1 << 12 // a chain that changes while it is walked must not be walked for ever
	for range deepest {
		info, err := proc.Stat(pid)
		switch {
		case err != nil:
			return false
		case info.Parent == os.Getpid():
			return true
		case info.Parent <= 1:
			return false
		}
		pid = info.Parent
	}
	return false
}

// serveControl makes conn the client, in place of the one before, and serves its requests.
func (k *Keeper) serveControl(conn *sock, frames *wire.Reader, version uint16) {
	c := &control{conn: conn, frames: frames}
	c.mu.Lock() // nothing is sent before the welcome
	k.mu.Lock()
	k.clients++
	c.number = k.clients
	earlier, output := k.control, k.output
	k.control = c
	welcome := wire.Welcome{
		Version: version, Client: c.number, HolderPID: uint32(unix.Getpid()), PID: uint32(k.command.PID), Start: k.command.Start,
		StartedAt: k.started, Cols: k.cols, Rows: k.rows,
	}
	k.mu.Unlock()
	if earlier != nil {
		refuse(earlier.conn, wire.CodeSuperseded, "another client took over")
		_ = earlier.conn.Close()
		k.input.forget(earlier)
	}
	if output != nil {
		k.end(output)
	}
	welcome.Tail, welcome.Head = k.ring.span()
	select {
	case <-k.exited:
		welcome.Ended = true
	default:
		welcome.Unread = k.term.unread()
	}
	err := k.write(conn, welcome)
	c.mu.Unlock()
	if err == nil {
		if welcome.Ended {
			c.send(k.exit)
		}
		k.hooks.tellAll(c)
		k.requests(c)
	}

	k.input.forget(c)
	k.mu.Lock()
	if k.control == c {
		k.control = nil
	}
	k.mu.Unlock()
}

// requests serves one request after the other until the connection ends or breaks the protocol.
func (k *Keeper) requests(c *control) {
	for {
		kind, body, err := c.frames.Next()
		if err != nil {
			return
		}
		if err := k.request(c, kind, body); err != nil {
			refuse(c.conn, wire.CodeBadFrame, err.Error())
			return
		}
	}
}
