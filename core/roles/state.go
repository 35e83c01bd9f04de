package roles

import (
	"encoding/json"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// state is the state of an agent, folded from its events.
type state struct {
	seq      uint64 // of the last event
	read     bool   // the stored events were read
	status   core.ManagedAgentStatus
	reason   string
	gone     bool
	prompt   *prompt // that it waits for an answer to, or nil
	login    bool    // it cannot go on without one
	loginURL string
	loginSeq uint64 // of the event that reported it
	turn     int    // the last one that ended
	text     string // of its answer
	outcome  wire.TurnOutcome
	began    int      // turns that began, in this life of ours
	past     []string // ids of what the stored events have it ask in the turn that it has, until that was looked at
}

// prompt is a question of an agent. AskID of its messages is id.
type prompt struct {
	wire.Prompt
	raw json.RawMessage // all of it
}

// fold takes one event into the state and returns what it said.
func (st *state) fold(e core.Event) core.AgentSignal {
	var h core.AgentSignal
	_ = json.Unmarshal(e.Data, &h) // what cannot be read says nothing
	if e.Seq > st.seq {
		st.seq = e.Seq
	}
	if h.Status != "" {
		st.status = h.Status
	}
	if h.Reason != "" {
		st.reason = h.Reason
	}
	switch e.Type {
	case core.EventManagedStarted:
		st.gone, st.prompt, st.login = false, nil, false
	case core.EventManagedReady:
		st.prompt, st.login, st.loginURL, st.reason = nil, false, "", ""
	case core.EventManagedBusy:
		st.login, st.loginURL, st.reason = false, "", ""
		st.began++
	case core.EventManagedBlocked, core.EventManagedQuestion:
		st.prompt = readPrompt(h.Prompt)
	case core.EventManagedUnblocked:
		st.prompt = nil
	case core.EventManagedLogin:
		st.prompt, st.login, st.loginURL, st.loginSeq = nil, true, h.LoginURL, e.Seq
	case core.EventManagedTurnComplete:
		st.turn, st.text, st.outcome = h.Turn, h.Text, h.TurnOutcome
		st.past = nil
	case core.EventManagedStopped:
		st.gone, st.prompt, st.login = true, nil, false
	}
	if id := st.askID(); !st.read && id != "" && !slices.Contains(st.past, id) {
		st.past = append(st.past[max(0, len(st.past)-maxPast+1):], id)
	}
	return h
}

// fromRecord takes the state from an agent's record.
func (st *state) fromRecord(a *core.ManagedAgent) {
	st.status, st.reason, st.turn, st.gone = a.Status, a.StatusReason, a.Turn, a.Gone()
	st.prompt = readPrompt(a.Prompt)
	st.login, st.loginURL = a.LoginURL != "" && !st.gone, a.LoginURL
}

// readPrompt decodes a prompt; nil if there is none.
func readPrompt(raw json.RawMessage) *prompt {
	var p prompt
	if json.Unmarshal(raw, &p) != nil || p.ID == "" {
		return nil
	}
	p.raw = raw
	return &p
}

// idle reports whether the agent waits for a message.
func (st *state) idle() bool { return st.read && !st.gone && st.status == core.ManagedReady }
