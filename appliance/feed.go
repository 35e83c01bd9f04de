package appliance

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/events"
	"github.com/wardroom/wardroom/core/store"
)

// Bounds of what waits for one reader of all events. One that falls further behind is cut off, and receives a gap when it
// comes back.
const (
	feedEvents = 4096
	feedBytes  = 4 << 20
)

// feed is what happens anywhere: live from the bus, and what was public from the log.
type feed struct {
	bus   *events.Bus
	store *store.Store
}

// Live implements api.Feed.
func (f feed) Live() core.EventStream {
	return f.bus.Subscribe("", events.SubscribeOptions{MaxEvents: feedEvents, MaxBytes: feedBytes})
}

// Log implements api.Feed.
func (f feed) Log(ctx context.Context, after uint64, limit int) (page []core.Event, more bool, err error) {
	return f.store.Log(ctx, after, limit)
}
