package codex

import (
	"cmp"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/failure"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/screen"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

const (
	// pollEvery is how often the transcript of a turn is read: what the agent says is reported twice in that time at most.
	pollEvery = 250 * time.Millisecond
	// codex may say that a turn is over before its transcript has that: it is read again after a pause, so many times.
	endTries = 40
	endPause = 50 * time.Millisecond
	// keyReact is how soon a turn ends after a key that refuses an approval.
	keyReact = time.Second
	// followConfirm is how long codex may take to take the reason of a refusal before it is submitted once more, and
	// followLimit how long then.
	followConfirm = 2 * time.Second
	followLimit   = 5 * time.Second
	// unheardLimit is how long the transcript may have the end of a turn, and the screen show no work, before the turn has
	// ended though codex did not say so.
	unheardLimit = 3 * time.Second
	// refuseHold is how long codex may work on after a refusal whose reason waits to be typed.
	refuseHold = 500 * time.Millisecond
)

// workWords stand on the screen while codex works.
const workWords = "esc to interrupt"

// awayWords stand on the screen while codex waits for a network that may never come back.
const awayWords = "Reconnecting... waiting for network"

// turnState is what is known of the turn that runs, as its caller sees it: one with a refusal and its reason is two of
// codex's.
type turnState struct {
	Turn    bool           `json:"turn,omitempty"`
	Unsure  bool           `json:"unsure,omitempty"` // it was not reported yet
	ID      string         `json:"id,omitempty"`     // codex's own, if a hook told it
	Stopped bool           `json:"stopped,omitempty"`
	Text    string         `json:"text,omitempty"`   // the answer, if Stopped
	Used    *runtime.Usage `json:"used,omitempty"`   // by what is over of it
	Idle    bool           `json:"idle,omitempty"`   // it may be over
	Ending  string         `json:"ending,omitempty"` // it is over: done, error, or idle
	Away    string         `json:"away,omitempty"`   // why the driver gave it up
	Refused bool           `json:"refused,omitempty"`
	// Answered is when an approval was answered at the terminal; what is not known is how.
	Answered  time.Time `json:"answered,omitzero"`
	Reason    string    `json:"reason,omitempty"`    // of a refusal: it follows when codex has ended its turn
	Following bool      `json:"following,omitempty"` // it was typed
	// Unhurried: Reason is of what a helper asked, so it waits for the end of the turn, which has done nothing that was refused.
	Unhurried bool `json:"unhurried,omitempty"`
	// Given: a message was kept from it that had been given up.
	Given bool `json:"given,omitempty"`
}

func (d *driver) begin() {
	stop(&d.cancelStop)
	d.state.turnState = turnState{Turn: true}
	d.state.Asks = nil
	d.awaySince, d.overSince = time.Time{}, time.Time{}
	d.state.Rollout.next()
	d.changed = true
	d.poll()
}

// refusal is the answer to a prompt that is not what was sent: the model does not see it.
const refusal = `{"decision":"block","reason":"` + composer.RefusalReason + `"}`

// notAgain is the answer to a message that was taken before, or whose caller was answered that it was not.
const notAgain = `{"decision":"block","reason":"` + composer.AgainReason + `"}`

// isMixed reports whether a prompt is the message on its way with something else.
func (d *driver) isMixed(prompt string) bool {
	return d.sent.Pending() && d.host.Now().Sub(d.sentAt) < composer.Flight && composer.Mixed(prompt, d.sentText)
}

// refuse keeps a prompt from the model. No turn begins with it, though codex says so. A message that is to be typed again is, when the
// session asks for it, and the reason of a refusal as that was to be confirmed.
func (d *driver) refuse(call *agentcli.HookCall, answer string) {
	d.refusedAt = d.host.Now()
	if d.state.Unsure {
		stop(&d.cancelBusy)
		stop(&d.cancelPoll)
		d.state.turnState = turnState{}
	}
	call.Answer([]byte(answer))
}

// ofRefused reports whether what codex says is about a prompt that was refused.
func (d *driver) ofRefused(state string) bool {
	if d.refusedAt.IsZero() || d.state.Turn && !d.state.Following {
		return false
	}
	if state != "working" {
		d.refusedAt = time.Time{}
		return state != "blocked"
	}
	return d.host.Now().Sub(d.refusedAt) < announceHold
}

// prompted handles that codex takes a prompt, or is kept from that. A refusal within a turn ends it: the turn goes on with what it has
// already.
func (d *driver) prompted(call *agentcli.HookCall, p hook.Payload) {
	if d.isMixed(p.Prompt) {
		d.again = true
		d.copies.Turned()
		d.refuse(call, refusal)
		return
	}
	runs := d.state.Turn && !d.state.Unsure
	switch spare, ran := d.copies.IsSpare(p.Prompt, d.host.Now()); {
	case !spare:
		d.took(p)
	case !ran || !runs:
		d.state.Given = runs
		d.refuse(call, notAgain)
	}
}

// took handles that codex took a message.
func (d *driver) took(p hook.Payload) {
	waited := d.sent.Pending()
	text := d.sent.Taken(p.Prompt)
	if waited && !d.sent.Pending() {
		d.copies.Over(1, d.host.Now())
	}
	d.refusedAt = time.Time{}
	if d.state.Ending != "" {
		d.conclude()
	}
	if !d.state.Turn {
		d.begin()
		d.state.Unsure = true
	}
	if d.state.Following {
		d.followed()
	}
	d.identify(p.TurnID)
	stop(&d.cancelBusy)
	if d.state.Unsure {
		d.state.Unsure = false
		d.state.Turns++
	}
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalTook, Source: runtime.SourceHook, Text: text})
}

