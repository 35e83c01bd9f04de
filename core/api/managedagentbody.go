package api

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// managedStatuses are the values of a managed agent's status.
var managedStatuses = []string{
	string(core.ManagedStarting), string(core.ManagedReady), string(core.ManagedBusy),
	string(core.ManagedUnreachable), string(core.ManagedError), string(core.ManagedStopped),
}

// managedAgentBody is a managed agent on the wire.
type managedAgentBody struct {
	ID             string                  `json:"id"`
	Name           string                  `json:"name"`
	Type           string                  `json:"type" example:"claude"`
	Status         core.ManagedAgentStatus `json:"status" enum:"starting,ready,busy,unreachable,error,stopped" doc:"unreachable: it runs as far as is known, and cannot be reached now."`
	StatusReason   string                  `json:"statusReason,omitempty" doc:"blocked: it waits for an answer; login_required: see loginUrl; runtime_away, agent_away: why it is unreachable; else why it is in error or stopped."`
	Runtime        string                  `json:"runtime" example:"local"`
	Capabilities   []string                `json:"capabilities"`
	Workdir        string                  `json:"workdir,omitempty"`
	PID            int                     `json:"pid,omitempty" doc:"Of the command-line tool itself, on a local runtime."`
	ContainerID    string                  `json:"containerId,omitempty"`
	PodName        string                  `json:"podName,omitempty"`
	ExitCode       *int                    `json:"exitCode,omitempty" doc:"128+n after signal n."`
	SessionID      string                  `json:"sessionId,omitempty" doc:"Of the tool; resume of a later agent takes it."`
	Prompt         json.RawMessage         `json:"prompt,omitempty" doc:"While it is blocked: {id, kind, text, tool?, input?, options, url?}."`
	LoginURL       string                  `json:"loginUrl,omitempty"`
	Turn           int                     `json:"turn,omitempty" doc:"Turns so far."`
	CreatedAt      timestamp               `json:"createdAt"`
	LastActivityAt timestamp               `json:"lastActivityAt"`
	StoppedAt      *timestamp              `json:"stoppedAt,omitempty" doc:"When its process ended."`
	Labels         map[string]string       `json:"labels,omitempty" doc:"Those of its spawn."`
	Usage          *wire.Usage             `json:"usage,omitempty" doc:"What its turns used, as far as it told. Never estimated."`
	LastTurn       *wire.TurnOutcome       `json:"lastTurn,omitempty" doc:"How its last turn ended."`
	ReadyTimeoutMs int64                   `json:"readyTimeoutMs,omitempty" doc:"How long it may take from its start until it is ready."`
}

func newManagedAgentBody(a *core.ManagedAgent) managedAgentBody {
	body := managedAgentBody{
		ID: a.ID, Name: a.Name, Type: a.Type, Status: a.Status, StatusReason: a.StatusReason, Runtime: a.Runtime,
		Capabilities: a.Capabilities, Workdir: a.Workdir, PID: a.PID, ContainerID: a.ContainerID, PodName: a.PodName,
		ExitCode: a.ExitCode, SessionID: a.SessionID, Prompt: a.Prompt, LoginURL: a.LoginURL, Turn: a.Turn,
		CreatedAt: timestamp(a.CreatedAt), LastActivityAt: timestamp(a.LastActivityAt), StoppedAt: stamp(a.StoppedAt),
		Labels: a.Labels, Usage: a.Usage, LastTurn: a.LastTurn, ReadyTimeoutMs: a.ReadyTimeout.Milliseconds(),
	}
	if body.Capabilities == nil {
		body.Capabilities = []string{}
	}
	return body
}

type managedAgentList struct {
	Agents []managedAgentBody `json:"agents"`
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
	Events    []managedEventRow `json:"events"`
	Limit     int               `json:"limit"`
	HasMore   bool              `json:"hasMore"`
	NextSince uint64            `json:"nextSince" doc:"since of the next page."`
}

type managedEventRow struct {
	AgentID   string          `json:"agentId"`
	Sequence  uint64          `json:"sequence" doc:"Rises over all agents; the id of the event in the stream."`
	Type      core.EventType  `json:"type" example:"managed_agent.turn_complete"`
	Timestamp timestamp       `json:"timestamp"`
	Data      json.RawMessage `json:"data" doc:"Depends on the type; status is the one that it led to."`
}

func newManagedEventRow(ev core.Event) managedEventRow {
	return managedEventRow{
		AgentID: ev.Subject, Sequence: ev.Seq, Type: ev.Type, Timestamp: timestamp(ev.Time),
		Data: rawOr(ev.Data, "{}"),
	}
}

type logList struct {
	Logs []logRow `json:"logs"`
	Tail int      `json:"tail" doc:"Lines at most."`
}

type logRow struct {
	Timestamp timestamp `json:"timestamp"`
	Stream    string    `json:"stream" enum:"terminal,input,output,event" doc:"terminal: lines that left the screen; input and output: messages and answers; event: what happened."`
	Line      string    `json:"line"`
}

func newLogRow(l core.LogLine) logRow {
	return logRow{Timestamp: timestamp(l.Timestamp), Stream: l.Stream, Line: l.Line}
}
