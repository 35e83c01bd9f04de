package stream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// handleVersion is that of the handles written here.
const handleVersion = 1

// handle is what a Process is found by.
type handle struct {
	Version int    `json:"v"`
	ID      string `json:"id"`    // of the agent
	Nonce   string `json:"nonce"` // of this life of it
}

// Table finds processes again within this process, so that agents live on when a runtime is configured anew. The
// zero value is ready; methods may be called concurrently.
type Table struct {
	mu        sync.Mutex // guards all below
	processes map[string]*Process
	group     sync.WaitGroup
}

// Add takes over a command of the agent id that has just started.
func (t *Table) Add(id string, o Options) *Process {
	p := newProcess(id, o)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.processes == nil {
		t.processes = map[string]*Process{}
	}
	t.processes[p.nonce] = p
	p.forget = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.processes, p.nonce)
	}
	t.group.Go(p.read)
	t.group.Go(p.wait)
	return p
}

// Find returns the process of a handle: one that runs, or that ended and was not closed since. agentcli.ErrGone
// for one that an earlier process of the runtime started; INVALID_HANDLE.
func (t *Table) Find(data []byte) (agentcli.Process, error) {
	h, err := parseHandle(data)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	p := t.processes[h.Nonce]
	t.mu.Unlock()
	if p == nil {
		return nil, fmt.Errorf("agent %s: %w", h.ID, agentcli.ErrGone)
	}
	return p, nil
}

// Close kills every command and waits until all have ended. It is for the end of the runtime's process: the
// streams end then, and commands that outlived them would be out of everybody's reach.
func (t *Table) Close(ctx context.Context) error {
	t.mu.Lock()
	all := slices.Collect(maps.Values(t.processes))
	t.mu.Unlock()
	failed := make(chan error, len(all))
	for _, p := range all {
		go func() { failed <- p.Kill(ctx) }()
	}
	var first error
	for range all {
		if err := <-failed; err != nil && first == nil {
			first = err
		}
	}
	if first == nil {
		t.group.Wait()
	}
	return first
}

// AgentOf returns the id of the agent that a handle is of; empty for what is no handle.
func AgentOf(data []byte) string {
	h, err := parseHandle(data)
	if err != nil {
		return ""
	}
	return h.ID
}

func parseHandle(data []byte) (handle, error) {
	var h handle
	if err := json.Unmarshal(data, &h); err != nil || h.Version != handleVersion || h.ID == "" || h.Nonce == "" {
		return handle{}, runtime.Errorf(runtime.CodeInvalidHandle, "this is not a handle of version %d", handleVersion)
	}
	return h, nil
}

// newNonce tells one life of an agent from another.
func newNonce() string { return rand.Text() }
