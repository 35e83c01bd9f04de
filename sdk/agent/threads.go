package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/internal/durable"
)

// Bounds of the events that wait for their acknowledgement, of all threads together: Tell blocks beyond them.
const (
	maxUnacked      = 1024
	maxUnackedBytes = 8 << 20
)

// maxThreadInputs bounds the inputs of one thread that wait, and the ids of inputs that are remembered.
const maxThreadInputs = 10000

// told is an event that the server did not acknowledge.
type told struct {
	seq      uint64
	payload  []byte
	mark     string
	input    string // taken
	replaced bool   // the server refused it once
}

// threadEntry is the part of a Thread that its owner keeps. Guarded by threads.mu.
type threadEntry struct {
	spawning bool
	over     bool // it told that it stopped
	stopping bool // a call of Stop runs
	force    bool // that call, or one before, was forced

	last    uint64 // sequence of the last event
	kept    uint64 // sequence up to which the journal is on disk
	mark    string // of the last event
	unacked []*told
	sent    int // how many of these went out on this session
	retries int // since the last acknowledgement

	work    context.Context // of Spawn and the inputs: ends when the thread is to stop
	unwork  context.CancelCauseFunc
	lanes   [2]lane
	inputs  map[string]*input // known, by id
	order   []string          // of inputs, oldest first
	taken   map[string]bool   // messages that were reported as taken while their call runs
	journal *threadJournal    // or nil
}

// threads keeps the threads of an agent and what they told, and sends it. It outlives the sessions. Safe for
// concurrent use.
type threads struct {
	opts  ThreadOptions
	agent *Agent
	base  context.Context      // of all threads; set by start
	sync  func(*os.File) error // has a file on disk; immutable once start is called
	idle  sync.WaitGroup       // stops that close began

	mu     sync.Mutex // guards all below, and each Thread's entry
	byID   map[string]*Thread
	ids    []string // in the order of arrival, for turns that are fair
	next   int      // in ids: whose turn it is
	count  int      // unacknowledged events
	bytes  int
	room   chan struct{} // closed and replaced when there is room again
	wake   chan struct{} // capacity 1: there is something to send
	pause  time.Time     // nothing is sent before
	pace   pace          // of events
	rate   int           // events a second
	out    *outbox       // of the present session, or nil
	ended  ring          // sequences of threads that were forgotten
	closed bool
}

func newThreads(a *Agent, opts ThreadOptions) *threads {
	return &threads{
		opts: opts, agent: a, sync: (*os.File).Sync, byID: map[string]*Thread{}, room: make(chan struct{}),
		wake: make(chan struct{}, 1), rate: framesPerSecond,
	}
}

// lasting reports whether threads outlive the process.
func (th *threads) lasting() bool { return th != nil && th.opts.StateDir != "" }

// start loads the threads of an earlier process.
func (th *threads) start(ctx context.Context) error {
	if th == nil {
		return nil
	}
	th.base = context.WithoutCancel(ctx)
	if !th.lasting() {
		return nil
	}
	saved, err := loadThreads(th.opts.StateDir, th.sync)
	if err != nil {
		return fmt.Errorf("agent: threads: %w", err)
	}
	for _, s := range saved {
		t := th.make(s.Spec)
		t.entry.last, t.entry.mark, t.entry.unacked, t.entry.over = s.last, s.mark, s.unacked, s.over
		t.entry.journal = s.journal
		th.mu.Lock()
		th.enter(t)
		for _, e := range s.unacked {
			th.count++
			th.bytes += len(e.payload)
			if e.input != "" {
				t.remember(&input{ThreadInput: protocol.ThreadInput{ThreadID: s.Spec.ThreadID, InputID: e.input}})
			}
		}
		th.mu.Unlock()
		if s.over {
			t.cancel(ErrThreadOver)
			continue
		}
		if adopter, ok := th.opts.Host.(ThreadAdopter); ok {
			adopter.Adopt(t.ctx, t, s.mark)
		}
	}
	return nil
}

// make makes a thread that is not known yet.
func (th *threads) make(spec protocol.ThreadSpawn) *Thread {
	t := &Thread{Spec: spec, owner: th, telling: make(chan struct{}, 1)}
	t.ctx, t.cancel = context.WithCancelCause(th.base)
	t.entry.work, t.entry.unwork = context.WithCancelCause(t.ctx)
	t.entry.inputs, t.entry.taken = map[string]*input{}, map[string]bool{}
	return t
}

// enter makes a thread known. Called with mu held.
func (th *threads) enter(t *Thread) {
	th.byID[t.Spec.ThreadID] = t
	th.ids = append(th.ids, t.Spec.ThreadID)
}

