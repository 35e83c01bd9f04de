package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/wardroom/wardroom/sdk/wire"
)

// ThreadContinue says how another thread goes on with one that is over.
type ThreadContinue = wire.ThreadContinue

// ThreadContinued is the new thread, and how the turn of its message ended where that was waited for.
type ThreadContinued struct {
	Thread
	Response *wire.TurnResponse `json:"response,omitempty"`
}

// ThreadQueue is a page of the messages of a thread that have no answer yet, in their order.
type ThreadQueue struct {
	Meta
	wire.ThreadQueue
}

// ThreadDiff is the difference between the files of a thread and the commit that it began at.
type ThreadDiff struct {
	Meta
	wire.ThreadDiff
}

// WorkspaceUpdate is what became of a workspace that was brought onto its branch.
type WorkspaceUpdate struct {
	Meta
	wire.WorkspaceUpdate
}

// ContinueThread starts a thread that goes on with one that is over, and returns it, with ExpectResponse at the end of its
// message's turn. CONFLICT when that runs, or goes on already.
func (c *Client) ContinueThread(ctx context.Context, id string, in ThreadContinue) (*ThreadContinued, error) {
	r := request{method: http.MethodPost, path: threadPath(id) + "/continue", body: in, key: in.IdempotencyKey}
	return ask[ThreadContinued](ctx, c, r)
}

// ListThreadQueue returns a page of the messages that have no answer yet: those after a number, limit at most (0: the
// server's default).
func (c *Client) ListThreadQueue(ctx context.Context, id string, after uint64, limit int) (*ThreadQueue, error) {
	query := queryOf("after", number(after), "limit", number(limit))
	return ask[ThreadQueue](ctx, c, request{method: http.MethodGet, path: threadPath(id) + "/queue", query: query})
}

// WithdrawThreadInput takes a message out of the queue. CONFLICT when the agent has it already.
func (c *Client) WithdrawThreadInput(ctx context.Context, id, inputID string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: threadPath(id) + "/queue/" + segment(inputID)}, nil)
}

// DiffThread returns what the files of a thread differ in; maxBytes bounds the patch (0: the server's default).
func (c *Client) DiffThread(ctx context.Context, id string, maxBytes int) (*ThreadDiff, error) {
	return ask[ThreadDiff](ctx, c, request{method: http.MethodGet, path: threadPath(id) + "/diff", query: patchQuery(maxBytes)})
}

func patchQuery(maxBytes int) url.Values {
	return queryOf("maxBytes", number(maxBytes))
}

// MergeThread merges what is new on the branch that a thread began at into its work. CONFLICT while its agent works, and
// when both sides changed the same: then nothing changes.
func (c *Client) MergeThread(ctx context.Context, id string) (*WorkspaceUpdate, error) {
	return c.updateThread(ctx, id, "merge")
}

// RebaseThread is MergeThread, but the commits of the thread are made anew behind the new ones.
func (c *Client) RebaseThread(ctx context.Context, id string) (*WorkspaceUpdate, error) {
	return c.updateThread(ctx, id, "rebase")
}

func (c *Client) updateThread(ctx context.Context, id, how string) (*WorkspaceUpdate, error) {
	return ask[WorkspaceUpdate](ctx, c, request{method: http.MethodPost, path: threadPath(id) + "/" + how})
}
