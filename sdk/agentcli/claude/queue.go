package claude

import (
	"slices"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
)

// Bounds of the prompts that wait in claude's queue, in number and in bytes of all but the first: more are refused.
const maxQueued, maxQueuedBytes = 64, 1 << 20

// queue notes a prompt that claude got while it worked on another one. Its hook comes with the id of the turn that runs, and no other one
// follows. It is the next turn's, unless claude takes it into this one.
func (d *driver) queue(call *agentcli.HookCall, prompt string) {
	size := len(prompt)
	for _, q := range d.state.Queued {
		size += len(q)
	}
	if n := len(d.state.Queued); n >= maxQueued || n > 0 && size > maxQueuedBytes {
		call.Answer(queueFull)
		return
	}
	d.state.Queued = append(d.state.Queued, prompt)
	call.Answer(nil)
}

// queueFull is the answer to a prompt for which there is no room.
var queueFull = mustJSON(map[string]any{
	"decision": "block", "reason": "Too much waits already. Send this again once the turn is over.",
})

// absorb reports the prompts that claude took into the turn that runs, and forgets those that a person took back into the input line.
func (d *driver) absorb() {
	a := &d.told.account
	for _, prompt := range a.absorbed {
		if d.unabsorbed > 0 { // an earlier process knew of it
			d.unabsorbed--
			continue
		}
		d.state.Absorbed++
		if q, ok := d.unqueue(prompt); ok {
			d.took(q)
		}
	}
	for _, prompt := range d.told.popped {
		if d.unpopped > 0 {
			d.unpopped--
			continue
		}
		d.state.Popped++
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

// dequeue begins the turn of the prompts that wait, once the turn before is over, or was interrupted: claude asks the model all of them
// at once, and has one answer.
func (d *driver) dequeue() {
	if len(d.state.Queued) == 0 {
		return
	}
	prompts := d.state.Queued
	d.state.Queued = nil
	read, offset := d.told.ahead, d.state.Offset // claude may have begun before its end was seen
	d.begin("")
	if len(read) > 0 { // after a restart they are read again
		d.state.Offset = offset
		d.told.recount(read)
	}
	for _, prompt := range prompts {
		d.took(prompt)
	}
}
