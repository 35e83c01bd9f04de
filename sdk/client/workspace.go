package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/wardroom/wardroom/sdk/wire"
)

// States of a workspace.
const (
	WorkspaceReserved = "reserved" // id and path; nothing on disk
	WorkspaceReady    = "ready"
	WorkspaceReleased = "released" // its thread is over; it stays until ExpiresAt
	WorkspaceRemoved  = "removed"
)

// What the API says of workspaces, see package wire.
type (
	WorkspaceStatus  = wire.WorkspaceStatus
	WorkspaceSpec    = wire.WorkspaceSpec
	WorkspaceChanges = wire.WorkspaceChanges
	WorkspaceCommit  = wire.WorkspaceCommit
	WorkspaceFile    = wire.WorkspaceFile
	WorkspacePruned  = wire.WorkspacePruned
)

// Workspace is a directory that a thread works in.
type Workspace struct {
	Meta
	wire.WorkspaceRow
}

// WorkspaceDiff is the difference between the files of a workspace and the commit that it began at.
type WorkspaceDiff struct {
	Meta
	wire.WorkspaceDiff
}

// WorkspacePruneResult lists what a prune removed, or would remove.
type WorkspacePruneResult struct {
	Meta
	wire.WorkspacePruneResult
}

// WorkspaceUsage is what workspaces take on disk together, as of the last look at each, and what they may.
type WorkspaceUsage struct {
	Meta
	wire.WorkspaceUsage
}

// WorkspaceList is one page of workspaces, newest first.
type WorkspaceList struct {
	Meta
	PageInfo
	Workspaces []Workspace `json:"workspaces"`
}

func (l *WorkspaceList) page() ([]Workspace, PageInfo) { return l.Workspaces, l.PageInfo }

// WorkspaceFilter selects workspaces of a list. Zero values select all.
type WorkspaceFilter struct {
	Status      string
	ExecutionID string
	Page
}

// WorkspacePrune says what to remove.
type WorkspacePrune = wire.WorkspacePrune

const workspacesPath = "/api/workspaces"

// ListWorkspaces returns one page of workspaces, newest first.
func (c *Client) ListWorkspaces(ctx context.Context, filter WorkspaceFilter) (*WorkspaceList, error) {
	return listOf[WorkspaceList](ctx, c, workspacesPath, filter.Page, "status", filter.Status, "executionId", filter.ExecutionID)
}

// Workspaces walks all pages of a list.
func (c *Client) Workspaces(ctx context.Context, filter WorkspaceFilter) iter.Seq2[Workspace, error] {
	return walkList(ctx, filter, c.ListWorkspaces)
}

// GetWorkspace returns one workspace.
func (c *Client) GetWorkspace(ctx context.Context, id string) (*Workspace, error) {
	return get[Workspace](ctx, c, workspacesPath+"/"+segment(id))
}

// WorkspaceChanges returns what the files of a workspace differ in, or one file if path is not empty; maxBytes bounds the patch
// (0: the server's default). CONFLICT for a workspace without files or repository, NOT_FOUND for a file that did not change.
func (c *Client) WorkspaceChanges(ctx context.Context, id, path string, maxBytes int) (*WorkspaceDiff, error) {
	of := workspacesPath + "/" + segment(id) + "/changes"
	if path != "" {
		of += "/" + segment(path)
	}
	return ask[WorkspaceDiff](ctx, c, request{method: http.MethodGet, path: of, query: patchQuery(maxBytes)})
}

// PruneWorkspaces removes workspaces. It may be sent again: what is removed stays removed.
func (c *Client) PruneWorkspaces(ctx context.Context, prune WorkspacePrune) (*WorkspacePruneResult, error) {
	r := request{method: http.MethodPost, path: workspacesPath + "/prune", body: prune, harmless: true}
	return ask[WorkspacePruneResult](ctx, c, r)
}

// WorkspaceUsage returns what workspaces take on disk together.
func (c *Client) WorkspaceUsage(ctx context.Context) (*WorkspaceUsage, error) {
	return get[WorkspaceUsage](ctx, c, "/api/workspaces/usage")
}
