package appliance

import (
	"slices"
	"testing"

	"github.com/wardroom/wardroom/core/config"
)

// TestAgentTypes: roles may name the well-known types before any runtime says so, and the declared ones.
func TestAgentTypes(t *testing.T) {
	a := &App{}
	a.config.Store(&config.Config{AgentTypes: map[string]*config.AgentType{"aider": {}}})
	want := []string{"aider", "claude", "codex", "gemini"}
	for range 2 { // the list of the well-known ones is not touched
		if got := a.agentTypes(t.Context()); !slices.Equal(got, want) {
			t.Errorf("the types are %v, want %v", got, want)
		}
	}
}
