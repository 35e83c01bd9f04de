package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/internal/backoff"
)

// Codes of refusals of threads and their inputs. Hosts may use any code of their own, with an *Error.
const (
	CodeThreadLimit   = "RESOURCE_LIMIT" // as many threads as were offered run already
	CodeThreadType    = "UNKNOWN_TYPE"   // an agent type that was not offered
	CodeThreadInvalid = "INVALID_SPEC"
	CodeThreadStopped = "STOPPED" // it was stopped before it began
	CodeNoTerminal    = "NO_TERMINAL"
)

// stopRetry bounds the wait before a stop that failed is tried again.
const (
	stopRetryMin = time.Second
	stopRetryMax = 30 * time.Second
)

// Lanes of a thread: each runs one call at a time.
const (
	laneMessages = iota
	laneOthers   // answers, and what is typed
)

// lane is a queue of inputs. Guarded by threads.mu.
type lane struct {
	queue   []*input
	running bool
}

// input is an input of a thread, from its arrival on. status is what became of it.
type input struct {
	protocol.ThreadInput
	status *protocol.ThreadStatus // nil: it waits, or an event tells of it
}

// spawn takes a thread_spawn. It is called by the reading goroutine.
func (th *threads) spawn(p protocol.ThreadSpawn) {
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.closed || p.ThreadID == "" {
		return
	}
	if t := th.byID[p.ThreadID]; t != nil {
		if !t.entry.spawning {
			th.status(protocol.ThreadStatus{ThreadID: p.ThreadID, Status: protocol.ThreadAccepted})
		}
		return
	}
	refuse := func(code, format string, args ...any) {
		th.status(protocol.ThreadStatus{
			ThreadID: p.ThreadID, Status: protocol.ThreadRefused, Code: code, Message: fmt.Sprintf(format, args...),
		})
	}
	active := 0
	for _, t := range th.byID {
		if !t.entry.over {
			active++
		}
	}
	switch {
	case active >= th.opts.Max:
		refuse(CodeThreadLimit, "this host takes %d threads", th.opts.Max)
		return
	case !slices.Contains(th.opts.Types, p.AgentType):
		refuse(CodeThreadType, "this host has no agent type %q", p.AgentType)
		return
	case th.lasting() && !plainID(p.ThreadID):
		refuse(CodeThreadInvalid, "threadId: must be letters, digits, _ and -")
		return
	}
	t := th.make(p)
	t.entry.spawning = true
	t.entry.last = max(th.ended.seqs[p.ThreadID], p.After)
	if th.lasting() {
		t.entry.journal = newThreadJournal(th.opts.StateDir, t)
	}
	th.enter(t)
	th.agent.handlers.Go(func() { th.begin(t) })
}

// begin spawns a thread, and goes on with what came for it meanwhile.
func (th *threads) begin(t *Thread) {
	err := th.call(t, func() error { return th.opts.Host.Spawn(t.entry.work, t) })
	spawned := err == nil
	if spawned {
		err = th.hosted(t)
	}
	th.mu.Lock()
	e := &t.entry
	id := t.Spec.ThreadID
	switch {
	case th.byID[id] != t: // the server forgot the session meanwhile, and the thread was given up
		th.mu.Unlock()
		if spawned {
			th.abandon(t, ErrReassigned)
		}
		return
	case err != nil:
		status := protocol.ThreadStatus{ThreadID: id, Status: protocol.ThreadRefused}
		if e.work.Err() != nil {
			status.Code, status.Message = CodeThreadStopped, "the thread was stopped before it began"
		} else {
			short := th.agent.maxFrame.shortened(asTaskError(err))
			status.Code, status.Message = short.Code, short.Message
		}
		th.forget(t)
		if !th.closed {
			th.status(status)
		}
		th.mu.Unlock()
		if spawned {
			th.abandon(t, ErrThreadOver)
		}
		t.cancel(ErrThreadOver)
		return
	}
	e.spawning = false
	stop := e.work.Err() != nil
	if !th.closed {
		th.status(protocol.ThreadStatus{ThreadID: id, Status: protocol.ThreadAccepted})
		th.signal()
	}
	if !stop {
		for i := range e.lanes {
			th.advance(t, i)
		}
	}
	force, ending := e.force, th.closed && !th.lasting()
	th.mu.Unlock()
	switch {
	case ending:
		th.abandon(t, ErrStopped)
	case stop && !th.lasting() || stop && !errors.Is(context.Cause(e.work), ErrStopped):
		th.end(t, protocol.ThreadStop{ThreadID: id, Force: force})
	}
}

// input takes a thread_input. It is called by the reading goroutine.
func (th *threads) input(p protocol.ThreadInput) {
	th.mu.Lock()
	defer th.mu.Unlock()
	t := th.byID[p.ThreadID]
	switch {
	case th.closed || p.InputID == "":
		return
	case t == nil:
		th.status(protocol.ThreadStatus{ThreadID: p.ThreadID, Status: protocol.ThreadUnknown, InputID: p.InputID})
		return
	case t.entry.over:
		return
	}
	e := &t.entry
	if known := e.inputs[p.InputID]; known != nil {
		if known.status != nil {
			th.status(*known.status)
		}
		return
	}
	number := laneOthers
	if p.Message != "" {
		number = laneMessages
	}
	if len(e.lanes[number].queue) >= maxThreadInputs {
		th.status(protocol.ThreadStatus{
			ThreadID: p.ThreadID, InputID: p.InputID, Status: protocol.ThreadRefused, Code: codeRateLimited,
			Message: "too many inputs wait",
		})
		return
	}
	in := &input{ThreadInput: p}
	t.remember(in)
	e.lanes[number].queue = append(e.lanes[number].queue, in)
	th.advance(t, number)
}

