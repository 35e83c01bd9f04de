package claude

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/failure"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

const (
	// followEvery is how often the transcript of a turn that runs is read for what was said.
	followEvery = 400 * time.Millisecond
	// announceGrace is how long the hook of a turn may follow the title, when a message is on its way.
	announceGrace = 5 * time.Second
	// readEvery is how often the transcript is read for the end of a turn, which claude writes up to a tenth of a second late:
	// readSoon for readFirst from the hook on, and from when the title shows that claude waits.
	readEvery, readSoon, readFirst = 25 * time.Millisecond, 4 * time.Millisecond, 150 * time.Millisecond
	// stopWait is how long the words of a turn that a hook ended may take to be in the transcript.
	stopWait = time.Second
	// failGrace is how long a StopFailure may follow the title, which claude does not wait for as for Stop.
	failGrace = 300 * time.Millisecond
	// spinLimit is after how long without a turn of the title's sign a claude counts no more as one that runs Stop hooks.
	spinLimit = 5 * time.Second
)

var _ agentcli.Announcer = (*driver)(nil)

// Announced implements agentcli.Announcer: the title shows that claude works, and its hook is on its way.
func (d *driver) Announced() bool { return d.beginning != nil }

// announced handles that the title says that a turn begins. Its hook follows: it tells whose message it is, so one that
// is on its way is not taken as such before.
func (d *driver) announced() {
	if d.beginning != nil {
		return
	}
	if !d.inFlight() {
		d.beginUnhooked()
		return
	}
	d.beginning = d.host.After(announceGrace, func() {
		d.beginning = nil
		if d.state.Ready && !d.state.Turn && d.ending == nil && d.title == titleBusy {
			d.beginUnhooked()
		}
	})
}

func (d *driver) stopBeginning() {
	if d.beginning != nil {
		d.beginning()
		d.beginning = nil
	}
}

func (d *driver) beginUnhooked() {
	busy := d.title == titleBusy
	d.begin("")
	d.state.Unhooked, d.sawBusy = true, true                                   // which is how it was noticed
	if times, entered := d.sent.copies.Typed(); d.sent.text != "" && entered { // no hook reports which copy came, nor whether another one follows
		d.sent.over(times, d.host.Now())
	}
	if !busy {
		d.doubt()
	}
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBusy, Source: runtime.SourceOSC})
}

// begin opens a turn, with its id if that is known.
func (d *driver) begin(prompt string) {
	d.stopBeginning()
	// The spinner of the turn before may still be in the title, and its ✳ come only now: that is no end of this one.
	d.sawBusy = d.title == titleBusy && !d.state.Settling
	d.state.Turn, d.state.Prompt, d.state.Unhooked, d.state.Settling, d.early = true, prompt, false, false, false
	d.state.Tools, d.state.Told, d.untold, d.state.Denied, d.state.Stops = map[string]tool{}, 0, 0, false, 0
	d.closing, d.stopping, d.state.Prompted = false, false, false
	d.state.Absorbed, d.state.Popped, d.unabsorbed, d.unpopped = 0, 0, 0, 0
	d.state.Offset = d.file.offset
	d.told.follow(prompt)
	d.turns++
	d.stopDoubt()
	if d.title != titleBusy {
		d.doubt()
	}
	d.follow()
}

// hooked notes that a hook tells of the turn; one whose begin no hook told is opened.
func (d *driver) hooked(p hook.Payload) {
	if !d.state.Turn {
		d.begin(p.PromptID)
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBusy, Source: runtime.SourceHook})
		return
	}
	d.state.Unhooked = false
	if d.state.Prompt == "" && p.PromptID != "" {
		d.state.Prompt = p.PromptID
		d.told.name(p.PromptID)
	}
}

