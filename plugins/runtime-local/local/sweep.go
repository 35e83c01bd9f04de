package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/holder/life"
	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// endTime bounds the wait for processes that were killed.
const endTime = 10 * time.Second

// sweep removes what crashes left. Agents whose holder lives are not touched: somebody will ask for them.
func (l *Launcher) sweep(ctx context.Context) error {
	rooms, err := os.ReadDir(l.rooms.Dir)
	if err != nil {
		return fmt.Errorf("rooms of agents: %w", err)
	}
	dead := make(map[string]handle) // by nonce
	for _, room := range rooms {
		h, err := l.load(room.Name())
		if err != nil {
			continue // never started, or a record of another version: nothing can be known
		}
		if l.owns(h) && l.dead(h) {
			dead[h.Nonce.String()] = h
		}
	}
	if len(dead) > 0 {
		found, err := proc.Marked(life.MarkNonce)
		if err != nil {
			return fmt.Errorf("processes of this machine: %w", err)
		}
		for nonce, h := range dead {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if n := len(found[nonce]); n > 0 {
				l.log.Warn("ending what a dead holder left", "agent", h.ID, "processes", n)
				l.clear(h)
			}
			removeGroups(h.Groups)
		}
	}
	l.sweepSockets()
	l.sweepHelpers()
	return nil
}

// dead reports whether the holder of a life has ended. One that is being started, maybe by the launcher of another configuration,
// has not.
func (l *Launcher) dead(h handle) bool {
	switch {
	case l.children.claims.Held(h.ID):
		return false
	case h.Boot == l.bootID && h.Holder.PID == 0: // the runtime ended before it could note it
		conn, err := net.DialTimeout("unix", h.Socket, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED)
	}
	return h.Boot != l.bootID || !proc.Alive(h.Holder)
}

// sweepSockets removes sockets of this launcher's kind that nothing listens on.
func (l *Launcher) sweepSockets() {
	entries, err := os.ReadDir(l.sockets())
	if err != nil {
		return
	}
	for _, entry := range entries {
		if len(entry.Name()) != socketName || !strings.HasSuffix(entry.Name(), ".sock") || entry.Type()&os.ModeSocket == 0 {
			continue
		}
		path := filepath.Join(l.sockets(), entry.Name())
		conn, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			_ = conn.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(path)
		}
	}
}

// socketOf reports whether the socket of a life is there.
func (l *Launcher) socketOf(h handle) bool {
	info, err := os.Lstat(h.Socket)
	return err == nil && info.Mode()&os.ModeSocket != 0
}

// endEarlier ends what there is of an agent's last life.
func (l *Launcher) endEarlier(ctx context.Context, id string) error {
	h, err := l.load(id)
	switch {
	case err == nil:
	case life.NoRecord(err):
		return nil
	default:
		return life.Unread(id, err)
	}
	if !l.owns(h) { // of the directory that this one is a copy of
		_ = os.Remove(l.exitFile(id))
		_ = os.Remove(l.record(id))
		return nil
	}
	if h.Boot == l.bootID {
		if p, err := l.connect(ctx, h); err == nil {
			err := p.Kill(ctx)
			_ = p.Close()
			if err != nil {
				return err
			}
		}
	}
	if !l.clear(h) {
		return runtime.Errorf(runtime.CodeInternal, "processes of agent %s do not end", id)
	}
	_ = os.Remove(l.exitFile(id))
	_ = os.Remove(l.record(id))
	return nil
}

// clear ends the holder of a life and everything that carries its mark or is in its cgroups, and reports whether
// nothing is left. The holder is given a moment to end by itself.
func (l *Launcher) clear(h handle) bool {
	if h.Boot != l.bootID {
		removeGroups(h.Groups)
		return true
	}
	until := time.Now().Add(endTime)
	holderUntil := time.Now().Add(time.Second)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		l.children.reap()
		left := 0
		if h.Holder.PID != 0 && proc.Alive(h.Holder) {
			left++
			if time.Now().After(holderUntil) || !l.socketOf(h) {
				_ = proc.Signal(h.Holder, unix.SIGKILL)
			}
		}
		killGroups(h.Groups)
		found, err := proc.Marked(life.MarkNonce)
		if err != nil {
			return false
		}
		for _, id := range found[h.Nonce.String()] {
			left++
			_ = proc.Signal(id, unix.SIGKILL)
		}
		if left == 0 {
			break
		}
		if time.Now().After(until) {
			return false
		}
		time.Sleep(wait)
	}
	if conn, err := net.DialTimeout("unix", h.Socket, time.Second); err == nil {
		_ = conn.Close() // a later life listens
	} else {
		_ = os.Remove(h.Socket)
	}
	removeGroups(h.Groups)
	return true
}
