package keeper

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/internal/durable"
)

// Bounds of what a launch may ask for.
const (
	minRing = 64 << 10
	maxRing = 64 << 20
	maxSize = 1000 // columns and rows
)

// Times that are no option.
const (
	drainTime    = 3 * time.Second        // for the last output of an ended command
	leftoverTime = 500 * time.Millisecond // between SIGTERM and SIGKILL for what outlived the command
	killTime     = 10 * time.Second       // until processes that do not die count as left
	writeTime    = 5 * time.Second        // a control connection that takes nothing for so long is dropped
	helloTime    = 5 * time.Second        // for the first frame of a connection
)

// Keeper holds one command.
type Keeper struct {
	launch    wire.Launch
	listener  *listener
	term      *terminal
	command   proc.ID
	started   time.Time
	ring      *ring
	reaper    *reaper
	input     *input
	hooks     hooks
	note      note
	terminate <-chan os.Signal

	exited   chan struct{} // closed when exit is set
	exit     wire.Exited   // valid once exited is closed
	released chan struct{} // closed when a client fetched the exit
	release  sync.Once
	wg       sync.WaitGroup

	mu      sync.Mutex // guards what follows
	clients uint64     // control connections so far
	control *control   // or nil
	output  *output    // or nil
	conns   map[*sock]struct{}
	killed  bool // a kill was asked for
	closing bool // no new connections
	cols    uint16
	rows    uint16
}

// Open listens, and starts the command. What it cannot do leaves nothing behind.
func Open(l wire.Launch) (*Keeper, *wire.Failed) {
	if l.Cols < 1 || l.Cols > maxSize || l.Rows < 1 || l.Rows > maxSize {
		return nil, failed("terminal", errors.New("the size must be from 1 to 1000 columns and rows"))
	}
	if l.RingBytes < minRing || l.RingBytes > maxRing {
		return nil, failed("terminal", errors.New("the ring must be from 64 KiB to 64 MiB"))
	}
	// Handled rather than ignored: an ignored signal would be ignored by the command too.
	hangup, terminate, child := make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(hangup, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	signal.Notify(terminate, unix.SIGTERM)
	signal.Notify(child, unix.SIGCHLD)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, failed("command", err)
	}

	if l.Inherit {
		l.Env = inherited(l.Env)
	}
	listener, err := listen(l.Socket, l.User)
	if err != nil {
		return nil, failed("listen", err)
	}
	term, id, bad := start(&l)
	if bad != nil {
		listener.close()
		return nil, bad
	}
	k := &Keeper{
		launch: l, listener: listener, term: term, command: id, started: time.Now(), cols: l.Cols, rows: l.Rows,
		ring: newRing(int(l.RingBytes)), reaper: newReaper(id.PID, child), terminate: terminate,
		exited: make(chan struct{}), released: make(chan struct{}),
		conns: make(map[*sock]struct{}),
	}
	k.input = newInput(term)
	// The environment holds secrets and is not needed again.
	k.launch.Env, k.launch.Args = nil, nil
	return k, nil
}

// Run holds the command until it has ended and a client has fetched that, or none did for the linger time.
func (k *Keeper) Run() {
	drained := make(chan struct{})
	k.wg.Go(func() { k.pump(); close(drained) })
	k.wg.Go(k.accept)
	k.wg.Go(k.input.run)
	k.wg.Go(k.reaper.run)

	linger := k.launch.Linger
	select {
	case <-k.reaper.done:
	case <-k.terminate:
		k.kill(killGrace)
		<-k.reaper.done
		linger = min(linger, killGrace) // whoever stops a container, or a machine, waits for this process
	}
	k.finish(drained)
	k.linger(linger)
	k.close()
}

// finish brings the output to its end and what is left of the command's tree with it, then tells the exit.
func (k *Keeper) finish(drained <-chan struct{}) {
	k.input.stop()
	select {
	case <-drained:
	case <-time.After(drainTime): // somebody of the tree keeps the terminal open
	}
	k.mu.Lock()
	grace := leftoverTime
	if k.killed {
		grace = 0
	}
	k.mu.Unlock()
	k.killTree(grace)
	k.term.close()
	<-drained
	k.ring.end()

	k.mu.Lock()
	_, head := k.ring.span()
	k.exit = wire.Exited{Nonce: k.launch.Nonce, Code: k.reaper.code(), Killed: k.killed, Head: head, At: time.Now()}
	k.mu.Unlock()
	_ = writeFile(k.launch.ExitFile, wire.FormatExitFile(k.exit))
	close(k.exited)
	k.tell(k.exit)
}

// linger keeps the socket for clients that did not fetch the exit yet.
func (k *Keeper) linger(most time.Duration) {
	select {
	case <-k.released:
	case <-time.After(most):
	case <-k.terminate:
	}
}

// close ends every connection and waits for all goroutines.
func (k *Keeper) close() {
	k.listener.close()
	k.mu.Lock()
	k.closing = true
	output := k.output
	k.mu.Unlock()
	if output != nil {
		<-output.done // it has its last bytes, or took nothing for the stall time
	}
	k.mu.Lock()
	for conn := range k.conns {
		_ = conn.Close()
	}
	k.mu.Unlock()
	k.reaper.stop()
	k.wg.Wait()
}

// writeFile replaces a file at once.
func writeFile(path string, data []byte) error {
	if path == "" {
		return nil
	}
	return durable.WriteFile(path, data, false)
}
