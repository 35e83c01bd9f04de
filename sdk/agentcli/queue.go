package agentcli

import (
	"errors"
	"slices"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	confirmFirst = time.Second     // for the agent to take a message
	confirmAgain = 5 * time.Second // ... after it was submitted once more, or cannot be: a busy machine is slow
	codeGap      = 150 * time.Millisecond

	missPause     = time.Second // before a message that was not taken is typed again; twice as long each time
	missPauseMost = 8 * time.Second
	missSpare     = time.Second // for typing it
)

// enqueue takes a message in, or refuses it.
func (s *session) enqueue(m *message) {
	if s.over {
		s.answer(m, runtime.SendResult{}, s.gone())
		return
	}
	if s.repeated(m) {
		return
	}
	switch {
	case s.agent.Status == runtime.StatusBlocked:
		m.fail(errBlocked(s.agent.Prompt))
	case s.loginOpen() && (s.agent.LoginURL == "" || !m.mayBeCode()):
		m.fail(errAuth(s.agent.LoginURL))
	case len(s.queue) >= maxQueue:
		m.fail(&runtime.Error{Code: runtime.CodeResourceLimit, Message: "the queue of the agent is full", Retry: true})
	default:
		m.code = s.loginOpen()
		if m.id != "" {
			s.repeats[m.id] = m
		}
		s.queue = append(s.queue, m)
		s.pump()
	}
}

func (s *session) loginOpen() bool {
	return s.agent.Status == runtime.StatusError && s.agent.Reason == runtime.ReasonLoginRequired
}

// repeated answers a message whose id is known; false if it is not.
func (s *session) repeated(m *message) bool {
	if m.id == "" {
		return false
	}
	if first := s.repeats[m.id]; first != nil {
		if first.text != m.text {
			m.fail(errOtherText())
			return true
		}
		first.expect = first.expect || m.expect
		m.first = first
		first.repeats = append(first.repeats, m)
		return true
	}
	r := s.inputs.find(m.id)
	if r == nil {
		return false
	}
	switch {
	case r.Sum != textSum(m.text):
		m.fail(errOtherText())
	case (r.State == inputUnknown || r.State == inputTyping) && s.recognised(m, r):
	case r.State == inputUnknown || r.State == inputTyping:
		m.fail(errUnknown("the runtime ended"))
	case m.expect && r.Response != nil:
		m.finish(runtime.SendResult{Sent: true, Response: r.Response}, nil)
	case m.expect && s.turn != nil && s.turn.input == m.id:
		m.stage = stageTook
		s.repeats[m.id], s.turn.msg = m, m
	case m.expect && s.held != nil && s.held.input == m.id:
		m.stage = stageTook
		s.repeats[m.id], s.held.msg = m, m
	default:
		m.finish(runtime.SendResult{Sent: true}, nil)
	}
	return true
}

// recognised looks whether the terminal shows that a message was taken which an earlier process was typing when it ended;
// it is then the message of the turn. False: nobody knows.
func (s *session) recognised(m *message, r *inputRecord) bool {
	reader, ok := s.driver.(echoReader)
	if !ok || r.Line == nil || s.agent.Status != runtime.StatusReady || s.turn != nil || s.held != nil || s.cur != nil {
		return false
	}
	if s.behind { // the terminal does not show yet what came meanwhile
		s.repeats[m.id] = m // whatever comes first answers it
		s.after(pauseAfter, func() {
			if !m.answered {
				delete(s.repeats, m.id)
				s.enqueue(m)
			}
		})
		return true
	}
	s.cur, s.repeats[m.id] = m, m
	m.stage, m.begun, m.strokes = stageTyped, time.Now(), s.typist.typedBy()
	if !reader.submittedOn(*r.Line, m.text) {
		s.cur = nil
		delete(s.repeats, m.id)
		return false
	}
	return true
}

