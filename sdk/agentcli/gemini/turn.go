package gemini

import (
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
	// readLimit is how long anything waits for the transcript, which is read in milliseconds.
	readLimit = 3 * time.Second
	// followEvery is how often the transcript is read while a turn runs.
	followEvery = 500 * time.Millisecond
	// endPatience is how long a turn that seems to have ended may lack a sign of how; longPatience is that after a dialog,
	// which gemini may answer by trying again.
	endPatience  = 2 * time.Second
	longPatience = 6 * time.Second
	// titlePause is after how long the title is believed that it has not changed: gemini draws late.
	titlePause = time.Second
	// announceGrace is how long the hook of a turn may follow the title, when a message is on its way.
	announceGrace = 5 * time.Second
	// reasonLimit is how long the reason of a refusal may take to be taken.
	reasonLimit = 8 * time.Second
)

// nudge begins the prompt with which gemini itself asks a model for words that said nothing to the result of a tool: the turn goes on.
const nudge = "[System: You successfully executed a tool"

// refusal is the answer to a prompt that is not what was sent: the model does not see it.
const refusal = `{"decision":"block","reason":"` + composer.RefusalReason + `"}`

// notAgain is the answer to a message that was taken before, or whose caller was answered that it was not.
const notAgain = `{"decision":"block","reason":"` + composer.AgainReason + `"}`

// isMixed reports whether a prompt is the message on its way with something else.
func (d *driver) isMixed(prompt string) bool {
	return d.sent.Pending() && d.host.Now().Sub(d.sentAt) < composer.Flight && composer.Mixed(prompt, d.sentText)
}

// joined reports whether a prompt is a message and others that waited with it for the end of a turn: gemini makes one of them.
func joined(prompt, message string) bool {
	const between = "\n\n"
	message = strings.TrimSpace(composer.Plain(message))
	all := between + strings.ReplaceAll(prompt, between+joiner, between) + between
	if !strings.Contains(all, between+message+between) {
		return false
	}
	return composer.Solid(strings.ReplaceAll(all, message, "")) != "" // its own copies alone are typed anew
}

// refuse keeps a prompt from the model. No turn begins with it, though the title may say so a little later. A message that is to be typed
// again is, when the session asks for it, and the reason of a refusal as that was to be confirmed.
func (d *driver) refuse(call *agentcli.HookCall, answer string) {
	d.stopBeginning()
	d.refusedAt = d.host.Now()
	call.Answer([]byte(answer))
}

// refused reports whether the title may be about a prompt that was refused.
func (d *driver) refused() bool {
	return !d.refusedAt.IsZero() && d.host.Now().Sub(d.refusedAt) < announceGrace
}

// beforeAgent takes that gemini begins to work: on a message, or again on what it had.
func (d *driver) beforeAgent(p hook.Payload, call *agentcli.HookCall) {
	waited, prompt := d.sent.Pending(), plain(p.Prompt)
	if waited && d.sentTurns != d.turns && joined(prompt, d.sentText) {
		prompt = d.sentText
	}
	if d.isMixed(prompt) {
		d.mixed = true
		d.copies.Turned()
		d.refuse(call, refusal)
		return
	}
	if spare, _ := d.copies.IsSpare(prompt, d.host.Now()); spare {
		d.refuse(call, notAgain)
		return
	}
	d.refusedAt = time.Time{}
	text := d.sent.Taken(prompt)
	ours := waited && !d.sent.Pending()
	if ours {
		d.copies.Over(1, d.host.Now())
	}
	switch {
	case d.state.Reasoned && d.state.Turn: // the reason of a refusal: the turn goes on
		d.state.Reason, d.state.Reasoned = "", false
		d.again()
		call.Answer(nil)
	case d.state.Turn && d.state.Hooked && !ours && (strings.HasPrefix(p.Prompt, nudge) || !d.state.Done || d.state.Prompt != nil || !d.ending.IsZero()) && !d.cancelled():
		d.dialogGone()
		d.again()
		call.Answer(nil)
	case d.state.Turn && d.state.Hooked: // the next message came before the end of this turn was seen
		d.read(func(err error) {
			d.judge(runtime.SourceHook, err, true)
			d.begin(text, call)
		})
	default:
		d.begin(text, call)
	}
}

// cancelled reports whether the transcript said, when it was read last, that the turn was cancelled.
func (d *driver) cancelled() bool { return d.known() && d.reader.Cancelled }

// again takes that the turn goes on after it seemed to end. The title may be read later, and what the transcript says by now
// is of before.
func (d *driver) again() {
	d.state.Done, d.state.Hooked, d.state.Worked = false, true, d.title == signWorks || d.title == signAsks
	d.ending = time.Time{}
}

// begin begins the turn of a message. The transcript of the turn is what is written after the call is answered.
func (d *driver) begin(text string, call *agentcli.HookCall) {
	d.stopBeginning()
	d.turns++
	d.state.Turn, d.state.Hooked, d.state.Done, d.state.Worked = true, true, false, d.title == signWorks || d.title == signAsks
	d.state.Denied, d.state.Reason, d.state.Reasoned, d.state.Told = false, "", false, 0
	d.ending, d.readAt = time.Time{}, d.host.Now()
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalTook, Source: runtime.SourceHook, Text: text})
	d.anchor(func() {
		call.Answer(nil)
		d.follow()
		d.identifySession()
	})
}

// identifySession tells the id that resumes the session.
func (d *driver) identifySession() {
	if d.state.SessionID != "" || !d.canRead() {
		return
	}
	name, id := d.state.Transcript, ""
	d.host.Do(func() {
		if head, err := readPiece(&d.room, name, 0); err == nil {
			id = sessionOf(head)
		}
	}, func() {
		if id == "" || name != d.state.Transcript || id == d.state.SessionID {
			return
		}
		d.state.SessionID = id
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalSession, Source: runtime.SourceHook, Text: id})
	})
}

