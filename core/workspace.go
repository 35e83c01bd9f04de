package core

import (
	"context"
	"time"
)

// WorkspaceStatus is where a workspace is in its life.
type WorkspaceStatus string

// States of a workspace.
const (
	WorkspaceReserved WorkspaceStatus = "reserved" // id and path; nothing on disk
	WorkspaceReady    WorkspaceStatus = "ready"    // checked out
	WorkspaceReleased WorkspaceStatus = "released" // its thread is over; it stays until ExpiresAt
	WorkspaceRemoved  WorkspaceStatus = "removed"  // its directory is gone; the record goes later
)

// WorkspaceStatuses lists every state, in the order of life.
var WorkspaceStatuses = []WorkspaceStatus{WorkspaceReserved, WorkspaceReady, WorkspaceReleased, WorkspaceRemoved}

// WorkspaceSpec is the workspace of a preparation: what is asked for, and, in an answer, what it became.
type WorkspaceSpec struct {
	WorkspaceID string `json:"workspaceId,omitempty"` // in a request: one that prepare reserved
	Path        string `json:"path,omitempty"`        // absolute; in a request only beside WorkspaceID, and ignored
	Repo        string `json:"repo,omitempty"`        // git URL or configured shorthand; "": an empty directory
	Branch      string `json:"branch,omitempty"`      // to start from; "": the repository's default
	WorkBranch  string `json:"workBranch,omitempty"`  // of the thread; "": wardroom/<execution>/<role>-<slug>
	BaseCommit  string `json:"baseCommit,omitempty"`  // in an answer: what Branch was
	Depth       int    `json:"depth,omitempty"`       // commits of history; 0: all
	Filter      string `json:"filter,omitempty"`      // partial clone: blob:none, tree:0 or blob:limit=SIZE; "": all
	Submodules  bool   `json:"submodules,omitempty"`
}

// Workspace is a directory that a thread works in. Values are snapshots.
type Workspace struct {
	ID          string          `json:"workspaceId"`
	ThreadID    string          `json:"threadId,omitempty"`
	ExecutionID string          `json:"executionId"`
	Status      WorkspaceStatus `json:"status"`
	Path        string          `json:"path"`           // absolute
	Repo        string          `json:"repo,omitempty"` // as it was asked for, without credentials
	URL         string          `json:"url,omitempty"`  // what Repo stands for, without credentials
	Branch      string          `json:"branch,omitempty"`
	WorkBranch  string          `json:"workBranch,omitempty"`
	BaseCommit  string          `json:"baseCommit,omitempty"`
	Depth       int             `json:"depth,omitempty"`
	Filter      string          `json:"filter,omitempty"`
	Submodules  bool            `json:"submodules,omitempty"`
	SizeBytes   int64           `json:"sizeBytes,omitempty"` // at the last look
	Warnings    []string        `json:"warnings,omitempty"`  // of the checkout: LFS pointers, names that differ by case, submodules left out
	Kept        string          `json:"kept,omitempty"`      // why it was not removed after ExpiresAt: unpushed commits, changes
	CreatedAt   time.Time       `json:"createdAt"`
	ExpiresAt   *time.Time      `json:"expiresAt,omitempty"` // once released, or while it is only reserved
	RemovedAt   *time.Time      `json:"removedAt,omitempty"`
}

// WorkspaceRequest asks for a workspace.
type WorkspaceRequest struct {
	ExecutionID string
	ThreadID    string // "": of a preparation
	Role        string
	Name        string // of the thread; for the branch
	Spec        WorkspaceSpec
}

