package agentcli

import (
	"cmp"
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
	words   string // sum of those of the message that began it, or empty
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
	words  string // as turn.words, if somebody interrupted it other than in the terminal
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

// fusion is the state machine of a session: it fuses what the driver and the session itself saw into turns and into
// the state of the agent, and tells of both in events. The session's loop owns it.
type fusion struct {
	s          *session
	turn       *turn
	held       *heldTurn
	late       int // announced texts of turns that did not wait for them
	trust      int // of the best source that began a turn
	lastMs     int64
	lastEnd    time.Time // when the last turn ended
	stuck      bool      // told in this turn
	tool       bool      // a tool runs
	tools      []running // those of the turn whose end was not told yet, oldest first
	stuckTimer func()
}

// running is a tool that runs.
type running struct {
	name  string
	since time.Time
}

// maxRunning bounds the tools whose end is waited for: of more, the oldest are forgotten.
const maxRunning = 64

// Bounds of what a prompt holds: its options, each of their labels in bytes, and the name of a tool.
const (
	maxOptions = 32
	maxLabel   = 1 << 10
	maxTool    = 200
)

// mayStart reports whether a source may begin a turn: one that is less trusted than those that began turns
// before only repeats late what is known.
func (f *fusion) mayStart(source string) bool {
	if source == runtime.SourceHost {
		return true
	}
	return source != runtime.SourceScreen && rank(source) >= f.trust
}

// signal fuses what the driver saw into the state.
func (f *fusion) signal(sig Signal) {
	if f.s.over || f.s.replays {
		return
	}
	f.s.dirty = true
	f.s.alive()
	switch sig.Kind {
	case SignalIdle:
		f.onIdle(sig)
	case SignalBusy:
		f.onBusy(sig, "")
	case SignalTook:
		f.onBusy(sig, sig.Text)
	case SignalBlocked:
		f.onBlocked(sig)
	case SignalUnblocked:
		f.onUnblocked(sig)
	case SignalTool:
		f.onTool(sig)
	case SignalToolDone:
		f.onToolDone(sig)
	case SignalText:
		f.onText(sig)
	case SignalTurnEnd:
		f.onTurnEnd(sig)
	case SignalAnswer:
		f.onAnswer(sig)
	case SignalLogin:
		f.onLogin(sig)
	case SignalError:
		f.onError(sig)
	case SignalSession:
		f.onSession(sig.Text)
	default:
		f.s.logger.Warn("the driver gave a signal that is not known", "signal", sig.Kind)
	}
}

func (f *fusion) onIdle(sig Signal) {
	switch {
	case f.turn != nil:
		f.endTurn(Signal{Source: sig.Source}, idleWait)
	case f.s.agent.Status != runtime.StatusReady:
		f.becomeReady(sig.Source)
	}
}

// becomeReady ends start-up, a login or an error.
func (f *fusion) becomeReady(source string) {
	f.s.agent.Status, f.s.agent.Reason, f.s.agent.LoginURL, f.s.agent.Prompt = runtime.StatusReady, "", "", nil
	f.s.ready, f.s.urls = true, nil
	if f.s.readyTimer != nil {
		f.s.readyTimer()
		f.s.readyTimer = nil
	}
	f.s.emit(runtime.Event{Type: runtime.EventReady, Source: source})
}

// onBusy handles that a turn runs, and that a message was taken: text is what was, if it is known.
func (f *fusion) onBusy(sig Signal, text string) {
	if m := f.s.delivery.lateTaken(text); m != nil {
		f.s.delivery.drop(m)
		f.s.delivery.cur = m
		f.s.delivery.took(sig.Source)
		return
	}
	if m := f.s.delivery.cur; m != nil && m.stage != stageQueued && (text == "" || sameText(text, m.text)) {
		f.s.delivery.took(sig.Source)
		return
	}
	switch f.s.agent.Status {
	case runtime.StatusBlocked:
		f.unblock(sig.Source, "")
		if f.turn == nil && f.mayStart(sig.Source) {
			f.beginTurn(sig.Source, nil)
		}
	case runtime.StatusReady, runtime.StatusError:
		if f.turn == nil && f.mayStart(sig.Source) {
			f.beginTurn(sig.Source, nil)
		}
	case runtime.StatusStarting:
		if f.turn == nil && sig.Kind == SignalTook && f.mayStart(sig.Source) {
			f.beginTurn(sig.Source, nil)
		}
	case runtime.StatusBusy, runtime.StatusStopped:
	}
	if text != "" && f.turn != nil && f.turn.msg == nil && f.turn.input == "" {
		f.settleUncertain(text)
	}
}

// settleUncertain recognises the message that an earlier process was typing when it ended by what the agent says that it
// took: the turn is the message's own, and a repeat of it gets its response.
func (f *fusion) settleUncertain(text string) {
	r := f.s.delivery.inputs.uncertain(text)
	if r == nil {
		return
	}
	f.turn.input, f.turn.words = r.ID, r.Words
	known := inputRecord{ID: r.ID, Sum: r.Sum, Words: r.Words, State: inputSent, Life: f.s.life, Turn: f.s.agent.Turn + 1}
	if err := f.s.delivery.inputs.put(known); err != nil {
		f.s.delivery.unrecorded(err)
	}
	f.s.delivery.takenMeanwhile()
}

// beginTurn opens a turn, for a message if one began it.
func (f *fusion) beginTurn(source string, m *message) {
	f.release(Signal{Source: source})
	f.turn = &turn{started: f.s.o.Now(), source: source, msg: m}
	if m != nil {
		f.turn.input = m.id
	}
	if source != runtime.SourceHost {
		f.trust = max(f.trust, rank(source))
	}
	f.s.agent.Status, f.s.agent.Reason, f.s.agent.LoginURL = runtime.StatusBusy, "", ""
	f.s.ready, f.stuck, f.tool, f.tools = true, false, false, nil
	f.s.emit(runtime.Event{Type: runtime.EventBusy, Source: source, Turn: f.s.agent.Turn + 1})
	f.watchStuck()
}

func (f *fusion) onBlocked(sig Signal) {
	if sig.Prompt == nil {
		f.s.logger.Warn("the driver told of a prompt without one")
		return
	}
	// What only the screen shows is no turn, and in the way of one: a message that was typed waits.
	shown := sig.Source == runtime.SourceScreen
	if m := f.s.delivery.cur; m != nil && m.stage == stageTyped && !shown {
		f.s.delivery.took(sig.Source)
	}
	if f.turn == nil && !shown {
		if !f.mayStart(sig.Source) {
			return
		}
		f.beginTurn(sig.Source, nil)
	}
	if p := f.s.agent.Prompt; p != nil {
		if p.ID == sig.Prompt.ID {
			f.s.agent.Prompt = f.clean(sig.Prompt)
			return
		}
		f.unblock(sig.Source, "")
	}
	f.s.agent.Status, f.s.agent.Prompt = runtime.StatusBlocked, f.clean(sig.Prompt)
	kind := runtime.EventBlocked
	if sig.Prompt.Kind == runtime.PromptQuestion {
		kind = runtime.EventQuestion
	}
	f.s.emit(runtime.Event{Type: kind, Source: sig.Source, Prompt: f.s.agent.Prompt})
}

// clean returns a prompt without secrets, and of a size that events hold.
func (f *fusion) clean(p *runtime.Prompt) *runtime.Prompt {
	c := *p
	c.Tool, c.Options = f.toolName(p.Tool), slices.Clone(p.Options[:min(len(p.Options), maxOptions)])
	for i := range c.Options {
		c.Options[i].Label = clip.Text(f.s.redact.text(c.Options[i].Label), maxLabel)
	}
	c.Text, c.Input = shortened(f.s.redact.text(p.Text), maxEventInput), boundInput(f.s.redact.object(p.Input))
	return &c
}

func (f *fusion) toolName(name string) string { return clip.Text(f.s.redact.text(name), maxTool) }

func (f *fusion) onUnblocked(sig Signal) {
	if f.s.agent.Prompt == nil {
		return
	}
	if sig.Unanswered {
		f.s.wish.Prompt, f.s.wish.Answer = "", nil
	}
	f.unblock(sig.Source, sig.Choice)
	if f.s.agent.Status == runtime.StatusReady { // it stood outside of a turn
		f.s.emit(runtime.Event{Type: runtime.EventReady, Source: sig.Source})
	}
}

// unblock ends the open prompt; a turn goes on.
func (f *fusion) unblock(source, choice string) {
	p := f.s.agent.Prompt
	if p == nil {
		return
	}
	if w := &f.s.wish; choice == "" && w.Prompt == p.ID && w.Answer != nil { // given, perhaps by an earlier process, and not seen to be taken
		choice = w.Answer.Choice
	}
	f.s.agent.Prompt = nil
	f.s.wish.Prompt, f.s.wish.Answer = "", nil
	if f.turn != nil && isRefusal(p, choice) {
		f.turn.refused = true
	}
	switch {
	case f.s.agent.Status != runtime.StatusBlocked:
	case f.turn != nil:
		f.s.agent.Status = runtime.StatusBusy
	case f.s.ready:
		f.s.agent.Status = runtime.StatusReady
	default:
		f.s.agent.Status = runtime.StatusStarting
		f.s.waitReadyAnew()
	}
	f.s.emit(runtime.Event{Type: runtime.EventUnblocked, Source: source, Prompt: p, Answered: choice})
}

// isRefusal reports whether an answer refuses what a prompt asks to be allowed.
func isRefusal(p *runtime.Prompt, choice string) bool {
	return p != nil && p.Kind == runtime.PromptApproval && choice == runtime.ChoiceDeny
}

func (f *fusion) onTool(sig Signal) {
	if f.turn == nil && f.mayStart(sig.Source) {
		f.beginTurn(sig.Source, nil)
	}
	f.tool = true
	var tool *runtime.ToolCall
	if sig.Tool != nil {
		tool = &runtime.ToolCall{Name: f.toolName(sig.Tool.Name), Input: boundInput(f.s.redact.object(sig.Tool.Input))}
		if len(f.tools) >= maxRunning {
			f.tools = slices.Delete(f.tools, 0, 1)
		}
		f.tools = append(f.tools, running{name: tool.Name, since: f.s.o.Now()})
	}
	f.s.emit(runtime.Event{Type: runtime.EventToolRunning, Source: sig.Source, Tool: tool})
}

// onToolDone reports the end of the oldest tool of the name. What began in a turn before, or under an earlier process of
// the runtime, is not told.
func (f *fusion) onToolDone(sig Signal) {
	f.tool = false
	if sig.Tool == nil {
		return
	}
	name := f.toolName(sig.Tool.Name)
	i := slices.IndexFunc(f.tools, func(r running) bool { return r.name == name })
	if i < 0 {
		return
	}
	e := runtime.Event{
		Type: runtime.EventToolDone, Source: sig.Source, Tool: &runtime.ToolCall{Name: name},
		DurationMs: max(f.s.o.Now().Sub(f.tools[i].since), 0).Milliseconds(),
	}
	if sig.Failed {
		e.Reason = runtime.ToolFailed
	}
	f.tools = slices.Delete(f.tools, i, i+1)
	f.s.emit(e)
}

func (f *fusion) onText(sig Signal) {
	if sig.Text == "" {
		return
	}
	if f.turn != nil {
		f.turn.say(sig.Text)
	}
	text := f.s.redact.text(sig.Text)
	f.s.store() // what the driver has told comes before the event: after a crash it is not told again
	f.s.book.record(runtime.StreamOutput, text)
	f.s.emit(runtime.Event{Type: runtime.EventMessage, Source: sig.Source, Text: boundText(text)})
}

func (f *fusion) onTurnEnd(sig Signal) {
	if f.turn == nil {
		if f.held != nil && (sig.Text != "" || sig.TurnOutcome.Error != nil) {
			f.release(sig)
			return
		}
		if f.s.agent.Status != runtime.StatusReady {
			f.onIdle(sig)
		}
		return
	}
	wait := time.Duration(0)
	if sig.TextFollows {
		wait = textWait
	}
	f.endTurn(sig, wait)
}

// endTurn closes the turn. With a wait its event is held for the text; the agent is ready at once.
func (f *fusion) endTurn(sig Signal, wait time.Duration) {
	t := f.turn
	if sig.TurnOutcome.Interrupted { // some CLIs put the message back into the input line
		f.s.delivery.draft.left = true
	}
	f.unblock(sig.Source, "")
	words := ""
	if f.s.wish.Stop == f.s.agent.Turn+1 {
		words = t.words
	}
	f.turn, f.tool, f.tools, f.s.wish = nil, false, nil, wish{}
	f.s.agent.Turn++
	f.s.agent.Status, f.s.agent.Reason, f.s.agent.LoginURL = runtime.StatusReady, "", ""
	f.s.ready = true
	f.lastEnd = f.s.o.Now()
	h := &heldTurn{
		event: runtime.Event{
			Type: runtime.EventTurnComplete, Source: sig.Source, Turn: f.s.agent.Turn,
			DurationMs: max(0, f.lastEnd.Sub(t.started).Milliseconds()), TurnOutcome: f.outcome(t, sig.TurnOutcome),
		},
		msg: t.msg, input: t.input, text: t.text, words: words,
	}
	if e := sig.TurnOutcome.Error; e != nil && e.Code == wire.TurnLoginRequired { // it is not ready in between
		f.s.agent.Status, f.s.agent.Reason = runtime.StatusError, runtime.ReasonLoginRequired
		f.complete(h, "")
		f.onLogin(Signal{Source: sig.Source})
		return
	}
	if sig.Text != "" || wait == 0 {
		f.complete(h, cmp.Or(sig.Text, h.text))
		f.s.emit(runtime.Event{Type: runtime.EventReady, Source: sig.Source})
		return
	}
	f.held, h.owed = h, sig.TextFollows
	h.cancel = f.s.after(wait, func() { f.release(Signal{Source: sig.Source}) })
	// How it ended is in no event yet, so that it is stored before the one that shows the end.
	f.s.dirty = true
	f.s.store()
	h.told = true
	f.s.emit(runtime.Event{Type: runtime.EventReady, Source: sig.Source})
}

// onAnswer gives the turn that waits for its text what was announced. What comes for a turn that does not wait any more is
// for nobody, and least of all for the turn after it.
func (f *fusion) onAnswer(sig Signal) {
	if f.late > 0 {
		f.late--
		return
	}
	if f.held != nil {
		f.held.owed = false
		f.release(sig)
	}
}

// outcome is how a turn ended by what was seen in it and what its end says.
func (f *fusion) outcome(t *turn, told runtime.TurnOutcome) runtime.TurnOutcome {
	told.Refused = told.Refused || t.refused
	return told
}

// release completes the turn that waits for its text, if one does, with what is known of it by now.
func (f *fusion) release(sig Signal) {
	h := f.held
	if h == nil {
		return
	}
	f.held = nil
	h.cancel()
	if h.owed {
		f.late++
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
	f.complete(h, text)
}

// complete reports that a turn ended, and answers who waits for it.
func (f *fusion) complete(h *heldTurn, text string) {
	if e := h.event.Error; e != nil { // its last words are no answer
		text = ""
		failure := *e
		failure.Message = clip.Text(f.s.redact.text(e.Message), maxText)
		h.event.Error = &failure
	}
	redacted := f.s.redact.text(text)
	response := &runtime.Response{
		Text: text, Turn: h.event.Turn, DurationMs: h.event.DurationMs, TurnOutcome: h.event.TurnOutcome,
	}
	if h.input != "" { // it is kept for repeats of the message, which get the same, and callers keep it as well
		response.Text = redacted
	}
	h.event.Text = boundText(redacted)
	if text != "" && !sameText(text, h.text) {
		f.s.book.record(runtime.StreamOutput, redacted)
	}
	f.lastMs = h.event.DurationMs
	if h.event.Interrupted && h.words != "" {
		f.s.delivery.clearPutBack(h.words)
	}
	f.s.emit(h.event)
	f.s.copies.turnEnded()
	m := h.msg
	if m == nil && h.input != "" {
		// A repeat of a message that an earlier process typed waits for its turn.
		if m = f.s.delivery.repeats[h.input]; m == nil {
			if r := f.s.delivery.inputs.find(h.input); r != nil {
				f.s.delivery.rememberTurn(r, response)
			}
			return
		}
	}
	if m == nil {
		return
	}
	f.s.delivery.remember(m, inputTurn, response)
	if r := f.s.delivery.inputs.find(h.input); r != nil && r.ID != m.id { // the message was sent again under another id
		f.s.delivery.rememberTurn(r, response)
	}
	f.s.delivery.answer(m, runtime.SendResult{Sent: true, Response: response}, nil)
}

// maxURLs bounds the addresses of logins that are remembered, the latest ones, lest a screen that shows ever other ones grows
// the record of its session.
const maxURLs = 16

func (f *fusion) onLogin(sig Signal) {
	f.unblock(sig.Source, "")
	f.s.agent.Status, f.s.agent.Reason = runtime.StatusError, runtime.ReasonLoginRequired
	if sig.URL != "" {
		f.s.agent.LoginURL = sig.URL
	}
	if f.s.readyTimer != nil {
		f.s.readyTimer() // who has to log in takes as long as that takes
		f.s.readyTimer = nil
	}
	if f.turn != nil {
		f.failTurn(sig.Source, &runtime.TurnError{Code: wire.TurnLoginRequired, Message: "the agent needs a login"})
		f.s.agent.Status, f.s.agent.Reason = runtime.StatusError, runtime.ReasonLoginRequired
	}
	if !slices.Contains(f.s.urls, sig.URL) {
		f.s.urls = append(f.s.urls, sig.URL)
		f.s.urls = f.s.urls[max(0, len(f.s.urls)-maxURLs):]
		f.s.emit(runtime.Event{Type: runtime.EventLoginRequired, Source: sig.Source, LoginURL: sig.URL, Reason: runtime.ReasonLoginRequired})
	}
	for _, m := range f.s.delivery.takeQueue() {
		f.s.delivery.answer(m, runtime.SendResult{}, errAuth(f.s.agent.LoginURL))
	}
}

// failTurn completes the turn that cannot go on.
func (f *fusion) failTurn(source string, why *runtime.TurnError) {
	t := f.turn
	f.turn, f.tool, f.tools, f.s.wish = nil, false, nil, wish{}
	f.s.agent.Turn++
	f.complete(&heldTurn{msg: t.msg, input: t.input, event: runtime.Event{
		Type: runtime.EventTurnComplete, Source: source, Turn: f.s.agent.Turn, TurnOutcome: f.outcome(t, runtime.TurnOutcome{Error: why}),
		DurationMs: max(0, f.s.o.Now().Sub(t.started).Milliseconds()),
	}}, "")
}

func (f *fusion) onError(sig Signal) {
	f.unblock(sig.Source, "")
	reason := cmp.Or(sig.Reason, "error")
	reason = clip.Text(f.s.redact.text(reason), maxText)
	f.s.agent.Status, f.s.agent.Reason = runtime.StatusError, reason
	f.s.emit(runtime.Event{Type: runtime.EventError, Source: sig.Source, Reason: reason, Text: boundText(f.s.redact.text(sig.Text))})
}

// onSession keeps the session id where a crash of the machine does not reach it: it brings the agent back.
func (f *fusion) onSession(id string) {
	id = strings.TrimSpace(id)
	if id == "" || id == f.s.agent.SessionID {
		return
	}
	f.s.agent.SessionID = id
	agent := f.s.agent
	f.s.do(func() {
		if err := f.s.a.update(func(r *record) { r.Agent = agent }); err != nil {
			f.s.logger.Error("the session id of the agent cannot be stored", "error", err)
		}
	}, nil)
}

// watchStuck looks now and then whether the turn shows a sign of life.
func (f *fusion) watchStuck() {
	if f.stuckTimer != nil {
		f.stuckTimer()
	}
	f.stuckTimer = f.s.after(f.s.o.StuckAfter, f.lookStuck)
}

func (f *fusion) lookStuck() {
	f.stuckTimer = nil
	if f.turn == nil || f.stuck {
		return
	}
	silent := f.s.silence()
	if f.s.agent.Status == runtime.StatusBusy && !f.tool && silent >= f.s.o.StuckAfter {
		f.stuck = true
		f.s.emit(runtime.Event{Type: runtime.EventStuck, Source: runtime.SourceHost, DurationMs: silent.Milliseconds()})
		return
	}
	f.stuckTimer = f.s.after(max(f.s.o.StuckAfter-silent, f.s.o.StuckAfter/4, time.Millisecond), f.lookStuck)
}
