package core

import "github.com/wardroom/wardroom/sdk/wire"

// What is public of what happened in an execution, for people.
type (
	Timeline      = wire.Timeline
	TimelineEntry = wire.TimelineEntry
	TimelineKind  = wire.TimelineKind
)

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
