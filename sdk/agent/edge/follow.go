package edge

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// How long the beginning of a turn and the word of Send that a message was taken wait for each other. They come at
// about the same time, over different ways.
const takenWait = 3 * time.Second

// kinds are the runtime's types of events. The protocol has the same.
var kinds = map[runtime.EventType]string{
	runtime.EventStarted:       protocol.ThreadStarted,
	runtime.EventReady:         protocol.ThreadReady,
	runtime.EventBusy:          protocol.ThreadBusy,
	runtime.EventBlocked:       protocol.ThreadBlocked,
	runtime.EventQuestion:      protocol.ThreadQuestion,
	runtime.EventUnblocked:     protocol.ThreadUnblocked,
	runtime.EventLoginRequired: protocol.ThreadLoginRequired,
	runtime.EventToolRunning:   protocol.ThreadToolRunning,
	runtime.EventTurnComplete:  protocol.ThreadTurnComplete,
	runtime.EventMessage:       protocol.ThreadMessage,
	runtime.EventStuck:         protocol.ThreadStuck,
	runtime.EventError:         protocol.ThreadError,
	runtime.EventStopped:       protocol.ThreadStopped,
}

// run is a thread with its agent at the runtime.
type run struct {
	edge    *Edge
	thread  *agent.Thread
	agentID string

	mu    sync.Mutex // guards all below
	seen  uint64     // sequence of the runtime's last event that was reported
	last  string     // type of that event
	taken taking
}

// taking is a message on its way to the agent: the event that tells that it was taken is the first of its turn.
type taking struct {
	id    string        // "": there is none
	sent  chan struct{} // closed when Send has returned
	ok    bool          // it returned well, and no event told so yet
	told  chan struct{} // closed when an event told so
	begun bool          // a turn began that was reported without it
}

// follow tells the server what an agent does, until its thread is over.
func (e *Edge) follow(t *agent.Thread, agentID string, after uint64) {
	r := &run{edge: e, thread: t, agentID: agentID, seen: after}
	e.mu.Lock()
	e.runs[t.Spec.ThreadID] = r
	e.mu.Unlock()
	e.work.Go(func() {
		r.watch(t.Context())
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.runs[t.Spec.ThreadID] == r && !errors.Is(context.Cause(t.Context()), agent.ErrStopped) {
			delete(e.runs, t.Spec.ThreadID)
		}
	})
}

// goesOn reports whether the thread is not over. Those of a process that ends go on without it.
func (r *run) goesOn() bool {
	cause := context.Cause(r.thread.Context())
	return cause == nil || errors.Is(cause, agent.ErrStopped)
}

// watch reads the events of the agent, again and again.
func (r *run) watch(ctx context.Context) {
	pause := newRetry()
	for ctx.Err() == nil {
		a, err := r.edge.opts.Runtime.Inspect(ctx, r.agentID)
		switch {
		case runtime.ErrorCode(err) == runtime.CodeNotFound:
			r.tell(ctx, agent.ThreadEvent{Type: protocol.ThreadStopped, Data: protocol.ThreadData{
				Status: "error", Source: runtime.SourceHost, Reason: runtime.ReasonLost,
			}})
			return
		case err == nil && a.Status == runtime.StatusStopped && a.Seq <= r.place():
			// Its end was reported by an event that is not kept any more, or to an earlier process and lost.
			r.event(ctx, &runtime.Event{
				Seq: a.Seq, AgentID: a.ID, Type: runtime.EventStopped, Time: a.LastActivityAt, Source: runtime.SourceHost,
				Agent: a, Reason: a.Reason,
			})
			return
		case err == nil:
			r.begin(a.Status)
			if r.read(ctx) {
				pause.Reset()
			}
		}
		if !pause.Wait(ctx) {
			return
		}
	}
}

// begin notes what the agent does before an event told it: an earlier process may have told them all.
func (r *run) begin(status runtime.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.last != "":
	case status == runtime.StatusReady:
		r.last = protocol.ThreadReady
	default:
		r.last = protocol.ThreadBusy
	}
}

func (r *run) place() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// read reads one stream of events to its end, and returns whether there were any.
func (r *run) read(ctx context.Context) (any bool) {
	stream, err := r.edge.opts.Runtime.Events(ctx, runtime.EventOptions{AgentID: r.agentID, After: r.place()})
	if err != nil {
		return false
	}
	defer func() { _ = stream.Close() }() // nothing is lost with it
	for {
		ev, err := stream.Next()
		if err != nil {
			return any
		}
		if ev.Seq <= r.place() || ev.AgentID != r.agentID {
			continue
		}
		any = true
		if !r.event(ctx, &ev) {
			return any
		}
	}
}

