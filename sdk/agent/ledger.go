package agent

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// queueFactor bounds the tasks that wait for a slot, as a multiple of the slots, plus queueExtra. A server
// that keeps to maxConcurrentTasks fills hardly any of it: only handlers that ignore a cancel hold a slot
// the server believes to be free.
const (
	queueFactor = 4
	queueExtra  = 64
)

// framesPerSecond bounds the progress frames of an agent, and again the messages: together well below what a server
// takes from one (100 frames a second by default, beyond which it ends the session). A server that takes fewer
// says so; each bound is then rateShare of it.
const (
	framesPerSecond = 40
	rateShare       = 0.4
)

// ledger knows every task of this agent from its arrival to its acknowledgement, and the answers of those
// settled last. It decides what runs, and puts answers into the outbox of the present session. Outliving the
// sessions, it is what makes a reconnect harmless. Safe for concurrent use.
type ledger struct {
	now    func() time.Time
	frames *frameLimit // set once, before the first session

	mu      sync.Mutex // guards all below, and the entry of each Task
	slots   int
	out     *outbox // of the present session, or nil
	tasks   map[string]*Task
	queue   []*Task // arrived and waiting for a slot, oldest first
	running int     // handlers at work, those of dropped tasks included
	settled uint64  // tasks acknowledged so far
	recent  recentAnswers
	closed  bool // the agent stops: nothing new is taken
	waiters []waiter

	perSecond    int   // frames of progress, and of messages
	progressAt   int64 // the second in which progress was sent last
	progressSent int   // frames in that second

	attached  time.Time // when the present session began
	questions map[string]*question
	told      []*telling // sent lately, oldest first
	pace      pace       // of messages
}

// waiter waits for a condition on the ledger.
type waiter struct {
	holds func() bool // called with mu held
	done  chan struct{}
}

func newLedger(slots int, now func() time.Time) *ledger {
	return &ledger{
		now: now, frames: new(frameLimit), slots: slots, tasks: make(map[string]*Task), perSecond: framesPerSecond, questions: make(map[string]*question),
	}
}

// admit takes a task that arrived and returns it if it is to be run now. A task that is known is not run
// again: it takes over the attempt, and if its answer is known the answer is sent again.
func (l *ledger) admit(t *Task) (run *Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	t.entry.clock = newTaskClock(l.now, millis(t.Timeout))
	if known := l.tasks[t.TaskID]; known != nil {
		e := &known.entry
		again := e.state == stateAnswered && e.answer.err != nil && e.answer.err.Retryable && t.Attempt > e.attempt
		if !again { // an error marked retryable that comes with a new attempt is meant to be tried again
			e.attempt = max(e.attempt, t.Attempt)
			e.frameID = t.entry.frameID
			if e.state == stateAnswered {
				l.send(&e.answer, e)
			}
			return nil
		}
		delete(l.tasks, t.TaskID)
	}
	t.entry.attempt = t.Attempt
	if a := l.recent.find(t.TaskID); a != nil {
		l.send(a, &t.entry)
		return nil
	}
	l.tasks[t.TaskID] = t
	if l.running < l.slots {
		l.running++
		t.entry.state = stateRunning
		return t
	}
	if len(l.queue) >= queueFactor*l.slots+queueExtra {
		t.entry.state = stateAnswered
		t.entry.answer = answer{taskID: t.TaskID, executionID: t.ExecutionID, err: &Error{
			Code: CodeOverloaded, Message: "too many tasks wait at this agent", Retryable: true,
		}}
		l.send(&t.entry.answer, &t.entry)
		return nil
	}
	t.entry.state = stateQueued
	l.queue = append(l.queue, t)
	return nil
}

// started makes a running task one that can be cancelled.
func (l *ledger) started(t *Task, cancel func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.entry.cancel = cancel
	if t.entry.dropped {
		cancel(ErrReassigned)
	}
}

// finish records the answer of a task that ran, sends it, and returns the task that takes over the slot, or
// nil. Quiet: the caller is the reading goroutine, which writes out by itself.
func (l *ledger) finish(t *Task, a answer, quiet bool) (next *Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &t.entry
	e.cancel = nil
	l.endQuestions(t, ErrTaskOver)
	// While the agent stops, an error is most likely the cancel itself, and the task goes to others anyway.
	if l.closed && a.err != nil && !e.dropped {
		e.dropped = true
		delete(l.tasks, t.TaskID)
	}
	if !e.dropped {
		e.state = stateAnswered
		e.answer = a
		t.Input, t.Context, t.Config = nil, nil, nil // only the answer is needed from here on
		if l.out != nil {
			l.out.push(quiet, func(b []byte) []byte {
				return appendAnswer(b, &e.answer, e.frameID, e.attempt, l.now())
			})
		}
	}
	if len(l.queue) > 0 && l.running <= l.slots {
		next = l.queue[0]
		l.queue[0] = nil
		l.queue = l.queue[1:]
		next.entry.state = stateRunning
	} else {
		l.running--
	}
	l.notify()
	return next
}

// send puts an answer into the outbox, if there is a session. Called with mu held.
func (l *ledger) send(a *answer, e *entry) {
	if l.out == nil {
		return
	}
	a = l.frames.cut(a)
	l.out.push(false, func(b []byte) []byte {
		return appendAnswer(b, a, e.frameID, e.attempt, l.now())
	})
}

