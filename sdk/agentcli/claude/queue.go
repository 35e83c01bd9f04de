package claude

import (
	"slices"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
)

// maxQueued bounds the prompts that are remembered as waiting in claude's queue: of more, the oldest are forgotten.
const maxQueued = 64

// queue notes a prompt that claude got while it worked on another one. Its hook comes with the id of the turn that runs, and no other one
// follows. It is the next turn's, unless claude takes it into this one.
func (d *driver) queue(prompt string) {
	if len(d.state.Queued) >= maxQueued {
		d.state.Queued = d.state.Queued[1:]
	}
	d.state.Queued = append(d.state.Queued, prompt)
}

// absorb reports the prompts that claude took into the turn that runs, and forgets those that a person took back into the input line.
func (d *driver) absorb() {
	a := &d.told.account
	for _, prompt := range a.absorbed {
		if q, ok := d.unqueue(prompt); ok {
			d.took(q)
		}
	}
	for _, prompt := range d.told.popped {
		d.unqueue(prompt)
	}
	a.absorbed, d.told.popped = nil, nil
}

// unqueue takes a prompt, as the transcript has it, out of those that wait, and returns it as its hook had it; false if it does not wait.
func (d *driver) unqueue(prompt string) (string, bool) {
	i := slices.IndexFunc(d.state.Queued, func(q string) bool { return composer.Solid(q) == composer.Solid(plain(prompt)) })
	if i < 0 {
		return "", false
	}
	q := d.state.Queued[i]
	d.state.Queued = slices.Delete(d.state.Queued, i, i+1)
	return q, true
}

// endInterrupted ends a turn of which the transcript has that it was interrupted, where another prompt waits: claude begins with that at
// once, and its title does not change.
func (d *driver) endInterrupted() {
	if d.state.Turn && d.ending == nil && d.told.account.interrupted && len(d.state.Queued) > 0 {
		var s agentcli.Signal
		s.Interrupted = true
		d.stopDoubt()
		d.endAs(s)
	}
}

// dequeue begins the turn of the prompt that waited longest, once the turn before is over, or was interrupted.
func (d *driver) dequeue() {
	if len(d.state.Queued) == 0 {
		return
	}
	prompt := d.state.Queued[0]
	d.state.Queued = d.state.Queued[1:]
	read := d.told.ahead // claude may have begun before its end was seen
	d.begin("")
	d.told.recount(read)
	d.took(prompt)
}
