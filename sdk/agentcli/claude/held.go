package claude

import (
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/screen"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	maxAwaited = 64 // helpers for which a turn is held
	// heldLimit is how long the screen may show no helper at work before claude is taken to wait for none any more.
	heldLimit = 10 * time.Second
	// heldGrace is how long Escape may take to be taken while claude waits for helpers, which it does not stop.
	heldGrace = 300 * time.Millisecond
)

// helping returns the helpers among what claude goes on with in the background, apart from those of an earlier turn. Commands there do
// not keep a turn open: they may run for as long as the session.
func (d *driver) helping(tasks []hook.Task) []string {
	var ids []string
	for _, t := range tasks {
		if t.Type == "subagent" && len(ids) < maxAwaited && !slices.Contains(d.state.LetGo, t.ID) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// isNotification reports whether a prompt is claude's own, with the outcome of work in the background.
func isNotification(prompt string) bool {
	return strings.HasPrefix(strings.TrimSpace(prompt), "<task-notification>")
}

// hold keeps the turn open though claude stopped: newer versions start helpers in the background, say so, and go on by a prompt of
// their own when one is done. What claude said by then is no answer yet.
func (d *driver) hold(e *ending) {
	d.tell()
	if e.text != "" && (d.state.Told == 0 || !same(d.told.account.last, e.text)) {
		d.told.account.last = e.text
		d.say(e.text)
	}
	d.ending, d.state.Held, d.state.Awaited = nil, true, e.helpers
	e.call.Answer(nil)
	d.doubt()
	d.catchUp()
}

// goOn handles that claude goes on with a turn that was held, by a prompt of its own.
func (d *driver) goOn(prompt string) {
	d.tell()
	d.add(d.told.account.total())
	d.stopDoubt()
	d.state.Awaited = nil
	d.state.Held, d.state.Prompt, d.state.Spoke = false, prompt, d.state.Spoke || d.state.Told > 0
	d.state.Offset, d.state.Told, d.untold = d.file.offset, 0, 0
	d.sawBusy = d.title == titleBusy
	d.told.name(prompt)
	d.follow()
	if d.title != titleBusy {
		d.doubt()
	}
}

// interruptHeld ends a turn that is to be stopped, if it is held.
func (d *driver) interruptHeld(turn int) {
	if d.state.Held && d.turns == turn {
		d.release(agentcli.Signal{Source: runtime.SourceOSC, TurnOutcome: runtime.TurnOutcome{Interrupted: true}})
	}
}

// letGo notes that a turn ended before its helpers.
func (d *driver) letGo() {
	all := append(d.state.LetGo, d.state.Awaited...)
	d.state.LetGo, d.state.Awaited = all[max(0, len(all)-maxAwaited):], nil
}

// release ends a turn that was held. The title goes on to say that claude works, as it does while helpers do.
func (d *driver) release(s agentcli.Signal) {
	d.end(s)
	d.state.Settling = d.title != titleIdle
	d.catchUp()
}

// heldVerdict is verdict for a turn that is held. It is over when the screen shows for a while that no helper works.
func (d *driver) heldVerdict(waited time.Duration) (s agentcli.Signal, over bool) {
	rows := d.host.Rows()
	switch {
	case composerDrawn(rows) && helpersShown(rows):
		d.idleSince = d.host.Now()
	case waits(rows):
		s.Text = d.told.account.last
		return s, waited >= heldLimit
	case waited >= dialogLimit && !composerDrawn(rows):
		d.showScreen(rows)
	}
	return s, false
}

// helpersShown reports whether the screen shows helpers that work: in the line that claude waits for them, or in the list of them.
func helpersShown(rows []string) bool {
	return screen.Has(rows, "background agent") || slices.ContainsFunc(rows, func(row string) bool {
		return strings.HasPrefix(strings.TrimSpace(row), "◯ ")
	})
}

// add counts to the turn what a part of it used, or a helper of it.
func (d *driver) add(used *runtime.Usage) {
	if used == nil {
		return
	}
	if d.state.Used == nil {
		d.state.Used = &runtime.Usage{}
	}
	d.state.Used.Add(used)
}
