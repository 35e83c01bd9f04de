package gemini

import (
	"encoding/json"
	"io/fs"
	"path"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/setting"
)

var _ agentcli.Mover = adapter{}

// TakeSession implements agentcli.Mover: a session is its transcript, in a folder whose name gemini keeps for the work
// directory.
func (adapter) TakeSession(session string, saved []byte, from, to agentcli.Room) ([]agentcli.File, error) {
	var s state
	if json.Unmarshal(saved, &s) != nil || from.ReadFile == nil {
		return nil, fs.ErrNotExist
	}
	rest, inside := strings.CutPrefix(s.Transcript, path.Join(from.Home, ".gemini", "tmp")+"/")
	folder, _, deeper := strings.Cut(rest, "/")
	if !inside || !deeper {
		return nil, fs.ErrNotExist
	}
	data, err := from.ReadFile(s.Transcript)
	if err != nil {
		return nil, err
	}
	if sessionOf(data) != session {
		return nil, fs.ErrNotExist
	}
	dir := path.Join(to.Home, ".gemini")
	files := []agentcli.File{{Path: path.Join(dir, "tmp", rest), Data: data}}
	for _, kind := range []string{"tmp", "history"} {
		files = append(files, agentcli.File{Path: path.Join(dir, kind, folder, ".project_root"), Data: []byte(to.Workdir)})
	}
	projects := map[string]any{"projects": map[string]any{to.Workdir: folder}}
	files = append(files, agentcli.File{Path: path.Join(dir, "projects.json"), Data: []byte(setting.JSON(projects))})
	for i := range files {
		files[i].Mode, files[i].Keep = 0o600, true
	}
	return files, nil
}
