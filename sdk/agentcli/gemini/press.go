package gemini

import (
	"sync"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
)

// press is the way of an answer's keys into its dialog, and into nothing else: gemini may ask for several tools, one right after the
// other, without a sign between them. It is safe for concurrent use.
type press struct {
	place string                          // of the dialog, if others wait beside it
	isOf  func(now *dialog.Standing) bool // reports whether a dialog is the one, where places do not
	twin  bool                            // another has the same words: without a place no key is pressed again

	mu      sync.Mutex
	pressed *dialog.Standing // what stood when the first key was pressed; nil: no dialog was drawn, or no key pressed
	leave   bool             // the rest of the steps, too
}

// guard returns steps that leave themselves out where another dialog stands than the answer is for, or, when they come a second
// time, than they came to first.
func (p *press) guard(steps []agentcli.Step) []agentcli.Step {
	begun := false
	for i := range steps {
		if len(steps[i].Write) == 0 {
			continue
		}
		may, also := p.goesOn, steps[i].If
		if !begun {
			may, begun = p.begins, true
		}
		steps[i].If = func(rows []string) bool { return may(rows) && (also == nil || also(rows)) }
	}
	return steps
}

// begins reports whether the first key may be pressed.
func (p *press) begins(rows []string) bool {
	now := dialog.Read(rows)
	drawn := now.Text != "" && composerAt(rows) < 0
	p.mu.Lock()
	defer p.mu.Unlock()
	place := ""
	if drawn {
		place = placeOf(&now)
	}
	other := drawn && place != p.place
	if place == "" || p.place == "" {
		other = drawn && !p.isOf(&now)
	}
	p.leave = composerAt(rows) >= 0 || other || p.pressed != nil && (!drawn || p.twin && place == "" || !p.pressed.Equal(&now))
	if !p.leave && drawn {
		p.pressed = &now
	}
	return !p.leave
}

// done reports whether keys were pressed.
func (p *press) done() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pressed != nil
}

// goesOn reports whether a further key may be pressed: where the dialog has closed it would be typed into the line of messages.
func (p *press) goesOn(rows []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave = p.leave || composerAt(rows) >= 0
	return !p.leave
}
