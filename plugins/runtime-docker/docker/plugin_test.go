package docker_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/conformance"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// shell is an agent that the suite can talk to: its prompt ends a turn.
func shell(id string) runtime.Spec {
	return runtime.Spec{ID: id, Type: "shell", Declared: &runtime.DeclaredType{
		Command: "sh", Env: map[string]string{"PS1": "$ "}, Exit: "exit",
		Ready: runtime.ReadyRule{Pattern: `^\$ ?$`}, Idle: runtime.Duration(time.Second),
	}}
}

// TestPlugin checks the binary as the appliance runs it, agents in real containers, kill -9 included.
func TestPlugin(t *testing.T) {
	p := need(t).plugin(t, nil)
	conformance.Runtime(t.Context(), t, p.RuntimeOptions(shell))
}

// TestVerify makes the checks of a plugin that are the same for every kind.
func TestVerify(t *testing.T) {
	e := need(t)
	p := e.plugin(t, nil)
	for _, result := range conformance.Quick(t.Context(), p.Conn(), e.settings(t, map[string]any{"maxAgents": 5})) {
		if !result.Passed() {
			t.Errorf("%s: %s: %v", result.Name, result.About, result.Err)
		}
	}
}
