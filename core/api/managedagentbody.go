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

type runtimeList struct {
	Runtimes []core.RuntimeInfo `json:"runtimes"`
}

// sendRequest is the input for an agent.
type sendRequest struct {
	Message        string   `json:"message" doc:"Submitted when the agent is idle." example:"Summarise README.md"`
	Raw            string   `json:"raw" doc:"Typed into the terminal as it is."`
	Keys           []string `json:"keys" check:"max=1000" doc:"Names of keys, pressed in order." example:"[\"ESC\",\"ENTER\"]"`
	Interrupt      bool     `json:"interrupt" doc:"Stop the turn that runs, as a person at the terminal would."`
	ExpectResponse bool     `json:"expectResponse" doc:"Wait for the end of the turn. With message only."`
	Timeout        int64    `json:"timeout" check:"min=1,max=86400000" doc:"Milliseconds; default 120000."`
}

// restartRequest says how to restart an agent.
type restartRequest struct {
	Fresh bool `json:"fresh" doc:"Begin a new session instead of resuming the last one."`
}

// sendAnswer tells what became of an input.
type sendAnswer struct {
	Sent     bool                       `json:"sent" doc:"The agent took it."`
	Response *core.ManagedAgentResponse `json:"response,omitempty" doc:"With expectResponse: what it answered, or why it did not."`
}

// answerRequest answers a prompt.
type answerRequest struct {
	PromptID string `json:"promptId" doc:"Default: the prompt that is open. Another one is a 409."`
	Choice   string `json:"choice" doc:"Id or label of an option; allow or deny for an approval." example:"allow"`
	Text     string `json:"text" doc:"Free text of a question, or with deny the reason."`
}

type managedEventList struct {
	Events []wire.ManagedAgentEvent `json:"events"`
	wire.EventPage
}

func newManagedEvent(ev core.Event) wire.ManagedAgentEvent {
	return wire.ManagedAgentEvent{
		AgentID: ev.Subject, Sequence: ev.Seq, Type: string(ev.Type), Timestamp: ev.Time, Data: rawOr(ev.Data, "{}"),
	}
}

type logList struct {
	Logs []core.LogLine `json:"logs"`
	Tail int            `json:"tail" doc:"Lines at most."`
}
