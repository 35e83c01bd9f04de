package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// States of an execution.
const (
	StatusPending   = "pending"
	StatusRunning   = "running"
	StatusCompleted = "completed"
	StatusFailed    = "failed"
	StatusCancelled = "cancelled"
)

// Terminal reports whether an execution or batch in this state is over.
func Terminal[S ~string](status S) bool {
	return status == StatusCompleted || status == StatusFailed || status == StatusCancelled
}

// What the API says of executions, see package wire.
type (
	Millis          = wire.Millis
	MeanMillis      = wire.MeanMillis
	ExecutionStatus = wire.ExecutionStatus
	ExecutionRow    = wire.ExecutionRow
	ExecutionError  = wire.ExecutionError
	ExecutionWait   = wire.ExecutionWait
	AgentResult     = wire.AgentResult
	SanitizedField  = wire.SanitizedField
	WorkflowMetrics = wire.WorkflowMetrics
	WorkflowStep    = wire.WorkflowStep
)

// ExecuteOptions are the options of an execution.
type ExecuteOptions struct {
	Timeout  time.Duration  // of the execution, in whole milliseconds; 0: the pattern's or the server's default
	Priority string         // low, normal, high, critical; empty: normal
	Metadata map[string]any // free keys, kept with the execution
}

func (o ExecuteOptions) body() wire.ExecuteOptions {
	return wire.ExecuteOptions{TimeoutMs: o.Timeout.Milliseconds(), Priority: wire.Priority(o.Priority), Metadata: o.Metadata}
}

// ExecuteRequest asks for one execution.
type ExecuteRequest struct {
	Pattern string
	Version string          // empty: latest; exact, or a range such as 1.x
	Input   json.RawMessage // a JSON object; nil: {}
	Options ExecuteOptions
	// IdempotencyKey makes it safe to send the request again: see NewIdempotencyKey.
	IdempotencyKey string
}

// Execution is one run of a pattern. Answers fill the fields they have.
type Execution struct {
	Meta
	wire.Execution
	StatusURL string `json:"statusUrl,omitempty"` // of ExecuteAsync
}

// ExecutionList is one page of executions, newest first.
type ExecutionList struct {
	Meta
	PageInfo
	Executions []ExecutionRow `json:"executions"`
}

func (l *ExecutionList) page() ([]ExecutionRow, PageInfo) { return l.Executions, l.PageInfo }

// ExecutionFilter selects executions of a list. Zero values select all.
type ExecutionFilter struct {
	Pattern   string
	Status    string // several: comma-separated
	BatchID   string
	ErrorCode string // why it failed
	CreatedBy string
	Metadata  map[string]string // all of them
	Since     time.Time         // inclusive
	Until     time.Time         // exclusive
	// EndedSince and EndedUntil select those that are over, by when they ended, likewise.
	EndedSince, EndedUntil time.Time
	Page
}

// Repetition says what RetryExecution or RerunExecution started.
type Repetition struct {
	Meta
	wire.ExecutionRetried
}

// request makes the call; suffix is "" or "/stream".
func (r ExecuteRequest) request(suffix string) request {
	body := wire.ExecuteRequest{Input: r.Input, Options: r.Options.body()}
	if body.Input == nil {
		body.Input = json.RawMessage("{}")
	}
	return request{
		method: http.MethodPost,
		path:   patternPath(r.Pattern) + "/execute" + suffix,
		query:  versionQuery(r.Version),
		body:   body,
		key:    r.IdempotencyKey,
	}
}

// Execute runs a pattern and waits for its outcome. An execution that failed is an answer with Status
// "failed" and Error; NO_AGENTS and TIMEOUT (with ExecutionID) are errors. A caller that goes away does not
// cancel the execution.
func (c *Client) Execute(ctx context.Context, req ExecuteRequest) (*Execution, error) {
	out := new(Execution)
	return result(out, c.do(ctx, req.request(""), out))
}