// identify learns codex's own id of the turn.
func (d *driver) identify(id string) {
	if !d.state.Turn || id == "" || id == d.state.ID {
		return
	}
	if d.state.ID != "" { // codex went on by itself
		d.fold()
	} else if r := &d.state.Rollout; r.Turn != nil && r.Turn.ID != id {
		r.rewind()
	}
	d.state.ID, d.changed = id, true
}

// fold makes what codex's own turn used part of the caller's turn, which goes on.
func (d *driver) fold() {
	if used := d.state.Rollout.Turn.usage(); used != nil {
		if d.state.Used == nil {
			d.state.Used = &runtime.Usage{}
		}
		d.state.Used.Add(used)
	}
	d.state.ID, d.state.Stopped, d.state.Text = "", false, ""
	d.state.Rollout.next()
	d.changed = true
}

// poll reads the transcript now and then as long as the turn runs.
func (d *driver) poll() {
	stop(&d.cancelPoll)
	d.cancelPoll = d.host.After(pollEvery, func() {
		d.cancelPoll = nil
		if !d.state.Turn {
			return
		}
		if !d.asks() && d.state.Ending == "" && !d.reading {
			d.read(d.endUnheard)
		}
		d.watchNetwork()
		d.poll()
	})
}

// endUnheard ends a turn of whose end only the transcript tells: what codex says by OSC is lost with output that came while
// no process read it.
func (d *driver) endUnheard() {
	if !d.state.Turn || d.state.Ending != "" || d.asks() || d.state.Following || d.over() == nil ||
		screen.Has(d.host.Rows(), workWords) {
		d.overSince = time.Time{}
		return
	}
	now := d.host.Now()
	if d.overSince.IsZero() {
		d.overSince = now
	}
	if now.Sub(d.overSince) >= unheardLimit {
		d.finish("done")
	}
}

