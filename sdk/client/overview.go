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
	out := new(InboxList)
	return result(out, c.do(ctx, request{method: http.MethodGet, path: "/api/inbox", query: query}, out))
}

// Inbox walks all pages of the inbox.
func (c *Client) Inbox(ctx context.Context, filter InboxFilter) iter.Seq2[InboxItem, error] {
	return walk(ctx, filter.Page, func(ctx context.Context, page Page) ([]InboxItem, PageInfo, error) {
		filter.Page = page
		list, err := c.ListInbox(ctx, filter)
		if err != nil {
			return nil, PageInfo{}, err
		}
		return list.Items, list.PageInfo, nil
	})
}

// Overview is what goes on in a server, in numbers.
type Overview struct {
	Meta
	wire.Overview
}

// GetOverview counts what there is and what happened.
func (c *Client) GetOverview(ctx context.Context) (*Overview, error) {
	out := new(Overview)
	return result(out, c.do(ctx, request{method: http.MethodGet, path: "/api/overview"}, out))
}
