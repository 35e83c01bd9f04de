package gemini

import (
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/runtime"
)

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
	return d.answering.Give(choice, steps, d.state.Standing, func() bool {
		return d.state.Prompt != nil && d.state.Prompt.ID == p.ID
	})
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
			return []agentcli.Step{{Wait: keyGap}, {Write: []byte("2")}}, choice, nil
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
	for i, r := range replies {
		if len(r.Options) > 0 {
			for _, o := range r.Options {
				steps = append(steps, agentcli.Step{Write: []byte(strconv.Itoa(o + 1)), Wait: keyGap})
			}
			if qs[i].Multi {
				steps = append(steps, agentcli.Step{Write: []byte(composer.Enter), Wait: keyGap})
			}
			continue
		}
		if n := len(qs[i].Options); n > 0 { // the last entry takes a text of one's own
			steps = append(steps, agentcli.Step{Write: []byte(strings.Repeat(composer.Down, n)), Wait: keyGap})
		}
		steps = append(steps,
			agentcli.Step{Write: composer.Paste(r.Text), Wait: keyGap},
			agentcli.Step{Write: []byte(composer.Enter), Wait: keyGap},
		)
	}
	if len(qs) > 1 {
		steps = append(steps, agentcli.Step{Write: []byte(composer.Enter)}) // the review of all answers
	}
	choice := answer.Choice
	if choice == "" {
		choice = answer.Text
	}
	return steps, choice, nil
}
