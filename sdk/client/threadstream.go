package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Types of the events of threads.
const (
	EventThreadStarted        = "thread_started"
	EventThreadReady          = "thread_ready" // in a stream: EventThreadStatus, like the other three marked with *
	EventThreadBlocked        = "thread_blocked"
	EventThreadToolRunning    = "thread_tool_running"
	EventThreadTurnComplete   = "thread_turn_complete"
	EventThreadIdle           = "thread_idle"            // *
	EventThreadSummaryUpdated = "thread_summary_updated" // *
	EventThreadCompleted      = "thread_completed"
	EventThreadFailed         = "thread_failed"
	EventThreadStopped        = "thread_stopped" // *
	EventThreadOutput         = "thread_output"  // what the agent said
	EventThreadStatus         = "thread_status"
	EventThreadInput          = "thread_input"     // a message for the agent; not in streams
	EventThreadToolDone       = "thread_tool_done" // not in streams
)

// Types of the events of a thread stream that are not about a thread.
const (
	EventConnected = "connected" // the first one
	EventGap       = "gap"       // events are missing: see StreamGap
)

// ThreadEvent is a stored event of a thread.
type ThreadEvent struct{ wire.ThreadEvent }

// ThreadEventList is one page of events, oldest first.
type ThreadEventList struct {
	Meta
	wire.EventPage
	Events     []ThreadEvent `json:"events"`
	NextBefore uint64        `json:"nextBefore"` // of a filter with Newest or Before: Before of the next page
}

// ThreadEventFilter selects events of a thread. Zero values select the persisted kinds from the beginning.
type ThreadEventFilter struct {
	Since  uint64   // only events after this sequence
	Before uint64   // the newest events before this sequence; not together with Since
	Newest bool     // the newest events of all; not together with Since
	Types  []string // empty: all but EventThreadOutput, EventThreadStatus, EventThreadInput and EventThreadToolDone
	Limit  int      // 0: the server's default
}

// ThreadEventData is the data of events; which fields are set depends on the type.
type ThreadEventData struct {
	Status         string             `json:"status"`
	Reason         string             `json:"reason"`
	Text           string             `json:"text"`
	Turn           int                `json:"turn"`
	Output         string             `json:"output"`
	DurationMs     Millis             `json:"durationMs"`
	Interrupted    bool               `json:"interrupted"`
	Refused        bool               `json:"refused"`
	Usage          *wire.Usage        `json:"usage"`   // of the turn
	InputID        string             `json:"inputId"` // of a message that a thread_status is about
	Prompt         *ManagedPrompt     `json:"prompt"`
	AutoAnswered   bool               `json:"autoAnswered"`
	Answer         string             `json:"answer"`
	Ruling         *wire.PromptRuling `json:"ruling"` // of a thread_blocked: what answers, or that people are to
	Tool           string             `json:"tool"`
	Outcome        string             `json:"outcome"`   // of a tool: done or failed
	State          string             `json:"state"`     // of a message: queued, or sent at once
	CreatedBy      string             `json:"createdBy"` // of a message
	Input          json.RawMessage    `json:"input"`
	IdleMs         Millis             `json:"idleMs"`
	Summary        string             `json:"summary"`
	Turns          int                `json:"turns"`
	Completion     *ThreadCompletion  `json:"completion"`
	Error          *wire.TurnError    `json:"error"` // of a turn, or of a thread, where it is never Retryable
	ManagedAgentID string             `json:"managedAgentId"`
	AgentID        string             `json:"agentId"`
	Runtime        string             `json:"runtime"`
	AgentType      string             `json:"agentType"`
	Restart        int                `json:"restart"`
}

// Decode reads the data of the event.
func (e *ThreadEvent) Decode() (ThreadEventData, error) { return decodeThreadData(e.Type, e.Data) }

func decodeThreadData(kind string, data []byte) (ThreadEventData, error) {
	var d ThreadEventData
	if err := json.Unmarshal(data, &d); err != nil {
		return ThreadEventData{}, fmt.Errorf("data of a %s event: %w", kind, err)
	}
	return d, nil
}

// ThreadStreamEvent is the data of an event of a thread stream.
type ThreadStreamEvent struct {
	ExecutionID string            `json:"executionId"`
	ThreadID    string            `json:"threadId"`
	Type        string            `json:"type"` // gateway_thread_output and so on
	Data        ThreadGatewayData `json:"data"`
	Timestamp   time.Time         `json:"timestamp"`
}

// ThreadGatewayData is the event of a thread within a ThreadStreamEvent.
type ThreadGatewayData struct {
	ThreadID    string `json:"thread_id"`
	EventType   string `json:"event_type"`
	DataJSON    string `json:"data_json"` // JSON; see Decode
	TimestampMs int64  `json:"timestamp_ms"`
	Sequence    uint64 `json:"sequence"`
}

// Decode reads what the event says. Of a thread that became ready, idle or stopped, or has a new summary, Status is
// ready, idle, stopped or summary_updated.
func (e *ThreadStreamEvent) Decode() (ThreadEventData, error) {
	return decodeThreadData(e.Type, []byte(e.Data.DataJSON))
}

// StreamGap says that a stream cannot be taken up where it was left: events behind From, up to To, are gone. What
// follows is whole; read the threads anew.
type StreamGap struct {
	From   uint64 `json:"from"`
	To     uint64 `json:"to"`
	Reason string `json:"reason"` // trimmed, or future: the position is not of this server's history
}

// Thread reads the data of a thread_* event of a thread stream.
func (e Event) Thread() (*ThreadStreamEvent, error) {
	return dataOf[ThreadStreamEvent](e)
}

// Gap reads the data of an EventGap.
func (e Event) Gap() (*StreamGap, error) {
	return dataOf[StreamGap](e)
}

// ListThreadEvents returns stored events of a thread, oldest first.
func (c *Client) ListThreadEvents(ctx context.Context, id string, filter ThreadEventFilter) (*ThreadEventList, error) {
	query := queryOf("since", number(filter.Since))
	if filter.Before > 0 || filter.Newest {
		query.Set("before", strconv.FormatUint(filter.Before, 10))
	}
	setTexts(query, "limit", number(filter.Limit), "type", strings.Join(filter.Types, ","))
	return ask[ThreadEventList](ctx, c, request{method: http.MethodGet, path: threadPath(id) + "/events", query: query})
}

// WatchThreads streams what happens to the threads of an execution, or to those named only. after is the id of the
// last event already seen ("0": from the beginning), or empty for what happens from now on. The first event is an
// EventConnected, the others hold a ThreadStreamEvent (see Event.Thread), but for an EventGap. The stream has no end of
// its own; it comes back by itself and misses nothing that the server still has.
func (c *Client) WatchThreads(ctx context.Context, executionID string, threadIDs []string, after string) (*Stream, error) {
	query := queryOf("threadIds", strings.Join(threadIDs, ","))
	r := request{method: http.MethodGet, path: executionPath(executionID) + "/threads/stream", query: query}
	return c.stream(ctx, r, "", after)
}