// acknowledge settles a task: the server has its answer.
func (l *ledger) acknowledge(taskID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tasks[taskID]
	if t == nil || t.entry.state != stateAnswered {
		return // unknown, or running again since: this acknowledges an earlier attempt
	}
	delete(l.tasks, taskID)
	l.settled++
	// A retryable error is not remembered: the same task comes again to be tried again.
	if a := &t.entry.answer; a.err == nil || !a.err.Retryable {
		kept := *a // without the Task around it
		l.recent.add(&kept)
	}
	l.notify()
}

// cancel drops a task that the server takes back.
func (l *ledger) cancel(taskID, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.tasks[taskID]; t != nil {
		l.drop(t, &CancelledError{Reason: reason})
		l.notify()
	}
}

// drop forgets a task; its handler, if it runs, is cancelled with cause. Called with mu held.
func (l *ledger) drop(t *Task, cause error) {
	delete(l.tasks, t.TaskID)
	t.entry.dropped = true
	l.endQuestions(t, cause)
	if t.entry.state == stateQueued {
		for i, q := range l.queue {
			if q == t {
				l.queue = append(l.queue[:i:i], l.queue[i+1:]...)
				break
			}
		}
	}
	if t.entry.cancel != nil {
		t.entry.cancel(cause)
	}
}

// attach makes out the outbox of a new session and sends all answers that were not acknowledged, what was told
// lately, and questions without a reply. When the session was not resumed, tasks without an answer are dropped:
// the server has given them to others. It settles the answers by itself, whoever has the task by now.
func (l *ledger) attach(out *outbox, resumed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out, l.attached = out, l.now()
	if resumed {
		l.tellAgain() // before the answers: messages are taken from tasks that go on only
	}
	for _, id := range l.ids() {
		t := l.tasks[id]
		switch {
		case t.entry.state == stateAnswered:
			l.send(&t.entry.answer, &t.entry)
		case !resumed:
			l.drop(t, ErrReassigned)
		}
	}
	for _, q := range l.questions {
		if !l.frames.fits(len(q.payload)) {
			l.endQuestion(q, outcome{err: l.frames.refusal(len(q.payload))})
			continue
		}
		q.send(0)
	}
	l.notify()
}

// limit takes over how many frames a second the server takes; 0: it did not say.
func (l *ledger) limit(perSecond int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.perSecond = framesPerSecond
	if perSecond > 0 {
		l.perSecond = min(framesPerSecond, max(1, int(rateShare*float64(perSecond))))
	}
}

// detach ends the session of out.
func (l *ledger) detach() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = nil
}

// progress sends a progress frame unless the task is over, there is no session, much waits already, or the
// agent has sent too many of late.
func (l *ledger) progress(t *Task, encode func(b []byte) []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out == nil || t.entry.dropped || t.entry.state != stateRunning || l.out.size() > corkBytes {
		return
	}
	if second := l.now().Unix(); second != l.progressAt {
		l.progressAt, l.progressSent = second, 0
	}
	if l.progressSent >= l.perSecond {
		return
	}
	l.progressSent++
	l.out.push(false, encode)
}

// unsettled lists the ids of the tasks that are not acknowledged, sorted. It is never nil.
func (l *ledger) unsettled() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids()
}

func (l *ledger) ids() []string {
	ids := make([]string, 0, len(l.tasks)) // null in an offer to resume would be a list that is not known, and not an empty one
	ids = slices.AppendSeq(ids, maps.Keys(l.tasks))
	slices.Sort(ids)
	return ids
}

// resize changes the number of slots. Tasks that wait are started by those that finish.
func (l *ledger) resize(slots int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slots = slots
}

// close takes nothing new. Cancelling what runs is up to the agent.
func (l *ledger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, q := range l.questions {
		l.endQuestion(q, outcome{err: ErrStopped})
	}
	for _, m := range l.told {
		if m.timer != nil {
			m.timer.Stop()
		}
	}
	for _, t := range l.queue {
		delete(l.tasks, t.TaskID)
	}
	l.queue = nil
	l.notify()
}

// stopping reports whether nothing new is taken.
func (l *ledger) stopping() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// idle returns a channel that is closed once no handler runs.
func (l *ledger) idle() <-chan struct{} {
	return l.when(func() bool { return l.running == 0 })
}

// drained returns a channel that is closed once no handler runs and every answer is acknowledged.
func (l *ledger) drained() <-chan struct{} {
	return l.when(func() bool { return l.running == 0 && len(l.tasks) == 0 })
}

func (l *ledger) when(holds func() bool) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := waiter{holds: holds, done: make(chan struct{})}
	l.waiters = append(l.waiters, w)
	l.notify()
	return w.done
}

// notify wakes the waiters whose condition holds. Called with mu held.
func (l *ledger) notify() {
	if len(l.waiters) == 0 {
		return
	}
	rest := l.waiters[:0]
	for _, w := range l.waiters {
		if w.holds() {
			close(w.done)
		} else {
			rest = append(rest, w)
		}
	}
	l.waiters = rest
}

// Stats are an agent's figures.
type Stats struct {
	Running        int    // handlers at work
	Queued         int    // tasks that wait for a slot
	Unacknowledged int    // answers the server has not acknowledged
	Settled        uint64 // tasks acknowledged since New
}

func (l *ledger) stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Stats{Running: l.running, Queued: len(l.queue), Settled: l.settled}
	for _, t := range l.tasks {
		if t.entry.state == stateAnswered {
			s.Unacknowledged++
		}
	}
	return s
}
