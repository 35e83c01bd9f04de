package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/encode"
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

	body       body                // what it runs
	agents     map[string]struct{} // distinct agents that answered
	results    []core.AgentResult  // of finished steps
	team       team                // that got tasks
	slot       bool                // counts against the limits
	youth      *youth              // of a flat pattern that began a moment ago, or nil
	parkedNow  bool                // counts as parked
	queued     bool                // stands in line at the scheduler
	sync       bool                // a caller waits who is to hear at once when too few agents are left; set before it starts
	ticket     uint64              // of the request that it stands in line for
	level      int                 // of priority
	since      time.Time           // that it counts as waiting from: exec.CreatedAt, unless the clock was set back behind it
	timer      core.Timer
	timerAt    time.Time
	deadline   time.Time // exec.Deadline, as it is kept by the time that passes
	cancels    []chan<- cancelReply
	tardy      map[lateness]struct{} // late reports that are journaled
	inputBytes int64
	trace      core.TraceContext // its own place
}

func (e *Engine) newRun(exec *core.Execution, plan core.Plan) *run {
	r := &run{
		eng: e, exec: exec, plan: plan,
		inbox: newInbox(), done: make(chan struct{}),
		agents:     map[string]struct{}{},
		level:      priorityLevel(exec.Options.Priority),
		since:      exec.CreatedAt,
		inputBytes: int64(len(exec.Input)),
		deadline:   exec.Deadline,
		trace:      core.ParseTraceparent(exec.Trace),
	}
	if now := e.clock.Now(); r.since.After(now) {
		r.since = now
	}
	e.tracer.Remember(exec.ID, r.trace)
	if plan != nil {
		if chart := plan.OrgChart(); chart != nil {
			r.body = newChartRun(r, chart)
			return r
		}
	}
	r.body = newFlat(r)
	return r
}

// loop finishes the change at hand, if any, and works off the inbox until the execution is terminal or the
// engine stops.
func (r *run) loop(begun *change) {
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
		messages, due := r.inbox.take()
		for _, m := range messages {
			r.handle(m, c)
		}
		if due { // what waited while the store did came in time
			growStack()
			r.overdue(c)
		}
		r.body.advance(c)
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
		if m.kind == msgExchange {
			m.exchange.abandon()
		}
	}
}

// change is what one turn of the loop writes, and what it does after that is durable.
type change struct {
	now    time.Time
	by     string // principal whom its events are put down to
	events []core.Event
	put    bool // the execution's record changed
	over   bool // the execution is terminal
	late   bool // the time of the execution is over: what came in counts, and nothing is handed out any more
	begun  bool // its first task is handed out
	// extra is written in the same transaction, or nil.
	extra func(tx core.Tx) error
	// questions are stored in the same transaction.
	questions []*core.Question

	dispatch []*attempt
	release  []releaseOp
	freeSlot bool // the run gave back its slot
	settle   []func()
	after    []func() // called once the change is durable, after the tasks went out
	spawn    []core.RoleSpec
	forget   []string // ids of tasks that are over
	leaves   []*leaf  // steps of an org chart that go out
}

// releaseOp ends what an agent holds for the run.
type releaseOp struct {
	agent, task, cancel string
	keep                bool // the slot stays the run's
	managed             bool // the agent was spawned for a role
}

func (r *run) newChange() *change { return &change{now: r.eng.clock.Now(), by: core.System.ID} }

// causedBy runs fn, whose events are put down to a principal.
func (c *change) causedBy(by string, fn func()) {
	former := c.by
	c.by = by
	fn()
	c.by = former
}

// event appends a journal event. Public events get an id of their own.
func (r *run) event(c *change, kind core.EventType, data any) {
	raw, err := encode.Stored.Marshal(data)
	if err != nil { // the data types of journal.go marshal always, unless an agent's JSON was let in unchecked
		r.eng.log.Error("journal event does not marshal", "execution", r.exec.ID, "type", kind, "error", err)
		raw = json.RawMessage("{}")
	}
	ev := core.Event{Type: kind, Time: c.now, Subject: r.exec.ID, Data: raw, By: c.by}
	if kind.Public() {
		ev.ID = r.eng.ids.New(core.PrefixEvent)
	}
	c.events = append(c.events, ev)
}

