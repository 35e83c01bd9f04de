package client

import (
	"context"
	"net/http"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What the API says of timelines, see package wire.
type (
	TimelineKind  = wire.TimelineKind
	TimelineEntry = wire.TimelineEntry
)

// Kinds of timeline entries.
const (
	TimelineStep       = wire.TimelineStep
	TimelineTask       = wire.TimelineTask
	TimelineRole       = wire.TimelineRole
	TimelineMessage    = wire.TimelineMessage
	TimelineEscalation = wire.TimelineEscalation
	TimelineQuestion   = wire.TimelineQuestion
	TimelineThread     = wire.TimelineThread
)

// Timeline is what happened in an execution so far. LastSequence, as the `after` of WatchExecution, makes a stream that
// misses nothing after this timeline.
type Timeline struct {
	Meta
	wire.Timeline
}

// GetTimeline tells what happened in an execution so far.
func (c *Client) GetTimeline(ctx context.Context, id string) (*Timeline, error) {
	out := new(Timeline)
	return result(out, c.do(ctx, request{method: http.MethodGet, path: executionPath(id) + "/timeline"}, out))
}
