package api

import "github.com/wardroom/wardroom/core"

// workspaceBody is a workspace on the wire.
type workspaceBody struct {
	ID          string               `json:"workspaceId"`
	ThreadID    string               `json:"threadId,omitempty"`
	ExecutionID string               `json:"executionId"`
	Status      core.WorkspaceStatus `json:"status" enum:"reserved,ready,released,removed" doc:"reserved: nothing is on disk; released: its thread is over, it stays until expiresAt."`
	Path        string               `json:"path" doc:"Absolute, on the appliance."`
	Repo        string               `json:"repo,omitempty" doc:"As it was asked for, without credentials."`
	URL         string               `json:"url,omitempty" doc:"What repo stands for."`
	Branch      string               `json:"branch,omitempty"`
	WorkBranch  string               `json:"workBranch,omitempty"`
	BaseCommit  string               `json:"baseCommit,omitempty"`
	Depth       int                  `json:"depth,omitempty"`
	Filter      string               `json:"filter,omitempty"`
	Submodules  bool                 `json:"submodules,omitempty"`
	SizeBytes   int64                `json:"sizeBytes,omitempty" doc:"At the last look."`
	Warnings    []string             `json:"warnings,omitempty" doc:"Of the checkout."`
	Kept        string               `json:"kept,omitempty" doc:"Why it was not removed after expiresAt."`
	CreatedAt   timestamp            `json:"createdAt"`
	ExpiresAt   *timestamp           `json:"expiresAt,omitempty"`
	RemovedAt   *timestamp           `json:"removedAt,omitempty"`
}

func newWorkspaceBody(w *core.Workspace) workspaceBody {
	return workspaceBody{
		ID: w.ID, ThreadID: w.ThreadID, ExecutionID: w.ExecutionID, Status: w.Status, Path: w.Path, Repo: w.Repo,
		URL: w.URL, Branch: w.Branch, WorkBranch: w.WorkBranch, BaseCommit: w.BaseCommit, Depth: w.Depth, Filter: w.Filter,
		Submodules: w.Submodules, SizeBytes: w.SizeBytes, Warnings: w.Warnings, Kept: w.Kept,
		CreatedAt: timestamp(w.CreatedAt), ExpiresAt: stamp(w.ExpiresAt), RemovedAt: stamp(w.RemovedAt),
	}
}

type workspaceList struct {
	Workspaces []workspaceBody `json:"workspaces"`
	Total      int             `json:"total"`
	Limit      int             `json:"limit"`
	Offset     int             `json:"offset"`
	HasMore    bool            `json:"hasMore"`
	NextCursor string          `json:"nextCursor,omitempty" doc:"cursor of the next page; absent on the last."`
}

// workspaceChangesBody is what happened in a workspace since its base commit.
type workspaceChangesBody struct {
	Commits     []workspaceCommitBody `json:"commits" doc:"Oldest first, at most 100."`
	CommitCount int                   `json:"commitCount"`
	Files       []core.WorkspaceFile  `json:"files" doc:"At most 500, committed and not. status: added, modified, deleted, renamed or untracked."`
	FileCount   int                   `json:"fileCount"`
	Insertions  int                   `json:"insertions"`
	Deletions   int                   `json:"deletions"`
	Uncommitted int                   `json:"uncommitted" doc:"Files."`
	Unpushed    int                   `json:"unpushed" doc:"Commits that the remote does not have."`
}

type workspaceCommitBody struct {
	Hash    string    `json:"hash"`
	Subject string    `json:"subject"`
	Author  string    `json:"author"`
	Time    timestamp `json:"time"`
}

func newWorkspaceChangesBody(w *core.WorkspaceChanges) *workspaceChangesBody {
	if w == nil {
		return nil
	}
	body := &workspaceChangesBody{
		Commits: make([]workspaceCommitBody, len(w.Commits)), CommitCount: w.CommitCount, Files: w.Files,
		FileCount: w.FileCount, Insertions: w.Insertions, Deletions: w.Deletions,
		Uncommitted: w.Uncommitted, Unpushed: w.Unpushed,
	}
	for i, c := range w.Commits {
		body.Commits[i] = workspaceCommitBody{Hash: c.Hash, Subject: c.Subject, Author: c.Author, Time: timestamp(c.Time)}
	}
	if body.Files == nil {
		body.Files = []core.WorkspaceFile{}
	}
	return body
}

// pruneWorkspacesRequest says what to remove.
type pruneWorkspacesRequest struct {
	IDs     []string `json:"ids" check:"max=1000" doc:"These, expired or not. Default: all that are expired."`
	Force   bool     `json:"force" doc:"With ids: also what holds work that is nowhere else."`
	DryRun  bool     `json:"dryRun" doc:"Only tell."`
	Mirrors bool     `json:"mirrors" doc:"Also mirrors of repositories that no workspace uses."`
}

type pruneAnswer struct {
	Pruned     []prunedRow `json:"pruned"`
	Removed    int         `json:"removed" doc:"How many, or with dryRun would be."`
	FreedBytes int64       `json:"freedBytes"`
	DryRun     bool        `json:"dryRun"`
}

type prunedRow struct {
	ID         string `json:"id" doc:"Of the workspace, or address of the mirror."`
	Removed    bool   `json:"removed"`
	Reason     string `json:"reason,omitempty" doc:"Why it was kept."`
	FreedBytes int64  `json:"freedBytes"`
}