// submitted handles that claude took a prompt, and may yet refuse it.
func (d *driver) submitted(call *agentcli.HookCall, p hook.Payload) {
	d.ready()
	p.Prompt = plain(p.Prompt)
	d.sent.lines = strings.Count(p.Prompt, "\n")
	if d.isMixed(p.Prompt) {
		d.sent.copies.Turned()
		d.refuse(call, refusal)
		d.retype()
		return
	}
	if spare, _ := d.sent.copies.IsSpare(p.Prompt, d.host.Now()); spare {
		d.refuse(call, notAgain)
		return
	}
	if d.state.Turn && d.state.Prompted && p.PromptID != "" && p.PromptID == d.state.Past {
		call.Answer(nil) // it came while the Stop hooks of the turn before ran, and is asked with what waited then
		d.took(p.Prompt)
		return
	}
	known := d.state.Prompt
	if known == "" {
		known = d.told.prompt // of a turn that no hook told
	}
	one := known != "" && known == p.PromptID || known == "" && (d.state.Unhooked || d.state.Prompted && p.PromptID != "")
	if d.state.Turn && !one {
		d.missedEnd(call)
		return
	}
	if d.state.Turn && d.state.Prompted {
		d.queue(call, p.Prompt)
		return
	}
	defer call.Answer(nil)
	switch {
	case d.state.Turn:
		d.hooked(p)
		if d.idleFor != nil {
			d.doubt() // that claude waited before says nothing of this prompt
		}
	case p.PromptID == d.state.Past:
		d.begin("") // a message that claude got before it took note of the end of a turn comes with the id of that one
	default:
		d.begin(p.PromptID)
	}
	d.took(p.Prompt)
}

// took reports that a prompt was taken, and is that of the turn.
func (d *driver) took(prompt string) {
	d.state.Prompted = true
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalTook, Source: runtime.SourceHook, Text: d.taken(prompt)})
}

// refuse keeps a prompt from the model. No turn begins with it, though the title may say so a little later.
func (d *driver) refuse(call *agentcli.HookCall, answer []byte) {
	d.stopBeginning()
	d.state.Settling = d.state.Settling || !d.state.Turn
	call.Answer(answer)
}

// missedEnd ends the turn, of whose end no word came, before the hook of another is taken.
func (d *driver) missedEnd(call *agentcli.HookCall) {
	d.backlog = append([]*agentcli.HookCall{call}, d.backlog...)
	d.conclude(&ending{until: d.host.Now().Add(stopWait), lost: true})
}

// refusal is the answer to a prompt that is not what was sent: the model does not see it.
var refusal = mustJSON(map[string]any{
	"decision": "block", "reason": composer.RefusalReason,
})

// notAgain is the answer to a message that was taken before, or whose caller was answered that it was not and may have sent it again.
var notAgain = mustJSON(map[string]any{
	"decision": "block", "reason": composer.AgainReason,
})

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of constants
	}
	return b
}

// follow reads now and then what was said in the turn.
func (d *driver) follow() {
	if d.following || d.file.read == nil {
		return
	}
	d.following = true
	d.host.After(followEvery, func() {
		d.following = false
		if !d.state.Turn {
			return
		}
		d.look(func() {
			d.tell()
			d.endInterrupted()
		})
		d.follow()
	})
}

// tell reports what was said in the turn since the last call.
func (d *driver) tell() {
	if !d.state.Turn {
		return
	}
	d.absorb()
	for _, text := range d.told.take() {
		if d.untold > 0 {
			d.untold--
			continue
		}
		d.say(text)
	}
}

func (d *driver) say(text string) {
	d.state.Told++
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalText, Source: runtime.SourceHook, Text: text})
}

// stopped handles a hook that ends a turn. Its words are read from the transcript as well, which tells what it used, and
// whether they are an error.
func (d *driver) stopped(call *agentcli.HookCall, p hook.Payload) {
	unnamed := p.PromptID == "" && call.Name == "StopFailure"
	switch {
	case p.AgentID != "": // a helper failed, and claude goes on with that
		d.helperOver(p.AgentID)
		call.Answer(nil)
		return
	case d.stale(p), unnamed && !d.state.Turn: // it came after the title
		call.Answer(nil)
		return
	case unnamed && d.state.Owed != "" && same(p.Answer, d.state.Owed):
		// It came after the next message. Should the turn that runs fail likewise, its transcript tells.
		d.state.Owed = ""
		call.Answer(nil)
		return
	}
	if d.state.Turn && d.state.Prompt != "" && p.PromptID != "" && d.state.Prompt != p.PromptID {
		d.missedEnd(call)
		return
	}
	d.hooked(p)
	e := &ending{hooked: true, text: p.Answer, until: d.host.Now().Add(stopWait)}
	if call.Name == "StopFailure" {
		e.call, e.text, e.until = call, "", d.host.Now().Add(failGrace)
		e.failure = &apiFailure{Kind: p.Error, Text: p.Answer}
	} else {
		d.state.Stops++
		e.stop = d.state.Stops
		if d.file.readable() {
			call.Answer(nil) // what claude does next is in the transcript once all its Stop hooks ended
		} else {
			e.call = call
		}
	}
	d.conclude(e)
}

