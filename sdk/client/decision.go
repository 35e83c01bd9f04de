package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Decision is something that all threads of an execution should know.
type Decision struct {
	Meta
	wire.Decision
}

// NewDecision is a decision that is written by hand.
type NewDecision = wire.NewDecision

// DecisionList is one page of decisions, newest first.
type DecisionList struct {
	Meta
	PageInfo
	Decisions []Decision `json:"decisions"`
}

func (l *DecisionList) page() ([]Decision, PageInfo) { return l.Decisions, l.PageInfo }

// DecisionFilter selects decisions of one thread, or of one execution. Without a category it selects all.
type DecisionFilter struct {
	ThreadID    string // either this
	ExecutionID string // or this
	Category    string
	CreatedBy   string
	Page
}

func (f DecisionFilter) path() string {
	if f.ThreadID != "" {
		return threadPath(f.ThreadID) + "/shared-decisions"
	}
	return threadsPath + "/executions/" + segment(f.ExecutionID) + "/shared-decisions"
}

// ListDecisions returns one page of decisions, newest first.
func (c *Client) ListDecisions(ctx context.Context, filter DecisionFilter) (*DecisionList, error) {
	return listOf[DecisionList](ctx, c, filter.path(), filter.Page, "category", filter.Category, "createdBy", filter.CreatedBy)
}

// Decisions walks all pages of a list.
func (c *Client) Decisions(ctx context.Context, filter DecisionFilter) iter.Seq2[Decision, error] {
	return walkList(ctx, filter, c.ListDecisions)
}

// AddDecision writes a decision of a thread and returns it, or the one that said the same before.
func (c *Client) AddDecision(ctx context.Context, threadID string, d NewDecision) (*Decision, error) {
	r := request{method: http.MethodPost, path: threadPath(threadID) + "/shared-decisions", body: d, key: d.IdempotencyKey}
	return ask[Decision](ctx, c, r)
}
