package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

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
	TimelineApproval   = wire.TimelineApproval
)

// Timeline is what happened in an execution so far. LastSequence, as the `after` of WatchExecution, makes a stream that
// misses nothing after this timeline.
type Timeline struct {
	Meta
	wire.Timeline
}

// Task is a task of an execution.
type Task struct {
	Meta
	wire.Task
}

// ExecutionStep is a step of the workflow of an execution.
type ExecutionStep struct {
	Meta
	wire.ExecutionStep
}

// GetStep returns a step of an execution by its path, which is the ID of its entries in the timeline: when it ran, what came of
// it, and its tasks. For a path that no step has the details of the NOT_FOUND name paths near it.
func (c *Client) GetStep(ctx context.Context, executionID, path string) (*ExecutionStep, error) {
	return get[ExecutionStep](ctx, c, executionPath(executionID)+"/steps/"+segment(path))
}

// GetTask returns a task of an execution: what its agent was asked, what it answered, and each attempt.
func (c *Client) GetTask(ctx context.Context, executionID, taskID string) (*Task, error) {
	return get[Task](ctx, c, executionPath(executionID)+"/tasks/"+segment(taskID))
}

// GetTimelineSince returns of a timeline what changed after a sequence, such as LastSequence of the one before; threads
// always.
func (c *Client) GetTimelineSince(ctx context.Context, id string, since uint64) (*Timeline, error) {
	query := url.Values{"since": {strconv.FormatUint(since, 10)}}
	return ask[Timeline](ctx, c, request{method: http.MethodGet, path: executionPath(id) + "/timeline", query: query})
}

// GetTimeline reports what happened in an execution so far.
func (c *Client) GetTimeline(ctx context.Context, id string) (*Timeline, error) {
	return get[Timeline](ctx, c, executionPath(id)+"/timeline")
}
