package agentcli

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	confirmFirst = time.Second     // for the agent to take a message
	confirmAgain = 5 * time.Second // ... after it was submitted once more, or cannot be: a busy machine is slow
	codeGap      = 150 * time.Millisecond
	endWait      = time.Second // for the typing of a message whose agent ended meanwhile

	missPause     = time.Second // before a message that was not taken is typed again; twice as long each time
	missPauseMost = 8 * time.Second
	missSpare     = time.Second // for typing it
)

// delivery gives messages to the agent, one after the other, and each exactly once: it is typed when the agent waits
// for one, and stays the current one until the agent has shown that it took it. The session's loop owns it.
type delivery struct {
	s         *session
	queue     []*message
	cur       *message // being typed, or typed and not confirmed
	draft     draft
	backlog   backlog
	inputs    *inputs
	repeats   map[string]*message // unanswered messages with an id
	sent      int64
	pumpTimer func()
}

// enqueue takes a message in, or refuses it.
func (d *delivery) enqueue(m *message) {
	if d.s.over {
		d.answer(m, runtime.SendResult{}, d.s.gone())
		return
	}
	if d.repeated(m) {
		return
	}
	bounded, ok := d.s.driver.(Bounded)
	switch {
	case ok && len(m.text) > bounded.MaxMessage():
		m.fail(errTooLong(d.s.agent.Type, bounded.MaxMessage()))
	case d.s.agent.Status == runtime.StatusBlocked:
		m.fail(errBlocked(d.s.agent.Prompt))
	case d.s.loginOpen() && (d.s.agent.LoginURL == "" || !m.mayBeCode()):
		m.fail(errAuth(d.s.agent.LoginURL))
	case len(d.queue) >= maxQueue:
		m.fail(&runtime.Error{Code: runtime.CodeResourceLimit, Message: "the queue of the agent is full", Retry: true})
	default:
		m.code = d.s.loginOpen()
		if m.id != "" {
			d.repeats[m.id] = m
		}
		d.queue = append(d.queue, m)
		d.pump()
	}
}

// repeated answers a message whose id is known; false if it is not.
func (d *delivery) repeated(m *message) bool {
	if m.id == "" {
		return false
	}
	if first := d.repeats[m.id]; first != nil {
		if first.text != m.text {
			m.fail(errOtherText())
			return true
		}
		first.expect = first.expect || m.expect
		m.first = first
		first.repeats = append(first.repeats, m)
		return true
	}
	r := d.inputs.find(m.id)
	if r == nil {
		r = d.takenAs(m)
	}
	if r == nil {
		return false
	}
	switch {
	case r.Sum != textSum(m.text):
		m.fail(errOtherText())
	case (r.State == inputUnknown || r.State == inputTyping) && d.recognised(m, r):
	case r.State == inputUnknown || r.State == inputTyping:
		m.fail(errUnknown("the runtime ended"))
	case m.expect && r.Response != nil:
		m.finish(runtime.SendResult{Sent: true, Response: r.Response}, nil)
	case m.expect && d.s.fusion.turn != nil && d.s.fusion.turn.input == r.ID:
		m.stage = stageTook
		d.repeats[m.id], d.s.fusion.turn.msg = m, m
	case m.expect && d.s.fusion.held != nil && d.s.fusion.held.input == r.ID:
		m.stage = stageTook
		d.repeats[m.id], d.s.fusion.held.msg = m, m
	default:
		m.finish(runtime.SendResult{Sent: true}, nil)
	}
	return true
}

