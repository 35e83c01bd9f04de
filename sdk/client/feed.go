package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/sdk/wire"
)

// FeedFilter selects events of the whole server. The zero value selects every topic, from now on.
type FeedFilter struct {
	Topics   []string // executions, inbox, threads, agents, patterns, health
	Subjects []string // ids of executions, threads and agents, of which everything is sent
	Rate     int      // at most about so many events of executions a second, but for those of Subjects, and EventSkipped for the others; 0: all
	After    string   // id of the last event already seen: what was public since comes first, then EventGap
}

// EventSkipped describes events that FollowEvents left out by its rate. Its data is a FeedSkipped.
const EventSkipped = "skipped"

// FeedSkipped is the data of an EventSkipped.
type FeedSkipped = wire.FeedSkipped

// FeedEvent is the data of an event of FollowEvents.
type FeedEvent = wire.FeedEvent

// FollowEvents streams what happens anywhere: events of the type "event", whose data is a FeedEvent, and EventGap, after
// which what is shown is to be read anew. It has no last event.
func (c *Client) FollowEvents(ctx context.Context, f FeedFilter) (*Stream, error) {
	query := url.Values{}
	if len(f.Topics) > 0 {
		query.Set("topics", strings.Join(f.Topics, ","))
	}
	if len(f.Subjects) > 0 {
		query.Set("subjects", strings.Join(f.Subjects, ","))
	}
	if f.Rate > 0 {
		query.Set("rate", strconv.Itoa(f.Rate))
	}
	return c.stream(ctx, request{method: http.MethodGet, path: "/api/events", query: query}, "", f.After)
}

// Feed reads the data of an event of FollowEvents.
func (e Event) Feed() (FeedEvent, error) {
	var out FeedEvent
	if err := json.Unmarshal(e.Data, &out); err != nil {
		return out, fmt.Errorf("data of an event: %w", err)
	}
	return out, nil
}
