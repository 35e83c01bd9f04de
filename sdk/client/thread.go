package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// States of a thread. The last three are final.
const (
	ThreadPending   = "pending"
	ThreadPreparing = "preparing" // its workspace is being made
	ThreadStarting  = "starting"  // its agent is being started, or started again
	ThreadReady     = "ready"     // the agent waits for input
	ThreadRunning   = "running"
	ThreadBlocked   = "blocked" // it waits for an answer, see Prompt, or for a login
	ThreadIdle      = "idle"    // nothing happened for the idle timeout
	ThreadCompleted = "completed"
	ThreadFailed    = "failed"
	ThreadStopped   = "stopped"
)

// NewExecution as the execution of a thread asks for one of its own, which lives as long as its threads.
const NewExecution = "new"

// Thread is a supervised, long-lived piece of work of one agent.
type Thread struct {
	Meta
	wire.Thread
	Prompt *ManagedPrompt `json:"prompt,omitempty"` // while it is blocked; the one of wire.Thread stays empty
}

// What the API says of threads, see package wire.
type (
	ThreadError       = wire.ThreadError
	ThreadTurn        = wire.ThreadTurn
	ThreadPolicy      = wire.ThreadPolicy
	ThreadFinish      = wire.ThreadFinish
	ThreadPreparation = wire.ThreadPreparation
	ContextFile       = wire.NewContextFile
	AutoAnswerRule    = wire.AutoAnswerRule
	ThreadCompletion  = wire.Completion
	Artifact          = wire.Artifact
	TestReport        = wire.TestReport
)

// Over reports whether nothing can happen to the thread any more.
func (t *Thread) Over() bool {
	return t.Status == ThreadCompleted || t.Status == ThreadFailed || t.Status == ThreadStopped
}

// ThreadList is one page of threads, newest first.
type ThreadList struct {
	Meta
	PageInfo
	Threads []Thread `json:"threads"`
}

func (l *ThreadList) page() ([]Thread, PageInfo) { return l.Threads, l.PageInfo }

// ThreadFilter selects threads of a list. Zero values select all.
type ThreadFilter struct {
	ExecutionID string
	Status      string
	Role        string
	AgentType   string
	CreatedBy   string
	Page
}

const threadsPath = "/api/managed-threads"

func threadPath(id string) string { return threadsPath + "/" + segment(id) }

// ListThreads returns one page of threads, newest first. NOT_FOUND for an unknown execution.
func (c *Client) ListThreads(ctx context.Context, filter ThreadFilter) (*ThreadList, error) {
	path := threadsPath
	if filter.ExecutionID != "" {
		path += "/executions/" + segment(filter.ExecutionID)
	}
	return listOf[ThreadList](ctx, c, path, filter.Page,
		"status", filter.Status, "role", filter.Role, "agentType", filter.AgentType, "createdBy", filter.CreatedBy)
}

// Threads walks all pages of a list.
func (c *Client) Threads(ctx context.Context, filter ThreadFilter) iter.Seq2[Thread, error] {
	return walkList(ctx, filter, c.ListThreads)
}

// GetThread returns one thread.
func (c *Client) GetThread(ctx context.Context, id string) (*Thread, error) {
	return get[Thread](ctx, c, threadPath(id))
}

// StopThread ends a thread: force kills its agent at once, grace is the time that it has to end by itself (0: the
// runtime's default). Stopping a thread that is over is no error.
func (c *Client) StopThread(ctx context.Context, id string, force bool, grace time.Duration) error {
	return c.do(ctx, request{method: http.MethodDelete, path: threadPath(id), query: stopQuery(force, grace)}, nil)
}
