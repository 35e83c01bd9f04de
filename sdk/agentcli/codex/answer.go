package codex

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Answer presses the keys of a dialog once it stands.
func (d *driver) Answer(prompt *runtime.Prompt, answer runtime.Answer) ([]agentcli.Step, error) {
	p := d.state.Prompt
	if s := d.state.Shown; s != nil && s.Prompt.ID == prompt.ID {
		return d.answerShown(answer)
	}
	if p == nil || p.ID != prompt.ID {
		return nil, runtime.Errorf(runtime.CodeNoPrompt, "the prompt was answered already")
	}
	steps, choice, err := d.keys(p, answer)
	if err != nil {
		return nil, err
	}
	var into *press
	if p.Kind != runtime.PromptQuestion {
		into = &press{is: d.isOf(p)}
		if d.stoodFor == p.ID {
			into.into = d.stood
		}
		steps = into.guard(steps)
	}
	steps, err = d.answering.Give(choice, steps, d.state.Standing, func() bool {
		return d.state.Prompt != nil && d.state.Prompt.ID == p.ID
	})
	if err != nil {
		return nil, err
	}
	d.press = into
	if choice == runtime.ChoiceDeny && p.Kind != runtime.PromptQuestion {
		d.state.Reason, d.state.Unhurried = strings.TrimSpace(answer.Text), d.state.Helper
	}
	return steps, nil
}

// keys returns what an answer is in keys.
func (d *driver) keys(p *runtime.Prompt, answer runtime.Answer) ([]agentcli.Step, string, error) {
	if p.Kind != runtime.PromptQuestion {
		choice, err := dialog.Choice(p, answer)
		if err != nil {
			return nil, "", err
		}
		if !d.state.Turn && strings.TrimSpace(answer.Text) != "" {
			err := runtime.Errorf(runtime.CodeInvalidArgument,
				"the reason of a refusal cannot be given while no turn runs; deny without a text, and send the reason as a message")
			err.Field = "text"
			return nil, "", err
		}
		switch choice {
		case runtime.ChoiceAllow:
			return []agentcli.Step{{Write: []byte("1")}}, choice, nil
		case dialog.ChoiceAlways:
			return onceDrawn(always()), choice, nil
		}
		return onceDrawn(refuse()), choice, nil // a reason follows: see sendReason
	}
	qs := dialog.Questions(p.Input)
	replies, err := dialog.Replies(qs, answer)
	if err != nil {
		return nil, "", err
	}
	var steps []agentcli.Step
	for i, r := range replies {
		if len(r.Options) > 0 {
			steps = append(steps, agentcli.Step{Write: []byte(strconv.Itoa(r.Options[0] + 1)), Wait: 100 * time.Millisecond})
			continue
		}
		// The last entry, "None of the above", takes a note.
		steps = append(steps,
			agentcli.Step{Write: []byte(strings.Repeat(composer.Down, len(qs[i].Options))), Wait: 100 * time.Millisecond},
			agentcli.Step{Write: []byte(composer.Tab), Wait: 100 * time.Millisecond},
			agentcli.Step{Write: composer.Paste(r.Text), Wait: 150 * time.Millisecond},
			agentcli.Step{Write: []byte(composer.Enter), Wait: 100 * time.Millisecond},
		)
	}
	return steps, cmp.Or(answer.Choice, answer.Text), nil
}

// lastingWords are in the entry that allows something for longer, which not each approval has.
var lastingWords = regexp.MustCompile(`(?i)^(yes|allow|always|approve)\b.*(don't ask again|\bthis (session|conversation)\b|\balways\b)|^always\b`)

// lasting returns the number of the first entry of an approval that allows something for longer; 0: there is none.
func lasting(now *dialog.Standing) int {
	return entryOf(now, lastingWords.MatchString)
}

// entryOf returns the number of the first entry with such a label; 0: there is none.
func entryOf(now *dialog.Standing, is func(label string) bool) int {
	for _, e := range now.Entries {
		if is(e.Label) {
			return e.Number
		}
	}
	return 0
}

// shownIn returns how an entry of the approval that stands on a screen is found.
func shownIn(entry func(now *dialog.Standing) int) func(rows []string) int {
	return func(rows []string) int {
		now, stands := approvalIn(rows)
		if !stands {
			return 0
		}
		return entry(now)
	}
}

// always returns the key that allows something for longer. Where there is none it is allowed this time.
func always() []agentcli.Step { return dialog.EntryKey(shownIn(lasting), "1", false) }

// drawWait is how long a dialog may take to be drawn behind the title that says so.
const drawWait = 2 * time.Second

// drawnGap is a pause behind that: an Escape that comes within some 10 ms has codex stand still for good now and then.
const drawnGap = 150 * time.Millisecond

// onceDrawn returns steps that wait for the dialog whose entries they are about.
func onceDrawn(steps []agentcli.Step) []agentcli.Step {
	return append([]agentcli.Step{{Wait: drawWait, Until: drawn}, {Wait: drawnGap}}, steps...)
}

// refusing returns the number of the entry for which Escape stands; 0: there is none.
func refusing(now *dialog.Standing) int {
	return entryOf(now, func(label string) bool { return strings.HasSuffix(label, "(esc)") })
}

// refuse returns the key that refuses. Escape does so as well, and takes what waits behind the dialog out of the terminal: a helper whose
// approval that is would wait for ever; it is pressed where the steps are typed again, as it allows nothing, whatever stands by then.
func refuse() []agentcli.Step { return dialog.EntryKey(shownIn(refusing), composer.Escape, true) }
