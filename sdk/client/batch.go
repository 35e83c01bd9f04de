package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"

	"github.com/wardroom/wardroom/sdk/wire"
)

// BatchRequest asks for one pattern to be run over many inputs.
type BatchRequest struct {
	Pattern     string
	Version     string            // empty: latest
	Inputs      []json.RawMessage // one JSON object each; 1000 at most unless the server is configured otherwise
	Concurrency int               // 1 to 50; 0: the server's default of 5
	StopOnError bool              // the first failed item cancels the rest
	Options     ExecuteOptions    // of each item
	// IdempotencyKey makes it safe to send the request again: see NewIdempotencyKey.
	IdempotencyKey string
}

// BatchResult is the outcome of one item.
type BatchResult = wire.BatchResult

// Batch is one pattern run over many inputs. Results are those of GetBatch and GetBatchPage.
type Batch struct {
	Meta
	wire.BatchDetail
}

// BatchRow is a batch in a list.
type BatchRow = wire.BatchRow

// BatchList is one page of batches, newest first.
type BatchList struct {
	Meta
	PageInfo
	Batches []BatchRow `json:"batches"`
}

func (l *BatchList) page() ([]BatchRow, PageInfo) { return l.Batches, l.PageInfo }

// BatchFilter selects batches of a list. Zero values select all.
type BatchFilter struct {
	Status    string
	Pattern   string
	CreatedBy string
	Page
}

// ListBatches returns one page of batches, newest first, without their results.
func (c *Client) ListBatches(ctx context.Context, filter BatchFilter) (*BatchList, error) {
	return listOf[BatchList](ctx, c, "/api/batches", filter.Page, "status", filter.Status, "pattern", filter.Pattern, "createdBy", filter.CreatedBy)
}

// Batches walks all pages of a list.
func (c *Client) Batches(ctx context.Context, filter BatchFilter) iter.Seq2[BatchRow, error] {
	return walkList(ctx, filter, c.ListBatches)
}

// StartBatch starts a batch and returns it running.
func (c *Client) StartBatch(ctx context.Context, req BatchRequest) (*Batch, error) {
	inputs := req.Inputs
	if inputs == nil {
		inputs = []json.RawMessage{}
	}
	body := wire.BatchRequest{
		Pattern: req.Pattern, Version: req.Version, Inputs: inputs,
		Options: wire.BatchOptions{Concurrency: req.Concurrency, StopOnError: req.StopOnError, ExecuteOptions: req.Options.body()},
	}
	r := request{method: http.MethodPost, path: "/api/batch/execute", body: body, key: req.IdempotencyKey}
	return ask[Batch](ctx, c, r)
}

func batchPath(id string) string { return "/api/batch/" + segment(id) }

// GetBatch returns a batch with all of its results so far, over as many requests as that takes.
func (c *Client) GetBatch(ctx context.Context, id string) (*Batch, error) {
	var first *Batch
	var rows []json.RawMessage
	for row, err := range walk(ctx, Page{}, func(ctx context.Context, page Page) ([]json.RawMessage, PageInfo, error) {
		b, err := c.GetBatchPage(ctx, id, page)
		if err != nil {
			return nil, PageInfo{}, err
		}
		if first == nil {
			first = b
		} else {
			first.Results = append(first.Results, b.Results...)
		}
		var part struct{ Results []json.RawMessage }
		if err := json.Unmarshal(b.Body, &part); err != nil {
			return nil, PageInfo{}, fmt.Errorf("the answer is not a batch: %w", err)
		}
		return part.Results, PageInfo{HasMore: b.HasMore, NextCursor: b.NextCursor}, nil
	}) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	if !first.HasMore {
		return first, nil // of one page, as it came
	}
	whole := map[string]json.RawMessage{}
	if err := json.Unmarshal(first.Body, &whole); err != nil {
		return nil, fmt.Errorf("the answer is not a batch: %w", err)
	}
	first.HasMore, first.NextCursor = false, ""
	delete(whole, "nextCursor")
	whole["hasMore"] = json.RawMessage("false")
	var err error
	if whole["results"], err = json.Marshal(rows); err == nil {
		first.Body, err = json.Marshal(whole)
	}
	return result(first, err)
}

// GetBatchPage returns a batch with one page of its results. The page may end before its limit where results are large;
// with HasMore the next one begins at NextCursor.
func (c *Client) GetBatchPage(ctx context.Context, id string, page Page) (*Batch, error) {
	return listOf[Batch](ctx, c, batchPath(id), page)
}

// CancelBatch cancels the running items and starts no more. CONFLICT if the batch is over.
func (c *Client) CancelBatch(ctx context.Context, id string) (*Batch, error) {
	r := request{method: http.MethodPost, path: batchPath(id) + "/cancel", harmless: true}
	return ask[Batch](ctx, c, r)
}