// event tells one event of the runtime, and returns false when nothing more is to be told.
func (r *run) event(ctx context.Context, ev *runtime.Event) bool {
	kind, ok := kinds[ev.Type]
	if !ok { // of a newer runtime
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen = ev.Seq
		return true
	}
	out := agent.ThreadEvent{
		Type: kind, Mark: makeMark(r.agentID, ev.Seq), SessionID: ev.Agent.SessionID,
		Data: protocol.ThreadData{
			Status: status(ev), Source: ev.Source, Prompt: ev.Prompt, Answered: ev.Answered, Text: ev.Text, Turn: ev.Turn,
			DurationMs: ev.DurationMs, TurnOutcome: ev.TurnOutcome, LoginURL: ev.LoginURL, Reason: ev.Reason, OccurredAt: ev.Time,
		},
	}
	if ev.Tool != nil {
		out.Data.Tool = &protocol.ThreadTool{Name: ev.Tool.Name, Input: ev.Tool.Input}
	}
	if ev.Exit != nil {
		out.Data.ExitCode = &ev.Exit.Code
	} else if ev.Type == runtime.EventStopped {
		out.Data.ExitCode = ev.Agent.ExitCode
	}
	if ev.Type == runtime.EventBusy {
		r.meet(ctx)
	}
	r.mu.Lock()
	r.seen = ev.Seq
	r.mu.Unlock()
	return r.tell(ctx, out) && ev.Type != runtime.EventStopped
}

// tell tells an event, with the message that was taken if there is one to tell of.
func (r *run) tell(ctx context.Context, e agent.ThreadEvent) bool {
	r.mu.Lock()
	r.last = e.Type
	switch {
	case r.taken.ok:
		e.InputTaken = r.taken.id
		r.taken.ok = false
		defer close(r.taken.told) // once it is reported: else the library would report it too
	case e.Type == protocol.ThreadBusy && r.taken.id != "":
		r.taken.begun = true
	}
	r.mu.Unlock()
	return r.thread.Tell(ctx, e) == nil // else the thread is over, or the process ends
}

// sending notes that a message is given to the agent.
func (r *run) sending(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = taking{id: id, sent: make(chan struct{}), told: make(chan struct{})}
}

// notSent notes that the message was not taken.
func (r *run) notSent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.taken.sent)
	r.taken = taking{}
}

// meet waits, at the beginning of a turn, for the word that a message was taken, if one is on its way.
func (r *run) meet(ctx context.Context) {
	r.mu.Lock()
	waits, sent := r.taken.id != "", r.taken.sent
	r.mu.Unlock()
	if !waits {
		return
	}
	select {
	case <-sent:
	case <-time.After(takenWait): // somebody else began this turn
	case <-ctx.Done():
	}
}

// sent notes that the agent took the message, and returns once an event told so.
func (r *run) sent(ctx context.Context, id string) error {
	r.mu.Lock()
	r.taken.ok = true
	close(r.taken.sent)
	told, begun := r.taken.told, r.taken.begun
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.taken.id == id {
			r.taken = taking{}
		}
	}()
	limit := takenWait
	if begun { // its turn was reported already, and may be over
		limit = 0
	}
	select {
	case <-told:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(limit):
	}
	r.mu.Lock()
	if !r.taken.ok || r.last != protocol.ThreadReady && r.last != protocol.ThreadTurnComplete {
		// It is being told, or a turn runs, whose next event tells it.
		r.mu.Unlock()
		select {
		case <-told:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	// Its turn is over: it was reported before the message came again, most likely by an earlier process. Or it is yet to
	// come. Either way the agent is ready as far as is known.
	r.taken.ok = false
	r.mu.Unlock()
	return r.thread.Tell(ctx, agent.ThreadEvent{Type: protocol.ThreadReady, InputTaken: id})
}

// status is the agent's state as the protocol has it: one that ended in any other way than by Stop or with code 0 is
// in error.
func status(ev *runtime.Event) string {
	if ev.Type != runtime.EventStopped {
		return string(ev.Agent.Status)
	}
	reason, _, _ := strings.Cut(ev.Reason, ":")
	code := ev.Agent.ExitCode
	if ev.Exit != nil {
		code = &ev.Exit.Code
	}
	switch {
	case reason == runtime.ReasonStopped, reason == runtime.ReasonKilled:
		return "stopped"
	case reason == runtime.ReasonExited && code != nil && *code == 0:
		return "stopped"
	}
	return "error"
}
