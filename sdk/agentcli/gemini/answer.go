package gemini

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/screen"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// keyed is how many steps an answer has that is one key.
const keyed = 2

// keyGap lets gemini redraw between two keys.
const keyGap = 150 * time.Millisecond

// Answer presses the keys of a dialog once it stands.
func (d *driver) Answer(prompt *runtime.Prompt, answer runtime.Answer) ([]agentcli.Step, error) {
	p := d.state.Prompt
	if p == nil || p.ID != prompt.ID {
		return nil, runtime.Errorf(runtime.CodeNoPrompt, "the prompt was answered already")
	}
	if d.state.Dialog != nil {
		return d.answerDialog(answer)
	}
	steps, choice, err := d.keys(p, answer)
	if err != nil {
		return nil, err
	}
	tools := slices.Clone(d.state.Tools)
	into := &press{place: d.state.Place, twin: twice(p, tools), isOf: func(now *dialog.Standing) bool { return isOf(p, tools, now) }}
	open := func() bool { return d.state.Prompt != nil && d.state.Prompt.ID == p.ID }
	give := d.answering.Give
	if p.Kind == runtime.PromptQuestion && len(steps) > keyed {
		give = d.answering.GiveOnce // it takes its time, and each part of it waits for the one before
	}
	steps, err = give(choice, into.guard(steps), d.state.Standing, open)
	if err == nil {
		d.press = into
		if into.twin {
			d.lookLater(askLimit) // nothing tells of another dialog that looks the same
		}
	}
	return steps, err
}

// answerDialog presses the keys of a dialog that only the screen shows. Its mark may have moved since.
func (d *driver) answerDialog(answer runtime.Answer) ([]agentcli.Step, error) {
	shown := *d.state.Dialog
	if now := dialog.Read(d.host.Rows()); now.Equal(&shown) {
		shown = now
	}
	steps, choice, err := shown.Answer(answer)
	if err != nil {
		return nil, err
	}
	id := d.state.Prompt.ID
	steps, err = d.answering.Once(choice, steps, func() bool { return d.state.Prompt != nil && d.state.Prompt.ID == id })
	if err == nil {
		d.chosen = choice
	}
	return steps, err
}

// keys returns what an answer is in keys.
func (d *driver) keys(p *runtime.Prompt, answer runtime.Answer) ([]agentcli.Step, string, error) {
	if p.Kind != runtime.PromptQuestion {
		choice, err := dialog.Choice(p, answer)
		if err != nil {
			return nil, "", err
		}
		switch choice {
		case runtime.ChoiceAllow:
			return []agentcli.Step{{Wait: keyGap}, {Write: []byte("1")}}, choice, nil
		case dialog.ChoiceAlways:
			return append([]agentcli.Step{{Wait: keyGap}}, dialog.EntryKey(lasting, "1", false)...), choice, nil
		}
		// Escape cancels the turn. A reason is typed when the composer is back, and the turn goes on.
		d.state.Reason = strings.TrimSpace(answer.Text)
		return []agentcli.Step{{Wait: keyGap}, {Write: []byte(composer.Escape)}}, choice, nil
	}
	qs := dialog.Questions(p.Input)
	replies, err := dialog.Replies(qs, answer)
	if err != nil {
		return nil, "", err
	}
	// The title comes with the dialog, which listens to keys once it is drawn.
	steps := []agentcli.Step{{Wait: keyGap}}
	for i := range replies {
		if i > 0 {
			steps = drawn(steps, shown(qs[i].Text))
		}
		steps = append(steps, replyKeys(&qs[i], &replies[i])...)
	}
	if len(qs) > 1 {
		steps = append(drawn(steps, shown(review)), agentcli.Step{Write: []byte(composer.Enter)})
	}
	return steps, cmp.Or(answer.Choice, answer.Text), nil
}

// lasting returns the number of the entry that allows something for longer than this time: the second that allows it. Settings may leave
// it out, and a folder that is not trusted; 0: there is none.
func lasting(rows []string) int {
	now := dialog.Read(rows)
	if len(now.Entries) > 1 && strings.HasPrefix(now.Entries[1].Label, "Allow") {
		return now.Entries[1].Number
	}
	return 0
}

// review heads what shows all answers before they are given.
const review = "Review your answers"

// shown returns a condition of a step: words stand in the dialog on the screen.
func shown(words string) func(rows []string) bool {
	words = screen.Solid(words)
	return func(rows []string) bool {
		now := dialog.Read(rows)
		all := now.Text
		for _, e := range now.Entries {
			all += e.Label
		}
		return strings.Contains(screen.Solid(all), words)
	}
}

// drawn has the last of steps wait until a condition holds.
func drawn(steps []agentcli.Step, until func(rows []string) bool) []agentcli.Step {
	last := &steps[len(steps)-1]
	last.Wait, last.Until = drawTime, until
	return append(steps, agentcli.Step{Wait: keyGap})
}

// atDone reports whether the entry is marked that ends the choice of several options.
func atDone(rows []string) bool {
	for _, row := range rows {
		if mark, label, _ := strings.Cut(strings.TrimSpace(strings.Trim(row, " │")), " "); mark == "●" && strings.TrimSpace(label) == "Done" {
			return true
		}
	}
	return false
}

// replyKeys returns what the reply to one question is in keys. Behind the options comes, where several may be chosen, one for all of
// them, then the entry that takes a text of one's own, and last the one that ends such a choice. An Enter that comes right behind a text
// would be a line break in it.
func replyKeys(q *dialog.Question, r *dialog.Reply) []agentcli.Step {
	own, several := len(q.Options), q.Multi && len(q.Options) > 0
	if several && own > 1 {
		own++
	}
	var steps []agentcli.Step
	press := func(key string) { steps = append(steps, agentcli.Step{Write: []byte(key), Wait: keyGap}) }
	at := 0
	for _, o := range r.Options {
		press(strconv.Itoa(o + 1))
		if several { // two keys that are read at once are one to gemini
			steps = drawn(steps, shown("[x] "+q.Options[o]))
		}
		at = o
	}
	if len(r.Options) == 0 {
		if own > 0 {
			press(strings.Repeat(composer.Down, own))
		}
		steps = drawn(append(steps, agentcli.Step{Write: composer.Paste(r.Text)}), shown(r.Text))
		press(composer.Enter)
		at = own
	}
	if !several {
		return steps
	}
	if len(r.Options) == 0 {
		taken := shown("[x] " + r.Text)
		steps = drawn(steps, taken)
		steps = append(steps, agentcli.Step{If: func(rows []string) bool { return !taken(rows) }, Write: []byte(composer.Enter), Wait: keyGap})
	}
	press(strings.Repeat(composer.Down, own+1-at))
	steps = drawn(steps, atDone)
	press(composer.Enter)
	return steps
}
