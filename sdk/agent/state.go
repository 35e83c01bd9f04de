package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/wardroom/wardroom/sdk/internal/durable"
)

// savedState is the content of Options.StateFile.
type savedState struct {
	Server  string `json:"server"`
	Name    string `json:"name"`
	AgentID string `json:"agentId"`
	Token   string `json:"token"`
}

// loadState reads a state file. It returns nil without an error when there is none, or when it belongs to
// another server or another agent: such a session cannot be resumed here.
func loadState(path, server, name string) (*savedState, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s savedState
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("state file %s: %w", path, err)
	}
	if s.Server != server || s.Name != name || s.AgentID == "" || s.Token == "" {
		return nil, nil
	}
	return &s, nil
}

// save replaces the state file in one step, readable by the owner only.
func (s *savedState) save(path string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return durable.WriteFile(path, append(data, '\n'), true)
}
