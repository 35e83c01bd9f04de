package codex

import (
	"sync"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
)

// press is the way of an answer's key into the dialog of its approval, and into nothing else: what waits behind that looks like it,
// and codex does not say that it has taken its place. It is safe for concurrent use.
type press struct {
	is func(now *dialog.Standing) bool // it may be the dialog that the key is for

	mu      sync.Mutex
	into    *dialog.Standing // the dialog that the key is for; nil: none was seen yet
	pressed bool
}

// guard returns steps, of which one is to be typed, that leave themselves out where another dialog stands.
func (p *press) guard(steps []agentcli.Step) []agentcli.Step {
	for i := range steps {
		is := steps[i].If
		if len(steps[i].Write) == 0 {
			continue
		}
		steps[i].If = func(rows []string) bool { return (is == nil || is(rows)) && p.may(rows) }
	}
	return steps
}

// may reports whether the key may be pressed: where a dialog was seen, that one stands.
func (p *press) may(rows []string) bool {
	now, stands := approvalIn(rows)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.into == nil && stands && !p.is(now):
		return false
	case p.into == nil && stands:
		p.into = now
	case p.into != nil && !(stands && alike(p.into, now)):
		return false
	}
	p.pressed = true
	return true
}

// stands is how the dialog of the press is drawn now.
func (p *press) stands(now *dialog.Standing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.into = now
}

// done reports whether the key was pressed.
func (p *press) done() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pressed
}