// watchNetwork gives a turn up for which codex waits for the network: it would do so for ever.
func (d *driver) watchNetwork() {
	if d.asks() || d.state.Ending != "" || d.state.Away != "" || !screen.Has(d.host.Rows(), awayWords) {
		d.awaySince = time.Time{}
		return
	}
	now := d.host.Now()
	if d.awaySince.IsZero() {
		d.awaySince = now
	}
	typist, ok := d.host.(agentcli.Typist)
	if !ok || now.Sub(d.awaySince) < d.patience {
		return
	}
	d.state.Away = "the model cannot be reached: " + below(d.host.Rows(), awayWords)
	typist.Type([]agentcli.Step{{Write: []byte(composer.Escape)}})
}

// read reads what was added to the transcript, tells what the agent said, and calls then.
func (d *driver) read(then func()) {
	if then != nil {
		d.looks = append(d.looks, then)
	}
	if d.reading {
		return
	}
	r := d.state.Rollout.clone()
	if r.Path == "" || d.state.ID == "" && (r.Offset < 0 || d.state.Lost) {
		d.wasRead()
		return
	}
	var said []string
	more, want := false, d.state.ID
	d.reading, d.changed = true, false
	d.host.Do(func() { said, more = r.read(d.room, want) }, func() {
		d.reading = false
		if !d.changed {
			d.state.Rollout = r
			d.say(said)
		}
		if d.changed && len(d.looks) > 0 || more {
			d.read(nil)
			return
		}
		d.wasRead()
	})
}

func (d *driver) wasRead() {
	looks := d.looks
	d.looks = nil
	for _, fn := range looks {
		fn()
	}
}

// say reports what the agent said: what came together is reported together, but for the last, which may be the answer.
func (d *driver) say(said []string) {
	n := len(said)
	if n == 0 || !d.state.Turn {
		return
	}
	d.state.Answered = time.Time{}
	for _, text := range []string{strings.Join(said[:n-1], "\n\n"), said[n-1]} {
		if text != "" {
			d.host.Signal(agentcli.Signal{Kind: agentcli.SignalText, Source: runtime.SourceHook, Text: text})
		}
	}
}

// finish handles that codex says that the turn is over. How is in the transcript.
func (d *driver) finish(how string) {
	if !d.state.Turn {
		return
	}
	d.sure()
	if d.state.Prompt != nil {
		d.unblocked(cmp.Or(d.answering.Choice(), runtime.ChoiceDeny))
	}
	if d.state.Unread != "" {
		d.answered()
	}
	d.state.Idle, d.state.Ending, d.tries = false, how, 0
	d.look()
}

func (d *driver) look() {
	d.read(func() {
		switch {
		case d.state.Ending == "":
		case d.over() == nil && d.state.Rollout.Path != "" && d.tries < endTries:
			d.tries++
			stop(&d.cancelLook)
			d.cancelLook = d.host.After(endPause, d.look)
		default:
			d.countHelpers(d.conclude)
		}
	})
}

// over returns what the transcript has of the turn, if it has its end.
func (d *driver) over() *record {
	t := d.state.Rollout.Turn
	if t == nil || !t.Over || d.state.ID != "" && t.ID != d.state.ID {
		return nil
	}
	return t
}

// conclude ends the turn with what is known of it. What nobody tells of is no answer.
func (d *driver) conclude() {
	stop(&d.cancelLook)
	var end agentcli.Signal
	how, t := d.state.Ending, d.over()
	interrupted := how == "idle" || how == "error" && d.state.Away != ""
	if t != nil {
		interrupted = t.Aborted
	}
	switch {
	case interrupted && d.state.Away != "":
		end.Error = failure.Of(wire.TurnModelUnavailable, d.state.Away)
	case interrupted && d.state.Reason != "":
		d.sendReason()
		return
	case interrupted:
		end.Interrupted = true
		end.Refused = !d.state.Answered.IsZero() && d.host.Now().Sub(d.state.Answered) < keyReact
	case t != nil && t.Failure != nil:
		end.Error = t.Failure.turnError()
	case t != nil && d.state.Reason != "":
		d.sendReason()
		return
	case t != nil && (t.Text != "" || d.state.Refused):
		end.Text = t.Text
	case t != nil && d.state.Given:
		end.Error = failure.Of(wire.TurnUnknown, "codex ended the turn when a message was kept from it that had been given up as not delivered")
	case t != nil:
		end.Error = failure.Of(wire.TurnUnknown, "codex ended the turn, and its transcript has no answer")
	case how == "error":
		if why := complaint(d.host.Rows()); why != "" {
			end.Error = worded(why)
		} else {
			end.Error = failure.Of(wire.TurnUnknown, "codex gave the turn up, and does not say why")
		}
	case d.state.Stopped && (d.state.Text != "" || d.state.Refused):
		end.Text = d.state.Text
	default:
		end.Error = failure.Of(wire.TurnUnknown, "codex says that the turn is over, and neither its hooks nor its transcript tell how it ended")
	}
	d.end(end)
}

