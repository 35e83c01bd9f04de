package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// States of a workspace.
const (
	WorkspaceReserved = "reserved" // id and path; nothing on disk
	WorkspaceReady    = "ready"
	WorkspaceReleased = "released" // its thread is over; it stays until ExpiresAt
	WorkspaceRemoved  = "removed"
)

// WorkspaceSpec is the workspace that a preparation asks for, or became.
type WorkspaceSpec struct {
	WorkspaceID string `json:"workspaceId,omitempty"` // in a request: one that a preparation reserved
	Path        string `json:"path,omitempty"`        // of an answer
	Repo        string `json:"repo,omitempty"`        // git URL or shorthand of the server; empty: an empty directory
	Branch      string `json:"branch,omitempty"`      // to begin with; empty: the repository's default
	WorkBranch  string `json:"workBranch,omitempty"`
	BaseCommit  string `json:"baseCommit,omitempty"` // of an answer
	Depth       int    `json:"depth,omitempty"`      // commits of history; 0: all
	Filter      string `json:"filter,omitempty"`     // partial clone: blob:none, tree:0 or blob:limit=SIZE
	Submodules  bool   `json:"submodules,omitempty"`
}

// Workspace is a directory that a thread works in.
type Workspace struct {
	Meta
	ID          string     `json:"workspaceId"`
	ThreadID    string     `json:"threadId,omitempty"`
	ExecutionID string     `json:"executionId"`
	Status      string     `json:"status"`
	Path        string     `json:"path"`
	Repo        string     `json:"repo,omitempty"`
	URL         string     `json:"url,omitempty"` // what Repo stands for
	Branch      string     `json:"branch,omitempty"`
	WorkBranch  string     `json:"workBranch,omitempty"`
	BaseCommit  string     `json:"baseCommit,omitempty"`
	Depth       int        `json:"depth,omitempty"`
	Filter      string     `json:"filter,omitempty"`
	Submodules  bool       `json:"submodules,omitempty"`
	SizeBytes   int64      `json:"sizeBytes,omitempty"`
	Warnings    []string   `json:"warnings,omitempty"` // of the checkout
	Kept        string     `json:"kept,omitempty"`     // why it was not removed after ExpiresAt
	CreatedAt   time.Time  `json:"createdAt"`
	ExpiresAt   *time.Time `json:"expiresAt,omitempty"`
	RemovedAt   *time.Time `json:"removedAt,omitempty"`
}

// WorkspaceChanges is what happened in a workspace since its base commit.
type WorkspaceChanges struct {
	Commits     []WorkspaceCommit `json:"commits"` // oldest first; not all of very many
	CommitCount int               `json:"commitCount"`
	Files       []WorkspaceFile   `json:"files"`
	FileCount   int               `json:"fileCount"`
	Insertions  int               `json:"insertions"`
	Deletions   int               `json:"deletions"`
	Uncommitted int               `json:"uncommitted"`
	Unpushed    int               `json:"unpushed"`
}

// WorkspaceCommit is one commit.
type WorkspaceCommit struct {
	Hash    string    `json:"hash"`
	Subject string    `json:"subject"`
	Author  string    `json:"author"`
	Time    time.Time `json:"time"`
}

// WorkspaceFile is one changed file.
type WorkspaceFile struct {
	Path       string `json:"path"`
	Status     string `json:"status"` // added, modified, deleted, renamed, untracked
	Insertions int    `json:"insertions"`
	Deletions  int    `json:"deletions"`
}

// WorkspaceList is one page of workspaces, newest first.
type WorkspaceList struct {
	Meta
	PageInfo
	Workspaces []Workspace `json:"workspaces"`
}

// WorkspaceFilter selects workspaces of a list. Zero values select all.
type WorkspaceFilter struct {
	Status      string
	ExecutionID string
	Page
}