// forget makes a thread unknown. Called with mu held.
func (th *threads) forget(t *Thread) {
	id := t.Spec.ThreadID
	if th.byID[id] != t {
		return
	}
	delete(th.byID, id)
	for i, other := range th.ids {
		if other == id {
			th.ids = append(th.ids[:i:i], th.ids[i+1:]...)
			break
		}
	}
	th.release(t, len(t.entry.unacked))
	th.ended.add(id, t.entry.last)
	t.entry.over = true
	t.entry.journal.remove()
}

// release drops the first n unacknowledged events of a thread. Called with mu held.
func (th *threads) release(t *Thread, n int) {
	e := &t.entry
	for _, ev := range e.unacked[:n] {
		th.count--
		th.bytes -= len(ev.payload)
	}
	clear(e.unacked[:n])
	e.unacked = e.unacked[n:]
	e.sent = max(0, e.sent-n)
	if n > 0 {
		close(th.room)
		th.room = make(chan struct{})
	}
}

// list lists the ids of the threads, for a resume.
func (th *threads) list() []string {
	if th == nil {
		return nil
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	ids := make([]string, 0, len(th.ids))
	for _, id := range th.ids {
		if !th.byID[id].entry.spawning { // one that is still being made shall come again if this process ends
			ids = append(ids, id)
		}
	}
	return ids
}

// tell takes an event of a thread. The caller holds t.telling.
func (th *threads) tell(ctx context.Context, t *Thread, e ThreadEvent) error {
	for {
		th.mu.Lock()
		over, room := t.entry.over, th.room
		full := th.count >= maxUnacked || th.bytes >= maxUnackedBytes
		th.mu.Unlock()
		if over {
			return ErrThreadOver
		}
		if !full {
			break
		}
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.ctx.Done():
			return t.gone()
		}
	}
	seq := t.entry.last + 1 // only the holder of t.telling changes it
	payload, err := encodeThreadEvent(&protocol.ThreadEvent{
		ThreadID: t.Spec.ThreadID, ExecutionID: t.Spec.ExecutionID, Sequence: seq, Type: e.Type, Data: e.Data,
		SessionID: e.SessionID, InputTaken: e.InputTaken,
	}, th.agent.maxFrame.Load())
	if err != nil {
		return err
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	if t.entry.over {
		return ErrThreadOver
	}
	e.Mark = cmp.Or(e.Mark, t.entry.mark)
	ev := &told{seq: seq, payload: payload, mark: e.Mark, input: e.InputTaken}
	t.entry.last, t.entry.mark = seq, e.Mark
	t.entry.unacked = append(t.entry.unacked, ev)
	th.count++
	th.bytes += len(payload)
	if e.InputTaken != "" {
		t.entry.taken[e.InputTaken] = true
	}
	if e.Type == protocol.ThreadStopped {
		t.entry.over = true
		t.cancel(ErrThreadOver)
	}
	if err := t.entry.journal.told(t, ev); err != nil {
		th.agent.opts.Logger.Warn("agent cannot keep an event of a thread: it is lost if this process ends now",
			"thread", t.Spec.ThreadID, "error", err)
	}
	th.signal()
	return nil
}

// hosted notes that a thread is to be found again from now on, and has that on disk before the server is told.
func (th *threads) hosted(t *Thread) error {
	th.mu.Lock()
	err := t.entry.journal.hosted()
	file := t.entry.journal.opened()
	th.mu.Unlock()
	if err != nil || file == nil {
		return err
	}
	if err := th.sync(file); err != nil && !errors.Is(err, os.ErrClosed) { // closed: it was written anew, or is not needed
		return err
	}
	// The name of the directory as well, unless that lies in one that may not be read, as private directories of service managers are.
	parent := durable.SyncDir(filepath.Dir(th.opts.StateDir))
	if errors.Is(parent, fs.ErrPermission) {
		parent = nil
	}
	return errors.Join(durable.SyncDir(th.opts.StateDir), parent)
}

// keep has everything that was told on disk, so that it may be sent. Without it a host that loses its power could use a
// sequence again that the server has, and what it tells then would be taken for a repetition. One call covers what many
// threads and events wait for; a thread costs a sync of its file, and nothing else waits for it.
func (th *threads) keep() {
	if !th.lasting() {
		return
	}
	type unkept struct {
		thread *Thread
		file   *os.File // nil: it was written anew
		last   uint64
	}
	var list []unkept
	th.mu.Lock()
	for _, t := range th.byID {
		if t.entry.kept < t.entry.last {
			list = append(list, unkept{t, t.entry.journal.opened(), t.entry.last})
		}
	}
	th.mu.Unlock()
	for _, u := range list {
		var err error
		if u.file != nil {
			err = th.sync(u.file)
		}
		th.mu.Lock()
		u.thread.entry.kept = max(u.thread.entry.kept, u.last)
		if err != nil && !errors.Is(err, os.ErrClosed) {
			u.thread.entry.journal.torn = true
			th.agent.opts.Logger.Warn("agent cannot keep what a thread told: it is lost if the machine ends now",
				"thread", u.thread.Spec.ThreadID, "error", err)
		}
		th.mu.Unlock()
	}
}

// signal wakes the sender.
func (th *threads) signal() {
	select {
	case th.wake <- struct{}{}:
	default:
	}
}

// acknowledge forgets the events of a thread up to a sequence: the server has them.
func (th *threads) acknowledge(id string, upTo uint64) {
	if th == nil {
		return
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	t := th.byID[id]
	if t == nil {
		return
	}
	n := 0
	for n < len(t.entry.unacked) && t.entry.unacked[n].seq <= upTo {
		n++
	}
	if n == 0 {
		return
	}
	th.release(t, n)
	t.entry.retries = 0
	t.entry.journal.acked(t, upTo)
	if t.entry.over && len(t.entry.unacked) == 0 {
		th.forget(t)
	}
}

// attach makes out the outbox of a new session. When the session was resumed, everything that was not acknowledged
// is sent again. Else the server knows nothing of the threads any more, and they are stopped.
func (th *threads) attach(out *outbox, resumed bool) {
	if th == nil {
		return
	}
	var lost []*Thread
	th.mu.Lock()
	th.out = out
	for _, id := range append([]string(nil), th.ids...) {
		t := th.byID[id]
		t.entry.sent = 0
		switch {
		case !resumed:
			lost = append(lost, t)
			th.forget(t)
		case !t.entry.spawning && !t.entry.over:
			th.status(protocol.ThreadStatus{ThreadID: id, Status: protocol.ThreadAccepted})
		}
		for _, ev := range t.entry.unacked {
			if !th.agent.maxFrame.fits(len(ev.payload)) {
				th.replace(t, ev)
			}
		}
	}
	th.mu.Unlock()
	for _, t := range lost {
		th.abandon(t, ErrReassigned)
	}
	th.signal()
}

// abandon stops a thread that was forgotten. What it tells goes nowhere.
func (th *threads) abandon(t *Thread, cause error) {
	t.cancel(cause)
	th.agent.handlers.Go(func() {
		ctx, cancel := context.WithTimeout(th.base, th.agent.opts.ShutdownGrace)
		defer cancel()
		if err := th.callStop(ctx, t, protocol.ThreadStop{ThreadID: t.Spec.ThreadID, Reason: cause.Error(), Force: true}); err != nil {
			th.agent.opts.Logger.Warn("agent cannot stop a thread that the server gave up", "thread", t.Spec.ThreadID, "error", err)
		}
	})
}

func (th *threads) detach() {
	if th == nil {
		return
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	th.out = nil
}

// status sends a thread_status, if there is a session. Called with mu held.
func (th *threads) status(p protocol.ThreadStatus) {
	if th.out != nil {
		pushFrame(th.out, protocol.TypeThreadStatus, "", p)
	}
}

// close takes nothing new and ends all threads, or, if they outlive the process, only lets go of them. It may be
// called twice.
func (th *threads) close() {
	if th == nil {
		return
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.closed {
		return
	}
	th.closed = true
	for _, t := range th.byID {
		if th.lasting() {
			t.cancel(ErrStopped)
			continue
		}
		t.entry.unwork(ErrStopped)
		if t.entry.over || t.entry.spawning {
			continue
		}
		th.idle.Go(func() {
			ctx, cancel := context.WithTimeout(th.base, th.agent.opts.ShutdownGrace)
			defer cancel()
			stop := protocol.ThreadStop{ThreadID: t.Spec.ThreadID, Reason: "the host stops"}
			if err := th.callStop(ctx, t, stop); err == nil {
				_ = t.Stopped(ctx, "stopped") // it may have told so itself
			}
			t.cancel(ErrStopped)
		})
	}
}

// stopped returns a channel that is closed when close has ended all threads.
func (th *threads) stopped() <-chan struct{} {
	done := make(chan struct{})
	if th == nil {
		close(done)
		return done
	}
	th.agent.handlers.Go(func() {
		defer close(done)
		th.idle.Wait()
	})
	return done
}

// stays reports whether threads go on without this process, so that the session must not end with it.
func (th *threads) stays() bool {
	if !th.lasting() {
		return false
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	return len(th.byID) > 0
}

// ring remembers the last sequences of threads that were forgotten, so that one that comes again does not begin
// with numbers the server has seen.
type ring struct {
	seqs  map[string]uint64
	order []string
}

const maxEnded = 1024

func (r *ring) add(id string, seq uint64) {
	if r.seqs == nil {
		r.seqs = map[string]uint64{}
	}
	if _, known := r.seqs[id]; !known {
		r.order = append(r.order, id)
		if len(r.order) > maxEnded {
			delete(r.seqs, r.order[0])
			r.order = r.order[1:]
		}
	}
	r.seqs[id] = seq
}
