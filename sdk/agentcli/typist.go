package agentcli

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	writeTimeout = 10 * time.Second // a command that reads nothing for so long is not typed to
	maxTyping    = 256 << 10        // bytes of viewers that wait to be typed
	maxReplies   = 4 << 10          // bytes of terminal replies that wait; more are dropped

	escapeKey = "\x1b"
	// A program that reads Escape together with what is typed behind it takes both for one key: Alt and that.
	escapeGap  = 150 * time.Millisecond // between the two, once Escape was read
	escapeMost = 5 * time.Second        // waited for that

	lookEvery = 20 * time.Millisecond // at the screen, while a step waits for something on it
)

// errNotTyped is the end of a job of which nothing was typed.
var errNotTyped = errors.New("nothing was typed")

// typist is the one writer to an agent's terminal: what persons type, messages, and the emulator's replies.
// What one call hands over is typed in one piece; a message is typed whole, pauses included, before what
// comes after it. Safe for concurrent use; run is called once.
type typist struct {
	write  func(ctx context.Context, p []byte) error
	offset func() uint64 // of the output, to tell what came before a key and what after
	rows   func() []string
	now    func() time.Time
	// unread is how many bytes the command has not read; nil: not known. See Backlogger.
	unread func(ctx context.Context) (int, error)
	// heard is called after a person's keys were typed, on the typist's goroutine; may be nil. Place is where
	// the terminal was before them.
	heard func(keys []byte, before place)
	place func() place
	hold  time.Duration // a message waits so long after the last key of a person
	wake  chan struct{} // capacity 1

	mu      sync.Mutex // guards all below
	queue   []*typing
	replies []byte
	waiting int           // bytes of viewers in queue
	room    chan struct{} // closed and replaced when waiting shrinks
	human   time.Time     // when a person typed last
	strokes uint64        // jobs that were no messages
	closed  bool
}

// place is where a terminal is: how far its output goes, and the line of its cursor, counted from the first of all scrollback.
type place struct {
	offset uint64
	line   uint64
}

// typing is one job: what is typed, and who wants to know.
type typing struct {
	steps  []Step
	viewer int  // bytes, if a viewer typed it
	person bool // it is keys of a person, over whatever way
	// done is called once, on the typist's goroutine or on close: errNotTyped if nothing was written. Before is
	// the offset of the output just before the last step was written.
	done func(err error, before uint64)
}

func newTypist(write func(ctx context.Context, p []byte) error, offset func() uint64, rows func() []string, now func() time.Time, hold time.Duration) *typist {
	return &typist{write: write, offset: offset, rows: rows, now: now, hold: hold, wake: make(chan struct{}, 1), room: make(chan struct{})}
}

// put queues a job; false if the typist has ended.
func (t *typist) put(job *typing) bool {
	t.mu.Lock()
	ok := !t.closed
	if ok {
		t.queue = append(t.queue, job)
		t.strokes++
	}
	t.mu.Unlock()
	t.poke()
	return ok
}

// putQuiet queues a message, unless a person typed just now: then it returns how long to wait.
func (t *typist) putQuiet(job *typing) (wait time.Duration, ok bool) {
	t.mu.Lock()
	if wait := t.hold - t.now().Sub(t.human); wait > 0 && !t.human.IsZero() {
		t.mu.Unlock()
		return wait, false
	}
	ok = !t.closed
	if ok {
		t.queue = append(t.queue, job)
	}
	t.mu.Unlock()
	t.poke()
	return 0, ok
}

// take takes a job back that was not begun; false if it was.
func (t *typist) take(job *typing) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, j := range t.queue {
		if j == job {
			t.queue = append(t.queue[:i:i], t.queue[i+1:]...)
			return true
		}
	}
	return false
}

// person types what a viewer typed. It returns once the bytes are queued, and waits while too many are.
func (t *typist) person(p []byte, gone <-chan struct{}) error {
	limit := time.After(writeTimeout)
	t.mu.Lock()
	for t.waiting > 0 && t.waiting+len(p) > maxTyping && !t.closed {
		room := t.room
		t.mu.Unlock()
		select {
		case <-room:
		case <-gone:
			return runtime.Errorf(runtime.CodeUnavailable, "the terminal is closed")
		case <-limit:
			return &runtime.Error{Code: runtime.CodeResourceLimit, Message: "the agent does not read what is typed", Retry: true}
		}
		t.mu.Lock()
	}
	if t.closed {
		t.mu.Unlock()
		return runtime.Errorf(runtime.CodeNotRunning, "the agent is not running")
	}
	t.human = t.now()
	t.waiting += len(p)
	t.strokes++
	t.queue = append(t.queue, &typing{steps: []Step{{Write: p}}, viewer: len(p), person: true})
	t.mu.Unlock()
	t.poke()
	return nil
}