// ending is the end of a turn that is being read.
type ending struct {
	hooked  bool               // a hook reported it
	call    *agentcli.HookCall // waits for it; may be nil
	stop    int                // it is for so many a Stop hook of the turn; 0: for none
	next    bool               // claude was heard of after the turn
	broken  bool               // an interrupt was asked for meanwhile
	text    string             // the answer, as the hook has it
	failure *apiFailure        // the failure, as the hook has it
	since   time.Time          // when that began
	idled   time.Time          // when the title began to say that claude waits; zero: it did not
	again   func()             // ends the wait for the next look; nil: there was none
	until   time.Time          // when the transcript is waited for no more
	lost    bool               // no hook reported it
	stopped bool               // somebody stopped it
}

// conclude ends the turn once the transcript has its last words. Hooks that come meanwhile wait.
func (d *driver) conclude(e *ending) {
	d.stopDoubt()
	d.ending = e
	e.since = d.host.Now()
	d.readEnd()
}

func (d *driver) readEnd() {
	e := d.ending
	d.look(func() {
		if d.ending != e {
			return
		}
		switch now := d.host.Now(); {
		case d.wentOn(e):
			d.goOn()
		case d.awaited(e, now):
			lasted := now.Sub(e.since)
			if !e.idled.IsZero() {
				lasted = now.Sub(e.idled)
			}
			d.readAgain(e, lasted)
		default:
			d.countHelpers(e, func() { d.concluded(e) })
		}
	})
}

// readAgain reads for an ending once more, the later the longer it lasts.
func (d *driver) readAgain(e *ending, lasted time.Duration) {
	again := readEvery
	switch {
	case lasted < readFirst:
		again = readSoon
	case lasted > stopWait:
		again = doubtEvery
	}
	if e.again != nil {
		e.again()
	}
	e.again = d.host.After(again, func() {
		if d.ending == e {
			d.readEnd()
		}
	})
}

// turnedIdle handles a title that shows that claude waits, while an ending is read. It is no word of that where a dialog may have made
// it say so.
func (d *driver) turnedIdle() {
	if e := d.ending; e != nil && e.stop > 0 && !d.early {
		e.idled = d.host.Now()
		d.readEnd()
	}
}

// awaited reports whether an ending is to be read on. Stop hooks of the user's own run as long as they like.
func (d *driver) awaited(e *ending, now time.Time) bool {
	halted := d.halted(e)
	switch {
	case !d.file.readable(), halted && d.written(e):
		return false
	case now.Before(e.until):
		return true
	}
	if d.title == titleIdle { // it may be written a moment later
		return !halted && now.Sub(d.turned) < stopWait
	}
	return !halted && d.title == titleBusy && now.Sub(d.turned) < spinLimit
}

// halted reports whether claude ended all the Stop hooks of an ending, or was heard of after them. Where it had no other Stop hook the
// last time, the title shows as much, a tenth of a second before the transcript: whether others were stopped it does not show.
func (d *driver) halted(e *ending) bool {
	a := &d.told.account
	return e.stop == 0 || e.next || a.over || a.stops >= e.stop || a.interrupted || a.failure != nil ||
		d.told.alone && !e.idled.IsZero() && !e.broken
}

// wentOn reports whether a Stop hook of the user's own keeps claude at work after the one of an ending.
func (d *driver) wentOn(e *ending) bool {
	a := &d.told.account
	return e.stop > 0 && !e.next && a.stops >= e.stop && a.goesOn
}

// heard takes what a hook that waits tells of an ending: a tool, or another Stop, is of a claude that goes on.
func (d *driver) heard(e *ending, call *agentcli.HookCall) {
	if e.stop == 0 {
		return
	}
	p, err := hook.Parse(call.Payload)
	if err != nil || p.AgentID != "" {
		return
	}
	switch call.Name {
	case "UserPromptSubmit", "SessionEnd":
		// One that a person types while Stop hooks run has the id of the turn, and waits behind it.
		e.next = e.next || call.Name == "SessionEnd" || p.PromptID == "" || p.PromptID != d.state.Prompt
	case "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "Stop", "StopFailure":
		if p.PromptID != "" && p.PromptID == d.state.Prompt {
			d.goOn()
		}
	}
}

