package docker

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const handleVersion = 1

// handle says how to find one life of an agent again, as JSON: in the caller's hands, and as life.json in the room.
type handle struct {
	Version   int        `json:"v"`
	ID        string     `json:"id"`
	Nonce     wire.Nonce `json:"nonce"`
	Owner     string     `json:"owner"`               // identity of the state directory
	Container string     `json:"container,omitempty"` // id on the engine; empty as long as it is not known
	Boot      string     `json:"boot,omitempty"`      // of what follows
	Holder    proc.ID    `json:"holder,omitzero"`     // on this machine; zero where processes of containers cannot be seen
	Command   proc.ID    `json:"command,omitzero"`    // likewise
	StartedAt time.Time  `json:"startedAt"`
	Over      bool       `json:"over,omitempty"` // it did not begin, and its container could not be removed yet
}

func (h handle) encode() []byte {
	data, err := json.Marshal(h)
	if err != nil {
		panic(err) // plain fields only
	}
	return data
}

// parseHandle reads a handle. INVALID_HANDLE.
func parseHandle(data []byte) (handle, error) {
	var h handle
	if err := json.Unmarshal(data, &h); err != nil {
		return h, runtime.Errorf(runtime.CodeInvalidHandle, "this is no handle of the docker runtime")
	}
	switch {
	case h.Version != handleVersion:
		return h, runtime.Errorf(runtime.CodeInvalidHandle, "the handle has version %d, and this runtime reads %d", h.Version, handleVersion)
	case local.CheckID(h.ID) != nil || h.Owner == "" || h.Nonce == wire.Nonce{}:
		return h, runtime.Errorf(runtime.CodeInvalidHandle, "the handle is incomplete")
	}
	return h, nil
}

// save writes the record of a life into its room.
func (l *Launcher) save(h handle) error {
	path := filepath.Join(l.room(h.ID), lifeFile)
	if err := os.WriteFile(path+".new", h.encode(), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// load reads the record of the last life of an agent.
func (l *Launcher) load(id string) (handle, error) {
	data, err := os.ReadFile(filepath.Join(l.room(id), lifeFile))
	if err != nil {
		return handle{}, err
	}
	return parseHandle(data)
}

// containerName returns the name of an agent's container: unique on the engine as the ids of agents are. In networks it
// has the agent's name as well.
func containerName(id string) string { return "wardroom-" + id }
