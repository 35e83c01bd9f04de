package wire

import "time"

// WorkspaceStatus is where a workspace is in its life.
type WorkspaceStatus string

// States of a workspace.
const (
	WorkspaceReserved WorkspaceStatus = "reserved" // id and path; nothing on disk
	WorkspaceReady    WorkspaceStatus = "ready"    // checked out
	WorkspaceReleased WorkspaceStatus = "released" // its thread is over; it stays until ExpiresAt
	WorkspaceRemoved  WorkspaceStatus = "removed"  // its directory is gone; the record goes later
)

// WorkspaceSpec is the workspace of a preparation: what is asked for, and, in an answer, what it became.
type WorkspaceSpec struct {
	WorkspaceID string `json:"workspaceId,omitempty" check:"max=128" doc:"One that prepare reserved."`
	Path        string `json:"path,omitempty" check:"max=4096" doc:"Of the answer to prepare, absolute; left out of a request."`
	Repo        string `json:"repo,omitempty" check:"max=2048" doc:"Git URL or configured shorthand. Default: an empty directory." example:"https://git.example.com/app.git"`
	Branch      string `json:"branch,omitempty" check:"max=1024" doc:"To begin with. Default: the repository's." example:"main"`
	WorkBranch  string `json:"workBranch,omitempty" check:"max=1024" doc:"To work on. Default: wardroom/<execution>/<role>-<slug>."`
	BaseCommit  string `json:"baseCommit,omitempty" check:"max=128" doc:"Of the answer to prepare: what branch was; left out of a request."`
	Depth       int    `json:"depth,omitempty" check:"min=0,max=10000000" doc:"Commits of history; 0: all."`
	Filter      string `json:"filter,omitempty" check:"max=128" doc:"Partial clone: blob:none, tree:0 or blob:limit=SIZE."`
	Submodules  bool   `json:"submodules,omitempty" doc:"Check submodules out as well."`
}

// Workspace is a directory that a thread works in.
type Workspace struct {
	ID          string          `json:"workspaceId"`
	ThreadID    string          `json:"threadId,omitempty"`
	ExecutionID string          `json:"executionId"`
	Status      WorkspaceStatus `json:"status" enum:"reserved,ready,released,removed" doc:"reserved: nothing is on disk; released: its thread is over, it stays until expiresAt."`
	Path        string          `json:"path" doc:"Absolute, on the appliance."`
	Repo        string          `json:"repo,omitempty" doc:"As it was asked for, without credentials."`
	URL         string          `json:"url,omitempty" doc:"What repo stands for."`
	Branch      string          `json:"branch,omitempty"`
	WorkBranch  string          `json:"workBranch,omitempty"`
	BaseCommit  string          `json:"baseCommit,omitempty"`
	Depth       int             `json:"depth,omitempty"`
	Filter      string          `json:"filter,omitempty"`
	Submodules  bool            `json:"submodules,omitempty"`
	SizeBytes   int64           `json:"sizeBytes,omitempty" doc:"At the last look."`
	Warnings    []string        `json:"warnings,omitempty" doc:"Of the checkout."`
	Kept        string          `json:"kept,omitempty" doc:"Why it was not removed after expiresAt."`
	CreatedAt   time.Time       `json:"createdAt"`
	ExpiresAt   *time.Time      `json:"expiresAt,omitempty"` // once released, or while it is only reserved
	RemovedAt   *time.Time      `json:"removedAt,omitempty"`
}

// WorkspaceRow is a workspace as it is shown.
type WorkspaceRow struct {
	RowID string `json:"id" doc:"The same as workspaceId."`
	Workspace
}