// lets reports whether a hook is not to wait for the ending: Stop hooks of the user's own may take minutes, and helpers work on meanwhile.
func (e *ending) lets(call *agentcli.HookCall) bool {
	if e.stop == 0 {
		return false
	}
	p, err := hook.Parse(call.Payload)
	return err == nil && p.AgentID != "" && call.Name != "StopFailure"
}

// goOn goes on with a turn that claude did not end: its words so far are no answer.
func (d *driver) goOn() {
	d.ending = nil
	d.tell()
	if d.title != titleBusy {
		d.doubt()
	}
	d.catchUp()
}

// written reports whether the transcript has the end of the turn.
func (d *driver) written(e *ending) bool {
	a := &d.told.account
	switch {
	case a.failure != nil:
		return true
	case e.failure != nil:
		return false
	case e.lost:
		return a.over || a.interrupted || a.refusal != nil
	case e.stopped:
		return a.interrupted
	case e.text == "":
		return a.final
	}
	return a.final && same(a.last, e.text)
}

func same(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

// concluded ends the turn with what is known of it.
func (d *driver) concluded(e *ending) {
	a := &d.told.account
	out := agentcli.Signal{Source: runtime.SourceHook, Text: e.text}
	switch {
	case e.stopped, e.stop > a.stops && (a.interrupted || e.broken && !a.over): // or while Stop hooks ran
		out.Interrupted = true
	case a.failure != nil:
		out.Error = a.failure.turnError()
	case e.failure != nil:
		out.Error = e.failure.turnError()
	case isErrorText(e.text) && !same(a.last, e.text): // the transcript does not say
		out.Error = (&apiFailure{Text: e.text}).turnError()
	case e.lost && a.refusal != nil:
		out.Error = a.refusal.turnError()
	case e.lost && (a.interrupted || d.stopping && !a.over):
		out.Interrupted = true
	case e.lost && !a.over:
		out.Error = failure.Of(wire.TurnUnknown, "claude went on, and its hooks did not tell how the turn ended")
	case e.lost:
		out.Text, out.Error = a.last, d.silence()
	case strings.TrimSpace(e.text) == "":
		out.Error = d.silence()
	}
	d.ending, d.state.Owed = nil, ""
	if !e.hooked && a.failure != nil {
		d.state.Owed = a.failure.Text
	}
	d.end(out)
	if e.hooked {
		// The title may be read later than the hook: of a short turn both its changes may be still to come. Of a claude
		// that was taken over it is not known.
		d.state.Settling = d.title != titleIdle || !d.sawBusy
	}
	d.dequeue()
	if e.call != nil {
		e.call.Answer(nil)
	}
	d.catchUp()
}

// silence is the error of a turn that ended as usual and said nothing, unless that is for a refusal; nil of one that did.
func (d *driver) silence() *runtime.TurnError {
	if d.told.account.last != "" || d.state.Told > 0 || d.state.Denied {
		return nil
	}
	return failure.Of(wire.TurnUnknown, "claude ended the turn, and neither its hook nor its transcript has an answer")
}

// catchUp takes the hooks that waited for the end of a turn.
func (d *driver) catchUp() {
	backlog := d.backlog
	d.backlog = nil
	for _, call := range backlog {
		d.Hook(call)
	}
}

// end ends the turn: what was said in it and not told, its end, and what that means for the login.
func (d *driver) end(s agentcli.Signal) {
	d.stopDoubt()
	d.tell()
	a := &d.told.account
	if s.Error != nil {
		s.Text = ""
	} else if s.Text != "" && (d.state.Told == 0 || !same(a.last, s.Text)) {
		d.say(s.Text)
	}
	s.Usage = d.used()
	d.dropRequests()
	if d.told.prompt != "" {
		d.state.Past = d.told.prompt
	}
	d.told.leave()
	d.state.Turn, d.state.Prompt, d.state.Unhooked, d.state.Tools = false, "", false, map[string]tool{}
	s.Kind = agentcli.SignalTurnEnd
	d.host.Signal(s)
	if s.Error != nil && s.Error.Code == wire.TurnLoginRequired {
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalLogin, Source: s.Source, Text: s.Error.Message})
	}
}