// ExecuteAsync starts a pattern and returns at once, with Status "pending" and StatusURL.
func (c *Client) ExecuteAsync(ctx context.Context, req ExecuteRequest) (*Execution, error) {
	r := req.request("")
	if r.query == nil {
		r.query = url.Values{}
	}
	r.query.Set("async", "true")
	return ask[Execution](ctx, c, r)
}

func executionPath(id string) string { return "/api/executions/" + segment(id) }

// GetExecution returns one execution.
func (c *Client) GetExecution(ctx context.Context, id string) (*Execution, error) {
	return get[Execution](ctx, c, executionPath(id))
}

// ListExecutions returns one page of executions, newest first.
func (c *Client) ListExecutions(ctx context.Context, filter ExecutionFilter) (*ExecutionList, error) {
	query := filter.query()
	filter.addTo(query)
	return ask[ExecutionList](ctx, c, request{method: http.MethodGet, path: "/api/executions", query: query})
}

// ExecutionHistogram counts executions over time.
type ExecutionHistogram struct {
	Meta
	wire.ExecutionHistogram
}

// ExecutionHistogram counts the executions that a filter selects in steps of time, by when they were made; its page is
// not looked at. steps 0 is the server's default.
func (c *Client) ExecutionHistogram(ctx context.Context, filter ExecutionFilter, steps int) (*ExecutionHistogram, error) {
	query := filter.query()
	if steps != 0 {
		query.Set("steps", strconv.Itoa(steps))
	}
	return ask[ExecutionHistogram](ctx, c, request{method: http.MethodGet, path: "/api/executions/histogram", query: query})
}

// query is the filter without its page.
func (filter ExecutionFilter) query() url.Values {
	query := url.Values{}
	setTexts(query, "pattern", filter.Pattern, "status", filter.Status, "batchId", filter.BatchID, "errorCode", filter.ErrorCode,
		"createdBy", filter.CreatedBy)
	for key, value := range filter.Metadata {
		query.Set("metadata."+key, value)
	}
	setTexts(query, "since", stamp(filter.Since), "until", stamp(filter.Until))
	setTexts(query, "endedSince", stamp(filter.EndedSince), "endedUntil", stamp(filter.EndedUntil))
	return query
}

// Executions walks all pages of a list.
func (c *Client) Executions(ctx context.Context, filter ExecutionFilter) iter.Seq2[ExecutionRow, error] {
	return walkList(ctx, filter, c.ListExecutions)
}

// DeleteExecution removes an execution that is over, with all that belongs to it alone. CONFLICT while it, its batch or one
// of its threads is active.
func (c *Client) DeleteExecution(ctx context.Context, id string) error {
	return c.remove(ctx, executionPath(id))
}

// CancelExecution cancels a pending or running execution. CONFLICT if it completed or failed. Cancelling
// twice returns the first outcome.
func (c *Client) CancelExecution(ctx context.Context, id, reason string) (*Execution, error) {
	r := request{method: http.MethodPost, path: executionPath(id) + "/cancel", body: reasonBody(reason), harmless: true}
	return ask[Execution](ctx, c, r)
}

// RetryExecution starts a new execution with the version, input and options of a terminal one. key is an
// Idempotency-Key, or empty.
func (c *Client) RetryExecution(ctx context.Context, id, key string) (*Repetition, error) {
	r := request{method: http.MethodPost, path: executionPath(id) + "/retry", key: key}
	return ask[Repetition](ctx, c, r)
}

// RerunExecution starts a new execution that keeps the finished steps of a terminal one before fromStep;
// empty means the first step without a result. key is an Idempotency-Key, or empty.
func (c *Client) RerunExecution(ctx context.Context, id, fromStep, key string) (*Repetition, error) {
	r := request{method: http.MethodPost, path: executionPath(id) + "/rerun", body: wire.RerunRequest{FromStep: fromStep}, key: key}
	return ask[Repetition](ctx, c, r)
}

// reasonBody is the body of cancel and disconnect: none without a reason.
func reasonBody(reason string) any {
	if reason == "" {
		return nil
	}
	return wire.CancelRequest{Reason: reason}
}
