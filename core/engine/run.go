package engine

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/wardroom/wardroom/core"
)

// run is one active execution. Its fields belong to the goroutine that works on it: Start or resume
// first, then loop. Others reach it through inbox, done and outcome only.
type run struct {
	eng  *Engine
	exec *core.Execution
	plan core.Plan

	inbox inbox
	done  chan struct{}   // closed once the terminal state is durable
	final *core.Execution // set before done is closed, immutable

	seq        *sequence           // the innermost pattern that runs
	step       *stepRun            // the step at agents now, or nil
	hist       *history            // of a resumed run: what its journal says
	agents     map[string]struct{} // distinct agents that answered
	results    []core.AgentResult  // of finished steps
	slot       bool                // counts against the limits
	queued     bool                // stands in line at the scheduler
	asked      request             // what it stands in line for
	nobody     map[string]bool     // the exclusions with which nobody fitted at the last look, or nil
	level      int                 // of priority
	timer      core.Timer
	timerAt    time.Time
	taskIDs    []string // registered at the engine
	cancels    []chan<- cancelReply
	inputBytes int64
}

// sequence is one pattern being run: the execution's own, or one composed into it.
type sequence struct {
	plan   core.Plan
	prefix string // of step paths: "" or "a/"
	input  json.RawMessage
	steps  map[string]core.Outcome
	last   *core.Outcome
	index  int // of the step that runs
	parent *sequence
}

func (e *Engine) newRun(exec *core.Execution, plan core.Plan) *run {
	return &run{
		eng: e, exec: exec, plan: plan,
		inbox: newInbox(), done: make(chan struct{}),
		seq:        &sequence{plan: plan, input: exec.Input},
		agents:     map[string]struct{}{},
		level:      priorityLevel(exec.Options.Priority),
		inputBytes: int64(len(exec.Input)),
	}
}

// loop finishes the change at hand, if any, and works off the inbox until the execution is terminal or the
// engine stops.
func (r *run) loop(begun *change) {
	defer r.eng.wg.Done()
	if begun != nil && !r.finish(begun) {
		return
	}
	for {
		select {
		case <-r.inbox.ready:
		case <-r.eng.quit:
			r.abandon()
			return
		}
		c := r.newChange()
		timer := false
		for _, m := range r.inbox.take() {
			if m.kind == msgTimer {
				timer = true // what waited while the store did came in time
				continue
			}
			r.handle(m, c)
		}
		if timer {
			r.overdue(c)
		}
		r.advance(c)
		if !r.finish(c) {
			return
		}
	}
}

// finish stores a change and acts on it. It returns false when nothing follows: the execution is over, or
// the engine stops.
func (r *run) finish(c *change) bool {
	if !r.commit(c) {
		r.abandon()
		return false
	}
	r.apply(c)
	return !c.over
}

// abandon leaves the run where its journal stands; the next start goes on from there.
func (r *run) abandon() {
	if r.timer != nil {
		r.timer.Stop()
	}
	for _, reply := range r.cancels {
		reply <- cancelReply{err: errShuttingDown()}
	}
	for _, m := range r.inbox.close() {
		if m.reply != nil {
			m.reply <- cancelReply{err: errShuttingDown()}
		}
	}
}

// change is what one turn of the loop writes, and what it does after that is durable.
type change struct {
	now    time.Time
	events []core.Event
	put    bool // the execution's record changed
	over   bool // the execution is terminal
	begun  bool // its first task is handed out
	// extra is written in the same transaction, or nil.
	extra func(tx core.Tx) error

	dispatch []*task
	release  []releaseOp
	settle   []func()
}

type releaseOp struct{ agent, task, cancel string }

func (r *run) newChange() *change { return &change{now: r.eng.clock.Now()} }

// event appends a journal event. Public events get an id of their own.
func (r *run) event(c *change, kind core.EventType, data any) {
	raw, err := json.Marshal(data)
	if err != nil { // the data types of journal.go marshal always, unless an agent's JSON was let in unchecked
		r.eng.log.Error("journal event does not marshal", "execution", r.exec.ID, "type", kind, "error", err)
		raw = json.RawMessage("{}")
	}
	ev := core.Event{Type: kind, Time: c.now, Subject: r.exec.ID, Data: raw}
	if kind.Public() {
		ev.ID = r.eng.ids.New(core.PrefixEvent)
	}
	c.events = append(c.events, ev)
}

// commit writes the change. A store that cannot write now is tried again until it can or the engine
// stops (false): nobody was told anything yet, so waiting loses nothing.
func (r *run) commit(c *change) bool {
	warned := false
	for len(c.events) > 0 || c.put || c.extra != nil {
		err := r.write(context.Background(), c)
		if err == nil {
			break
		}
		if !core.AsError(err).Unavailable {
			r.eng.log.Error("the outcome cannot be stored", "execution", r.exec.ID, "error", err)
			if c.over && r.exec.Error != nil && r.exec.Error.Code == core.CodeInternal {
				return false // not even the plain failure can be stored: leave it to the next start
			}
			r.recall(c, "the execution failed")
			c.events, c.extra = nil, nil
			r.results, r.step = nil, nil
			r.exec.Result, r.exec.CancelledAt, r.exec.CancelReason = nil, nil, ""
			c.over = false
			r.fail(c, core.CodeInternal, "the outcome could not be stored", nil)
			continue
		}
		if !warned {
			r.eng.log.Warn("store cannot write; the execution waits", "execution", r.exec.ID, "error", err)
			warned = true
		}
		if !r.eng.pause(storeRetry) {
			return false
		}
	}
	return true
}