// WorkspacePrune says what to remove.
type WorkspacePrune struct {
	IDs     []string `json:"ids,omitempty"`     // these, expired or not; none: all that are expired
	Force   bool     `json:"force,omitempty"`   // with IDs: also what holds work that is nowhere else
	DryRun  bool     `json:"dryRun,omitempty"`  // only tell
	Mirrors bool     `json:"mirrors,omitempty"` // also mirrors that no workspace uses
}

// WorkspacePruned is what became of one workspace or mirror.
type WorkspacePruned struct {
	ID         string `json:"id"`
	Removed    bool   `json:"removed"`
	Reason     string `json:"reason,omitempty"` // why it was kept
	FreedBytes int64  `json:"freedBytes"`
}

// WorkspacePruneResult is what a prune did, or would do.
type WorkspacePruneResult struct {
	Meta
	Pruned     []WorkspacePruned `json:"pruned"`
	Removed    int               `json:"removed"`
	FreedBytes int64             `json:"freedBytes"`
	DryRun     bool              `json:"dryRun"`
}

const workspacesPath = "/api/workspaces"

// ListWorkspaces returns one page of workspaces, newest first.
func (c *Client) ListWorkspaces(ctx context.Context, filter WorkspaceFilter) (*WorkspaceList, error) {
	query := url.Values{}
	for name, value := range map[string]string{"status": filter.Status, "executionId": filter.ExecutionID} {
		if value != "" {
			query.Set(name, value)
		}
	}
	filter.addTo(query)
	out := new(WorkspaceList)
	return result(out, c.do(ctx, request{method: http.MethodGet, path: workspacesPath, query: query}, out))
}

// Workspaces walks all pages of a list.
func (c *Client) Workspaces(ctx context.Context, filter WorkspaceFilter) iter.Seq2[Workspace, error] {
	return walk(ctx, filter.Page, func(ctx context.Context, page Page) ([]Workspace, PageInfo, error) {
		filter.Page = page
		list, err := c.ListWorkspaces(ctx, filter)
		if err != nil {
			return nil, PageInfo{}, err
		}
		return list.Workspaces, list.PageInfo, nil
	})
}

// GetWorkspace returns one workspace.
func (c *Client) GetWorkspace(ctx context.Context, id string) (*Workspace, error) {
	out := new(Workspace)
	return result(out, c.do(ctx, request{method: http.MethodGet, path: workspacesPath + "/" + segment(id)}, out))
}

// PruneWorkspaces removes workspaces. It may be sent again: what is removed stays removed.
func (c *Client) PruneWorkspaces(ctx context.Context, prune WorkspacePrune) (*WorkspacePruneResult, error) {
	out := new(WorkspacePruneResult)
	r := request{method: http.MethodPost, path: workspacesPath + "/prune", body: prune, harmless: true}
	return result(out, c.do(ctx, r, out))
}

// WorkspaceUsage is what workspaces take on disk together, as of the last look at each, and what they may. A limit of 0 is
// none.
type WorkspaceUsage struct {
	Meta
	Count         int   `json:"count"`
	Bytes         int64 `json:"bytes"`
	ReleasedCount int   `json:"releasedCount"` // those whose thread is over
	ReleasedBytes int64 `json:"releasedBytes"`
	KeptCount     int   `json:"keptCount"` // those that stay for work that is nowhere else
	KeptBytes     int64 `json:"keptBytes"`
	Remove        int   `json:"remove"` // that retention would remove now, unless they hold such work

	MaxCount         int   `json:"maxCount"`
	MaxBytes         int64 `json:"maxBytes"` // of one
	MaxTotalBytes    int64 `json:"maxTotalBytes"`
	MaxReleasedBytes int64 `json:"maxReleasedBytes"`
}

// WorkspaceUsage returns what workspaces take on disk together.
func (c *Client) WorkspaceUsage(ctx context.Context) (*WorkspaceUsage, error) {
	out := new(WorkspaceUsage)
	return result(out, c.do(ctx, request{method: http.MethodGet, path: "/api/workspaces/usage"}, out))
}
