package agentcli

import (
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/internal/clip"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

const (
	textWait = 2 * time.Second        // for the text of a turn that ended, when it is announced
	idleWait = 500 * time.Millisecond // for a better source to tell how a turn ended that just stopped
)

// turn is a turn that runs.
type turn struct {
	started time.Time
	source  string // that told it first
	input   string // id of the message that began it, if it had one
	msg     *message
	text    string // said within it so far
	refused bool   // an approval was refused in it
}

// maxSaid bounds what is remembered of the words of a turn, in bytes.
const maxSaid = 1 << 20

// say adds what the agent said.
func (t *turn) say(text string) {
	if room := maxSaid - len(t.text); room > 0 {
		t.text += clip.Text(text, room)
	}
}

// heldTurn is a turn that ended and whose text is still to come.
type heldTurn struct {
	event  runtime.Event
	msg    *message
	input  string
	text   string // what was said within it, if nothing better comes
	owed   bool   // SignalAnswer will come for it
	told   bool   // that the agent is ready
	cancel func()
}

// rank orders sources by trust. The session itself is not a witness: it tells what it did.
func rank(source string) int {
	switch source {
	case runtime.SourceHook:
		return 4
	case runtime.SourceOSC:
		return 3
	case runtime.SourceExit:
		return 2
	default:
		return 1
	}
}

// mayStart tells whether a source may begin a turn: one that is less trusted than those that began turns
// before only repeats late what is known.
func (s *session) mayStart(source string) bool {
	if source == runtime.SourceHost {
		return true
	}
	return source != runtime.SourceScreen && rank(source) >= s.trust
}

// signal fuses what the driver saw into the state.
func (s *session) signal(sig Signal) {
	if s.over || s.replays {
		return
	}
	s.dirty = true
	s.alive()
	switch sig.Kind {
	case SignalIdle:
		s.onIdle(sig)
	case SignalBusy:
		s.onBusy(sig, "")
	case SignalTook:
		s.onBusy(sig, sig.Text)
	case SignalBlocked:
		s.onBlocked(sig)
	case SignalUnblocked:
		s.onUnblocked(sig)
	case SignalTool:
		s.onTool(sig)
	case SignalToolDone:
		s.tool = false
	case SignalText:
		s.onText(sig)
	case SignalTurnEnd:
		s.onTurnEnd(sig)
	case SignalAnswer:
		s.onAnswer(sig)
	case SignalLogin:
		s.onLogin(sig)
	case SignalError:
		s.onError(sig)
	case SignalSession:
		s.onSession(sig.Text)
	default:
		s.logger.Warn("the driver gave a signal that is not known", "signal", sig.Kind)
	}
}

func (s *session) onIdle(sig Signal) {
	switch {
	case s.turn != nil:
		s.endTurn(Signal{Source: sig.Source}, idleWait)
	case s.agent.Status != runtime.StatusReady:
		s.becomeReady(sig.Source)
	}
}

// becomeReady ends start-up, a login or an error.
func (s *session) becomeReady(source string) {
	s.agent.Status, s.agent.Reason, s.agent.LoginURL, s.agent.Prompt = runtime.StatusReady, "", "", nil
	s.ready, s.urls = true, nil
	if s.readyTimer != nil {
		s.readyTimer()
		s.readyTimer = nil
	}
	s.emit(runtime.Event{Type: runtime.EventReady, Source: source})
}

// onBusy handles that a turn runs, and that a message was taken: text is what was, if it is known.
func (s *session) onBusy(sig Signal, text string) {
	if m := s.lateTaken(text); m != nil {
		s.drop(m)
		s.cur = m
		s.took(sig.Source)
		return
	}
	if m := s.cur; m != nil && m.stage != stageQueued && (text == "" || sameText(text, m.text)) {
		s.took(sig.Source)
		return
	}
	switch s.agent.Status {
	case runtime.StatusBlocked:
		s.unblock(sig.Source, "")
		if s.turn == nil && s.mayStart(sig.Source) {
			s.beginTurn(sig.Source, nil)
		}
	case runtime.StatusReady, runtime.StatusError:
		if s.turn == nil && s.mayStart(sig.Source) {
			s.beginTurn(sig.Source, nil)
		}
	case runtime.StatusStarting:
		if s.turn == nil && sig.Kind == SignalTook && s.mayStart(sig.Source) {
			s.beginTurn(sig.Source, nil)
		}
	case runtime.StatusBusy, runtime.StatusStopped:
	}
	if text != "" && s.turn != nil && s.turn.msg == nil && s.turn.input == "" {
		s.settleUncertain(text)
	}
}

// settleUncertain recognises the message that an earlier process was typing when it ended by what the agent says that it
// took: the turn is the message's own, and a repeat of it gets its response.
func (s *session) settleUncertain(text string) {
	r := s.inputs.uncertain(text)
	if r == nil {
		return
	}
	s.turn.input = r.ID
	if err := s.inputs.put(inputRecord{ID: r.ID, Sum: r.Sum, State: inputSent, Life: s.life, Turn: s.agent.Turn + 1}); err != nil {
		s.unrecorded(err)
	}
}

// beginTurn opens a turn, for a message if one began it.
func (s *session) beginTurn(source string, m *message) {
	s.release(Signal{Source: source})
	s.turn = &turn{started: s.o.Now(), source: source, msg: m}
	if m != nil {
		s.turn.input = m.id
	}
	if source != runtime.SourceHost {
		s.trust = max(s.trust, rank(source))
	}
	s.agent.Status, s.agent.Reason, s.agent.LoginURL = runtime.StatusBusy, "", ""
	s.ready, s.stuck, s.tool = true, false, false
	s.emit(runtime.Event{Type: runtime.EventBusy, Source: source, Turn: s.agent.Turn + 1})
	s.watchStuck()
}

func (s *session) onBlocked(sig Signal) {
	if sig.Prompt == nil {
		s.logger.Warn("the driver told of a prompt without one")
		return
	}
	if m := s.cur; m != nil && m.stage == stageTyped {
		s.took(sig.Source)
	}
	if s.turn == nil && sig.Source != runtime.SourceScreen { // what only the screen shows is no turn, and in the way of one
		if !s.mayStart(sig.Source) {
			return
		}
		s.beginTurn(sig.Source, nil)
	}
	if p := s.agent.Prompt; p != nil {
		if p.ID == sig.Prompt.ID {
			s.agent.Prompt = s.clean(sig.Prompt)
			return
		}
		s.unblock(sig.Source, "")
	}
	s.agent.Status, s.agent.Prompt = runtime.StatusBlocked, s.clean(sig.Prompt)
	kind := runtime.EventBlocked
	if sig.Prompt.Kind == runtime.PromptQuestion {
		kind = runtime.EventQuestion
	}
	s.emit(runtime.Event{Type: kind, Source: sig.Source, Prompt: s.agent.Prompt})
}

// clean returns a prompt without secrets.
func (s *session) clean(p *runtime.Prompt) *runtime.Prompt {
	c := *p
	c.Text, c.Input = shortened(s.redact.text(p.Text), maxEventInput), boundInput(s.redact.object(p.Input))
	return &c
}

func (s *session) onUnblocked(sig Signal) {
	if s.agent.Prompt == nil {
		return
	}
	s.unblock(sig.Source, sig.Choice)
	if s.agent.Status == runtime.StatusReady { // it stood outside of a turn
		s.emit(runtime.Event{Type: runtime.EventReady, Source: sig.Source})
	}
}

// unblock ends the open prompt; a turn goes on.
func (s *session) unblock(source, choice string) {
	p := s.agent.Prompt
	if p == nil {
		return
	}
	s.agent.Prompt = nil
	s.wish.Prompt, s.wish.Answer = "", nil
	if s.turn != nil && isRefusal(p, choice) {
		s.turn.refused = true
	}
	switch {
	case s.agent.Status != runtime.StatusBlocked:
	case s.turn != nil:
		s.agent.Status = runtime.StatusBusy
	case s.ready:
		s.agent.Status = runtime.StatusReady
	default:
		s.agent.Status = runtime.StatusStarting
	}
	s.emit(runtime.Event{Type: runtime.EventUnblocked, Source: source, Prompt: p, Answered: choice})
}

// isRefusal reports whether an answer refuses what a prompt asks to be allowed.
func isRefusal(p *runtime.Prompt, choice string) bool {
	return p != nil && p.Kind == runtime.PromptApproval && choice == runtime.ChoiceDeny
}

func (s *session) onTool(sig Signal) {
	if s.turn == nil && s.mayStart(sig.Source) {
		s.beginTurn(sig.Source, nil)
	}
	s.tool = true
	var tool *runtime.ToolCall
	if sig.Tool != nil {
		tool = &runtime.ToolCall{Name: sig.Tool.Name, Input: boundInput(s.redact.object(sig.Tool.Input))}
	}
	s.emit(runtime.Event{Type: runtime.EventToolRunning, Source: sig.Source, Tool: tool})
}

func (s *session) onText(sig Signal) {
	if sig.Text == "" {
		return
	}
	if s.turn != nil {
		s.turn.say(sig.Text)
	}
	text := s.redact.text(sig.Text)
	s.store() // what the driver has told comes before the event: after a crash it is not told again
	s.record(runtime.StreamOutput, text)
	s.emit(runtime.Event{Type: runtime.EventMessage, Source: sig.Source, Text: boundText(text)})
}

func (s *session) onTurnEnd(sig Signal) {
	if s.turn == nil {
		if s.held != nil && (sig.Text != "" || sig.TurnOutcome.Error != nil) {
			s.release(sig)
			return
		}
		if s.agent.Status != runtime.StatusReady {
			s.onIdle(sig)
		}
		return
	}
	wait := time.Duration(0)
	if sig.TextFollows {
		wait = textWait
	}
	s.endTurn(sig, wait)
}

// endTurn closes the turn. With a wait its event is held for the text; the agent is ready at once.
func (s *session) endTurn(sig Signal, wait time.Duration) {
	t := s.turn
	if sig.TurnOutcome.Interrupted { // some CLIs put the message back into the input line
		s.draft.left = true
	}
	s.unblock(sig.Source, "")
	s.turn, s.tool, s.wish = nil, false, wish{}
	s.agent.Turn++
	s.agent.Status, s.agent.Reason, s.agent.LoginURL = runtime.StatusReady, "", ""
	s.ready = true
	s.lastEnd = s.o.Now()
	h := &heldTurn{
		event: runtime.Event{
			Type: runtime.EventTurnComplete, Source: sig.Source, Turn: s.agent.Turn,
			DurationMs: max(0, s.lastEnd.Sub(t.started).Milliseconds()), TurnOutcome: s.outcome(t, sig.TurnOutcome),
		},
		msg: t.msg, input: t.input, text: t.text,
	}
	if e := sig.TurnOutcome.Error; e != nil && e.Code == wire.TurnLoginRequired { // it is not ready in between
		s.agent.Status, s.agent.Reason = runtime.StatusError, runtime.ReasonLoginRequired
		s.complete(h, "")
		s.onLogin(Signal{Source: sig.Source})
		return
	}
	if sig.Text != "" || wait == 0 {
		text := sig.Text
		if text == "" {
			text = h.text
		}
		s.complete(h, text)
		s.emit(runtime.Event{Type: runtime.EventReady, Source: sig.Source})
		return
	}
	s.held, h.owed = h, sig.TextFollows
	h.cancel = s.after(wait, func() { s.release(Signal{Source: sig.Source}) })
	// How it ended is in no event yet, so that it is stored before the one that shows the end.
	s.dirty = true
	s.store()
	h.told = true
	s.emit(runtime.Event{Type: runtime.EventReady, Source: sig.Source})
}

// onAnswer gives the turn that waits for its text what was announced. What comes for a turn that does not wait any more is
// for nobody, and least of all for the turn after it.
func (s *session) onAnswer(sig Signal) {
	if s.late > 0 {
		s.late--
		return
	}
	if s.held != nil {
		s.held.owed = false
		s.release(sig)
	}
}

// outcome is how a turn ended by what was seen in it and what its end says.
func (s *session) outcome(t *turn, told runtime.TurnOutcome) runtime.TurnOutcome {
	told.Refused = told.Refused || t.refused
	return told
}

// release completes the turn that waits for its text, if one does, with what is known of it by now.
func (s *session) release(sig Signal) {
	h := s.held
	if h == nil {
		return
	}
	s.held = nil
	h.cancel()
	if h.owed {
		s.late++
	}
	text := sig.Text
	if text == "" {
		text = h.text
	} else {
		h.event.Source = sig.Source
	}
	known := &h.event.TurnOutcome
	known.Interrupted = known.Interrupted || sig.TurnOutcome.Interrupted
	known.Refused = known.Refused || sig.TurnOutcome.Refused
	if sig.TurnOutcome.Error != nil {
		known.Error = sig.TurnOutcome.Error
	}
	if sig.TurnOutcome.Usage != nil {
		known.Usage = sig.TurnOutcome.Usage
	}
	s.complete(h, text)
}

// complete tells that a turn ended, and answers who waits for it.
func (s *session) complete(h *heldTurn, text string) {
	if e := h.event.Error; e != nil { // its last words are no answer
		text = ""
		failure := *e
		failure.Message = clip.Text(s.redact.text(e.Message), maxText)
		h.event.Error = &failure
	}
	response := &runtime.Response{
		Text: text, Turn: h.event.Turn, DurationMs: h.event.DurationMs, TurnOutcome: h.event.TurnOutcome,
	}
	redacted := s.redact.text(text)
	h.event.Text = boundText(redacted)
	if text != "" && !sameText(text, h.text) {
		s.record(runtime.StreamOutput, redacted)
	}
	s.lastMs = h.event.DurationMs
	s.emit(h.event)
	m := h.msg
	if m == nil && h.input != "" {
		// A repeat of a message that an earlier process typed waits for its turn.
		if m = s.repeats[h.input]; m == nil {
			if r := s.inputs.find(h.input); r != nil {
				s.rememberTurn(r, response)
			}
			return
		}
	}
	if m == nil {
		return
	}
	s.remember(m, inputTurn, response)
	s.answer(m, runtime.SendResult{Sent: true, Response: response}, nil)
}

func (s *session) onLogin(sig Signal) {
	s.unblock(sig.Source, "")
	s.agent.Status, s.agent.Reason = runtime.StatusError, runtime.ReasonLoginRequired
	if sig.URL != "" {
		s.agent.LoginURL = sig.URL
	}
	if s.readyTimer != nil {
		s.readyTimer() // who has to log in takes as long as that takes
		s.readyTimer = nil
	}
	if s.turn != nil {
		s.failTurn(sig.Source, &runtime.TurnError{Code: wire.TurnLoginRequired, Message: "the agent needs a login"})
		s.agent.Status, s.agent.Reason = runtime.StatusError, runtime.ReasonLoginRequired
	}
	if !slices.Contains(s.urls, sig.URL) {
		s.urls = append(s.urls, sig.URL)
		s.emit(runtime.Event{Type: runtime.EventLoginRequired, Source: sig.Source, LoginURL: sig.URL, Reason: runtime.ReasonLoginRequired})
	}
	for _, m := range s.takeQueue() {
		s.answer(m, runtime.SendResult{}, errAuth(s.agent.LoginURL))
	}
}

// failTurn completes the turn that cannot go on.
func (s *session) failTurn(source string, why *runtime.TurnError) {
	t := s.turn
	s.turn, s.tool, s.wish = nil, false, wish{}
	s.agent.Turn++
	s.complete(&heldTurn{msg: t.msg, input: t.input, event: runtime.Event{
		Type: runtime.EventTurnComplete, Source: source, Turn: s.agent.Turn, TurnOutcome: s.outcome(t, runtime.TurnOutcome{Error: why}),
		DurationMs: max(0, s.o.Now().Sub(t.started).Milliseconds()),
	}}, "")
}

func (s *session) onError(sig Signal) {
	s.unblock(sig.Source, "")
	reason := sig.Reason
	if reason == "" {
		reason = "error"
	}
	reason = clip.Text(s.redact.text(reason), maxText)
	s.agent.Status, s.agent.Reason = runtime.StatusError, reason
	s.emit(runtime.Event{Type: runtime.EventError, Source: sig.Source, Reason: reason, Text: boundText(s.redact.text(sig.Text))})
}

// onSession keeps the session id where a crash of the machine does not reach it: it brings the agent back.
func (s *session) onSession(id string) {
	id = strings.TrimSpace(id)
	if id == "" || id == s.agent.SessionID {
		return
	}
	s.agent.SessionID = id
	agent := s.agent
	s.do(func() {
		if err := s.a.update(func(r *record) { r.Agent = agent }); err != nil {
			s.logger.Error("the session id of the agent cannot be stored", "error", err)
		}
	}, nil)
}

// watchStuck looks now and then whether the turn shows a sign of life.
func (s *session) watchStuck() {
	if s.stuckTimer != nil {
		s.stuckTimer()
	}
	s.stuckTimer = s.after(s.o.StuckAfter, s.lookStuck)
}

func (s *session) lookStuck() {
	s.stuckTimer = nil
	if s.turn == nil || s.stuck {
		return
	}
	silent := s.silence()
	if s.agent.Status == runtime.StatusBusy && !s.tool && silent >= s.o.StuckAfter {
		s.stuck = true
		s.emit(runtime.Event{Type: runtime.EventStuck, Source: runtime.SourceHost, DurationMs: silent.Milliseconds()})
		return
	}
	s.stuckTimer = s.after(max(s.o.StuckAfter-silent, s.o.StuckAfter/4, time.Millisecond), s.lookStuck)
}
