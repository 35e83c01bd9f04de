package local

import (
	"bytes"
	"encoding/json"
	"os"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const handleVersion = 1

// handle says how to find one life of an agent again, as JSON: in the caller's hands, and as life.json in the
// room. Version 1 is all there was so far.
type handle struct {
	Version   int        `json:"v"`
	ID        string     `json:"id"`
	Nonce     wire.Nonce `json:"nonce"`
	Boot      string     `json:"boot"` // pids mean nothing after another boot
	Socket    string     `json:"socket"`
	Holder    proc.ID    `json:"holder"`
	Command   proc.ID    `json:"command"`
	StartedAt time.Time  `json:"startedAt"`
	Owner     string     `json:"owner,omitempty"`  // identity of the state directory; empty in handles before it was known
	Groups    []string   `json:"groups,omitempty"` // cgroups, as directories
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
		return h, runtime.Errorf(runtime.CodeInvalidHandle, "this is no handle of the local runtime")
	}
	switch {
	case h.Version != handleVersion:
		return h, runtime.Errorf(runtime.CodeInvalidHandle, "the handle has version %d, and this runtime reads %d", h.Version, handleVersion)
	case local.CheckID(h.ID) != nil || h.Socket == "" || h.Boot == "" || h.Nonce == wire.Nonce{}:
		return h, runtime.Errorf(runtime.CodeInvalidHandle, "the handle is incomplete")
	}
	return h, nil
}

// save writes the record of a life into its room.
func (l *Launcher) save(h handle) error {
	path := l.record(h.ID)
	if err := os.WriteFile(path+".new", append(h.encode(), '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// load reads the record of the last life in a room.
func (l *Launcher) load(id string) (handle, error) {
	data, err := os.ReadFile(l.record(id))
	if err != nil {
		return handle{}, err
	}
	return parseHandle(bytes.TrimSpace(data))
}
