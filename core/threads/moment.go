package threads

import (
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

func momentOf(t *time.Time) *wire.Timestamp {
	if t == nil {
		return nil
	}
	m := wire.Timestamp(*t)
	return &m
}

// workspaceData, completionData, changesData and commitData are those of core, with their times as the API writes them: fields of
// the same name hide those that are embedded.
type workspaceData struct {
	*core.Workspace
	CreatedAt wire.Timestamp  `json:"createdAt"`
	ExpiresAt *wire.Timestamp `json:"expiresAt,omitempty"`
	RemovedAt *wire.Timestamp `json:"removedAt,omitempty"`
}

type completionData struct {
	*core.Completion
	Changes *changesData `json:"changes,omitempty"`
}

type changesData struct {
	*core.WorkspaceChanges
	Commits []commitData `json:"commits"`
}

type commitData struct {
	core.WorkspaceCommit
	Time wire.Timestamp `json:"time"`
}

func dataOfWorkspace(ws *core.Workspace) *workspaceData {
	if ws == nil {
		return nil
	}
	return &workspaceData{
		Workspace: ws, CreatedAt: wire.Timestamp(ws.CreatedAt), ExpiresAt: momentOf(ws.ExpiresAt), RemovedAt: momentOf(ws.RemovedAt),
	}
}

func dataOfCompletion(done *core.Completion) *completionData {
	return &completionData{Completion: done, Changes: dataOfChanges(done.Changes)}
}

func dataOfChanges(changes *core.WorkspaceChanges) *changesData {
	if changes == nil {
		return nil
	}
	data := &changesData{WorkspaceChanges: changes, Commits: make([]commitData, len(changes.Commits))}
	for i, commit := range changes.Commits {
		data.Commits[i] = commitData{WorkspaceCommit: commit, Time: wire.Timestamp(commit.Time)}
	}
	return data
}
