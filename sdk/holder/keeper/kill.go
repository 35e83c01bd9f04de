package keeper

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// killGrace is for a SIGTERM to this process, which means that its agent has to end.
const killGrace = 2 * time.Second

// kill asks the command to end, and ends it with its whole tree after grace. finish does the rest.
func (k *Keeper) kill(grace time.Duration) {
	k.mu.Lock()
	k.killed = true
	k.mu.Unlock()
	if grace > 0 {
		k.signal(unix.SIGTERM)
		k.signal(unix.SIGCONT) // a stopped command cannot end by itself
		select {
		case <-k.reaper.done:
		case <-time.After(grace):
		}
	}
	k.killTree(0)
}

// signal signals the command, unless it was reaped.
func (k *Keeper) signal(sig unix.Signal) {
	select {
	case <-k.reaper.done:
	default:
		_ = proc.Signal(k.command, sig)
	}
}

// killTree ends every descendant, first politely if there is a grace time, and returns when none is left, or
// those that are left do not die.
func (k *Keeper) killTree(grace time.Duration) {
	if grace > 0 && !k.isEmpty() {
		k.signalTree(unix.SIGTERM)
		k.waitEmpty(grace)
	}
	for wait, until := time.Millisecond, time.Now().Add(killTime); time.Now().Before(until); wait = min(2*wait, 100*time.Millisecond) {
		if k.isEmpty() {
			break
		}
		k.signalTree(unix.SIGKILL)
		if k.launch.Cgroup != "" {
			_ = os.WriteFile(k.launch.Cgroup+"/cgroup.kill", []byte("1"), 0)
		}
		k.waitEmpty(wait)
	}
}

func (k *Keeper) signalTree(sig unix.Signal) {
	list, err := proc.Descendants(os.Getpid())
	if err != nil {
		return
	}
	for _, p := range list {
		_ = proc.Signal(p.ID, sig)
	}
}

func (k *Keeper) isEmpty() bool {
	select {
	case <-k.reaper.empty:
		return true
	default:
		return false
	}
}

func (k *Keeper) waitEmpty(d time.Duration) {
	select {
	case <-k.reaper.empty:
	case <-time.After(d):
	}
}

// serveKill answers a Kill when nothing is left.
func (k *Keeper) serveKill(c *control, m wire.Kill) {
	k.kill(m.Grace)
	<-k.exited
	if !k.isEmpty() {
		c.fail(m.ID, wire.CodeLeft, "processes of the agent do not end")
		return
	}
	c.done(m.ID, wire.CodeOK)
}