// recognised looks whether the terminal shows that a message was taken which an earlier process was typing when it ended;
// it is then the message of the turn. False: nobody knows.
func (d *delivery) recognised(m *message, r *inputRecord) bool {
	reader, ok := d.s.driver.(echoReader)
	if !ok || r.Line == nil || d.s.agent.Status != runtime.StatusReady || d.s.fusion.turn != nil || d.s.fusion.held != nil || d.cur != nil {
		return false
	}
	if d.s.behind { // the terminal does not show yet what came meanwhile
		d.repeats[m.id] = m // whatever comes first answers it
		d.s.after(pauseAfter, func() {
			if !m.answered {
				delete(d.repeats, m.id)
				d.enqueue(m)
			}
		})
		return true
	}
	d.cur, d.repeats[m.id] = m, m
	m.stage, m.begun, m.strokes = stageTyped, time.Now(), d.s.typist.typedBy()
	if !reader.submittedOn(*r.Line, m.text) {
		d.cur = nil
		delete(d.repeats, m.id)
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
func (d *delivery) answer(m *message, result runtime.SendResult, err error) {
	if m.stop != nil {
		m.stop()
		m.stop = nil
	}
	m.stage = stageDone
	if d.repeats[m.id] == m {
		delete(d.repeats, m.id)
	}
	m.finish(result, err)
}

// takeQueue empties the queue.
func (d *delivery) takeQueue() []*message {
	queue := d.queue
	d.queue = nil
	return queue
}

// pump begins the next message if the agent waits for one.
func (d *delivery) pump() {
	if d.s.over || d.cur != nil || len(d.queue) == 0 || d.s.stopper.cause.Load() != 0 || d.s.behind {
		return
	}
	m := d.queue[0]
	if m.code != d.s.loginOpen() {
		if m.code { // the login is over
			m.code = false
		} else {
			return
		}
	}
	if !m.code && (d.s.agent.Status != runtime.StatusReady || d.s.fusion.turn != nil || d.s.fusion.held != nil) {
		return
	}
	if d.pumpTimer != nil {
		return
	}
	if w, ok := d.s.driver.(keyWatcher); ok && w.undecided() {
		d.pumpLater(pauseAfter)
		return
	}
	if d.unread() {
		if !m.behind {
			m.behind = true
			d.s.book.note("a message waits until what was typed before is read")
		}
		d.pumpLater(pauseAfter)
		return
	}
	// A person who types is looked at twice: first for the hold, and again when the keys are queued.
	if wait := d.s.o.HumanHold - time.Since(d.s.typist.lastHuman()); wait > 0 {
		d.pumpLater(wait)
		return
	}
	d.begin(m)
}

func (d *delivery) pumpLater(wait time.Duration) {
	d.pumpTimer = d.s.after(wait, func() {
		d.pumpTimer = nil
		d.pump()
	})
}

// begin types a message.
func (d *delivery) begin(m *message) {
	var steps []Step
	m.strokes = d.s.typist.typedBy()
	if m.code {
		steps = codeSteps(strings.TrimSpace(m.text))
	} else {
		steps = d.s.driver.Submit(m.text)
	}
	m.line, _ = host{d.s}.Cursor()
	// Before the first key: a repeat after a crash must not type it again.
	if err := d.inputs.note(m, inputTyping, nil); err != nil {
		d.drop(m)
		d.inputs.free(m)
		d.answer(m, runtime.SendResult{}, runtime.Errorf(runtime.CodeInternal, "the message cannot be recorded, so it was not typed"))
		d.s.logger.Error("an input cannot be recorded", "error", err)
		return
	}
	m.job = &typing{steps: steps, done: func(err error, before uint64) {
		d.s.mail.post(func() { d.typed(m, err, before) })
	}}
	wait, ok := d.s.typist.putQuiet(m.job)
	if !ok {
		wait = cmp.Or(wait, d.s.o.HumanHold) // the session ends
		d.remember(m, inputFree, nil)
		d.pumpLater(wait)
		return
	}
	d.drop(m)
	d.cur, m.stage, m.begun = m, stageTyping, time.Now()
	d.s.dirty = true
}

// drop takes a message out of the queue.
func (d *delivery) drop(m *message) {
	d.queue = slices.DeleteFunc(d.queue, func(q *message) bool { return q == m })
}

// afterTyping has the end of the process handled once the message that is being typed is typed, or after a while: its last
// key may be what ended it, as "exit" does to a shell. It returns false if there is nothing to wait for.
func (d *delivery) afterTyping(end func()) bool {
	m := d.cur
	if m == nil || m.stage != stageTyping || m.end != nil {
		return false
	}
	m.end = end
	d.s.after(endWait, end)
	return true
}

// typed handles that the keys of a message, or of its confirmation, were typed.
func (d *delivery) typed(m *message, err error, before uint64) {
	if m.end != nil {
		defer m.end()
	}
	if d.cur != m || d.s.over {
		return
	}
	switch {
	case errors.Is(err, errNotTyped):
		d.cur = nil
		d.remember(m, inputFree, nil)
		d.answer(m, runtime.SendResult{}, errNotRunning(d.s.a.id))
		return
	case err != nil:
		d.unsure(m, "the terminal did not take all of it")
		return
	}
	m.stage = stageTyped
	if w, ok := d.s.driver.(submitWatcher); ok {
		w.submitted(before)
	}
	if d.cur != m {
		return // it was confirmed just now
	}
	wait := confirmFirst
	if m.tried {
		wait = confirmAgain
	}
	if m.code {
		m.stop = d.s.after(wait, func() { d.codeTyped(m, before) })
		return
	}
	m.stop = d.s.after(wait, func() { d.unconfirmed(m) })
}

// codeTyped ends a code that was pasted into a login: any output after it tells that it arrived.
func (d *delivery) codeTyped(m *message, before uint64) {
	if d.cur != m {
		return
	}
	if d.s.display.offset() == before {
		d.unsure(m, "nothing followed")
		return
	}
	d.cur = nil
	d.remember(m, inputSent, nil)
	d.sent++
	d.answer(m, runtime.SendResult{Sent: true}, nil)
}

// unconfirmed looks at a message that was typed and not taken yet. As long as the command has not read it, nothing is typed behind
// it: a command that stood still would take both.
func (d *delivery) unconfirmed(m *message) {
	if d.cur != m {
		return
	}
	m.stop = nil
	d.measure(func(unread int, err error) {
		switch {
		case d.cur != m:
		case err == nil && unread > 0:
			if !m.unread {
				d.s.book.note("a message was typed, and is not read yet")
			}
			m.unread = true
			m.stop = d.s.after(confirmFirst, func() { d.unconfirmed(m) })
		case m.unread: // now it may come
			m.unread = false
			m.stop = d.s.after(confirmAgain, func() { d.unconfirmed(m) })
		default:
			d.untaken(m)
		}
	})
}

// untaken submits a message once more that was read, or gives up.
func (d *delivery) untaken(m *message) {
	if d.s.fusion.turn != nil {
		// Another turn came first. The CLI may hold the message until that ends: Enter is not repeated, and as long
		// as the turn runs nothing can be said.
		m.uncertain, m.held = true, true
		m.stop = d.s.after(confirmAgain, func() { d.unconfirmed(m) })
		return
	}
	if d.s.agent.Prompt != nil {
		// A dialog came in between. It may have taken the keys, or they stand in the line below it: Enter would answer it.
		if !m.dialog {
			d.s.book.note("a message was typed, and a dialog stands in its way")
		}
		m.dialog, m.held = true, true
		m.stop = d.s.after(confirmAgain, func() { d.unconfirmed(m) })
		return
	}
	if a, ok := d.s.driver.(Announcer); ok && a.Announced() { // it is known in a moment
		m.held = true
		m.stop = d.s.after(confirmAgain, func() { d.unconfirmed(m) })
		return
	}
	if m.held { // now it may come
		m.held = false
		m.stop = d.s.after(confirmAgain, func() { d.unconfirmed(m) })
		return
	}
	if d.s.typist.lastHuman().After(m.begun) {
		m.uncertain = true
	}
	if !m.tried && !m.uncertain {
		m.tried = true
		if steps := d.s.driver.Confirm(); len(steps) > 0 {
			m.job = &typing{steps: steps, done: func(err error, before uint64) {
				d.s.mail.post(func() { d.typed(m, err, before) })
			}}
			if d.s.typist.put(m.job) {
				return
			}
		} else { // a type that cannot tell: nothing can be done but to wait for a machine that is busy
			m.uncertain = true
			m.stop = d.s.after(confirmAgain, func() { d.unconfirmed(m) })
			return
		}
	}
	if m.uncertain || m.dialog {
		d.unsure(m, "something else happened")
		return
	}
	d.missed(m)
}

// missed handles that a message was typed and provably not taken: a CLI that still reads a long session drops what it is
// given. It is typed again as long as its caller has the time for it, before all others.
func (d *delivery) missed(m *message) {
	d.cur, d.draft.left = nil, true
	d.remember(m, inputFree, nil)
	d.s.book.note("a message was typed and not taken")
	m.misses++
	pause := min(missPause<<(m.misses-1), missPauseMost)
	if time.Until(m.until) < pause+confirmFirst+confirmAgain+missSpare {
		d.undelivered(m)
		return
	}
	m.stage, m.tried = stageQueued, false
	d.queue = slices.Insert(d.queue, 0, m)
	if d.pumpTimer == nil {
		d.pumpLater(pause)
	}
}

// undelivered gives up a message that was not taken.
func (d *delivery) undelivered(m *message) {
	if f, ok := d.s.driver.(Forgetter); ok {
		f.Forget(m.text)
	}
	d.clearGivenUp(m)
	d.answer(m, runtime.SendResult{}, errNotDelivered())
	d.s.emit(runtime.Event{Type: runtime.EventError, Source: runtime.SourceHost, Reason: runtime.ReasonDelivery})
}

// lateTaken returns the message that was taken after it was given up and before it was typed again, or nil.
func (d *delivery) lateTaken(text string) *message {
	if d.cur != nil || len(d.queue) == 0 || text == "" {
		return nil
	}
	if m := d.queue[0]; m.misses > 0 && sameText(text, m.text) {
		return m
	}
	return nil
}

// unsure ends a message that may have been taken.
func (d *delivery) unsure(m *message, why string) {
	d.cur, d.draft.left = nil, true
	d.remember(m, inputUnknown, nil)
	d.answer(m, runtime.SendResult{}, errUnknown(why))
	d.s.book.note("a message was typed, and " + why)
}

// took handles that the agent took the message that was typed: its turn runs.
func (d *delivery) took(source string) {
	m := d.cur
	d.cur = nil
	if m.stop != nil {
		m.stop()
		m.stop = nil
	}
	d.draft.submitted(m.strokes)
	d.sent++
	d.s.book.record(runtime.StreamInput, d.s.redact.text(m.text))
	if err := d.inputs.noteTurn(m, inputSent, nil, d.s.life, d.s.agent.Turn+1); err != nil {
		d.unrecorded(err)
	}
	m.stage = stageTook
	waits := m
	if !m.expect || m.answered {
		waits = nil
	}
	if d.s.fusion.turn == nil {
		d.s.fusion.beginTurn(source, waits)
	} else {
		d.s.fusion.turn.msg = waits
	}
	d.s.fusion.turn.input, d.s.fusion.turn.words = m.id, textSum(squeeze(m.text))
	if waits == nil {
		d.answer(m, runtime.SendResult{Sent: true}, nil)
	}
}

// abandon ends the wait of a caller who has no more time.
func (d *delivery) abandon(m *message) {
	if m.answered {
		return
	}
	if m.first != nil {
		m.fail(runtime.Errorf(runtime.CodeTimeout, "the first call with this id still waits"))
		return
	}
	switch m.stage {
	case stageQueued:
		d.drop(m)
		d.untyped(m)
	case stageTyping:
		if !m.tried && d.s.typist.take(m.job) {
			d.cur = nil
			d.remember(m, inputFree, nil)
			d.untyped(m)
			return
		}
		m.finish(runtime.SendResult{}, errUnknown("the time was over"))
	case stageTyped:
		// It stays the current one: when it is taken late, the turn is its own.
		m.finish(runtime.SendResult{}, errUnknown("the time was over"))
	case stageTook:
		m.finish(runtime.SendResult{Sent: true}, errTurnLong())
		if d.repeats[m.id] == m {
			delete(d.repeats, m.id)
		}
	case stageDone:
	}
}

// untyped ends a message of which nothing lies in the input line when its caller has no more time.
func (d *delivery) untyped(m *message) {
	if m.misses > 0 {
		d.undelivered(m)
		return
	}
	d.answer(m, runtime.SendResult{}, errWaited())
}

// dismiss answers everybody who still waits when the session ends.
func (d *delivery) dismiss() {
	gone, letGo := d.s.gone(), d.s.agent.Status != runtime.StatusStopped
	for _, m := range d.takeQueue() {
		d.answer(m, runtime.SendResult{}, gone)
	}
	if m := d.cur; m != nil {
		d.cur = nil
		why := "the agent ended"
		switch {
		case d.s.away:
			why = "the agent got out of reach"
		case letGo:
			why = "the runtime ended"
		default:
			d.remember(m, inputUnknown, nil)
		}
		d.answer(m, runtime.SendResult{}, errUnknown(why))
	}
	for _, m := range []*message{d.turnMessage(), d.heldMessage()} {
		if m != nil && !m.answered {
			d.answer(m, runtime.SendResult{Sent: true}, gone)
		}
	}
	for _, m := range d.repeats {
		d.answer(m, runtime.SendResult{}, gone)
	}
}

func (d *delivery) turnMessage() *message {
	if d.s.fusion.turn == nil {
		return nil
	}
	return d.s.fusion.turn.msg
}

func (d *delivery) heldMessage() *message {
	if d.s.fusion.held == nil {
		return nil
	}
	return d.s.fusion.held.msg
}

// remember notes how far a message with an id came.
func (d *delivery) remember(m *message, state string, response *runtime.Response) {
	if err := d.inputs.note(m, state, response); err != nil {
		d.unrecorded(err)
	}
}

func (d *delivery) unrecorded(err error) {
	d.s.logger.Error("an input cannot be recorded", "error", err)
}

// rememberTurn notes the response of a message that an earlier process typed.
func (d *delivery) rememberTurn(r *inputRecord, response *runtime.Response) {
	if err := d.inputs.put(inputRecord{ID: r.ID, Sum: r.Sum, State: inputTurn, Response: response}); err != nil {
		d.unrecorded(err)
	}
}
