package claude

import (
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/failure"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/screen"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

const (
	// doubtEvery is how often a turn is looked at of which the title says that it may be over.
	doubtEvery = 100 * time.Millisecond
	// stopGrace is how long a Stop may follow an end that the transcript tells.
	stopGrace = 500 * time.Millisecond
	// quietLimit is how long claude waits for input before a turn counts as stopped without any word of it,
	// toolLimit the same where a tool may be about to ask, and silentLimit where it was never seen to work.
	quietLimit, toolLimit, silentLimit = 3 * time.Second, 10 * time.Second, 20 * time.Second
	// givenBack is the same where the message stands in the line again: on a busy machine claude flips its title before it
	// draws the line anew that the turn began with.
	givenBack = 1500 * time.Millisecond
	// dialogLimit is how long a dialog stands before it is reported without its hook.
	dialogLimit = 10 * time.Second
)

// doubt looks for what ended the turn while the title says that claude waits: that alone ends nothing. It may wait with a
// dialog whose hook is late, and the title may be that of the turn before.
func (d *driver) doubt() {
	d.stopDoubt()
	d.idleSince = d.host.Now()
	d.doubtLater(doubtEvery)
}

func (d *driver) doubtLater(after time.Duration) {
	d.stopDoubt()
	d.idleFor = d.host.After(after, func() { d.look(d.judge) })
}

func (d *driver) stopDoubt() {
	if d.idleFor != nil {
		d.idleFor()
		d.idleFor = nil
	}
}

// judge ends the turn if there is evidence of its end.
func (d *driver) judge() {
	if d.idleFor == nil || !d.state.Turn || d.ending != nil {
		return // something else was heard of it meanwhile
	}
	d.tell()
	if d.standing() {
		d.idleSince = d.host.Now() // people may take their time
		d.doubtLater(doubtEvery)
		return
	}
	if s, over := d.verdict(d.host.Now().Sub(d.idleSince)); over {
		d.endAs(s)
		return
	}
	d.doubtLater(doubtEvery)
}

// endAs ends a turn of whose end no hook came.
func (d *driver) endAs(s agentcli.Signal) {
	s.Source = runtime.SourceOSC
	d.countHelpers(&ending{}, func() {
		d.ending = nil
		d.end(s)
		d.dequeue()
		d.catchUp()
	})
}

// standing handles a dialog that stands, and reports whether one does.
func (d *driver) standing() bool {
	if len(d.state.Requests) == 0 {
		return false
	}
	if d.held[d.state.Requests[0].Prompt.ID] != nil {
		return true
	}
	if !waits(d.host.Rows()) {
		d.forward()
		return true
	}
	d.resolve(0, "") // answered by a key, and no hook tells how
	return len(d.state.Requests) > 0
}

// waits reports whether the composer waits for input: it stands, nothing else does, and claude does not work.
func waits(rows []string) bool {
	if !composerDrawn(rows) || screen.Has(rows, "esc to interrupt") {
		return false
	}
	return !stands(rows)
}

// stands reports whether a dialog with choices stands on the screen.
func stands(rows []string) bool { return len(dialog.Read(rows).Entries) > 0 }

// verdict reports how the turn ended, if it did, when claude waits for so long.
func (d *driver) verdict(waited time.Duration) (s agentcli.Signal, over bool) {
	a := &d.told.account
	switch {
	case a.interrupted:
		s.Interrupted = true
		return s, true
	case a.failure != nil && waited >= failGrace:
		s.Error, d.state.Owed = a.failure.turnError(), a.failure.Text
		return s, true
	case a.refusal != nil:
		s.Error = a.refusal.turnError()
		return s, true
	case a.command != nil && a.command.over:
		s.Error = a.command.turnError()
		return s, true
	case (a.over || d.state.Stops > 0 && a.stops >= d.state.Stops && !a.goesOn) && waited >= stopGrace:
		s.Text, s.Error = a.last, d.silence()
		return s, true
	}
	rows := d.host.Rows()
	if !waits(rows) {
		if waited >= dialogLimit && !composerDrawn(rows) {
			d.showScreen(rows)
		}
		return s, false
	}
	limit := quietLimit
	switch {
	case !d.sawBusy:
		limit = silentLimit
	case d.mayAsk():
		limit = toolLimit
	case screen.Has(rows, "operation blocked by hook"):
		limit = toolLimit // the transcript has why, perhaps later
	case d.sent.last != "" && !a.final && !d.state.Unhooked && leftover(rows, d.sent.last):
		limit = givenBack // claude gives back what it did not begin with; until then it may have the line to draw anew
	}
	if waited < limit {
		return s, false
	}
	if a.command == nil && !d.stopping && (d.state.Unhooked || !d.sawBusy) {
		s.Error = failure.Of(wire.TurnUnknown, "claude waits for input again, and nothing told how the turn ended")
		return s, true
	}
	s.Interrupted = true
	return s, true
}

// mayAsk reports whether ✳ may be that of a dialog: a tool was announced whose request may still come, or one was
// answered before its dialog was drawn.
func (d *driver) mayAsk() bool {
	if d.early {
		return true
	}
	for _, t := range d.state.Tools {
		if !t.Asked {
			return true
		}
	}
	return false
}