// WorkspaceChanges is what happened in a workspace since its base commit.
type WorkspaceChanges struct {
	Commits     []WorkspaceCommit `json:"commits"` // oldest first, at most 100
	CommitCount int               `json:"commitCount"`
	Files       []WorkspaceFile   `json:"files"` // at most 500, committed and not
	FileCount   int               `json:"fileCount"`
	Insertions  int               `json:"insertions"`
	Deletions   int               `json:"deletions"`
	Uncommitted int               `json:"uncommitted"` // files
	Unpushed    int               `json:"unpushed"`    // commits that the remote does not have
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

// WorkspaceFilter selects workspaces of a list. Zero values select all.
type WorkspaceFilter struct {
	Status      WorkspaceStatus
	ExecutionID string
	Page
}

// WorkspacePrune says what to remove.
type WorkspacePrune struct {
	IDs     []string // these, expired or not; empty: all that are expired
	Force   bool     // only with IDs: also where work is unpushed or uncommitted
	DryRun  bool     // only tell
	Mirrors bool     // also mirrors that no workspace uses
}

// WorkspacePruned is what became of one workspace or mirror.
type WorkspacePruned struct {
	ID         string `json:"id"` // of the workspace, or URL of the mirror
	Removed    bool   `json:"removed"`
	Reason     string `json:"reason,omitempty"` // why it was kept
	FreedBytes int64  `json:"freedBytes"`
}

// WorkspaceUsage is what workspaces take on disk, as of the last look at each, and what they may.
type WorkspaceUsage struct {
	Count         int   `json:"count"` // that are not removed
	Bytes         int64 `json:"bytes"`
	ReleasedCount int   `json:"releasedCount"` // of them, those whose thread is over
	ReleasedBytes int64 `json:"releasedBytes"`
	KeptCount     int   `json:"keptCount"` // of them, those that stay for work that is nowhere else
	KeptBytes     int64 `json:"keptBytes"`
	Remove        int   `json:"remove"` // that retention would remove now, unless they hold work that is nowhere else

	MaxCount         int   `json:"maxCount"`
	MaxBytes         int64 `json:"maxBytes"`         // of one; 0: no bound; so are the next
	MaxTotalBytes    int64 `json:"maxTotalBytes"`    // of all
	MaxReleasedBytes int64 `json:"maxReleasedBytes"` // of those whose thread is over
}

// WorkspaceService makes and keeps workspaces. Methods are safe for concurrent use.
type WorkspaceService interface {
	// ReserveWorkspace resolves repository and branch for real, and stores id, path and branch of a workspace;
	// nothing is checked out. VALIDATION_ERROR (field preparation.workspace.repo or .branch) when either does not
	// exist, is not allowed or refuses the credentials; RATE_LIMITED beyond the quota; INTERNAL_ERROR with
	// Unavailable when the remote does not answer.
	ReserveWorkspace(ctx context.Context, req WorkspaceRequest) (*Workspace, error)
	// AdoptWorkspace gives a reserved or ready workspace of a preparation, or one whose thread is over, to a thread,
	// within the caller's transaction. NOT_FOUND; CONFLICT when it belongs to another thread or was removed, or another
	// repository or branch was asked for.
	AdoptWorkspace(tx WorkspaceTx, id, threadID, executionID string) (*Workspace, error)
	// ProvisionWorkspace checks a reserved workspace out; a ready one is returned as it is. What fails leaves
	// nothing behind but the reservation. INTERNAL_ERROR when the disk is full, with the reason for people.
	ProvisionWorkspace(ctx context.Context, id string) (*Workspace, error)
	// WriteContext writes files below a ready workspace. Those below .wardroom/ are excluded from git there. No
	// symbolic link is followed. VALIDATION_ERROR for a path that leaves it, or is below .git.
	WriteContext(ctx context.Context, id string, files []ContextFile) error
	// CheckContext tells what WriteContext would refuse, before there is a workspace.
	CheckContext(files []ContextFile) error
	// InspectWorkspace tells what happened in a workspace; nil for one without a repository.
	InspectWorkspace(ctx context.Context, id string) (*WorkspaceChanges, error)
	// DiffWorkspace returns what the files of a workspace differ in from the commit that it began at, committed or not;
	// most bounds the patch in bytes, 0 is 1 MiB. NOT_FOUND; CONFLICT for one without files or repository.
	DiffWorkspace(ctx context.Context, id string, most int) (*WorkspaceDiff, error)
	// UpdateWorkspace takes what is new on the branch that a workspace began at into its work branch. Nothing may run in
	// it. CONFLICT when files are not committed, or both sides changed the same, with details.conflicts: then nothing
	// changes.
	UpdateWorkspace(ctx context.Context, id string, how WorkspaceUpdateMethod) (*WorkspaceUpdate, error)
	// FinishWorkspace does the finish actions and returns what came of them. Doing it again does what is left.
	FinishWorkspace(ctx context.Context, id string, finish ThreadFinish, message string) ([]Artifact, error)
	// CheckFinish tells whether the finish actions are allowed for a repository. FORBIDDEN, VALIDATION_ERROR.
	CheckFinish(spec *WorkspaceSpec, finish *ThreadFinish) error
	// ReleaseWorkspace tells, within the caller's transaction, that the thread is over: the time to live begins.
	ReleaseWorkspace(tx WorkspaceTx, id string) error
	// FindWorkspaces lists workspaces, newest first.
	FindWorkspaces(ctx context.Context, filter WorkspaceFilter) ([]*Workspace, PageInfo, error)
	// FindWorkspace returns one. NOT_FOUND.
	FindWorkspace(ctx context.Context, id string) (*Workspace, error)
	// WorkspaceUsage returns what all take together. It looks at no disk.
	WorkspaceUsage(ctx context.Context) (*WorkspaceUsage, error)
	// PruneWorkspaces removes what is expired, or named. Unpushed or uncommitted work is never removed without
	// Force; the workspace of a thread that runs never.
	PruneWorkspaces(ctx context.Context, prune WorkspacePrune) ([]WorkspacePruned, error)
	// ResolveWorkspace returns the spec for a host elsewhere: with the URL that Repo stands for, and its configured branch
	// when none is named. The remote is not asked. VALIDATION_ERROR.
	ResolveWorkspace(spec *WorkspaceSpec) (*WorkspaceSpec, error)
	// GitEnv returns the environment that an agent's own git needs in a workspace. It holds nothing that should not
	// be redacted: runtimes take the values of an environment for secrets. The identity of commits stands in the
	// configuration of the repository.
	GitEnv(id string) map[string]string
}

// WorkspaceDiff is what the files of a workspace differ in from the commit that it began at.
type WorkspaceDiff struct {
	WorkspaceID string            `json:"workspaceId"`
	BaseCommit  string            `json:"baseCommit"`
	WorkBranch  string            `json:"workBranch"`
	Patch       string            `json:"patch"`     // unified; of what is committed and of what is not
	Truncated   bool              `json:"truncated"` // of Patch, at the end of a line
	Changes     *WorkspaceChanges `json:"changes,omitempty"`
}

// WorkspaceUpdateMethod is a way to take what is new on a branch into another.
type WorkspaceUpdateMethod string

// Ways to update a workspace.
const (
	WorkspaceMerge  WorkspaceUpdateMethod = "merge"  // by a merge commit, or forward where nothing was committed
	WorkspaceRebase WorkspaceUpdateMethod = "rebase" // the commits of the work are made anew behind the new ones
)

// WorkspaceUpdate is what became of a workspace by an update.
type WorkspaceUpdate struct {
	WorkspaceID string `json:"workspaceId"`
	Branch      string `json:"branch"`
	BaseCommit  string `json:"baseCommit"` // of the branch now
	HeadCommit  string `json:"headCommit"` // of the work now
	Changed     bool   `json:"changed"`
}

// WorkspaceReader reads stored workspaces.
type WorkspaceReader interface {
	// FindWorkspaces lists workspaces, newest first.
	FindWorkspaces(ctx context.Context, filter WorkspaceFilter) ([]*Workspace, PageInfo, error)
	// FindWorkspace returns one. NOT_FOUND.
	FindWorkspace(ctx context.Context, id string) (*Workspace, error)
	// AllWorkspaces returns every workspace, oldest first.
	AllWorkspaces(ctx context.Context) ([]*Workspace, error)
}
