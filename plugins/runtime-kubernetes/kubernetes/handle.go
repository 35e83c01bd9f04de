package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/holder/life"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const handleVersion = 1

// handle says how to find one life of an agent again, as JSON: in the caller's hands, and in the state directory.
type handle struct {
	Version   int        `json:"v"`
	ID        string     `json:"id"`
	Nonce     wire.Nonce `json:"nonce"`
	Owner     string     `json:"owner"` // identity of the state directory
	Pod       string     `json:"pod"`
	UID       string     `json:"uid"`           // of the pod
	PID       int        `json:"pid,omitempty"` // in the pod
	StartedAt time.Time  `json:"startedAt"`
}

func (h handle) encode() []byte {
	data, err := json.Marshal(h)
	if err != nil {
		panic(err) // plain fields only
	}
	return data
}

func (h handle) info() agentcli.ProcessInfo {
	return agentcli.ProcessInfo{PID: h.PID, PodName: h.Pod, StartedAt: h.StartedAt}
}

// parseHandle reads a handle. INVALID_HANDLE.
func parseHandle(data []byte) (handle, error) {
	var h handle
	if err := json.Unmarshal(data, &h); err != nil {
		return h, runtime.Errorf(runtime.CodeInvalidHandle, "this is no handle of the kubernetes runtime")
	}
	switch {
	case h.Version != handleVersion:
		return h, runtime.Errorf(runtime.CodeInvalidHandle, "the handle has version %d, and this runtime reads %d", h.Version, handleVersion)
	case local.CheckID(h.ID) != nil || h.Owner == "" || h.Pod == "" || h.Nonce == wire.Nonce{}:
		return h, runtime.Errorf(runtime.CodeInvalidHandle, "the handle is incomplete")
	}
	return h, nil
}

// record is what is stored of an agent: the pod that it has, and the life in it.
type record struct {
	Handle handle `json:"handle"` // its nonce is zero before the first life
	Plan   string `json:"plan"`   // digest of what the pod was made from
	Image  string `json:"image"`
	Digest string `json:"digest,omitempty"` // of the image, as the node has it
	// Launched says that a command was started, or was about to be, and Over that its end is known.
	Launched bool `json:"launched,omitempty"`
	Over     bool `json:"over,omitempty"`
	// Unwanted says that the pod is to be removed, and was not yet: a life may have begun in it that is not driven.
	Unwanted bool `json:"unwanted,omitempty"`
}

func (l *Launcher) lifeFile(id string) string { return filepath.Join(l.dir, id+".json") }

// save writes what is stored of an agent.
func (l *Launcher) save(v record) error {
	l.records.Lock()
	defer l.records.Unlock()
	return l.write(v)
}

// write is save for who holds records.
func (l *Launcher) write(v record) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return life.WriteRecord(l.lifeFile(v.Handle.ID), data)
}

// errDamaged marks what is stored of an agent and cannot be understood.
var errDamaged = errors.New("what is stored of the agent is damaged")

// load reads what is stored of an agent. os.ErrNotExist, errDamaged.
func (l *Launcher) load(id string) (record, error) {
	data, err := os.ReadFile(l.lifeFile(id))
	if err != nil {
		return record{}, err
	}
	var v record
	if err := json.Unmarshal(data, &v); err != nil {
		return record{}, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if v.Handle.ID != id {
		return record{}, fmt.Errorf("%w: it names no agent, or another one", errDamaged)
	}
	return v, nil
}