// commit writes the change. A store that cannot write now is tried again until it can or the engine
// stops (false): nothing was announced yet, so waiting loses nothing.
func (r *run) commit(c *change) bool {
	warned := false
	for len(c.events) > 0 || c.put || c.extra != nil || len(c.questions) > 0 {
		err := r.write(context.Background(), c)
		if err == nil {
			r.eng.writable.accept()
			break
		}
		if errors.Is(err, core.ErrInDoubt) && len(c.events) > 0 {
			r.eng.writable.refuse(err)
			stored, ok := r.eng.landed(c.events[0])
			if !ok {
				return false
			}
			r.eng.writable.accept()
			if stored {
				break
			}
			continue
		}
		if !core.AsError(err).Unavailable {
			r.eng.writable.accept()
			r.eng.log.Error("the outcome cannot be stored", "execution", r.exec.ID, "error", err)
			if c.over && r.exec.Error != nil && r.exec.Error.Code == core.CodeInternal {
				// Not even the plain failure can be stored. It ends all the same: agents, callers and its slot do not wait
				// for a restart, which tries it again.
				r.eng.setAside("execution", r.exec.ID, err)
				return true
			}
			r.body.recall(c, "the execution failed", statusCancelled)
			c.events, c.extra, c.questions = nil, nil, nil
			r.results = nil
			r.body.drop()
			r.exec.Result, r.exec.CancelledAt, r.exec.CancelReason, r.exec.CancelledBy = nil, nil, "", ""
			c.over = false
			r.fail(c, core.CodeInternal, "the outcome could not be stored", nil)
			continue
		}
		if !warned {
			r.eng.log.Warn("store cannot write; the execution waits", "execution", r.exec.ID, "error", err)
			warned = true
		}
		r.eng.writable.refuse(err)
		if !r.eng.pause(storeRetry) {
			return false
		}
	}
	return true
}

// storeRetry is how long a run waits before it tries a refused write again.
const storeRetry = 200 * time.Millisecond

// pause waits for d and returns false if the engine stops first.
func (e *Engine) pause(d time.Duration) bool { return e.pauseUntil(d, nil) }

// pauseUntil is pause that ends with a channel as well; nil: it does not.
func (e *Engine) pauseUntil(d time.Duration, end <-chan struct{}) bool {
	ready := make(chan struct{})
	timer := e.clock.AfterFunc(d, func() { close(ready) })
	select {
	case <-ready:
		return true
	case <-end:
		timer.Stop()
		return true
	case <-e.quit:
		timer.Stop()
		return false
	}
}

// write stores the change in one transaction. The context has no end: the record is the store's until it answers.
func (r *run) write(ctx context.Context, c *change) error {
	if c.put {
		if encoded, err := encode.Stored.Marshal(r.exec); err == nil { // else the store says why it takes no such record
			r.exec.SetEncoded(encoded)
			defer r.exec.SetEncoded(nil)
		}
	}
	for i := range c.events {
		c.events[i].Seq = 0 // of a try that failed
	}
	return r.eng.store.Update(ctx, func(tx core.Tx) error {
		if c.put {
			if err := tx.PutExecution(r.exec); err != nil {
				return err
			}
		}
		if c.extra != nil {
			if err := c.extra(tx); err != nil {
				return err
			}
		}
		for _, q := range c.questions {
			if err := tx.PutQuestion(q); err != nil {
				return err
			}
		}
		return tx.Append(c.events...)
	})
}

// apply acts on a durable change: acknowledge, release, hand out, and end.
func (r *run) apply(c *change) {
	if c.begun {
		r.eng.observer.QueueWaited(max(r.exec.StartedAt.Sub(r.exec.CreatedAt), 0))
	}
	for _, settled := range c.settle {
		settled()
	}
	if len(c.forget) > 0 {
		r.eng.forgetTasks(c.forget)
	}
	for _, op := range c.release {
		r.eng.release(op)
	}
	if parked := r.exec.Waiting != nil; parked != r.parkedNow {
		r.parkedNow = parked
		r.eng.parked.Add(map[bool]int64{true: 1, false: -1}[parked])
	}
	if c.freeSlot {
		r.eng.freeSlot(r.exec.Pattern.Name)
	}
	if c.over {
		r.end()
		r.act(c)
		return
	}
	now := r.eng.clock.Now() // the store may have taken its time, which is not the agents'
	r.body.send(c, now)
	for _, spec := range c.spawn {
		r.eng.roles.Spawn(spec)
	}
	r.act(c)
	r.body.line()
	r.arm(now)
}

