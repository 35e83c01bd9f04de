package codex

import (
	"encoding/json"
	"io/fs"
	"path"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

var _ agentcli.Mover = adapter{}

// TakeSession implements agentcli.Mover: a session is its rollout, which codex finds by the id in its name.
func (adapter) TakeSession(session string, saved []byte, from, to agentcli.Room) ([]agentcli.File, error) {
	var s state
	if json.Unmarshal(saved, &s) != nil || from.ReadFile == nil {
		return nil, fs.ErrNotExist
	}
	rest, inside := strings.CutPrefix(s.Rollout.Path, from.Home+"/")
	if !inside || !strings.Contains(path.Base(rest), session) {
		return nil, fs.ErrNotExist
	}
	data, err := from.ReadFile(s.Rollout.Path)
	if err != nil {
		return nil, err
	}
	return []agentcli.File{{Path: path.Join(to.Home, rest), Data: data, Mode: 0o600, Keep: true}}, nil
}
