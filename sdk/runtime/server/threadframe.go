package server

import (
	"strconv"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// threadData is the data of a thread_event: the agent seen as a managed thread, and what happened in the words
// of the appliance's persisted thread events.
type threadData struct {
	Thread threadRecord `json:"thread"`
	Event  threadEvent  `json:"event"`
}

type threadRecord struct {
	ID             string         `json:"id"`
	ExecutionID    string         `json:"executionId,omitempty"`
	ManagedAgentID string         `json:"managedAgentId"`
	Name           string         `json:"name"`
	AgentType      string         `json:"agentType"`
	Runtime        string         `json:"runtime"`
	Status         runtime.Status `json:"status"`
	StatusReason   string         `json:"statusReason,omitempty"`
	TurnCount      int            `json:"turnCount"`
}

type threadEvent struct {
	ID          string         `json:"id"`
	ThreadID    string         `json:"threadId"`
	ExecutionID string         `json:"executionId,omitempty"`
	Sequence    uint64         `json:"sequence"`
	Type        string         `json:"type"`
	Timestamp   wire.Timestamp `json:"timestamp"`
	Source      string         `json:"source,omitempty"`
	Data        map[string]any `json:"data"`
}

func thread(e *runtime.Event, agent *Record) threadRecord {
	return threadRecord{
		ID: threadID(e), ExecutionID: e.Agent.Labels[LabelExecution], ManagedAgentID: e.AgentID, Name: agent.Name,
		AgentType: agent.Type, Runtime: agent.Runtime, Status: e.Agent.Status, StatusReason: e.Agent.Reason, TurnCount: agent.Turn,
	}
}

func threadID(e *runtime.Event) string {
	if id := e.Agent.Labels[LabelThread]; id != "" {
		return id
	}
	return e.AgentID
}

func threadEventOf(e *runtime.Event) threadEvent {
	kind, data := threadWords(e)
	return threadEvent{
		ID: e.AgentID + "-" + strconv.FormatUint(e.Seq, 10), ThreadID: threadID(e), ExecutionID: e.Agent.Labels[LabelExecution],
		Sequence: e.Seq, Type: kind, Timestamp: wire.Timestamp(e.Time), Source: e.Source, Data: data,
	}
}

// threadWords returns kind and data of an event as a thread has them.
func threadWords(e *runtime.Event) (string, map[string]any) {
	switch e.Type {
	case runtime.EventStarted:
		return "thread_started", map[string]any{}
	case runtime.EventReady:
		return "thread_ready", map[string]any{}
	case runtime.EventBlocked, runtime.EventQuestion:
		return "thread_blocked", map[string]any{"prompt": threadPrompt(e), "autoAnswered": false}
	case runtime.EventLoginRequired:
		return "thread_blocked", map[string]any{"autoAnswered": false, "prompt": map[string]any{
			"kind": "login", "text": loginText, "options": []runtime.Option{}, "url": e.LoginURL,
		}}
	case runtime.EventToolRunning:
		data := map[string]any{"tool": "", "input": map[string]any{}}
		if e.Tool != nil {
			data["tool"], data["input"] = e.Tool.Name, e.Tool.Input
		}
		return "thread_tool_running", data
	case runtime.EventToolDone:
		data := map[string]any{"tool": "", "outcome": "done", "durationMs": e.DurationMs}
		if e.Tool != nil {
			data["tool"] = e.Tool.Name
		}
		if e.Reason != "" {
			data["outcome"] = e.Reason
		}
		return "thread_tool_done", data
	case runtime.EventTurnComplete:
		return "thread_turn_complete", turnData(e)
	case runtime.EventMessage:
		return "thread_output", map[string]any{"text": e.Text}
	case runtime.EventError:
		return "thread_failed", map[string]any{"error": map[string]any{"code": e.Reason, "message": *pick(e.Text, e.Reason)}}
	case runtime.EventStopped:
		return "thread_stopped", map[string]any{"reason": e.Reason}
	case runtime.EventUnblocked:
		return "thread_status", map[string]any{"status": "running", "answered": e.Answered}
	case runtime.EventStuck:
		return "thread_status", map[string]any{"status": "stuck", "reason": e.Reason}
	case runtime.EventBusy:
		return "thread_status", map[string]any{"status": "running"}
	default: // of a later version of the contract
		return "thread_status", map[string]any{"status": string(e.Type)}
	}
}

// turnData returns how a turn ended: one that failed has no output.
func turnData(e *runtime.Event) map[string]any {
	data := map[string]any{"turn": e.Turn, "durationMs": e.DurationMs, "interrupted": e.Interrupted}
	if e.Error != nil {
		data["error"] = e.Error
	} else {
		data["output"] = e.Text
	}
	if e.Refused {
		data["refused"] = true
	}
	if e.Usage != nil {
		data["usage"] = e.Usage
	}
	return data
}

func threadPrompt(e *runtime.Event) map[string]any {
	prompt := map[string]any{"kind": string(e.Type), "text": e.Text, "options": []runtime.Option{}}
	if p := e.Prompt; p != nil {
		prompt["id"], prompt["kind"], prompt["text"] = p.ID, p.Kind, p.Text
		if p.Options != nil {
			prompt["options"] = p.Options
		}
		if p.Tool != "" {
			prompt["tool"], prompt["input"] = p.Tool, p.Input
		}
		if p.URL != "" {
			prompt["url"] = p.URL
		}
	}
	return prompt
}
