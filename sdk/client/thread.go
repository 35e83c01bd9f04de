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
	ID             string            `json:"id"`
	ExecutionID    string            `json:"executionId"`
	Name           string            `json:"name"`
	AgentType      string            `json:"agentType"`
	Role           string            `json:"role"`
	Objective      string            `json:"objective"`
	Status         string            `json:"status"`
	StatusReason   string            `json:"statusReason,omitempty"`
	Runtime        string            `json:"runtime"`           // empty until it starts
	ManagedAgentID string            `json:"managedAgentId"`    // empty until it starts, and of a remote one
	AgentID        string            `json:"agentId,omitempty"` // connected agent that hosts it
	SessionID      string            `json:"sessionId,omitempty"`
	Workspace      *Workspace        `json:"workspace"`
	Preparation    ThreadPreparation `json:"preparation"`
	Policy         ThreadPolicy      `json:"policy"`
	Metadata       map[string]any    `json:"metadata"`
	Summary        string            `json:"summary"`
	Completion     *ThreadCompletion `json:"completion,omitempty"`
	Error          *ThreadError      `json:"error,omitempty"`
	Prompt         *ManagedPrompt    `json:"prompt,omitempty"` // while it is blocked
	// PromptRuling is how its latest prompt was answered without people, or why they are asked; nil if no rule says anything.
	PromptRuling   *wire.PromptRuling `json:"promptRuling,omitempty"`
	LoginURL       string             `json:"loginUrl,omitempty"`
	TurnCount      int                `json:"turnCount"`             // that did not fail
	FailedTurns    int                `json:"failedTurns,omitempty"` // beside them
	LastTurn       *ThreadTurn        `json:"lastTurn,omitempty"`
	Usage          *wire.Usage        `json:"usage,omitempty"`       // of all turns, as the agent told
	RetryAt        *time.Time         `json:"retryAt,omitempty"`     // when the message of a failed turn is given again
	Continues      string             `json:"continues,omitempty"`   // thread that it goes on with
	ContinuedBy    string             `json:"continuedBy,omitempty"` // thread that goes on with it
	Sanitized      []SanitizedField   `json:"sanitized,omitempty"`   // texts that something was taken out of
	EventCount     int                `json:"eventCount"`
	QueuedInputs   int                `json:"queuedInputs"` // messages that the agent did not take yet
	Restarts       int                `json:"restarts"`
	CreatedBy      string             `json:"createdBy,omitempty"`
	CreatedAt      time.Time          `json:"createdAt"`
	UpdatedAt      time.Time          `json:"updatedAt"`
	LastActivityAt time.Time          `json:"lastActivityAt"`
	StartedAt      *time.Time         `json:"startedAt,omitempty"`
	EndedAt        *time.Time         `json:"endedAt,omitempty"`
}

// What the API says of threads, see package wire.
type (
	ThreadTurn       = wire.ThreadTurn
	ThreadPolicy     = wire.ThreadPolicy
	ThreadFinish     = wire.ThreadFinish
	AutoAnswerRule   = wire.AutoAnswerRule
	ThreadCompletion = wire.Completion
	Artifact         = wire.Artifact
	TestReport       = wire.TestReport
)

// Over reports whether nothing can happen to the thread any more.
func (t *Thread) Over() bool {
	return t.Status == ThreadCompleted || t.Status == ThreadFailed || t.Status == ThreadStopped
}

// ThreadPreparation is what an agent starts with.
type ThreadPreparation struct {
	Workspace      *WorkspaceSpec    `json:"workspace,omitempty"` // nil: an empty directory
	ContextFiles   []ContextFile     `json:"contextFiles,omitempty"`
	ApprovalPreset string            `json:"approvalPreset,omitempty"` // readonly, standard, permissive, autonomous
	Env            map[string]string `json:"env,omitempty"`            // of a request; secret
	EnvNames       []string          `json:"envNames,omitempty"`       // of an answer
}

// ContextFile is a file that is written into the workspace before the agent starts. In a list of threads the content
// is left out.
type ContextFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Bytes   int    `json:"-"` // of an answer: size of the content
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *ContextFile) UnmarshalJSON(data []byte) error {
	var in struct {
		Path    string `json:"path"`
		Content string `json:"content"`
		Bytes   *int   `json:"bytes"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*f = ContextFile{Path: in.Path, Content: in.Content, Bytes: len(in.Content)}
	if in.Bytes != nil {
		f.Bytes = *in.Bytes
	}
	return nil
}

// ThreadError is why a thread, or one of its turns, failed.
type ThreadError struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable,omitempty"` // of a turn
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
	query := url.Values{}
	for name, value := range map[string]string{"status": filter.Status, "role": filter.Role, "agentType": filter.AgentType, "createdBy": filter.CreatedBy} {
		if value != "" {
			query.Set(name, value)
		}
	}
	filter.addTo(query)
	path := threadsPath
	if filter.ExecutionID != "" {
		path += "/executions/" + segment(filter.ExecutionID)
	}
	return ask[ThreadList](ctx, c, request{method: http.MethodGet, path: path, query: query})
}

// Threads walks all pages of a list.
func (c *Client) Threads(ctx context.Context, filter ThreadFilter) iter.Seq2[Thread, error] {
	return walkList(ctx, filter, c.ListThreads)
}

// GetThread returns one thread.
func (c *Client) GetThread(ctx context.Context, id string) (*Thread, error) {
	return ask[Thread](ctx, c, request{method: http.MethodGet, path: threadPath(id)})
}

// StopThread ends a thread: force kills its agent at once, grace is the time that it has to end by itself (0: the
// runtime's default). Stopping a thread that is over is no error.
func (c *Client) StopThread(ctx context.Context, id string, force bool, grace time.Duration) error {
	query := url.Values{}
	if force {
		query.Set("force", "true")
	}
	if grace > 0 {
		query.Set("timeout", strconv.FormatInt(max(1, grace.Milliseconds()), 10))
	}
	return c.do(ctx, request{method: http.MethodDelete, path: threadPath(id), query: query}, nil)
}
