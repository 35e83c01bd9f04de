package api

import (
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// managedStatuses are the values of a managed agent's status.
var managedStatuses = []string{
	string(core.ManagedStarting), string(core.ManagedReady), string(core.ManagedBusy),
	string(core.ManagedUnreachable), string(core.ManagedError), string(core.ManagedStopped),
}

type managedAgentList struct {
	Agents []*core.ManagedAgent `json:"agents"`
	wire.PageInfo
}

type screenList struct {
	Screens []core.ManagedAgentScreen `json:"screens"`
}

type runtimeList struct {
	Runtimes []core.RuntimeInfo `json:"runtimes"`
}

// restartRequest says how to restart an agent.
type restartRequest struct {
	Fresh bool `json:"fresh" doc:"Begin a new session instead of resuming the last one."`
}

type managedEventList struct {
	Events []wire.ManagedAgentEvent `json:"events"`
	wire.EventPage
	// NextBefore is there only where before was asked for.
	NextBefore uint64 `json:"nextBefore,omitempty" doc:"With before: that of the next page, whose events are older."`
}

func newManagedEvent(ev core.Event) wire.ManagedAgentEvent {
	return wire.ManagedAgentEvent{
		AgentID: ev.Subject, Sequence: ev.Seq, Type: string(ev.Type), Timestamp: ev.Time, Data: rawOr(ev.Data, "{}"), Principal: ev.By,
	}
}

type logList struct {
	Logs []core.LogLine `json:"logs"`
	Tail int            `json:"tail" doc:"Lines at most."`
}