func (d *driver) afterAgent() {
	if !d.state.Turn {
		return
	}
	d.state.Done, d.doneAt = true, d.host.Now()
	d.lookLater(endLook)
}

// endsByTitle takes that gemini waits while a turn runs. The screen has to show its composer before the turn has ended.
func (d *driver) endsByTitle() {
	if !d.state.Worked && !d.state.Done {
		return // the title of before
	}
	if d.state.Prompt != nil && d.state.Dialog == nil { // Escape, by us or a person
		d.unblocked(runtime.SourceOSC, runtime.ChoiceDeny)
	}
	d.lookLater(endLook)
}

// atComposer looks whether the turn has ended, with the composer on the screen.
func (d *driver) atComposer(rows []string, row int) {
	now := d.host.Now()
	switch {
	case d.title == signWaits && d.state.Worked:
	case d.title != signWorks && d.title != signAsks && d.state.Done && now.Sub(d.doneAt) >= titlePause:
	case d.state.Done && d.title == signWaits:
		d.lookLater(endLook) // the title may be the one of before
		return
	default:
		return
	}
	if d.ending.IsZero() {
		d.ending = now
	}
	if working(rows, row) && now.Sub(d.ending) < longPatience {
		d.lookLater(endLook) // it has more to draw, and is deaf meanwhile
		return
	}
	if d.state.Reason != "" && now.Sub(d.ending) < reasonLimit {
		d.typeReason()
		return
	}
	ending := d.ending
	d.read(func(err error) {
		if d.state.Turn && d.ending.Equal(ending) {
			d.judge(runtime.SourceHook, err, false)
		}
	})
}

// typeReason types the reason of a refusal where the model can read it.
func (d *driver) typeReason() {
	typist, ok := d.host.(agentcli.Typist)
	switch {
	case !ok:
		d.state.Reason = ""
		d.lookLater(endLook)
	case !d.state.Reasoned:
		d.state.Reasoned = true
		typist.Type(d.submit(d.state.Reason, true))
		d.confirmReason()
		d.lookLater(reasonLimit)
	default:
		d.lookLater(readLimit)
	}
}

// confirmReason presses Enter again, should the reason not have been taken by then.
func (d *driver) confirmReason() {
	d.host.After(reasonLimit/2, func() {
		if typist, ok := d.host.(agentcli.Typist); ok && d.state.Reasoned {
			typist.Type(d.Confirm())
		}
	})
}

// judge ends the turn by what the transcript says of it. A turn that says nothing waits a little, unless it is the last look.
func (d *driver) judge(source string, err error, last bool) {
	o := outcome{}
	if d.known() {
		o = d.reader.outcome
	}
	patience := endPatience
	if d.chosen != "" {
		patience = longPatience
	}
	late := last || d.host.Now().Sub(d.ending) >= patience
	s := agentcli.Signal{Kind: agentcli.SignalTurnEnd, Source: source}
	s.Usage, s.Refused = o.Usage, d.state.Denied
	whole := d.state.Done || o.Text != "" && !o.Open // nobody is missing
	ended, without := true, false
	if strings.Contains(o.Failure, unfinished) {
		ended, without = wordless(d.host.Rows())
	}
	switch {
	case !ended && !late: // it is drawn in a moment
		d.lookLater(endLook)
		return
	case !d.hooks:
		s.Source = runtime.SourceOSC // nobody tells what was said
	case without:
		s.Error = blockedError(o.Failure)
	case o.Failure != "":
		s.Error = o.turnError()
	case o.Cancelled:
		s.Interrupted = !d.state.Denied
	case o.Text != "" && whole && (d.state.Hooked || o.Prompted) && o.Cut != "":
		s.Error = o.turnError()
	case o.Text != "" && whole && (d.state.Hooked || o.Prompted):
		s.Text = o.Text
	case d.state.Denied && late:
	case halted(o.Note):
		s.Error = failure.Of(wire.TurnModelError, o.Note)
	case !late:
		d.lookLater(endLook)
		return
	case !d.canRead():
		s.Error = failure.Of(wire.TurnUnknown, "the transcript of gemini cannot be read, so nobody knows how the turn ended")
	case err != nil:
		s.Error = failure.Of(wire.TurnUnknown, "the transcript of gemini could not be read, so nobody knows how the turn ended")
	case !d.state.Hooked, !d.state.Done:
		s.Error = failure.Of(wire.TurnUnknown, "gemini's hooks did not come in this turn, and its transcript does not say how it ended")
	case o.Note != "":
		s.Error = failure.Of(wire.TurnModelError, o.Note)
	default:
		s.Error = failure.Of(wire.TurnUnknown, "gemini ended the turn, and its transcript has no answer")
	}
	d.ended(s)
}

// ended reports that the turn has ended.
func (d *driver) ended(s agentcli.Signal) {
	d.stopAsking()
	if d.state.Prompt != nil {
		d.unblocked(s.Source, "")
	}
	if d.known() {
		d.state.Begin, d.state.Told = d.reader.at+1, 0
		d.forgetReader()
	}
	d.state.Turn, d.state.Hooked, d.state.Done, d.state.Worked = false, false, false, false
	d.state.Denied, d.state.Reason, d.state.Reasoned = false, "", false
	d.state.Tools, d.state.Question, d.chosen = nil, nil, ""
	d.ending = time.Time{}
	d.host.Signal(s)
	if s.Error != nil && s.Error.Code == wire.TurnLoginRequired {
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalLogin, Source: runtime.SourceHook, Text: s.Error.Message})
	}
}
