package agentcli

import (
	"context"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// What the start of a new session says where an earlier one would have been resumed.
const (
	noticeAsked = "began a new session: that was asked for"
	noticeLost  = "began a new session: the earlier one could not be resumed"
)

// unresumable reports whether the process ended because the session that it was to resume is not there.
func (s *session) unresumable(lost bool) bool {
	if s.ready || !s.resumes || lost || stopCause(s.stopper.cause.Load()) != notStopping {
		return false
	}
	d, ok := s.driver.(Resumer)
	if !ok {
		return false
	}
	rows, _, _ := s.display.text()
	return d.Unresumable(rows)
}

// beginAnew ends the session without telling that the agent stopped: it is started again. Until then it is stored as
// stopped, so that a crash in between leaves what can be restarted.
func (s *session) beginAnew(reason string) {
	last := s.agent
	last.Status, last.Reason, last.SessionID = runtime.StatusStopped, reason, ""
	s.book.note(reason)
	s.over, s.lostSession = true, true
	s.a.stopped(last, nil, s.display.offset(), s.o.Now().UTC(), s.logger)
	s.display.finish(nil)
}

// startAnew starts an agent whose session is lost with a new one, unless somebody else starts or removes it.
func (r *Runtime) startAnew(a *agent) {
	leave, err := r.enter()
	if err != nil {
		return // closing
	}
	go func() {
		defer leave()
		ctx, cancel := context.WithTimeout(r.ctx, launchTimeout)
		defer cancel()
		if err := a.acquire(ctx); err != nil {
			return
		}
		defer a.release()
		a.mu.Lock()
		rec, gone, live := a.rec, a.gone, a.live
		a.mu.Unlock()
		if gone || live != nil || rec.running() {
			return
		}
		adapter, err := r.adapter(&rec.Spec)
		if err == nil {
			rec.Notice = noticeLost
			err = r.start(ctx, a, &rec, adapter, "")
		}
		if err != nil {
			r.o.Logger.Error("an agent whose session is lost cannot be started anew", "agent", a.id, "error", err)
			r.tellStopped(a)
		}
	}()
}

// tellStopped reports an agent that it is stored as stopped.
func (r *Runtime) tellStopped(a *agent) {
	last := a.view()
	e := &runtime.Event{
		AgentID: a.id, Type: runtime.EventStopped, Time: r.o.Now().UTC(), Source: runtime.SourceExit, Reason: last.Reason, Agent: last,
	}
	e.Agent.Handle = runtime.Handle{ID: a.id}
	if err := r.events.Append(e, 0); err != nil {
		r.o.Logger.Error("an event is not stored", "agent", a.id, "event", string(e.Type), "error", err)
	}
}
