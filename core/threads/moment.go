package threads

import (
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/core"
)

// moment is a time as the API writes it: in UTC, with milliseconds. The data of events goes out as it is stored.
type moment time.Time

// MarshalJSON implements json.Marshaler.
func (m moment) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Time(m).UTC().Format("2006-01-02T15:04:05.000Z"))
}

func momentOf(t *time.Time) *moment {
	if t == nil {
		return nil
	}
	m := moment(*t)
	return &m
}

// workspaceData, completionData, changesData and commitData are those of core, with their times as moments: fields of
// the same name hide those that are embedded.
type workspaceData struct {
	*core.Workspace
	CreatedAt moment  `json:"createdAt"`
	ExpiresAt *moment `json:"expiresAt,omitempty"`
	RemovedAt *moment `json:"removedAt,omitempty"`
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
	Time moment `json:"time"`
}

func dataOfWorkspace(ws *core.Workspace) *workspaceData {
	if ws == nil {
		return nil
	}
	return &workspaceData{
		Workspace: ws, CreatedAt: moment(ws.CreatedAt), ExpiresAt: momentOf(ws.ExpiresAt), RemovedAt: momentOf(ws.RemovedAt),
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
		data.Commits[i] = commitData{WorkspaceCommit: commit, Time: moment(commit.Time)}
	}
	return data
}
