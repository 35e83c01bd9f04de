package runtimes

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Status maps what a runtime says to the states of the interface: a blocked agent is busy and says why, and one
// that ended by itself in another way than with code 0 is in error.
func status(a *runtime.Agent, wanted bool) (core.ManagedAgentStatus, string) {
	switch a.Status {
	case runtime.StatusStarting:
		return core.ManagedStarting, a.Reason
	case runtime.StatusReady:
		return core.ManagedReady, a.Reason
	case runtime.StatusBusy:
		return core.ManagedBusy, a.Reason
	case runtime.StatusBlocked:
		return core.ManagedBusy, core.ReasonBlocked
	case runtime.StatusUnreachable:
		if a.Reason == "" {
			return core.ManagedUnreachable, core.ReasonAgentAway
		}
		return core.ManagedUnreachable, a.Reason
	case runtime.StatusStopped:
		return stopped(a, wanted), a.Reason
	}
	return core.ManagedError, a.Reason
}

func stopped(a *runtime.Agent, wanted bool) core.ManagedAgentStatus {
	reason, _, _ := strings.Cut(a.Reason, ":")
	switch {
	case !wanted, reason == runtime.ReasonStopped, reason == runtime.ReasonKilled:
		return core.ManagedStopped
	case reason == runtime.ReasonExited && a.ExitCode != nil && *a.ExitCode == 0:
		return core.ManagedStopped
	}
	return core.ManagedError
}

// take puts what a runtime says of an agent into its record, unless the record knows better: events that were
// told before the agent was looked at, or found lost, come late after a recovery.
func take(r *core.ManagedAgentRecord, a *runtime.Agent, now time.Time) {
	if a.Seq != 0 && a.Seq < r.SnapshotSeq {
		return
	}
	r.SnapshotSeq = max(r.SnapshotSeq, a.Seq)
	r.Status, r.StatusReason = status(a, r.Wanted)
	r.PID, r.ContainerID, r.PodName = a.PID, a.ContainerID, a.PodName
	r.ExitCode, r.LoginURL = a.ExitCode, a.LoginURL
	r.Turn = a.Turn
	if a.Workdir != "" {
		r.Workdir = a.Workdir
	}
	if a.SessionID != "" {
		r.SessionID = a.SessionID
	}
	if !a.LastActivityAt.IsZero() {
		r.LastActivityAt = a.LastActivityAt
	}
	r.Prompt = nil
	if a.Prompt != nil {
		r.Prompt = encode(boundPrompt(a.Prompt))
	}
	if !a.Handle.IsZero() {
		r.Handle = encode(a.Handle)
	}
	if a.Status != runtime.StatusStopped {
		r.StoppedAt = nil
	} else if r.StoppedAt == nil {
		r.StoppedAt = &now
	}
}

// endTurn notes how a turn ended.
func endTurn(r *core.ManagedAgentRecord, e *runtime.Event) {
	outcome := e.TurnOutcome
	r.LastTurn = &outcome
	if e.Usage == nil {
		return
	}
	sum := wire.Usage{}
	sum.Add(r.Usage)
	sum.Add(e.Usage)
	r.Usage = &sum
}

// lose notes that nothing is left of an agent.
func lose(r *core.ManagedAgentRecord, reason string, now time.Time) {
	r.Status, r.StatusReason = core.ManagedError, reason
	if !r.Wanted {
		r.Status, r.StatusReason = core.ManagedStopped, runtime.ReasonStopped
	}
	r.PID, r.Prompt, r.LoginURL = 0, nil, ""
	r.StoppedAt = &now
	r.SnapshotSeq = math.MaxUint64
}

// boundPrompt returns a prompt without the input of its tool if that is beyond what a record may hold.
func boundPrompt(p *runtime.Prompt) *runtime.Prompt {
	if p == nil || fits(p.Input) {
		return p
	}
	bounded := *p
	bounded.Input = nil
	return &bounded
}

// boundTool is boundPrompt for a tool call.
func boundTool(t *runtime.ToolCall) *runtime.ToolCall {
	if t == nil || fits(t.Input) {
		return t
	}
	return &runtime.ToolCall{Name: t.Name}
}

// fits reports whether a tool's input may be part of a record.
func fits(input map[string]any) bool {
	if len(input) == 0 {
		return true
	}
	data, err := json.Marshal(input)
	return err == nil && len(data) <= maxEventText && !rawjson.TooDeep(data, rawjson.MaxDepth)
}

// encode writes values of the contract, which are plain data, as JSON.
func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null") // a tool's input with a value that JSON does not have
	}
	return data
}