// WorkspaceChanges is what happened in a workspace since its base commit.
type WorkspaceChanges struct {
	Commits     []WorkspaceCommit `json:"commits" doc:"Oldest first, at most 100."`
	CommitCount int               `json:"commitCount"`
	Files       []WorkspaceFile   `json:"files" doc:"At most 500, committed and not. status: added, modified, deleted, renamed or untracked."`
	FileCount   int               `json:"fileCount"`
	Insertions  int               `json:"insertions"`
	Deletions   int               `json:"deletions"`
	Uncommitted int               `json:"uncommitted" doc:"Files."`
	Unpushed    int               `json:"unpushed" doc:"Commits that the remote does not have."`
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
	From       string `json:"from,omitempty" doc:"Former path of one that was renamed."`
	Status     string `json:"status"` // added, modified, deleted, renamed, untracked
	Insertions int    `json:"insertions"`
	Deletions  int    `json:"deletions"`
}

// WorkspaceDiff is the difference between the files of a workspace and the commit that it began at.
type WorkspaceDiff struct {
	WorkspaceID string            `json:"workspaceId"`
	BaseCommit  string            `json:"baseCommit" doc:"That it began at, or that it was brought onto."`
	WorkBranch  string            `json:"workBranch"`
	Patch       string            `json:"patch" doc:"Unified diff of what is committed and of what is not, files included that git does not know."`
	Truncated   bool              `json:"truncated" doc:"Of the patch, at the end of a line."`
	Changes     *WorkspaceChanges `json:"changes,omitempty"`
}

// WorkspaceUpdate is what became of a workspace that was brought onto its branch.
type WorkspaceUpdate struct {
	WorkspaceID string `json:"workspaceId"`
	Branch      string `json:"branch"`
	BaseCommit  string `json:"baseCommit"` // of the branch now
	HeadCommit  string `json:"headCommit"` // of the work now
	Changed     bool   `json:"changed"`
}

// WorkspacePruned is what became of one workspace or mirror.
type WorkspacePruned struct {
	ID         string `json:"id" doc:"Of the workspace, or address of the mirror."`
	Removed    bool   `json:"removed"`
	Reason     string `json:"reason,omitempty" doc:"Why it was kept."`
	FreedBytes int64  `json:"freedBytes"`
}

// WorkspacePruneResult lists what a prune removed, or would remove.
type WorkspacePruneResult struct {
	Pruned     []WorkspacePruned `json:"pruned"`
	Removed    int               `json:"removed" doc:"How many, or with dryRun would be."`
	FreedBytes int64             `json:"freedBytes"`
	DryRun     bool              `json:"dryRun"`
}

// WorkspaceUsage is what workspaces take on disk together, as of the last look at each, and what they may. A limit of 0
// is none.
type WorkspaceUsage struct {
	Count         int   `json:"count"` // that are not removed
	Bytes         int64 `json:"bytes"`
	ReleasedCount int   `json:"releasedCount"` // of them, those whose thread is over
	ReleasedBytes int64 `json:"releasedBytes"`
	KeptCount     int   `json:"keptCount"` // of them, those that stay for work that is nowhere else
	KeptBytes     int64 `json:"keptBytes"`
	Remove        int   `json:"remove"` // that retention would remove now, unless they hold such work
	AtLeast       bool  `json:"totalAtLeast,omitempty" doc:"Counts and sizes are lower bounds: there are many, and counting ended there."`

	MaxCount         int   `json:"maxCount"`
	MaxBytes         int64 `json:"maxBytes"`         // of one
	MaxTotalBytes    int64 `json:"maxTotalBytes"`    // of all
	MaxReleasedBytes int64 `json:"maxReleasedBytes"` // of those whose thread is over
}

// WorkspacePrune says what to remove.
type WorkspacePrune struct {
	IDs     []string `json:"ids,omitempty" check:"max=1000" doc:"These, expired or not. Default: all that are expired."`
	Force   bool     `json:"force,omitempty" doc:"With ids: also what holds work that is nowhere else."`
	DryRun  bool     `json:"dryRun,omitempty" doc:"Only tell."`
	Mirrors bool     `json:"mirrors,omitempty" doc:"Also mirrors of repositories that no workspace uses."`
}
