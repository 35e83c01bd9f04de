package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
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

// Terminal tells whether an execution or batch in this state is over.
func Terminal(status string) bool {
	return status == StatusCompleted || status == StatusFailed || status == StatusCancelled
}

// Millis is a duration in milliseconds, with a fraction where it is a mean.
type Millis float64

// Duration converts to a time.Duration.
func (m Millis) Duration() time.Duration {
	return time.Duration(float64(m) * float64(time.Millisecond))
}

// ExecuteOptions are the options of an execution.
type ExecuteOptions struct {
	Timeout  time.Duration  // of the execution, in whole milliseconds; 0: the pattern's or the server's default
	Priority string         // low, normal, high, critical; empty: normal
	Metadata map[string]any // free keys, kept with the execution
}

type executeOptionsBody struct {
	Timeout  int64          `json:"timeout,omitempty"`
	Priority string         `json:"priority,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

func (o ExecuteOptions) body() executeOptionsBody {
	return executeOptionsBody{o.Timeout.Milliseconds(), o.Priority, o.Metadata}
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

// ExecutionError is why an execution failed.
type ExecutionError struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// AgentResult is what one agent gave to an execution.
type AgentResult struct {
	ID     string          `json:"id"`
	Step   string          `json:"step,omitempty"` // of a pattern of several steps
	Status string          `json:"status,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Execution is one run of a pattern. Answers fill the fields they have: a list has no input or result.
type Execution struct {
	Meta
	ExecutionID  string          `json:"executionId"`
	Pattern      PatternRef      `json:"pattern"`
	Version      string          `json:"version,omitempty"` // of the pattern; in lists, where Pattern is a name only
	Status       string          `json:"status"`
	Input        json.RawMessage `json:"input,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
	Error        *ExecutionError `json:"error,omitempty"`
	Agents       []AgentResult   `json:"agents,omitempty"`
	CreatedAt    *time.Time      `json:"createdAt,omitempty"`
	StartedAt    *time.Time      `json:"startedAt,omitempty"`
	CompletedAt  *time.Time      `json:"completedAt,omitempty"`
	CancelledAt  *time.Time      `json:"cancelledAt,omitempty"`
	Waiting      *ExecutionWait  `json:"waiting,omitempty"`
	Duration     Millis          `json:"duration,omitempty"`
	StatusURL    string          `json:"statusUrl,omitempty"`
	BatchID      string          `json:"batchId,omitempty"`
	CancelReason string          `json:"cancelReason,omitempty"`

	// Of an org chart only; Output is the same as Result.
	PatternName string           `json:"patternName,omitempty"`
	Output      json.RawMessage  `json:"output,omitempty"`
	Metrics     *WorkflowMetrics `json:"metrics,omitempty"`
	Steps       []WorkflowStep   `json:"steps,omitempty"`   // at the top level, those that were begun
	Partial     bool             `json:"partial,omitempty"` // it was ended with what it had
}

// ExecutionWait is why a running execution does nothing now.
type ExecutionWait struct {
	For   string     `json:"for"`             // people, agents or slot
	Since *time.Time `json:"since,omitempty"` // not in lists
}

// WorkflowMetrics is what an execution of an org chart took.
type WorkflowMetrics struct {
	Duration      Millis `json:"durationMs"`
	StepsExecuted int    `json:"stepsExecuted"` // at the top level, finished
	AgentsUsed    int    `json:"agentsUsed"`    // distinct
	// Usage sums what the turns of managed agents used, as far as they told.
	Usage *wire.Usage `json:"usage,omitempty"`
}

// WorkflowStep is a step at the top level of an org chart.
type WorkflowStep struct {
	Step     int    `json:"step"` // from 0
	Type     string `json:"type"` // assign, parallel, sequential, review, approve, aggregate, condition
	Duration Millis `json:"durationMs"`
}

// ExecutionList is one page of executions, newest first.
type ExecutionList struct {
	Meta
	PageInfo
	Executions []Execution `json:"executions"`
}

// ExecutionFilter selects executions of a list. Zero values select all.
type ExecutionFilter struct {
	Pattern string
	Status  string
	Since   time.Time // inclusive
	Until   time.Time // exclusive
	Page
}

// Repetition tells what RetryExecution or RerunExecution started.
type Repetition struct {
	Meta
	OriginalExecutionID string `json:"originalExecutionId"`
	NewExecutionID      string `json:"newExecutionId"`
	Status              string `json:"status"`
}

type executeBody struct {
	Input   json.RawMessage     `json:"input"`
	Options *executeOptionsBody `json:"options,omitempty"`
}

// request makes the call; suffix is "" or "/stream".
func (r ExecuteRequest) request(suffix string) request {
	body := executeBody{Input: r.Input}
	if body.Input == nil {
		body.Input = json.RawMessage("{}")
	}
	if o := r.Options; o.Timeout != 0 || o.Priority != "" || o.Metadata != nil {
		options := o.body()
		body.Options = &options
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
	out := new(Execution)
	return result(out, c.do(ctx, r, out))
}

func executionPath(id string) string { return "/api/executions/" + segment(id) }

// GetExecution returns one execution.
func (c *Client) GetExecution(ctx context.Context, id string) (*Execution, error) {
	out := new(Execution)
	return result(out, c.do(ctx, request{method: http.MethodGet, path: executionPath(id)}, out))
}

// ListExecutions returns one page of executions, newest first.
func (c *Client) ListExecutions(ctx context.Context, filter ExecutionFilter) (*ExecutionList, error) {
	query := url.Values{}
	if filter.Pattern != "" {
		query.Set("pattern", filter.Pattern)
	}
	if filter.Status != "" {
		query.Set("status", filter.Status)
	}
	if !filter.Since.IsZero() {
		query.Set("since", filter.Since.UTC().Format(time.RFC3339Nano))
	}
	if !filter.Until.IsZero() {
		query.Set("until", filter.Until.UTC().Format(time.RFC3339Nano))
	}
	filter.addTo(query)
	out := new(ExecutionList)
	err := c.do(ctx, request{method: http.MethodGet, path: "/api/executions", query: query}, out)
	return result(out, err)
}

// Executions walks all pages of a list.
func (c *Client) Executions(ctx context.Context, filter ExecutionFilter) iter.Seq2[Execution, error] {
	return walk(ctx, filter.Page, func(ctx context.Context, page Page) ([]Execution, PageInfo, error) {
		filter.Page = page
		list, err := c.ListExecutions(ctx, filter)
		if err != nil {
			return nil, PageInfo{}, err
		}
		return list.Executions, list.PageInfo, nil
	})
}

// CancelExecution cancels a pending or running execution. CONFLICT if it completed or failed. Cancelling
// twice returns the first outcome.
func (c *Client) CancelExecution(ctx context.Context, id, reason string) (*Execution, error) {
	out := new(Execution)
	r := request{method: http.MethodPost, path: executionPath(id) + "/cancel", body: reasonBody(reason), harmless: true}
	return result(out, c.do(ctx, r, out))
}

// RetryExecution starts a new execution with the version, input and options of a terminal one. key is an
// Idempotency-Key, or empty.
func (c *Client) RetryExecution(ctx context.Context, id, key string) (*Repetition, error) {
	out := new(Repetition)
	r := request{method: http.MethodPost, path: executionPath(id) + "/retry", key: key}
	return result(out, c.do(ctx, r, out))
}

// RerunExecution starts a new execution that keeps the finished steps of a terminal one before fromStep;
// empty means the first step without a result. key is an Idempotency-Key, or empty.
func (c *Client) RerunExecution(ctx context.Context, id, fromStep, key string) (*Repetition, error) {
	body := struct {
		FromStep string `json:"fromStep,omitempty"`
	}{fromStep}
	out := new(Repetition)
	r := request{method: http.MethodPost, path: executionPath(id) + "/rerun", body: body, key: key}
	return result(out, c.do(ctx, r, out))
}

// reasonBody is the body of cancel and disconnect: none without a reason.
func reasonBody(reason string) any {
	if reason == "" {
		return nil
	}
	return struct {
		Reason string `json:"reason"`
	}{reason}
}
