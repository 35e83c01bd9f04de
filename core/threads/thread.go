package threads

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/threads/rules"
)

// thread is a thread that is not over, and what takes it through its life.
type thread struct {
	s         *Service
	id        string
	execution string
	log       hclog.Logger
	rules     *rules.Rules // of its policy; nil when they are wrong

	ctx    context.Context // of its goroutines; ends in Service.Close, and when the thread is over
	cancel context.CancelFunc
	// work is the context of what is done before the end was decided on. It ends with ctx, or with that decision.
	work     context.Context
	workDone context.CancelFunc
	done     chan struct{} // closed when the thread is terminal, and that is stored
	wake     chan struct{} // of one: something changed that the thread's goroutine looks at

	// writing is held over each change of the record, its transaction included.
	writing sync.Mutex
	rec     atomic.Pointer[core.ThreadRecord] // as it is stored; replaced, never changed
	waiting int64                             // bytes of the messages in the queue; guarded by writing
	said    []string                          // of the turns since the last summary, as far as known; guarded by writing

	feeding chan struct{} // of one: full while it is noted that a message is handed over, and while its workspace is changed

	starts int // of an agent that ended before it was ready; guarded by writing

	mu       sync.Mutex // guards all below
	changed  chan struct{}
	arriving []*arrival // messages that are about to be stored
	deadline core.Timer // of policy.timeoutMs, or nil
	remote   mailbox    // of a thread that a connected agent hosts
}

func (s *Service) newThread(r *core.ThreadRecord) *thread {
	t := &thread{
		s: s, id: r.ID, execution: r.ExecutionID, log: s.log.With("thread", r.ID), done: make(chan struct{}),
		wake: make(chan struct{}, 1), changed: make(chan struct{}), feeding: make(chan struct{}, 1),
	}
	t.rules = compileRules(r.Policy.AutoAnswer, "policy.autoAnswer", t.log)
	t.rec.Store(r)
	t.ctx, t.cancel = context.WithCancel(s.ctx)
	t.work, t.workDone = context.WithCancel(t.ctx)
	if r.Ending != nil {
		t.workDone()
	}
	return t
}

// record returns the thread as it is stored. It must not be changed.
func (t *thread) record() *core.ThreadRecord { return t.rec.Load() }

func (t *thread) isRemote() bool { return t.record().Runtime == core.RuntimeConnected }

// touch wakes who waits: something changed.
func (t *thread) touch() {
	t.mu.Lock()
	close(t.changed)
	t.changed = make(chan struct{})
	t.mu.Unlock()
	pause.Wake(t.wake)
}

// await waits until cond holds; false if ctx ended first, or limit, if that is not nil.
func (t *thread) await(ctx context.Context, limit <-chan struct{}, cond func(r *core.ThreadRecord) bool) bool {
	for {
		t.mu.Lock()
		changed := t.changed
		t.mu.Unlock()
		if cond(t.record()) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-limit:
			return false
		case <-changed:
		}
	}
}

// view is a thread as callers see it.
func view(r *core.ThreadRecord) *core.Thread {
	v := r.Thread
	v.Preparation.Env = nil
	return &v
}

// launch begins to take a stored thread through its life.
func (s *Service) launch(t *thread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := t.record()
	if s.tasks.Ended() || r.Status.Terminal() {
		return
	}
	s.live[t.id] = t
	if r.ManagedAgentID != "" {
		s.crew[r.ManagedAgentID] = t
	}
	s.watchLocked(r)
	s.tasks.Go(func() {
		defer t.cancel()
		t.arm()
		for !s.guard("the supervision of a thread", t.id, t.run) && s.pause(t.ctx, maxRetry) {
			t.log.Info("the supervision of a thread is begun anew")
		}
	})
}

// retire forgets a thread that is over.
func (s *Service) retire(t *thread) {
	r := t.record()
	s.mu.Lock()
	if s.live[t.id] == t {
		delete(s.live, t.id)
		if r.Kind != core.ThreadKindRole {
			s.spawned--
		}
	}
	delete(s.crew, r.ManagedAgentID)
	s.vacateLocked(t)
	s.unwatchLocked(r)
	s.mu.Unlock()
	t.mu.Lock()
	if t.deadline != nil {
		t.deadline.Stop()
	}
	t.mu.Unlock()
	t.closeMailbox()
	s.observer.ThreadEnded(r.Status, stateOf(r), r.Lasted())
	close(t.done)
	t.cancel()
}

func stateOf(r *core.ThreadRecord) core.CompletionState {
	if r.Completion == nil {
		return ""
	}
	return r.Completion.State
}

// run takes the thread through its life. What it does follows from the record.
func (t *thread) run() {
	for t.ctx.Err() == nil {
		r := t.record()
		switch {
		case r.Status.Terminal():
			return
		case r.Ending != nil:
			t.finish()
		case t.isRemote():
			t.runRemote()
		case r.ManagedAgentID == "" && r.Kind == core.ThreadKindRole:
			t.awaitRole()
		case r.Status == core.ThreadPending || r.Status == core.ThreadPreparing:
			t.prepare(t.work)
		case r.ManagedAgentID == "":
			t.begin()
		case startsAgain(r):
			t.restart()
		default:
			t.attend()
		}
	}
}

// arm sets the timer of policy.timeoutMs, whatever stage the thread is in.
func (t *thread) arm() {
	r := t.record()
	if r.Policy.TimeoutMs <= 0 || r.Kind == core.ThreadKindRole {
		return
	}
	limit := time.Duration(r.Policy.TimeoutMs) * time.Millisecond
	// Of a thread that was taken up after a restart the wall clock tells, which was set back perhaps.
	timer := t.s.clock.AfterFunc(min(limit, t.untilAt(r.CreatedAt.Add(limit))), func() {
		t.s.tasks.Go(func() {
			t.must(t.work, func(c *change) error {
				c.end(core.ThreadEnding{
					Status: core.ThreadFailed, State: core.CompletionFailed, Reason: core.ThreadReasonTimeout,
					Error: &core.ThreadError{Code: core.CodeTimeout, Message: "the thread did not end within " + limit.String()},
				})
				return nil
			})
		})
	})
	t.mu.Lock()
	t.deadline = timer
	t.mu.Unlock()
}
