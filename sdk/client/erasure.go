package client

import (
	"context"
	"io"
	"net/http"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What the API says of erasures, see package wire.
type (
	ErasureRequest = wire.ErasureRequest
	DataCounts     = wire.DataCounts
)

// Erasure takes what is stored of a subject out of the store.
type Erasure struct {
	Meta
	wire.Erasure
}

// ErasureList is one page of erasures, newest first.
type ErasureList struct {
	Meta
	PageInfo
	Erasures []Erasure `json:"erasures"`
}

const erasuresPath = "/api/data/erasures"

// EraseData begins to erase what is stored of a subject, or, with DryRun, tells what there is.
func (c *Client) EraseData(ctx context.Context, req ErasureRequest) (*Erasure, error) {
	return ask[Erasure](ctx, c, request{method: http.MethodPost, path: erasuresPath, body: req, harmless: true})
}

// GetErasure returns an erasure, with how far it is.
func (c *Client) GetErasure(ctx context.Context, id string) (*Erasure, error) {
	return get[Erasure](ctx, c, erasuresPath+"/"+segment(id))
}

// ListErasures returns a page of erasures, or with createdBy of those that somebody asked for.
func (c *Client) ListErasures(ctx context.Context, createdBy string, page Page) (*ErasureList, error) {
	return listOf[ErasureList](ctx, c, erasuresPath, page, "createdBy", createdBy)
}

// ExportData returns what is stored of a subject, a thing a line, which the caller closes. Its last line has the kind end.
func (c *Client) ExportData(ctx context.Context, subject string) (io.ReadCloser, error) {
	return c.open(ctx, request{method: http.MethodPost, path: "/api/data/export", accept: "*/*", body: wire.DataExportRequest{Subject: subject}})
}