// touched reports that somebody types past the queue: who does, over whatever way, is a person to the messages.
func (t *typist) touched() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.human = t.now()
}

// typedBy counts what was typed that was no message: keys of persons, and what drivers type.
func (t *typist) typedBy() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.strokes
}

// lastHuman is when a person typed last.
func (t *typist) lastHuman() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.human
}

// reply types what the emulator answers. It never waits: a command that asks faster than it reads loses answers.
func (t *typist) reply(p []byte) {
	t.mu.Lock()
	if !t.closed && len(t.replies)+len(p) <= maxReplies {
		t.replies = append(t.replies, p...)
	}
	t.mu.Unlock()
	t.poke()
}

func (t *typist) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run types until ctx ends.
func (t *typist) run(ctx context.Context) {
	defer t.close()
	var escaped *typing // the job before, if Escape was its last key
	for {
		t.typeReplies(ctx)
		job := t.next()
		if job == nil {
			select {
			case <-t.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		// What a viewer types behind its own Escape comes as it does at any terminal.
		if escaped != nil && (escaped.viewer == 0 || job.viewer == 0) {
			t.apart(ctx)
		}
		escaped = nil
		if job.escapes() {
			escaped = job
		}
		var at place
		if job.person && t.heard != nil {
			at = t.place()
		}
		before, err := t.perform(ctx, job.steps)
		if job.person && t.heard != nil && err == nil {
			for _, step := range job.steps {
				t.heard(step.Write, at)
			}
		}
		t.settle(job)
		if job.done != nil {
			job.done(err, before)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

func (t *typist) next() *typing {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return nil
	}
	job := t.queue[0]
	t.queue[0] = nil
	t.queue = t.queue[1:]
	return job
}

// settle gives the room of a viewer's job back.
func (t *typist) settle(job *typing) {
	if job.viewer == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting -= job.viewer
	close(t.room)
	t.room = make(chan struct{})
}

// perform types the steps.
func (t *typist) perform(ctx context.Context, steps []Step) (before uint64, err error) {
	for i, step := range steps {
		if step.If != nil && !step.If(t.rows()) {
			continue
		}
		before = t.offset()
		if len(step.Write) > 0 {
			wctx, cancel := context.WithTimeout(ctx, writeTimeout)
			err := t.write(wctx, step.Write)
			cancel()
			if err != nil {
				return before, err
			}
		}
		if i < len(steps)-1 && string(step.Write) == escapeKey {
			t.apart(ctx)
		}
		if i < len(steps)-1 && step.Wait > 0 && !t.rest(ctx, step) {
			return before, ctx.Err()
		}
	}
	return before, nil
}

// escapes reports whether the last key of a job is Escape.
func (j *typing) escapes() bool {
	return len(j.steps) > 0 && string(j.steps[len(j.steps)-1].Write) == escapeKey
}

// apart waits until a command has read an Escape, and can tell it from what comes next.
func (t *typist) apart(ctx context.Context) {
	until := time.Now().Add(escapeMost)
	for t.unread != nil && time.Now().Before(until) {
		asked, cancel := context.WithTimeout(ctx, measureTimeout)
		count, err := t.unread(asked)
		cancel()
		if err != nil || count == 0 || !t.pause(ctx, escapeGap) {
			break
		}
	}
	t.pause(ctx, escapeGap)
}

// rest is the pause after a step; false when ctx ended.
func (t *typist) rest(ctx context.Context, step Step) bool {
	if step.Until == nil {
		return t.pause(ctx, step.Wait)
	}
	for until := time.Now().Add(step.Wait); time.Now().Before(until) && !step.Until(t.rows()); {
		if !t.pause(ctx, lookEvery) {
			return false
		}
	}
	return true
}

// pause waits within a job and answers queries meanwhile; false when ctx ended.
func (t *typist) pause(ctx context.Context, d time.Duration) bool {
	timer := time.After(d)
	for {
		select {
		case <-timer:
			return true
		case <-t.wake:
			t.typeReplies(ctx)
		case <-ctx.Done():
			return false
		}
	}
}

func (t *typist) typeReplies(ctx context.Context) {
	t.mu.Lock()
	p := t.replies
	t.replies = nil
	t.mu.Unlock()
	if len(p) == 0 {
		return
	}
	wctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_ = t.write(wctx, p) // who asked and does not read gets no answer
}

// close ends what waits.
func (t *typist) close() {
	t.mu.Lock()
	t.closed = true
	queue := t.queue
	t.queue = nil
	close(t.room)
	t.room = make(chan struct{})
	t.mu.Unlock()
	for _, job := range queue {
		if job.done != nil {
			job.done(errNotTyped, 0)
		}
	}
}
