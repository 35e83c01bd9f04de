package server

import (
	"cmp"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// reasonBlocked is the statusReason of an agent that waits for a person, in the interface's five states.
const reasonBlocked = "blocked"

// Record is an agent as the interface shows it: without its handle and environment.
type Record struct {
	ID             string            `json:"id"`
	Name           string            `json:"name"`
	Type           string            `json:"type"`
	Status         runtime.Status    `json:"status"` // starting, ready, busy, unreachable, error, stopped
	StatusReason   string            `json:"statusReason,omitempty"`
	Runtime        string            `json:"runtime"`
	Capabilities   []string          `json:"capabilities"`
	Labels         map[string]string `json:"labels,omitempty"`
	Workdir        string            `json:"workdir,omitempty"`
	PID            int               `json:"pid,omitempty"`
	ContainerID    string            `json:"containerId,omitempty"`
	PodName        string            `json:"podName,omitempty"`
	ExitCode       *int              `json:"exitCode,omitempty"`
	SessionID      string            `json:"sessionId,omitempty"`
	Prompt         *runtime.Prompt   `json:"prompt,omitempty"`
	LoginURL       string            `json:"loginUrl,omitempty"`
	Turn           int               `json:"turn,omitempty"`
	CreatedAt      wire.Timestamp    `json:"createdAt"`
	LastActivityAt wire.Timestamp    `json:"lastActivityAt,omitzero"`
}

func record(a *runtime.Agent, name string) Record {
	r := Record{
		ID: a.ID, Name: a.Name, Type: a.Type, Status: a.Status, StatusReason: a.Reason, Runtime: name,
		Capabilities: a.Capabilities, Labels: a.Labels, Workdir: a.Workdir,
		PID: a.PID, ContainerID: a.ContainerID, PodName: a.PodName, ExitCode: a.ExitCode,
		SessionID: a.SessionID, Prompt: a.Prompt, LoginURL: a.LoginURL, Turn: a.Turn,
		CreatedAt: wire.Timestamp(a.CreatedAt), LastActivityAt: wire.Timestamp(a.LastActivityAt),
	}
	if r.Capabilities == nil {
		r.Capabilities = []string{}
	}
	if r.Status == runtime.StatusBlocked {
		r.Status = runtime.StatusBusy
		r.StatusReason = cmp.Or(r.StatusReason, reasonBlocked)
	}
	return r
}