func errOtherText() error {
	e := runtime.Errorf(runtime.CodeInvalidArgument, "the id was used for another message")
	e.Field = "id"
	return e
}

// answer ends a message for its caller.
func (s *session) answer(m *message, result runtime.SendResult, err error) {
	if m.stop != nil {
		m.stop()
		m.stop = nil
	}
	m.stage = stageDone
	if s.repeats[m.id] == m {
		delete(s.repeats, m.id)
	}
	m.finish(result, err)
}

// gone is why a session that is over does nothing any more.
func (s *session) gone() error {
	switch {
	case s.agent.Status == runtime.StatusStopped:
		return errNotRunning(s.a.id)
	case s.away:
		return errUnreachable(s.a.id)
	default:
		return &runtime.Error{Code: runtime.CodeUnavailable, Message: "the runtime is closing", Retry: true}
	}
}

// takeQueue empties the queue.
func (s *session) takeQueue() []*message {
	queue := s.queue
	s.queue = nil
	return queue
}

// pump begins the next message if the agent waits for one.
func (s *session) pump() {
	if s.over || s.cur != nil || len(s.queue) == 0 || s.stopping.Load() != 0 || s.behind {
		return
	}
	m := s.queue[0]
	if m.code != s.loginOpen() {
		if m.code { // the login is over
			m.code = false
		} else {
			return
		}
	}
	if !m.code && (s.agent.Status != runtime.StatusReady || s.turn != nil || s.held != nil) {
		return
	}
	if s.pumpTimer != nil {
		return
	}
	if w, ok := s.driver.(keyWatcher); ok && w.undecided() {
		s.pumpLater(pauseAfter)
		return
	}
	// A person who types is looked at twice: first for the hold, and again when the keys are queued.
	if wait := s.o.HumanHold - time.Since(s.typist.lastHuman()); wait > 0 {
		s.pumpLater(wait)
		return
	}
	s.begin(m)
}

func (s *session) pumpLater(wait time.Duration) {
	s.pumpTimer = s.after(wait, func() {
		s.pumpTimer = nil
		s.pump()
	})
}

// begin types a message.
func (s *session) begin(m *message) {
	var steps []Step
	m.strokes = s.typist.typedBy()
	if m.code {
		steps = []Step{{Write: []byte(m.text), Wait: codeGap}, {Write: []byte("\r")}}
	} else {
		steps = s.driver.Submit(m.text)
	}
	m.line, _ = host{s}.Cursor()
	// Before the first key: a repeat after a crash must not type it again.
	if err := s.inputs.note(m, inputTyping, nil); err != nil {
		s.drop(m)
		s.inputs.free(m)
		s.answer(m, runtime.SendResult{}, runtime.Errorf(runtime.CodeInternal, "the message cannot be recorded, so it was not typed"))
		s.logger.Error("an input cannot be recorded", "error", err)
		return
	}
	m.job = &typing{steps: steps, done: func(err error, before uint64) {
		s.mail.post(func() { s.typed(m, err, before) })
	}}
	wait, ok := s.typist.putQuiet(m.job)
	if !ok {
		if wait == 0 {
			wait = s.o.HumanHold // the session ends
		}
		s.remember(m, inputFree, nil)
		s.pumpLater(wait)
		return
	}
	s.drop(m)
	s.cur, m.stage, m.begun = m, stageTyping, time.Now()
	s.dirty = true
}

// drop takes a message out of the queue.
func (s *session) drop(m *message) {
	s.queue = slices.DeleteFunc(s.queue, func(q *message) bool { return q == m })
}