// storeRetry is how long a run waits before it tries a refused write again.
const storeRetry = 200 * time.Millisecond

// pause waits for d and returns false if the engine stops first.
func (e *Engine) pause(d time.Duration) bool {
	ready := make(chan struct{})
	timer := e.clock.AfterFunc(d, func() { close(ready) })
	select {
	case <-ready:
		return true
	case <-e.quit:
		timer.Stop()
		return false
	}
}

// write stores the change in one transaction.
func (r *run) write(ctx context.Context, c *change) error {
	var snapshot *core.Execution
	if c.put {
		copied := *r.exec
		snapshot = &copied
	}
	return r.eng.store.Update(ctx, func(tx core.Tx) error {
		if snapshot != nil {
			if err := tx.PutExecution(snapshot); err != nil {
				return err
			}
		}
		if c.extra != nil {
			if err := c.extra(tx); err != nil {
				return err
			}
		}
		return tx.Append(c.events...)
	})
}

// apply acts on a durable change: acknowledge, release, hand out, and end.
func (r *run) apply(c *change) {
	if c.begun {
		r.eng.observer.QueueWaited(r.exec.StartedAt.Sub(r.exec.CreatedAt))
	}
	for _, settled := range c.settle {
		settled()
	}
	for _, op := range c.release {
		r.eng.agents.Release(op.agent, op.task, op.cancel)
	}
	if c.over {
		r.end()
		return
	}
	now := r.eng.clock.Now() // the store may have taken its time, which is not the agents'
	for _, t := range c.dispatch {
		if t.state != taskOut {
			continue
		}
		t.sent, t.due = now, now.Add(r.taskTimeout())
		if !r.eng.agents.Dispatch(t.agent, r.wire(t)) {
			r.inbox.put(message{kind: msgLost, agent: t.agent, task: t.id})
		}
	}
	r.line()
	r.arm(now)
}

// request is what a run stands in line for. A grant answers the request of one ticket; one that comes when
// the run asks for something else, or for nothing, is given back: it may be of agents that the step has
// already, or that fit another step.
type request struct {
	ticket  uint64
	step    *stepRun
	count   int
	slot    bool
	exclude map[string]bool
}

// line stands in line at the scheduler while tasks wait for agents.
func (r *run) line() {
	need, count := r.wants()
	if count == 0 {
		if r.queued {
			r.eng.waiters.remove(r)
			r.queued = false
		}
		return
	}
	asked := request{r.asked.ticket, r.step, count, !r.slot, need.Exclude}
	if r.queued && asked.step == r.asked.step && asked.count == r.asked.count && asked.slot == r.asked.slot &&
		maps.Equal(asked.exclude, r.asked.exclude) {
		return // it stands there for the same, or its grant is in the inbox
	}
	told := r.nobody != nil && maps.Equal(need.Exclude, r.nobody)
	asked.ticket++
	r.queued, r.asked = true, asked
	r.eng.waiters.add(&waiter{
		run: r, ticket: asked.ticket, need: need, count: count, needsSlot: asked.slot, told: told,
		own: r.plan.Definition().MaxActive, since: r.exec.CreatedAt, level: r.level,
	})
}

// end publishes the outcome and forgets the run. The terminal state is durable.
func (r *run) end() {
	if r.timer != nil {
		r.timer.Stop()
	}
	if r.queued {
		r.eng.waiters.remove(r)
	}
	final := *r.exec
	r.final = &final
	e := r.eng
	e.forgetTasks(r.taskIDs)
	e.unregister(r)
	close(r.done)
	for _, reply := range r.cancels {
		reply <- r.cancelOutcome()
	}
	for _, m := range r.inbox.close() {
		r.refuse(m)
	}
	if r.slot {
		e.limits.give(r.exec.Pattern.Name)
		if e.waiters.len() > 0 {
			e.waiters.kick()
		}
	}
	duration := final.Duration(e.clock.Now())
	e.finished.Add(1)
	e.finishedNanos.Add(int64(duration))
	e.observer.ExecutionFinished(final.Pattern.Name, final.Status, duration)
}

// refuse answers a message that came after the end.
func (r *run) refuse(m message) {
	switch m.kind {
	case msgReport:
		m.report.Settled()
	case msgAgents:
		r.eng.giveBack(r, m.agents, m.slot)
	case msgCancel:
		m.reply <- r.cancelOutcome()
	}
}

// arm sets the run's one timer to the next instant that matters: the deadline or a task's.
func (r *run) arm(now time.Time) {
	next := r.exec.Deadline
	if r.step != nil {
		for _, t := range r.step.tasks {
			if t.state == taskOut && t.due.Before(next) {
				next = t.due
			}
		}
	}
	if r.timer != nil && !r.timerAt.After(next) && r.timerAt.After(now) {
		return // it fires early enough, and arms itself anew
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.timerAt = next
	r.timer = r.eng.clock.AfterFunc(max(next.Sub(now), 0), func() { r.inbox.put(message{kind: msgTimer}) })
}

// scope is what expressions of the innermost pattern may refer to.
func (r *run) scope(now time.Time) core.Scope {
	return core.Scope{
		Input: r.seq.input, Steps: r.seq.steps, Last: r.seq.last,
		AgentCount: len(r.agents), Duration: r.exec.Duration(now),
	}
}
