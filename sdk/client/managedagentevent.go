package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/wardroom/wardroom/sdk/wire"
)

// ManagedAgentEvent is something that happened to a managed agent. Streams carry it as the data of an Event
// whose type is Type.
type ManagedAgentEvent struct{ wire.ManagedAgentEvent }

// ManagedEventData is the data of events; which fields are set depends on the type.
type ManagedEventData struct {
	Status     string         `json:"status"` // the one that the event led to
	Prompt     *ManagedPrompt `json:"prompt"`
	Answered   string         `json:"answered"`
	Text       string         `json:"text"`
	Turn       int            `json:"turn"`
	DurationMs Millis         `json:"durationMs"`
	LoginURL   string         `json:"loginUrl"`
	Reason     string         `json:"reason"`
	ExitCode   *int           `json:"exitCode"`
	wire.TurnOutcome
	Tool *struct {
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"tool"`
}

// Decode reads the data of the event.
func (e *ManagedAgentEvent) Decode() (ManagedEventData, error) {
	var d ManagedEventData
	err := json.Unmarshal(e.Data, &d)
	return d, err
}

// ManagedAgentEventList is one page of events, oldest first.
type ManagedAgentEventList struct {
	Meta
	wire.EventPage
	Events     []ManagedAgentEvent `json:"events"`
	NextBefore uint64              `json:"nextBefore,omitempty"` // of LatestManagedAgentEvents: before of the next page
}

// ListManagedAgentEvents returns stored events of an agent after a sequence; limit 0 is the server's default.
func (c *Client) ListManagedAgentEvents(ctx context.Context, id string, since uint64, limit int) (*ManagedAgentEventList, error) {
	query := queryOf("since", number(since), "limit", number(limit))
	return c.managedAgentEvents(ctx, id, query)
}

// LatestManagedAgentEvents returns the newest stored events of an agent before a sequence, 0 the newest of all, oldest first;
// limit 0 is the server's default.
func (c *Client) LatestManagedAgentEvents(ctx context.Context, id string, before uint64, limit int) (*ManagedAgentEventList, error) {
	query := url.Values{"before": {strconv.FormatUint(before, 10)}}
	setTexts(query, "limit", number(limit))
	return c.managedAgentEvents(ctx, id, query)
}

func (c *Client) managedAgentEvents(ctx context.Context, id string, query url.Values) (*ManagedAgentEventList, error) {
	r := request{method: http.MethodGet, path: managedAgentPath(id) + "/events", query: query}
	return ask[ManagedAgentEventList](ctx, c, r)
}

// WatchManagedAgent streams the events of an agent, the stored ones after the given id first, and then those
// that happen. It has no end of its own. The data of each event is a ManagedAgentEvent.
func (c *Client) WatchManagedAgent(ctx context.Context, id, after string) (*Stream, error) {
	return c.stream(ctx, request{method: http.MethodGet, path: managedAgentPath(id) + "/events"}, "", after)
}
