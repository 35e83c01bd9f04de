package core

import (
	"context"
	"encoding/json"
	"time"
)

// PrefixEvent begins the ids of events.
const PrefixEvent = "evt_"

// EventType names what happened. The dotted public types are those of the interface's webhook table.
type EventType string

// Public event types, delivered to webhooks.
const (
	EventExecutionStarted   EventType = "execution.started"
	EventExecutionCompleted EventType = "execution.completed"
	EventExecutionFailed    EventType = "execution.failed"
	EventExecutionCancelled EventType = "execution.cancelled"
	EventExecutionDeleted   EventType = "execution.deleted" // by somebody; retention tells of nothing
	EventAgentConnected     EventType = "agent.connected"
	EventAgentDisconnected  EventType = "agent.disconnected"
	EventAgentUnhealthy     EventType = "agent.unhealthy"
	EventPatternCreated     EventType = "pattern.created"
	EventPatternUpdated     EventType = "pattern.updated"
	EventPatternDeleted     EventType = "pattern.deleted"
	EventSystemAlert        EventType = "system.alert"
)

// Journal event types: they belong to one execution, drive its resume and its stream, and stay inside.
const (
	EventExecutionQueued EventType = "execution.queued" // stored; not yet at any agent
	EventTaskAssigned    EventType = "task.assigned"
	EventTaskCompleted   EventType = "task.completed"
	EventTaskFailed      EventType = "task.failed"   // an attempt failed; it may be handed out again
	EventTaskLate        EventType = "task.late"     // a fenced report: recorded, ignored
	EventTaskProgress    EventType = "task.progress" // live only, never stored
	EventStepCompleted   EventType = "step.completed"
)

// Journal event types of org charts. They belong to one execution; docs/patterns.md names those that its stream
// shows.
const (
	EventStepStarted      EventType = "step.started"
	EventRoleBound        EventType = "role.bound"    // an agent serves a role from now on
	EventRoleReleased     EventType = "role.released" // it does no more
	EventMessageSent      EventType = "message.sent"  // an agent asked or told another role
	EventMessageEscalated EventType = "message.escalated"
	EventMessageReplied   EventType = "message.replied"
	EventMessageUsed      EventType = "message.used"   // what the turn of an asked agent used
	EventMessageClosed    EventType = "message.closed" // it needs no answer any more, and its question none either
	EventQuestionAsked    EventType = "question.asked" // to people
	EventQuestionAnswered EventType = "question.answered"
	EventQuestionExpired  EventType = "question.expired"
)

// EventPromptRuled tells in the journal of an execution how a prompt of one of its threads was answered, by a rule or by
// somebody, or that a policy wants people to. Its data is a PromptRuled.
const EventPromptRuled EventType = "prompt.ruled"

// EventUnreadable stands in the place of a stored event that cannot be read: only its Seq and Subject are known. It is
// not stored itself and not shown to anybody; whoever follows from events what they did must not go on from there.
const EventUnreadable EventType = "event.unreadable"

// Event types of managed agents, as their runtime tells them. They belong to one agent and stay inside.
const (
	EventManagedStarted      EventType = "managed_agent.started"
	EventManagedReady        EventType = "managed_agent.ready"
	EventManagedBusy         EventType = "managed_agent.busy"
	EventManagedBlocked      EventType = "managed_agent.blocked"
	EventManagedQuestion     EventType = "managed_agent.question"
	EventManagedUnblocked    EventType = "managed_agent.unblocked"
	EventManagedLogin        EventType = "managed_agent.login_required"
	EventManagedTool         EventType = "managed_agent.tool_running"
	EventManagedToolDone     EventType = "managed_agent.tool_done"
	EventManagedTurnComplete EventType = "managed_agent.turn_complete"
	EventManagedMessage      EventType = "managed_agent.message"
	EventManagedStuck        EventType = "managed_agent.stuck"
	EventManagedError        EventType = "managed_agent.error"
	EventManagedStopped      EventType = "managed_agent.stopped"
)

// Public events of managed threads and agents, beside those of the interface. Two types are shared with what stays
// inside, EventManagedBlocked and EventManagedLogin: an event is public if it has an ID, and its data then is an
// AgentNotice. Agents of threads are reported by their threads.
const (
	EventPublicThreadBlocked   EventType = "thread.blocked"       // ThreadNotice: it waits for somebody
	EventPublicThreadCompleted EventType = "thread.completed"     // ThreadNotice
	EventPublicThreadFailed    EventType = "thread.failed"        // ThreadNotice
	EventManagedFailed         EventType = "managed_agent.failed" // AgentNotice
)

