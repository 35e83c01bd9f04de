package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/wardroom/wardroom/sdk/wire"
)

// FeedFilter selects events of the whole server. The zero value selects every topic, from now on.
type FeedFilter struct {
	Topics   []string // any of FeedTopics; none, and no Subjects: all but counts
	Subjects []string // ids of executions, threads and agents, of which everything is sent
	Rate     int      // at most about so many events of executions a second, but for those of Subjects, and EventSkipped for the others; 0: all
	After    string   // id of the last event already seen: what was public since comes first, then EventGap and EventReplayed
}

// FeedTopics lists the topics of the stream of all events.
var FeedTopics = []string{
	"counts", "executions", "batches", "inbox", "threads", "agents", "patterns", "schedules", "triggers", "webhooks", "plugins", "health",
}

// Types of what FollowEvents tells beside events. It has no id, and is not repeated after a resume.
const (
	EventNotice = "notice" // a change that is not stored as an event; its data is a FeedNotice
	EventCounts = "counts" // what there is by state, with the topic counts; its data is an OverviewCounts

	// EventReplayed comes where the past ends that After asked for, or that a lost connection missed. Older servers do not send it.
	EventReplayed = "replayed"
)

// FeedNotice is the data of an EventNotice.
type FeedNotice = wire.FeedNotice

// OverviewCounts is the data of an EventCounts.
type OverviewCounts = wire.OverviewCounts

// EventSkipped describes events that FollowEvents left out by its rate. Its data is a FeedSkipped.
const EventSkipped = "skipped"

// FeedSkipped is the data of an EventSkipped.
type FeedSkipped = wire.FeedSkipped

// FeedEvent is the data of an event of FollowEvents.
type FeedEvent = wire.FeedEvent

// FollowEvents streams what happens anywhere: events of the type "event", whose data is a FeedEvent, EventNotice, EventReplayed, and
// EventGap, after which what is shown is to be read anew. It has no last event. Types that are not known here are to be passed over.
func (c *Client) FollowEvents(ctx context.Context, f FeedFilter) (*Stream, error) {
	query := queryOf("topics", strings.Join(f.Topics, ","), "subjects", strings.Join(f.Subjects, ","))
	setTexts(query, "rate", number(f.Rate))
	return c.stream(ctx, request{method: http.MethodGet, path: "/api/events", query: query}, "", f.After)
}

// Counts reads the data of an EventCounts.
func (e Event) Counts() (*OverviewCounts, error) {
	return dataOf[OverviewCounts](e)
}

// Feed reads the data of an event of FollowEvents, or of a notice, which has no sequence.
func (e Event) Feed() (FeedEvent, error) {
	var out FeedEvent
	if err := json.Unmarshal(e.Data, &out); err != nil {
		return out, fmt.Errorf("data of an event: %w", err)
	}
	return out, nil
}
