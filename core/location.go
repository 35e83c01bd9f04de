package core

import (
	"context"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Location is where something is found whose id does not say it.
type Location = wire.Location

// Kinds of what is located.
const (
	LocatedTask     = "task"
	LocatedMessage  = "message"
	LocatedInput    = "input"
	LocatedDecision = "decision"
	LocatedDelivery = "delivery"
	LocatedEvent    = "event"
)

// LocationService finds things by their ids alone. Methods are safe for concurrent use.
type LocationService interface {
	// Locate returns where something is found: a task, a message of a role, an input of a thread, a decision, a delivery or a
	// public event. NOT_FOUND for one that is not stored, or lies behind as much as one call looks at; VALIDATION_ERROR for an
	// id of another kind.
	Locate(ctx context.Context, id string) (*Location, error)
}