// remember makes an input known. Called with threads.mu held.
func (t *Thread) remember(in *input) {
	e := &t.entry
	e.inputs[in.InputID] = in
	e.order = append(e.order, in.InputID)
	if len(e.order) > maxThreadInputs {
		delete(e.inputs, e.order[0])
		e.order = e.order[1:]
	}
}

// advance starts a lane that has something to do. Called with mu held.
func (th *threads) advance(t *Thread, number int) {
	l := &t.entry.lanes[number]
	if l.running || len(l.queue) == 0 || t.entry.spawning || t.entry.work.Err() != nil {
		return
	}
	l.running = true
	th.agent.handlers.Go(func() {
		for {
			th.mu.Lock()
			if len(l.queue) == 0 || t.entry.work.Err() != nil {
				l.running = false
				th.mu.Unlock()
				return
			}
			in := l.queue[0]
			l.queue[0] = nil
			l.queue = l.queue[1:]
			th.mu.Unlock()
			th.give(t, in)
		}
	})
}

// give gives a thread one input.
func (th *threads) give(t *Thread, in *input) {
	work, host, p := t.entry.work, th.opts.Host, in.ThreadInput
	status := protocol.ThreadStatus{ThreadID: p.ThreadID, InputID: p.InputID, Status: protocol.ThreadTaken}
	err := th.call(t, func() error {
		switch {
		case p.Message != "":
			return host.Message(work, t, ThreadMessage{ID: p.InputID, Text: p.Message})
		case p.Answer != nil:
			return host.Answer(work, t, *p.Answer)
		}
		if typer, ok := host.(ThreadTyper); ok {
			return typer.Type(work, t, p.InputID, p.Raw, p.Keys)
		}
		return &Error{Code: CodeNoTerminal, Message: "the threads of this host have no terminal"}
	})
	th.mu.Lock()
	in.ThreadInput = protocol.ThreadInput{ThreadID: p.ThreadID, InputID: p.InputID} // the id is remembered, what it said is not
	taken := t.entry.taken[p.InputID]
	delete(t.entry.taken, p.InputID)
	th.mu.Unlock()
	switch {
	case err != nil && (work.Err() != nil || taken):
		return
	case err != nil:
		short := th.agent.maxFrame.shortened(asTaskError(err))
		status.Status, status.Code, status.Message = protocol.ThreadRefused, short.Code, short.Message
		th.agent.opts.Logger.Warn("agent could not give a thread its input", "thread", p.ThreadID, "input", p.InputID, "error", err)
	case p.Message != "":
		if !taken {
			_ = t.Busy(work, ThreadMessage{ID: p.InputID}) // a thread that is over takes nothing
		}
		return
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	in.status = &status
	th.status(status)
}

// stop takes a thread_stop. It is called by the reading goroutine.
func (th *threads) stop(p protocol.ThreadStop) {
	th.mu.Lock()
	defer th.mu.Unlock()
	t := th.byID[p.ThreadID]
	switch {
	case th.closed:
		return
	case t == nil:
		th.status(protocol.ThreadStatus{ThreadID: p.ThreadID, Status: protocol.ThreadUnknown})
		return
	case t.entry.over:
		return
	}
	e := &t.entry
	again := e.stopping && (!p.Force || e.force)
	e.force = e.force || p.Force
	e.unwork(ErrThreadStopped)
	if e.spawning || again {
		return
	}
	e.stopping = true
	th.agent.handlers.Go(func() { th.end(t, p) })
}

// end has the host stop a thread, again and again if need be.
func (th *threads) end(t *Thread, p protocol.ThreadStop) {
	pause := backoff.Backoff{Min: stopRetryMin, Max: stopRetryMax}
	for t.ctx.Err() == nil {
		err := th.callStop(t.ctx, t, p)
		if err == nil {
			_ = t.Stopped(t.ctx, "stopped") // it may have told so itself
			return
		}
		th.agent.opts.Logger.Warn("agent cannot stop a thread; it is tried again", "thread", p.ThreadID, "error", err)
		wait(t.ctx, t.ctx.Done(), pause.Next())
	}
}

func (th *threads) callStop(ctx context.Context, t *Thread, p protocol.ThreadStop) error {
	return th.call(t, func() error { return th.opts.Host.Stop(ctx, t, p) })
}

// call calls the host. A panic becomes an error.
func (th *threads) call(t *Thread, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			th.agent.opts.Logger.Error("agent thread host panicked", "thread", t.Spec.ThreadID, "panic", p, "stack", string(debug.Stack()))
			err = &Error{Code: CodePanic, Message: fmt.Sprintf("the host panicked: %v", p)}
		}
	}()
	return do()
}

// plainID reports whether an id can be the name of a file.
func plainID(id string) bool {
	for _, r := range id {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-') {
			return false
		}
	}
	return id != "" && len(id) <= 128
}
