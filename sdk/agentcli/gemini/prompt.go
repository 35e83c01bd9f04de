package gemini

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// How long something stands where the composer would before it is a dialog.
const (
	idlePause  = 400 * time.Millisecond // it has a list, and the title says that gemini waits
	workPause  = time.Second            // it has a list, and the title says that gemini works
	blankPause = 2 * time.Second        // it has none, and the title says that gemini waits
	// stopAgain is after how long an answer to the dialog of a model that is not to be had is given once more.
	stopAgain = 3 * time.Second
)

// vain are words of what gemini asks in vain: whether to try as often again as it is set to, without end, or a model again that there is
// not. The quota of an account has other words, and people decide about that.
var vain = []string{"We are currently experiencing high demand", "was not found or is invalid"}

func askedInVain(text string) bool {
	return slices.ContainsFunc(vain, func(words string) bool { return strings.Contains(text, words) })
}

// blocked reports a prompt that gemini reported. details are of the ToolPermission notification.
func (d *driver) blocked(source, kind string, details map[string]any) {
	d.state.Turn = true
	id := d.promptID()
	if kind == questionTool || (kind == "" && d.state.Question != nil) {
		d.state.Prompt = dialog.QuestionPrompt(id, questionTool, d.state.Question)
	} else {
		name, input := "", details
		if n := len(d.state.Tools); n > 0 {
			name, input = d.state.Tools[n-1].Name, d.state.Tools[n-1].Input
		}
		d.state.Prompt = dialog.ApprovalPrompt(id, name, input, true)
	}
	d.stopAsking()
	d.state.Standing, d.state.Place, d.state.Dialog = false, "", nil
	d.seen = time.Time{}
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBlocked, Source: source, Prompt: d.state.Prompt})
}

func (d *driver) promptID() string {
	d.state.Asked++
	return fmt.Sprintf("p%d", d.state.Asked)
}

func (d *driver) unblocked(source, choice string) { d.closed(source, choice, false) }

// closed takes that the dialog of the prompt is gone, unanswered if another one came in its place before gemini took the answer.
func (d *driver) closed(source, choice string, unanswered bool) {
	p := d.state.Prompt
	if choice == runtime.ChoiceDeny && d.answering.Choice() == runtime.ChoiceDeny {
		d.state.Denied = true
	}
	d.state.Prompt, d.state.Standing, d.state.Place, d.state.Question, d.state.Dialog = nil, false, "", nil, nil
	d.state.Passed = true
	d.answering.Stop()
	d.press = nil
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalUnblocked, Source: source, Prompt: p, Choice: choice, Unanswered: unanswered})
}

// stands takes that something stands where the composer would be. Once that has stayed as it is, it is a prompt.
func (d *driver) stands(rows []string) {
	if d.title == signAsks || d.state.Prompt != nil && d.state.Dialog == nil {
		d.stepUp(rows)
		return // gemini tells of it
	}
	now := dialog.Read(rows)
	if p := d.state.Dialog; p != nil && p.Equal(&now) {
		d.seen = time.Time{}
		return
	}
	if d.seen.IsZero() || !d.suspect.Equal(&now) {
		d.suspect, d.seen = now, d.host.Now()
	}
	pause := idlePause
	switch works := d.title == signWorks; {
	case works && len(now.Entries) < 2, !d.state.Ready && len(now.Entries) == 0:
		return // it draws
	case works:
		pause = workPause
	case len(now.Entries) == 0 && d.resumed && d.host.Now().Sub(d.readyAt) < drawMost:
		pause = drawMost // it may draw the rest of the conversation: a slow machine does that in pieces
	case len(now.Entries) == 0:
		pause = blankPause
	}
	if left := pause - d.host.Now().Sub(d.seen); left > 0 {
		d.lookLater(left)
		return
	}
	d.dialogGone()
	d.seen = time.Time{}
	if d.state.Ready && asksForLogin(rows) {
		d.loggedOut(now.Text)
		return
	}
	if d.state.Turn && askedInVain(now.Text) && d.stopTrying(&now) {
		return
	}
	d.state.Dialog = &now
	d.state.Prompt, d.state.Standing = now.Prompt(d.promptID()), true
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalBlocked, Source: runtime.SourceScreen, Prompt: d.state.Prompt})
}

// stopTrying has gemini give up a turn whose model is not to be had, so that it fails: its caller can send the message again, or give it
// to another agent. It returns false if the dialog cannot be answered so.
func (d *driver) stopTrying(now *dialog.Standing) bool {
	typist, ok := d.host.(agentcli.Typist)
	if !ok {
		return false
	}
	d.lookLater(stopAgain)
	if d.host.Now().Sub(d.stopped) < stopAgain {
		return true
	}
	steps, choice, err := now.Answer(runtime.Answer{Choice: "Stop"})
	if err != nil {
		return false
	}
	d.stopped, d.chosen = d.host.Now(), choice
	typist.Type(steps)
	return true
}

// dialogGone takes that the dialog which only the screen shows is gone.
func (d *driver) dialogGone() {
	if d.state.Dialog != nil {
		d.unblocked(runtime.SourceScreen, d.chosen)
	}
}
