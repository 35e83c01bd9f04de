package core

import (
	"context"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What is public of the inbox and the overview.
type (
	InboxItem      = wire.InboxItem
	InboxSource    = wire.InboxSource
	Overview       = wire.Overview
	OverviewCounts = wire.OverviewCounts
)

// Sources of the inbox.
const (
	InboxExecution    = wire.InboxExecution
	InboxThread       = wire.InboxThread
	InboxManagedAgent = wire.InboxManagedAgent
)

// InboxSources lists every source.
var InboxSources = []InboxSource{InboxExecution, InboxThread, InboxManagedAgent}

// InboxFilter selects items of the inbox. Zero values select all. Offset does not place a page of it.
type InboxFilter struct {
	Sources   []InboxSource
	CreatedBy string // whose execution, thread or managed agent waits
	Page
}

// OverviewService reads what people look at first. Methods are safe for concurrent use.
type OverviewService interface {
	// FindInbox lists what waits for people, newest first. The total is a lower bound where very many threads or agents wait.
	FindInbox(ctx context.Context, filter InboxFilter) ([]*InboxItem, PageInfo, error)
	// Overview counts what there is and what happened.
	Overview(ctx context.Context) (*Overview, error)
	// Counts counts what there is.
	Counts(ctx context.Context) (*OverviewCounts, error)
}

// EventCounts has other numbers of what there is: its data is an OverviewCounts of everything. It has no subject, and is live only.
const EventCounts EventType = "counts"

// CountFeed reports the numbers of what there is as they change. Methods are safe for concurrent use.
type CountFeed interface {
	// FollowCounts returns the numbers of now. From then on, until leave is called, each change of them comes as an EventCounts
	// among the live events of all, at most twice a second. They are computed once, however many follow them.
	FollowCounts(ctx context.Context) (now *OverviewCounts, leave func(), err error)
}