// typed handles that the keys of a message, or of its confirmation, were typed.
func (s *session) typed(m *message, err error, before uint64) {
	if s.cur != m || s.over {
		return
	}
	switch {
	case errors.Is(err, errNotTyped):
		s.cur = nil
		s.remember(m, inputFree, nil)
		s.answer(m, runtime.SendResult{}, errNotRunning(s.a.id))
		return
	case err != nil:
		s.unsure(m, "the terminal did not take all of it")
		return
	}
	m.stage = stageTyped
	if w, ok := s.driver.(submitWatcher); ok {
		w.submitted(before)
	}
	if s.cur != m {
		return // it was confirmed just now
	}
	wait := confirmFirst
	if m.tried {
		wait = confirmAgain
	}
	if m.code {
		m.stop = s.after(wait, func() { s.codeTyped(m, before) })
		return
	}
	m.stop = s.after(wait, func() { s.unconfirmed(m) })
}

// codeTyped ends a code that was pasted into a login: any output after it tells that it arrived.
func (s *session) codeTyped(m *message, before uint64) {
	if s.cur != m {
		return
	}
	if s.display.offset() == before {
		s.unsure(m, "nothing followed")
		return
	}
	s.cur = nil
	s.remember(m, inputSent, nil)
	s.sent++
	s.answer(m, runtime.SendResult{Sent: true}, nil)
}

// unconfirmed submits a message once more, or gives up.
func (s *session) unconfirmed(m *message) {
	if s.cur != m {
		return
	}
	m.stop = nil
	if s.turn != nil {
		// Another turn came first. The CLI may hold the message until that ends: Enter is not repeated, and as long
		// as the turn runs nothing can be said.
		m.muddled, m.held = true, true
		m.stop = s.after(confirmAgain, func() { s.unconfirmed(m) })
		return
	}
	if m.held { // now it may come
		m.held = false
		m.stop = s.after(confirmAgain, func() { s.unconfirmed(m) })
		return
	}
	if s.typist.lastHuman().After(m.begun) {
		m.muddled = true
	}
	if !m.tried && !m.muddled {
		m.tried = true
		if steps := s.driver.Confirm(); len(steps) > 0 {
			m.job = &typing{steps: steps, done: func(err error, before uint64) {
				s.mail.post(func() { s.typed(m, err, before) })
			}}
			if s.typist.put(m.job) {
				return
			}
		} else { // a type that cannot tell: nothing can be done but to wait for a machine that is busy
			m.muddled = true
			m.stop = s.after(confirmAgain, func() { s.unconfirmed(m) })
			return
		}
	}
	if m.muddled {
		s.unsure(m, "something else happened")
		return
	}
	s.missed(m)
}

// missed handles that a message was typed and provably not taken: a CLI that still reads a long session drops what it is
// given. It is typed again as long as its caller has the time for it, before all others.
func (s *session) missed(m *message) {
	s.cur, s.draft.left = nil, true
	s.remember(m, inputFree, nil)
	s.note("a message was typed and not taken")
	m.misses++
	pause := min(missPause<<(m.misses-1), missPauseMost)
	if time.Until(m.until) < pause+confirmFirst+confirmAgain+missSpare {
		s.undelivered(m)
		return
	}
	m.stage, m.tried = stageQueued, false
	s.queue = slices.Insert(s.queue, 0, m)
	if s.pumpTimer == nil {
		s.pumpLater(pause)
	}
}

// undelivered gives up a message that was not taken.
func (s *session) undelivered(m *message) {
	s.answer(m, runtime.SendResult{}, errNotDelivered())
	s.emit(runtime.Event{Type: runtime.EventError, Source: runtime.SourceHost, Reason: runtime.ReasonDelivery})
}

// lateTaken returns the message that was taken after it was given up and before it was typed again, or nil.
func (s *session) lateTaken(text string) *message {
	if s.cur != nil || len(s.queue) == 0 || text == "" {
		return nil
	}
	if m := s.queue[0]; m.misses > 0 && sameText(text, m.text) {
		return m
	}
	return nil
}

// unsure ends a message that may have been taken.
func (s *session) unsure(m *message, why string) {
	s.cur, s.draft.left = nil, true
	s.remember(m, inputUnknown, nil)
	s.answer(m, runtime.SendResult{}, errUnknown(why))
	s.note("a message was typed, and " + why)
}

