package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// AuditFilter selects audit records. Zero values select all.
type AuditFilter struct {
	Since, Until time.Time
	Action       string // such as executions.create, or keys.* for every action that begins with keys.
	Actor        string // id
	Category     string
	Resource     string // a type, or type/id
	Outcome      string
	Before       uint64 // only records with a smaller number; 0: all
	Limit        int
	Cursor       string
}

// AuditList is a page of audit records, newest first. It may be short although there is more.
type AuditList struct {
	Meta
	wire.AuditPage
}

// AuditStatus is how the audit trail is.
type AuditStatus struct {
	Meta
	wire.AuditStatus
}

// ListAudit returns a page of audit records.
func (c *Client) ListAudit(ctx context.Context, f AuditFilter) (*AuditList, error) {
	query := url.Values{}
	setTexts(query, "since", stamp(f.Since), "until", stamp(f.Until))
	setTexts(query, "action", f.Action, "actor", f.Actor, "category", f.Category, "resource", f.Resource, "outcome", f.Outcome)
	setTexts(query, "before", number(f.Before))
	Page{Limit: f.Limit, Cursor: f.Cursor}.addTo(query)
	return ask[AuditList](ctx, c, request{method: http.MethodGet, path: "/api/audit", query: query})
}

// GetAuditStatus returns how the audit trail is.
func (c *Client) GetAuditStatus(ctx context.Context) (*AuditStatus, error) {
	return get[AuditStatus](ctx, c, "/api/audit/status")
}

// ExportAudit returns an export of audit records, oldest first, which the caller closes. format is json, csv or cef.
func (c *Client) ExportAudit(ctx context.Context, since, until time.Time, format string) (io.ReadCloser, error) {
	query := url.Values{"format": {format}}
	setTexts(query, "since", stamp(since), "until", stamp(until))
	return c.open(ctx, request{method: http.MethodGet, path: "/api/audit/export", query: query, accept: "*/*"})
}
