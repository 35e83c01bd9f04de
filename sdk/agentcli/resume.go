package agentcli

import (
	"slices"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// An event is written before the state is, and that a message was taken before the event of its turn. What a crash cut
// off between them is taken from the events and from what is remembered of the message.

// resume takes over where an earlier process was.
func (s *session) resume(state *lifeState) {
	s.agent = state.Agent
	s.doneTo = max(state.Offset, s.base)
	s.ready, s.fusion.trust, s.book.loggedTo, s.urls = state.Ready, state.Trust, state.LoggedTo, state.URLs
	s.delivery.sent, s.fusion.lastMs, s.seq, s.wish = state.Sent, state.LastMs, state.Seq, state.Wish
	if !state.TurnStarted.IsZero() {
		s.fusion.turn = &turn{started: state.TurnStarted, input: state.TurnInput, refused: state.TurnRefused, source: runtime.SourceHost}
	}
	if h := state.Held; h != nil {
		s.fusion.held = &heldTurn{event: h.Event, input: h.Input, text: h.Text, told: h.Told}
	}
	since, told := s.events.Since(s.a.id, s.seq)
	since = slices.DeleteFunc(since, func(e *runtime.Event) bool { return !e.Agent.CreatedAt.Equal(s.agent.CreatedAt) })
	cut := false
	for _, e := range since {
		if s.wasAway = isUnreachable(e); s.wasAway {
			s.seq, s.agent.Seq = e.Seq, e.Seq
			continue
		}
		cut = e.Type == runtime.EventTurnComplete && s.fusion.held == nil && e.Agent.Status == runtime.StatusReady
		s.resumeEvent(e)
	}
	if n := len(since); n > 0 {
		s.toldTo = told
		if cut { // where the text was known at once, this follows the end of the turn
			s.emit(runtime.Event{Type: runtime.EventReady, Source: since[n-1].Source})
		}
	}
	if h := s.fusion.held; h != nil {
		if !h.told {
			h.told = true
			s.emit(runtime.Event{Type: runtime.EventReady, Source: h.event.Source})
		}
		h.cancel = s.after(idleWait, func() { s.fusion.release(Signal{Source: h.event.Source}) })
	}
	s.resumeInput()
	if len(state.Driver) > 0 {
		s.driver.Load(state.Driver)
	}
	if d, ok := s.driver.(turnResumer); ok {
		d.resumeTurn(s.fusion.turn != nil, s.delivery.inputs.began(s.life, s.agent.Turn+1))
	}
	s.publish()
}

// resumeEvent brings the session to where it was when it reported an event.
func (s *session) resumeEvent(e *runtime.Event) {
	was := s.agent.Turn
	s.seq, s.agent.Seq = e.Seq, e.Seq
	s.agent.Status, s.agent.Reason, s.agent.Turn = e.Agent.Status, e.Agent.Reason, e.Agent.Turn
	s.agent.Prompt, s.agent.LoginURL = e.Agent.Prompt, e.Agent.LoginURL
	busy := s.agent.Status == runtime.StatusBusy
	if s.agent.Status == runtime.StatusBlocked {
		busy = s.fusion.turn != nil || e.Source != runtime.SourceScreen
	}
	if s.fusion.held != nil && e.Type == runtime.EventReady {
		s.fusion.held.told = true
	}
	if s.fusion.turn != nil && e.Type == runtime.EventUnblocked && isRefusal(e.Prompt, e.Answered) {
		s.fusion.turn.refused = true
	}
	switch {
	case e.Type == runtime.EventTurnComplete:
		if r := s.delivery.inputs.began(s.life, e.Turn); r != nil {
			s.delivery.rememberTurn(r, &runtime.Response{Text: e.Text, Turn: e.Turn, DurationMs: e.DurationMs, TurnOutcome: e.TurnOutcome})
		}
		s.fusion.turn, s.fusion.held = nil, nil
	case s.fusion.turn != nil && s.agent.Turn > was: // it ended, and waits for its text
		s.fusion.held = &heldTurn{input: s.fusion.turn.input, told: true, event: runtime.Event{
			Type: runtime.EventTurnComplete, Source: e.Source, Turn: s.agent.Turn, DurationMs: max(0, e.Time.Sub(s.fusion.turn.started).Milliseconds()),
		}}
		if r := s.delivery.inputs.began(s.life, s.agent.Turn); r != nil {
			s.fusion.held.input = r.ID
		}
		s.fusion.turn = nil
	case busy && s.fusion.turn == nil:
		s.fusion.turn = &turn{started: e.Time, source: runtime.SourceHost}
	case !busy:
		s.fusion.turn = nil
	}
}

// resumeInput gives the turn that runs the message that began it, and begins it if not even that was reported.
func (s *session) resumeInput() {
	r := s.delivery.inputs.began(s.life, s.agent.Turn+1)
	if r == nil || s.fusion.held != nil {
		return
	}
	if s.fusion.turn == nil && s.agent.Status == runtime.StatusReady {
		s.fusion.beginTurn(runtime.SourceHost, nil)
	}
	if s.fusion.turn != nil && s.fusion.turn.input == "" {
		s.fusion.turn.input = r.ID
	}
	if s.fusion.turn != nil && s.fusion.turn.input == r.ID {
		s.fusion.turn.words = r.Words
	}
}
