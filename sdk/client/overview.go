package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/wardroom/wardroom/sdk/wire"
)

// InboxItem is one thing that waits for a person.
type InboxItem = wire.InboxItem

// InboxList is one page of the inbox, newest first.
type InboxList struct {
	Meta
	PageInfo
	Items []InboxItem `json:"items"`
}

func (l *InboxList) page() ([]InboxItem, PageInfo) { return l.Items, l.PageInfo }

// InboxFilter selects items of the inbox. Offset of its page is not used.
type InboxFilter struct {
	Sources   []wire.InboxSource // none: all
	CreatedBy string             // whose execution, thread or managed agent waits
	Page
}

// ListInbox returns one page of what waits for a person, newest first.
func (c *Client) ListInbox(ctx context.Context, filter InboxFilter) (*InboxList, error) {
	query := url.Values{}
	var sources []string
	for _, source := range filter.Sources {
		sources = append(sources, string(source))
	}
	setTexts(query, "source", strings.Join(sources, ","), "createdBy", filter.CreatedBy)
	filter.Offset = 0
	filter.addTo(query)
	return ask[InboxList](ctx, c, request{method: http.MethodGet, path: "/api/inbox", query: query})
}

// Inbox walks all pages of the inbox.
func (c *Client) Inbox(ctx context.Context, filter InboxFilter) iter.Seq2[InboxItem, error] {
	return walkList(ctx, filter, c.ListInbox)
}

// Overview is what goes on in a server, in numbers.
type Overview struct {
	Meta
	wire.Overview
}

// GetOverview counts what there is and what happened.
func (c *Client) GetOverview(ctx context.Context) (*Overview, error) {
	return get[Overview](ctx, c, "/api/overview")
}