// took handles that the agent took the message that was typed: its turn runs.
func (s *session) took(source string) {
	m := s.cur
	s.cur = nil
	if m.stop != nil {
		m.stop()
		m.stop = nil
	}
	s.draft.submitted(m.strokes)
	s.sent++
	s.record(runtime.StreamInput, s.redact.text(m.text))
	if err := s.inputs.noteTurn(m, inputSent, nil, s.life, s.agent.Turn+1); err != nil {
		s.unrecorded(err)
	}
	m.stage = stageTook
	waits := m
	if !m.expect || m.answered {
		waits = nil
	}
	if s.turn == nil {
		s.beginTurn(source, waits)
	} else {
		s.turn.msg = waits
	}
	s.turn.input = m.id
	if waits == nil {
		s.answer(m, runtime.SendResult{Sent: true}, nil)
	}
}

// abandon ends the wait of a caller who has no more time.
func (s *session) abandon(m *message) {
	if m.answered {
		return
	}
	if m.first != nil {
		m.fail(runtime.Errorf(runtime.CodeTimeout, "the first call with this id still waits"))
		return
	}
	switch m.stage {
	case stageQueued:
		s.drop(m)
		s.untyped(m)
	case stageTyping:
		if !m.tried && s.typist.take(m.job) {
			s.cur = nil
			s.remember(m, inputFree, nil)
			s.untyped(m)
			return
		}
		m.finish(runtime.SendResult{}, errUnknown("the time was over"))
	case stageTyped:
		// It stays the current one: when it is taken late, the turn is its own.
		m.finish(runtime.SendResult{}, errUnknown("the time was over"))
	case stageTook:
		m.finish(runtime.SendResult{Sent: true}, errTurnLong())
		if s.repeats[m.id] == m {
			delete(s.repeats, m.id)
		}
	case stageDone:
	}
}

// untyped ends a message of which nothing lies in the input line when its caller has no more time.
func (s *session) untyped(m *message) {
	if m.misses > 0 {
		s.undelivered(m)
		return
	}
	s.answer(m, runtime.SendResult{}, errWaited())
}

// dismiss answers everybody who still waits when the session ends.
func (s *session) dismiss() {
	gone, letGo := s.gone(), s.agent.Status != runtime.StatusStopped
	for _, m := range s.takeQueue() {
		s.answer(m, runtime.SendResult{}, gone)
	}
	if m := s.cur; m != nil {
		s.cur = nil
		why := "the agent ended"
		switch {
		case s.away:
			why = "the agent got out of reach"
		case letGo:
			why = "the runtime ended"
		default:
			s.remember(m, inputUnknown, nil)
		}
		s.answer(m, runtime.SendResult{}, errUnknown(why))
	}
	for _, m := range []*message{s.turnMessage(), s.heldMessage()} {
		if m != nil && !m.answered {
			s.answer(m, runtime.SendResult{Sent: true}, gone)
		}
	}
	for _, m := range s.repeats {
		s.answer(m, runtime.SendResult{}, gone)
	}
}

func (s *session) turnMessage() *message {
	if s.turn == nil {
		return nil
	}
	return s.turn.msg
}

func (s *session) heldMessage() *message {
	if s.held == nil {
		return nil
	}
	return s.held.msg
}

// remember notes how far a message with an id came.
func (s *session) remember(m *message, state string, response *runtime.Response) {
	if err := s.inputs.note(m, state, response); err != nil {
		s.unrecorded(err)
	}
}

func (s *session) unrecorded(err error) { s.logger.Error("an input cannot be recorded", "error", err) }

// rememberTurn notes the response of a message that an earlier process typed.
func (s *session) rememberTurn(r *inputRecord, response *runtime.Response) {
	if err := s.inputs.put(inputRecord{ID: r.ID, Sum: r.Sum, State: inputTurn, Response: response}); err != nil {
		s.unrecorded(err)
	}
}
