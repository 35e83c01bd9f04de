package client

import (
	"context"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Location says what something lies in.
type Location struct {
	Meta
	wire.Location
}

// Locate finds a task, a message, an input of a thread, a decision, a delivery or a public event by its id alone.
func (c *Client) Locate(ctx context.Context, id string) (*Location, error) {
	return get[Location](ctx, c, "/api/ids/"+segment(id))
}
