package server

import (
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Labels of an agent that hosts a managed thread. Without them the thread's id is that of the agent.
const (
	LabelThread    = "wardroom.io/thread"
	LabelExecution = "wardroom.io/execution"
)

// EventFrame is one message of /ws/events.
type EventFrame struct {
	Event     string         `json:"event"`
	Data      any            `json:"data"`
	Timestamp wire.Timestamp `json:"timestamp"`
	Seq       uint64         `json:"seq"` // of the runtime's event; after=SEQ goes on behind it
}

// eventData is the data of the frames about agents; each kind has its own of these fields.
type eventData struct {
	Agent    *Record         `json:"agent,omitempty"`
	Reason   *string         `json:"reason,omitempty"`
	ExitCode *int            `json:"exitCode,omitempty"`
	Error    *string         `json:"error,omitempty"`
	LoginURL *string         `json:"loginUrl,omitempty"`
	Question *string         `json:"question,omitempty"`
	Prompt   *runtime.Prompt `json:"prompt,omitempty"`
	Message  *message        `json:"message,omitempty"`
}

// message is something that an agent said.
type message struct {
	AgentID   string         `json:"agentId"`
	Text      string         `json:"text"`
	Timestamp wire.Timestamp `json:"timestamp"`
}

// frames returns what /ws/events says about an event: under the name of the interface, if it has one for it,
// and always as a thread_event.
func frames(e *runtime.Event, name string) []EventFrame {
	at := wire.Timestamp(e.Time)
	agent := record(&e.Agent, name)
	var all []EventFrame
	if kind, data := named(e, &agent); kind != "" {
		all = append(all, EventFrame{Event: kind, Data: data, Timestamp: at, Seq: e.Seq})
	}
	if data, ok := asked(e, &agent); ok {
		all = append(all, EventFrame{Event: "question", Data: data, Timestamp: at, Seq: e.Seq})
	}
	return append(all, EventFrame{Event: "thread_event", Data: threadData{thread(e, &agent), threadEventOf(e)}, Timestamp: at, Seq: e.Seq})
}

func named(e *runtime.Event, agent *Record) (string, eventData) {
	data := eventData{Agent: agent}
	switch e.Type {
	case runtime.EventStarted:
		return "agent_started", data
	case runtime.EventReady:
		return "agent_ready", data
	case runtime.EventStopped:
		data.Reason = &e.Reason
		if e.Exit != nil {
			data.ExitCode = &e.Exit.Code
		}
		return "agent_stopped", data
	case runtime.EventError:
		data.Error = pick(e.Text, e.Reason)
		return "agent_error", data
	case runtime.EventLoginRequired:
		data.LoginURL = &e.LoginURL
		return "login_required", data
	case runtime.EventMessage:
		data.Message = &message{AgentID: e.AgentID, Text: e.Text, Timestamp: wire.Timestamp(e.Time)}
		return "message", data
	default:
		return "", data
	}
}

// asked returns what an agent waits for somebody to answer: a question, an approval or a login.
func asked(e *runtime.Event, agent *Record) (data eventData, ok bool) {
	data = eventData{Agent: agent, Prompt: e.Prompt}
	switch e.Type {
	case runtime.EventQuestion, runtime.EventBlocked:
		data.Question = &e.Text
		if e.Prompt != nil {
			data.Question = &e.Prompt.Text
		}
		return data, true
	case runtime.EventLoginRequired:
		data.Question = new(string)
		*data.Question = loginText
		if e.LoginURL != "" {
			data.LoginURL = &e.LoginURL
			*data.Question += ": open " + e.LoginURL + " and send the code that it shows"
		}
		return data, true
	}
	return data, false
}

// loginText is the text of the prompt of an agent that lacks a credential.
const loginText = "the agent needs a login"

// pick returns the first text that is not empty.
func pick(texts ...string) *string {
	for _, text := range texts {
		if text != "" {
			return &text
		}
	}
	return new(string)
}
