package agentcli

import (
	"errors"
	"strconv"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// An agent that the launcher cannot reach runs, as far as is known. It is unreachable until the place where it runs says
// otherwise: found again, it is what it was; gone, it is stopped.

// errUnreachable is what calls get for an agent that may run and that the launcher cannot reach now.
func errUnreachable(id string) error {
	return &runtime.Error{
		Code: runtime.CodeUnavailable, Retry: true, Message: "agent " + strconv.Quote(id) + " cannot be reached now",
		Hint: "it runs as far as is known, and is looked for; try again later",
	}
}

// notRunning is what calls get for an agent without a session.
func (a *agent) notRunning() error {
	if a.running() {
		return errUnreachable(a.id)
	}
	return errNotRunning(a.id)
}

// outOfReach ends the session when its process cannot be reached: it is looked for. The state that is stored is that of
// before, which the agent gets back to.
func (s *session) outOfReach(err error) {
	if s.over {
		return
	}
	s.logger.Warn("the agent is out of reach, and is looked for", "error", err)
	s.dirty = true
	s.store()
	s.over, s.away = true, true
	s.agent.Status, s.agent.Reason = runtime.StatusUnreachable, runtime.ReasonUnreachable
	s.emit(runtime.Event{Type: runtime.EventError, Source: runtime.SourceHost, Reason: runtime.ReasonUnreachable})
	s.display.finish(nil)
}

// isUnreachable reports whether an event tells that an agent got out of reach. It says nothing of what the agent does.
func isUnreachable(e *runtime.Event) bool { return e.Agent.Status == runtime.StatusUnreachable }

// unreached notes that an agent which runs, as far as is known, cannot be reached: nobody has told that before.
func (r *Runtime) unreached(a *agent, cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.live != nil || !a.rec.running() || a.rec.Agent.Status == runtime.StatusUnreachable {
		return
	}
	last := a.rec.Agent
	if state := loadState(a.dir, a.rec.Life); state != nil {
		last = state.Agent
	}
	last.Status, last.Reason = runtime.StatusUnreachable, runtime.ReasonUnreachable
	r.o.Logger.Warn("the agent is out of reach, and is looked for", "agent", a.id, "error", cause)
	e := &runtime.Event{
		AgentID: a.id, Type: runtime.EventError, Time: r.o.Now().UTC(), Source: runtime.SourceHost, Reason: runtime.ReasonUnreachable, Agent: last,
	}
	e.Agent.Handle = runtime.Handle{ID: a.id}
	a.rec.Agent = last // before the event: whoever asks at it sees as much
	if known, _ := r.events.Since(a.id, 0); len(known) > 0 && isUnreachable(known[len(known)-1]) {
		a.rec.Agent.Seq = known[len(known)-1].Seq // an earlier process told it
		return
	}
	if err := r.events.Append(e, 0); err != nil {
		r.o.Logger.Error("an event is not stored", "agent", a.id, "event", string(e.Type), "error", err)
	}
	a.rec.Agent.Seq = e.Seq
}

// reached reports that an agent which was out of reach is what it was again.
func (s *session) reached() {
	e := runtime.Event{Source: runtime.SourceHost}
	switch s.agent.Status {
	case runtime.StatusReady:
		e.Type = runtime.EventReady
	case runtime.StatusBusy:
		e.Type, e.Turn = runtime.EventBusy, s.agent.Turn+1
	case runtime.StatusBlocked:
		e.Type, e.Prompt = runtime.EventBlocked, s.agent.Prompt
		if s.agent.Prompt != nil && s.agent.Prompt.Kind == runtime.PromptQuestion {
			e.Type = runtime.EventQuestion
		}
	case runtime.StatusError:
		e.Type, e.Reason, e.LoginURL = runtime.EventError, s.agent.Reason, s.agent.LoginURL
		if s.loginOpen() {
			e.Type = runtime.EventLoginRequired
		}
	default: // it has not been ready yet
		e.Type = runtime.EventStarted
	}
	s.emit(e)
}

// lookFor tries to find an agent again that runs as far as is known; what it cannot reach is unreachable.
func (r *Runtime) lookFor(a *agent, adopt func() error) error {
	err := adopt()
	if err != nil && !errors.Is(err, ErrGone) && r.ctx.Err() == nil {
		r.unreached(a, err)
	}
	return err
}
