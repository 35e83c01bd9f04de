package gemini

import (
	"cmp"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	// askLimit is how long a tool of several may take to ask, or to run without: its dialog comes in front of those of later ones.
	// One that comes later takes the place of the prompt, and no answer to that goes into it.
	askLimit = 2 * time.Second
	// drawLimit is how long the screen may take to show such a dialog.
	drawLimit = 20 * time.Second
	// frontLimit is how long it may take to show the dialog of the first tool, where all of several ask and that of another stands.
	frontLimit = 10 * time.Second
)

// announced takes that a tool is about to run, or to ask whether it may.
func (d *driver) announced(t tool) {
	if len(d.state.Tools) >= maxTools {
		d.state.Tools = d.state.Tools[1:]
	}
	if len(d.state.Tools) == 0 {
		d.state.Asks, d.state.Batch, d.state.Passed = 0, 0, false
	}
	d.state.Batch++
	d.state.Tools = append(d.state.Tools, t)
}

// askLater waits for the screen to show which of several tools is asked about.
func (d *driver) askLater() {
	d.state.Turn = true
	if d.asking == nil {
		d.asking = d.host.After(drawLimit, func() {
			d.asking = nil
			if d.state.Prompt == nil && d.title == signAsks {
				d.asksOf(runtime.SourceOSC, nil, &dialog.Standing{})
			}
		})
	}
	d.lookLater(startLook)
}

func (d *driver) stopAsking() {
	if d.asking != nil {
		d.asking()
		d.asking = nil
	}
}

// stepUp takes the dialog of a tool that stands, where several wait one behind the other: gemini has no other sign of which it is,
// and none of that the next one has taken the place of one that was answered.
func (d *driver) stepUp(rows []string) {
	now := dialog.Read(rows)
	place := placeOf(&now)
	if d.title != signAsks || len(now.Entries) < 2 || d.state.Prompt == nil && d.asking == nil {
		return
	}
	about, pause := standsFor(d.state.Tools, &now), idlePause
	// Where a tool is called twice, a dialog that stays behind the keys of its answer is taken for that of the other call.
	other := place == "" && d.press != nil && d.press.twin && d.press.done()
	if other {
		pause = askLimit
	}
	switch p := d.state.Prompt; {
	case p == nil && !d.settled(&now):
	case p == nil:
		d.asksOf(runtime.SourceScreen, about, &now)
	case place != "" && place == d.state.Place:
	case !other && (place == "" || d.state.Place == "") && isOf(p, d.state.Tools, &now):
		d.state.Place, d.seen = cmp.Or(place, d.state.Place), time.Time{}
	case place == "" && !d.stays(&now, pause):
	default:
		choice := ""
		if d.press != nil && d.press.done() && !inFront(place, d.state.Place) {
			choice = d.answering.Choice()
		}
		if choice == runtime.ChoiceDeny && d.passing() {
			return
		}
		d.closed(runtime.SourceScreen, choice, choice == "" && d.press != nil)
		d.asksOf(runtime.SourceScreen, about, &now)
	}
}

// settled reports whether a dialog of several stays: it is the first, or that of the first is gone, or the rest does not ask.
func (d *driver) settled(now *dialog.Standing) bool {
	pause, n := idlePause, len(d.state.Tools)
	switch place := placeOf(now); {
	case strings.HasPrefix(place, "1 of "):
	case d.state.Asks < n:
		pause = askLimit
	case place != "" && d.state.Asks == d.state.Batch && n == d.state.Batch && !d.state.Passed: // the screen is behind
		pause = frontLimit
	}
	return d.stays(now, pause)
}

// stays reports whether a dialog has stood for so long. Until then it has the screen looked at again.
func (d *driver) stays(now *dialog.Standing, pause time.Duration) bool {
	if d.seen.IsZero() || !d.suspect.Equal(now) {
		d.suspect, d.seen = *now, d.host.Now()
	}
	left := pause - d.host.Now().Sub(d.seen)
	if left > 0 {
		d.lookLater(left)
	}
	return left <= 0
}

// passing reports whether a dialog came just now: a refusal cancels those that wait as well, one after the other.
func (d *driver) passing() bool {
	now := d.host.Now()
	if d.seen.IsZero() {
		d.seen = now
	}
	left := idlePause - now.Sub(d.seen)
	if left > 0 {
		d.lookLater(left)
	}
	return left > 0
}

// asksOf reports the prompt of a dialog that stands: of the tool that it is about, or of its words if that is not known.
func (d *driver) asksOf(source string, about *tool, now *dialog.Standing) {
	d.stopAsking()
	id := d.promptID()
	switch {
	case about != nil && about.Name == questionTool:
		d.state.Prompt = dialog.QuestionPrompt(id, questionTool, about.Input)
	case about != nil:
		d.state.Prompt = dialog.ApprovalPrompt(id, about.Name, about.Input, true)
	default:
		d.state.Prompt = dialog.ApprovalPrompt(id, "", nil, true)
		if now.Text != "" {
			d.state.Prompt.Text = now.Text
		}
	}
	d.state.Turn, d.state.Standing, d.state.Place, d.state.Dialog = true, true, placeOf(now), nil
	d.seen = time.Time{}
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBlocked, Source: source, Prompt: d.state.Prompt})
}