// end reports the end of the turn.
func (d *driver) end(s agentcli.Signal) {
	stop(&d.cancelPoll)
	stop(&d.cancelStop)
	d.state.Lost = d.state.Rollout.Turn == nil
	d.fold()
	s.Kind, s.Source = agentcli.SignalTurnEnd, runtime.SourceOSC
	s.Usage, s.Refused = d.state.Used, s.Refused || d.state.Refused
	d.state.turnState, d.state.Asks = turnState{}, nil
	d.host.Signal(s)
	if e := s.Error; e != nil && e.Code == wire.TurnLoginRequired {
		d.host.Signal(agentcli.Signal{Kind: agentcli.SignalLogin, Source: runtime.SourceHook, Text: e.Message})
	}
}

// makeRoom stops codex's turn where a refusal does not end it, as that of an MCP server's tool, and its reason waits to be typed: a
// message that is typed into a turn that runs may be lost with it. The refusal of what a helper asked stops nothing of codex's own.
func (d *driver) makeRoom() {
	stop(&d.cancelRoom)
	if d.state.Reason == "" || d.state.Unhurried {
		return
	}
	d.cancelRoom = d.host.After(refuseHold, func() {
		s := &d.state
		typist, ok := d.host.(agentcli.Typist)
		if ok && s.Turn && s.Reason != "" && s.Ending == "" && !s.Following && !d.asks() {
			typist.Type([]agentcli.Step{{Write: []byte(composer.Escape)}})
		}
	})
}

// sendReason types why an approval was refused. Codex takes it for a message, and for the caller the turn goes on: its
// answer is that of the turn.
func (d *driver) sendReason() {
	typist, ok := d.host.(agentcli.Typist)
	if !ok {
		d.state.Reason = ""
		d.conclude()
		return
	}
	d.fold()
	d.state.Ending, d.state.Following = "", true
	steps := d.submit(d.state.Reason, true)
	typist.Type(steps)
	d.follow(typing(steps))
}

// follow waits for the reason, which is typed so long, to be taken.
func (d *driver) follow(typed time.Duration) {
	stop(&d.cancelLook)
	d.cancelLook = d.host.After(followConfirm+typed, func() {
		if typist, ok := d.host.(agentcli.Typist); ok {
			typist.Type(d.Confirm())
		}
		d.cancelLook = d.host.After(followLimit, func() {
			d.state.Following, d.state.Reason, d.state.Ending = false, "", "idle"
			d.conclude()
		})
	})
}

// typing is how long steps take.
func typing(steps []agentcli.Step) time.Duration {
	var all time.Duration
	for _, s := range steps {
		all += s.Wait
	}
	return all
}

// followed handles that codex took the reason.
func (d *driver) followed() {
	stop(&d.cancelLook)
	d.state.Following, d.state.Reason = false, ""
}

// below returns the row after one with words, without what frames it.
func below(rows []string, words string) string {
	for i, row := range rows {
		if strings.Contains(row, words) && i+1 < len(rows) {
			return strings.TrimLeft(strings.TrimSpace(rows[i+1]), "└ ")
		}
	}
	return ""
}