// act calls what waited for the change to be durable.
func (r *run) act(c *change) {
	for _, after := range c.after {
		after()
	}
}

// carrier brings tasks to connected agents, or to those that were spawned for roles.
func (e *Engine) carrier(managed bool) core.TaskCarrier {
	if managed {
		return e.roles
	}
	return e.agents
}

func (e *Engine) release(op releaseOp) {
	if op.keep {
		e.carrier(op.managed).Keep(op.agent, op.task, op.cancel)
		return
	}
	e.carrier(op.managed).Release(op.agent, op.task, op.cancel)
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
	e.pace.end(r.youth)
	duration := final.Duration(e.clock.Now())
	e.finished.Add(1) // before anybody can see that it is over
	e.finishedNanos.Add(int64(duration))
	r.body.ended()
	e.unregister(r)
	close(r.done)
	for _, reply := range r.cancels {
		reply <- r.cancelOutcome()
	}
	for _, m := range r.inbox.close() {
		r.refuse(m)
	}
	if r.slot {
		e.freeSlot(r.exec.Pattern.Name)
	}
	e.observer.ExecutionFinished(final.Pattern.Name, final.Status, duration)
	r.traceEnd(&final)
}

// freeSlot gives back a slot that an execution ran in.
func (e *Engine) freeSlot(pattern string) {
	e.limits.give(pattern)
	if e.waiters.len() > 0 {
		e.waiters.afresh()
	}
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
	case msgExchange:
		m.exchange.refuse(r)
	}
}

// arm sets the run's one timer to the next instant that matters: the deadline or one of its body's.
func (r *run) arm(now time.Time) {
	next := r.deadline
	if r.body.frozen() {
		next = time.Time{}
	}
	next = sooner(next, r.body.nextDue())
	if r.timer != nil && !next.IsZero() && !r.timerAt.After(next) && r.timerAt.After(now) {
		return // it fires early enough, and arms itself anew
	}
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if next.IsZero() {
		return
	}
	r.timerAt = next
	r.timer = r.eng.clock.AfterFunc(max(next.Sub(now), 0), func() { r.inbox.fire() })
}

// believe returns when a limit is over that was set before a restart. Only the wall clock tells how much of it has
// passed; if that was set back meanwhile, the limit begins anew, and no more.
func believe(now, set, due time.Time) time.Time {
	return now.Add(min(due.Sub(now), due.Sub(set)))
}

// begunAt returns when something began before a restart, such that from now on only the time that passes counts. If the clock
// was set back meanwhile, it begins now.
func begunAt(now, since time.Time) time.Time { return now.Add(min(since.Sub(now), 0)) }

// lateness is who was late with what. It is journaled once, however often the agent repeats itself.
type lateness struct{ task, agent string }

// maxTardy bounds the late reports that are journaled of one execution.
const maxTardy = 1000

// late journals a report that does not count, and counts it.
func (r *run) late(c *change, rep core.TaskReport, data taskData) {
	r.eng.observer.TaskEnded(statusLate, rep.Duration)
	if r.noteLate(rep.TaskID, rep.AgentID) {
		r.event(c, core.EventTaskLate, data)
	}
}

// noteLate reports whether it is the first time that an agent is late with a task, and is to be journaled.
func (r *run) noteLate(task, agent string) bool {
	if _, known := r.tardy[lateness{task, agent}]; known || len(r.tardy) >= maxTardy {
		return false
	}
	if r.tardy == nil {
		r.tardy = map[lateness]struct{}{}
	}
	r.tardy[lateness{task, agent}] = struct{}{}
	return true
}

// restoreLate takes in the late reports that the journal has.
func (r *run) restoreLate(events []core.Event) {
	for _, ev := range events {
		var d taskData
		if ev.Type == core.EventTaskLate && json.Unmarshal(ev.Data, &d) == nil {
			r.noteLate(d.TaskID, d.AgentID)
		}
	}
}

// sooner returns the earlier of two instants, of which zero is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// overdue ends what ran out of time.
func (r *run) overdue(c *change) {
	switch {
	case c.over:
	case !r.body.frozen() && !c.now.Before(r.deadline):
		c.late = true
		if r.body.advance(c); !c.over { // what came in did not bring it to its end
			r.body.timeout(c)
		}
	default:
		r.body.overdue(c)
	}
}
