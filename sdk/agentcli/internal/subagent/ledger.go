// Package subagent counts what agents used that a coding CLI's own agent started: helpers, whose transcripts are files of their own.
//
// It owns which of these files are to be read, and what each was counted for. It does not own what is in them, nor when they are
// read: the adapters of sdk/agentcli, which call it, do.
package subagent

import (
	"slices"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// Bounds of the helpers that are remembered: whose transcripts are to be read, and of which it is known what they used. Of more the
// first are not counted, or others are forgotten.
const (
	maxNoted   = 64
	maxCounted = 256
)

// Ledger is a part of a driver's state, and saved with it. The zero value is empty. It is not safe for concurrent use.
type Ledger struct {
	// Helpers are transcripts of helpers that did something since they were read. Counted is what each used by then.
	Helpers []string                 `json:"helpers,omitempty"`
	Counted map[string]runtime.Usage `json:"counted,omitempty"`
}

// Note notes that the helper of a transcript did something. An empty name is none.
func (l *Ledger) Note(transcript string) {
	if transcript == "" || len(l.Helpers) >= maxNoted || slices.Contains(l.Helpers, transcript) {
		return
	}
	l.Helpers = append(l.Helpers, transcript)
}

// Count takes what a helper used in all, and adds to sum what that is more than it was counted for before. Nil is not known, and less
// than before is no count of all.
func (l *Ledger) Count(transcript string, used, sum *runtime.Usage) {
	if used == nil {
		return
	}
	before, known := l.Counted[transcript]
	more := runtime.Usage{
		Model: used.Model, Requests: used.Requests - before.Requests,
		InputTokens: used.InputTokens - before.InputTokens, OutputTokens: used.OutputTokens - before.OutputTokens,
		CacheReadTokens: used.CacheReadTokens - before.CacheReadTokens, CacheWriteTokens: used.CacheWriteTokens - before.CacheWriteTokens,
	}
	if more.Requests < 0 || min(more.InputTokens, more.OutputTokens, more.CacheReadTokens, more.CacheWriteTokens) < 0 {
		return
	}
	if l.Counted == nil {
		l.Counted = map[string]runtime.Usage{}
	}
	if !known && len(l.Counted) >= maxCounted {
		for other := range l.Counted {
			delete(l.Counted, other)
			break
		}
	}
	l.Counted[transcript] = *used
	sum.Add(&more)
}
