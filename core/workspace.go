package core

import (
	"context"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixWorkspace begins the ids of workspaces.
const PrefixWorkspace = "ws_"

// What is public of workspaces. Values are snapshots.
type (
	Workspace        = wire.Workspace
	WorkspaceStatus  = wire.WorkspaceStatus
	WorkspaceSpec    = wire.WorkspaceSpec
	WorkspaceChanges = wire.WorkspaceChanges
	WorkspaceCommit  = wire.WorkspaceCommit
	WorkspaceFile    = wire.WorkspaceFile
	WorkspaceDiff    = wire.WorkspaceDiff
	WorkspaceUpdate  = wire.WorkspaceUpdate
	WorkspacePruned  = wire.WorkspacePruned
	WorkspaceUsage   = wire.WorkspaceUsage
)

// States of a workspace.
const (
	WorkspaceReserved = wire.WorkspaceReserved
	WorkspaceReady    = wire.WorkspaceReady
	WorkspaceReleased = wire.WorkspaceReleased
	WorkspaceRemoved  = wire.WorkspaceRemoved
)

// WorkspaceStatuses lists every state, in the order of life.
var WorkspaceStatuses = []WorkspaceStatus{WorkspaceReserved, WorkspaceReady, WorkspaceReleased, WorkspaceRemoved}

// WorkspaceRequest asks for a workspace.
type WorkspaceRequest struct {
	ExecutionID string
	ThreadID    string // "": of a preparation
	Role        string
	Name        string // of the thread; for the branch
	Spec        WorkspaceSpec
}

// WorkspaceFilter selects workspaces of a list. Zero values select all.
type WorkspaceFilter struct {
	Status      WorkspaceStatus
	ExecutionID string
	Page
}

// WorkspacePrune says what to remove.
type WorkspacePrune = wire.WorkspacePrune

// WorkspaceService makes and keeps workspaces. Methods are safe for concurrent use.
type WorkspaceService interface {
	WorkspaceLender
	WorkspaceContext
	WorkspaceWork
	WorkspaceKeeper
}

// WorkspaceLender makes workspaces for threads and takes them back.
type WorkspaceLender interface {
	// ResolveWorkspace returns the spec for a host elsewhere: with the URL that Repo stands for, and its configured branch
	// when none is named. The remote is not asked. VALIDATION_ERROR.
	ResolveWorkspace(spec *WorkspaceSpec) (*WorkspaceSpec, error)
	// ReserveWorkspace resolves repository and branch for real, and stores id, path and branch of a workspace;
	// nothing is checked out. VALIDATION_ERROR (field preparation.workspace.repo or .branch) when either does not
	// exist, is not allowed or refuses the credentials; RATE_LIMITED beyond the quota; INTERNAL_ERROR with
	// Unavailable when the remote does not answer.
	ReserveWorkspace(ctx context.Context, req WorkspaceRequest) (*Workspace, error)
	// AdoptWorkspace gives a reserved or ready workspace of a preparation, or one whose thread is over, to a thread,
	// within the caller's transaction. NOT_FOUND; CONFLICT when it belongs to another thread, lies in another directory of
	// workspaces or was removed, or another repository or branch was asked for.
	AdoptWorkspace(tx WorkspaceTx, id, threadID, executionID string) (*Workspace, error)
	// ProvisionWorkspace checks a reserved workspace out; a ready one is returned as it is, once an update of it that was cut off is
	// put back. What fails leaves nothing behind but the reservation. CONFLICT for a ready one in another directory of workspaces;
	// INTERNAL_ERROR when the disk is full, with the reason for people.
	ProvisionWorkspace(ctx context.Context, id string) (*Workspace, error)
	// GitEnv returns the environment that an agent's own git needs in a workspace. It holds nothing that should not
	// be redacted: runtimes take the values of an environment for secrets. The identity of commits stands in the
	// configuration of the repository.
	GitEnv(id string) map[string]string
	// ReleaseWorkspace tells, within the caller's transaction, that the thread is over: the time to live begins.
	ReleaseWorkspace(tx WorkspaceTx, id string) error
}

// WorkspaceContext puts the files of threads into workspaces.
type WorkspaceContext interface {
	// WriteContext writes files below a ready workspace of a thread; threadID is "" for one that no thread has taken yet.
	// Those below .wardroom/ are excluded from git there. No symbolic link is followed. VALIDATION_ERROR for a path that
	// leaves it, or is below .git; CONFLICT where another thread has the workspace by now.
	WriteContext(ctx context.Context, id, threadID string, files []ContextFile) error
	// CheckContext returns what WriteContext would refuse, before there is a workspace.
	CheckContext(files []ContextFile) error
}

// WorkspaceWork is about what a thread did in its workspace.
type WorkspaceWork interface {
	// InspectWorkspace returns what happened in a workspace; nil for one without a repository.
	InspectWorkspace(ctx context.Context, id string) (*WorkspaceChanges, error)
	// DiffWorkspace returns what the files of a workspace differ in from the commit that it began at, committed or not;
	// most bounds the patch in bytes, 0 is 1 MiB. With a path, only that file counts. NOT_FOUND, for a file that did not change
	// too; CONFLICT for one without files or repository.
	DiffWorkspace(ctx context.Context, id, path string, most int) (*WorkspaceDiff, error)
	// UpdateWorkspace takes what is new on the branch that a workspace began at into its work branch. Nothing may run in
	// it. CONFLICT when files are not committed, or both sides changed the same, with details.conflicts: then nothing
	// changes.
	UpdateWorkspace(ctx context.Context, id string, how WorkspaceUpdateMethod) (*WorkspaceUpdate, error)
	// FinishWorkspace does the finish actions and returns what came of them. Doing it again does what is left.
	FinishWorkspace(ctx context.Context, id string, finish ThreadFinish, message string) ([]Artifact, error)
	// CheckFinish reports whether the finish actions are allowed for a repository. FORBIDDEN, VALIDATION_ERROR.
	CheckFinish(spec *WorkspaceSpec, finish *ThreadFinish) error
}

// WorkspaceKeeper shows what workspaces there are, and removes them.
type WorkspaceKeeper interface {
	// FindWorkspaces lists workspaces, newest first.
	FindWorkspaces(ctx context.Context, filter WorkspaceFilter) ([]*Workspace, PageInfo, error)
	// FindWorkspace returns one. NOT_FOUND.
	FindWorkspace(ctx context.Context, id string) (*Workspace, error)
	// WorkspaceUsage returns what all take together. It looks at no disk.
	WorkspaceUsage(ctx context.Context) (*WorkspaceUsage, error)
	// PruneWorkspaces removes what is expired, or named. Unpushed or uncommitted work is never removed without
	// Force; the workspace of a thread that runs never.
	PruneWorkspaces(ctx context.Context, prune WorkspacePrune) ([]WorkspacePruned, error)
}

// WorkspaceUpdateMethod is a way to take what is new on a branch into another.
type WorkspaceUpdateMethod string

// Ways to update a workspace.
const (
	WorkspaceMerge  WorkspaceUpdateMethod = "merge"  // by a merge commit, or forward where nothing was committed
	WorkspaceRebase WorkspaceUpdateMethod = "rebase" // the commits of the work are made anew behind the new ones
)

// WorkspaceReader reads stored workspaces.
type WorkspaceReader interface {
	// FindWorkspaces lists workspaces, newest first.
	FindWorkspaces(ctx context.Context, filter WorkspaceFilter) ([]*Workspace, PageInfo, error)
	// FindWorkspace returns one. NOT_FOUND.
	FindWorkspace(ctx context.Context, id string) (*Workspace, error)
	// AllWorkspaces returns every workspace, oldest first.
	AllWorkspaces(ctx context.Context) ([]*Workspace, error)
}
