package claude

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

var _ agentcli.Mover = adapter{}

// TakeSession implements agentcli.Mover: a session is its transcript, in a folder that is named after the work directory.
func (adapter) TakeSession(session string, saved []byte, from, to agentcli.Room) ([]agentcli.File, error) {
	var s state
	_ = json.Unmarshal(saved, &s) // without it the place is known as well
	name := s.Transcript
	if path.Base(name) != session+".jsonl" {
		name = transcriptOf(path.Join(from.Home, ".claude"), from.Workdir, session)
	}
	at := transcriptOf(path.Join(to.Home, ".claude"), to.Workdir, session)
	if name == "" || at == "" || from.ReadFile == nil {
		return nil, fs.ErrNotExist
	}
	data, err := from.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(data, []byte(`"type":"user"`)) { // claude refuses to resume that
		return nil, fs.ErrNotExist
	}
	return []agentcli.File{{Path: at, Data: data, Mode: 0o600, Keep: true}}, nil
}
