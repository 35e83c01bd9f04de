package codex

import (
	"cmp"
	"encoding/json"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/subagent"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// noteHelper notes that a helper did something.
func (d *driver) noteHelper(p hook.Payload) {
	name := cmp.Or(p.AgentFile, p.Transcript)
	if name != d.state.Rollout.Path {
		d.state.Note(name)
	}
}

// countHelpers counts to the turn that is over what helpers used, and calls then. What one uses later is the next turn's.
func (d *driver) countHelpers(then func()) {
	names := d.state.Helpers
	if len(names) == 0 {
		then()
		return
	}
	used := make([]*runtime.Usage, len(names))
	turns := d.state.Turns
	d.state.Helpers, d.state.Counting = nil, names
	d.host.Do(func() {
		for i, name := range names {
			used[i] = readUsage(d.room, name)
		}
	}, func() {
		d.state.Counting = nil
		var sum runtime.Usage
		for i, name := range names {
			d.state.Count(name, used[i], &sum)
		}
		if d.state.Used == nil && sum.Requests > 0 {
			d.state.Used = &runtime.Usage{}
		}
		if sum.Requests > 0 {
			d.state.Used.Add(&sum)
		}
		if d.state.Ending != "" && d.state.Turns == turns { // else the next one began meanwhile
			then()
		}
	})
}

// recount has helpers read again whose reading a process did not end.
func (d *driver) recount() {
	for _, name := range d.state.Counting {
		d.state.Note(name)
	}
	d.state.Counting = nil
}

// readUsage returns what the agent of a transcript used in all, or nil if that is not known. A transcript begins with its own
// thread; what it has of the one that it was forked from is not its own.
func readUsage(room agentcli.Room, name string) *runtime.Usage {
	var all runtime.Usage
	thread := ""
	err := subagent.Lines(func(offset int64) ([]byte, int64, error) { return readPart(room, name, offset) }, rolloutChunk, func(line []byte) {
		thread = addUsage(&all, thread, line)
	})
	if err != nil {
		return nil // a part of it would be taken for all
	}
	if all.Requests == 0 {
		return nil
	}
	return &all
}

// addUsage adds what a line holds of the usage of a thread, and returns that thread: the first that a transcript names.
func addUsage(all *runtime.Usage, thread string, line []byte) string {
	var e struct {
		Type    string `json:"type"`
		Payload struct {
			ID     string `json:"id"`
			Thread string `json:"thread_id"`
			Model  string `json:"model"`
			Usage  tokens `json:"usage"`
		} `json:"payload"`
	}
	if json.Unmarshal(line, &e) != nil {
		return thread
	}
	switch {
	case e.Type == "session_meta" && thread == "":
		return e.Payload.ID
	case e.Type == "turn_context" && e.Payload.Model != "":
		all.Model = e.Payload.Model
	case e.Type == "token_usage_record" && e.Payload.Thread == thread:
		one := record{Tokens: &e.Payload.Usage, Requests: 1}
		all.Add(one.usage())
	}
	return thread
}
