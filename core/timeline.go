package core

import (
	"context"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What is public of what happened in an execution, for people.
type (
	Timeline      = wire.Timeline
	TimelineEntry = wire.TimelineEntry
	TimelineKind  = wire.TimelineKind
)

// TimelineService says what happened in executions. Methods are safe for concurrent use.
type TimelineService interface {
	// Timeline returns what happened in an execution, so far. NOT_FOUND for an unknown id.
	Timeline(ctx context.Context, id string) (*Timeline, error)
	// FindTask returns a task of an execution. NOT_FOUND for an unknown id of either.
	FindTask(ctx context.Context, executionID, taskID string) (*TaskDetail, error)
	// FindStep returns a step of an execution by its path in the timeline. NOT_FOUND for an unknown id, and for a path that
	// no step has which began; its details name paths near it.
	FindStep(ctx context.Context, executionID, path string) (*StepDetail, error)
}

// ReleasedLost is the reason of role.released when the agent is gone.
const ReleasedLost = "the agent was lost"

// FromPeople is who was asked and who answered, in events, when no role did.
const FromPeople = "user"

// Kinds of entries.
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