// Event types of managed threads. The first ten are the persisted kinds of the interface; the others are stored as
// well, so that a stream can be resumed without loss. They belong to one thread, and to the group ThreadGroup of its
// execution.
const (
	EventThreadStarted        EventType = "thread_started"         // {managedAgentId?, agentId?, runtime, agentType, workspace?, restart?}
	EventThreadReady          EventType = "thread_ready"           // {}
	EventThreadBlocked        EventType = "thread_blocked"         // {prompt {id, kind, text, options, url?}, autoAnswered, answer?}
	EventThreadToolRunning    EventType = "thread_tool_running"    // {tool, input}
	EventThreadTurnComplete   EventType = "thread_turn_complete"   // {output?, turn, durationMs, interrupted?, refused?, error?, usage?}
	EventThreadIdle           EventType = "thread_idle"            // {idleMs}
	EventThreadSummaryUpdated EventType = "thread_summary_updated" // {summary, turns}
	EventThreadCompleted      EventType = "thread_completed"       // {completion}
	EventThreadFailed         EventType = "thread_failed"          // {error {code, message}, completion}
	EventThreadStopped        EventType = "thread_stopped"         // {reason, completion}

	EventThreadOutput EventType = "thread_output" // {text, turn}: what the agent said
	EventThreadStatus EventType = "thread_status" // {status, reason?, inputId?}: preparing, running, stuck, unblocked, host_away, input_repeated

	EventThreadInput    EventType = "thread_input"     // {inputId, text, truncated?, state, createdBy?}: a message for the agent was stored, or sent
	EventThreadToolDone EventType = "thread_tool_done" // {tool, outcome, durationMs?}: outcome is done or failed
)

// ExtraThreadEvents lists the kinds of thread events that are stored beside those of the interface.
var ExtraThreadEvents = []EventType{EventThreadOutput, EventThreadStatus, EventThreadInput, EventThreadToolDone}

// PersistedThreadEvents lists the kinds of thread events that the interface names.
var PersistedThreadEvents = []EventType{
	EventThreadStarted, EventThreadReady, EventThreadBlocked, EventThreadToolRunning, EventThreadTurnComplete,
	EventThreadIdle, EventThreadSummaryUpdated, EventThreadCompleted, EventThreadFailed, EventThreadStopped,
}

// Public reports whether events of the type are delivered outside; see Event.Public.
func (t EventType) Public() bool {
	switch t {
	case EventExecutionStarted, EventExecutionCompleted, EventExecutionFailed, EventExecutionCancelled,
		EventAgentConnected, EventAgentDisconnected, EventAgentUnhealthy,
		EventPatternCreated, EventPatternUpdated, EventPatternDeleted, EventSystemAlert,
		EventPublicThreadBlocked, EventPublicThreadCompleted, EventPublicThreadFailed,
		EventManagedBlocked, EventManagedLogin, EventManagedFailed, EventExecutionDeleted:
		return true
	}
	return false
}

// Notice reports whether the type tells of a change that is not stored with it: its events have no Seq and are not repeated, and
// whoever may have missed one reads the state anew.
func (t EventType) Notice() bool {
	switch t {
	case EventBatchProgress, EventWebhookDeliveries, EventPluginChanged:
		return true
	}
	return false
}

// Event is one entry of the append-only event log. Seq is given by the store in the transaction that
// writes it: it is strictly rising over all subjects and restarts, without gaps in time order.
type Event struct {
	Seq     uint64          `json:"seq"`
	ID      string          `json:"id,omitempty"` // evt_ id of a public event; stable over deliveries
	Type    EventType       `json:"type"`
	Time    time.Time       `json:"time"`
	Subject string          `json:"subject,omitempty"` // id of the execution, agent or batch, or the pattern's name
	Data    json.RawMessage `json:"data,omitempty"`
	// By is the id of the principal who caused it, System.ID for what the server did by itself. Whoever writes an event later
	// than it was asked for sets it; else it is that of the transaction's context. "" of events that are older than this.
	By string `json:"by,omitempty"`
	// Group is a second name under which the event is found and streamed, with the same Seq; "" for none. A name is
	// a subject or a group, never both. It is not part of a stored event that is read by its subject.
	Group string `json:"-"`
}

// Public reports whether the event is delivered outside. Of the types that runtimes tell as well, those with an ID are.
func (e *Event) Public() bool {
	if e.Type == EventManagedBlocked || e.Type == EventManagedLogin {
		return e.ID != ""
	}
	return e.Type.Public()
}

// EventStream yields the events of a subject in order.
type EventStream interface {
	// Next blocks for the next event. io.EOF after the last event of a finished subject; ctx's error;
	// INTERNAL_ERROR with Unavailable when the process shuts down or the reader was too slow (it may come
	// back with the last sequence it saw).
	Next(ctx context.Context) (Event, error)
	// Close frees the stream. Safe to call twice.
	Close()
}
