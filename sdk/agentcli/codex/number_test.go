package codex_test

import (
	"encoding/json"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// The input of a tool is told with the numbers that codex wrote, also where the driver was saved before codex asked.
func TestNumbersOfTools(t *testing.T) {
	const input = `{"big":9007199254740993,"command":"rm x","far":[1e400,0.1000000000000000055]}`
	r := readyRig(t)
	r.state("working")
	r.hook("PreToolUse", map[string]any{"tool_name": "Bash", "tool_input": json.RawMessage(input)})
	r.hook("PermissionRequest", map[string]any{"tool_name": "Bash", "tool_input": json.RawMessage(input)})
	for _, s := range r.Signals {
		if s.Kind != agentcli.SignalTool {
			continue
		}
		if raw, err := json.Marshal(s.Tool.Input); err != nil || string(raw) != input {
			t.Errorf("the tool runs with %s, %v", raw, err)
		}
	}
	back := newRig(t)
	back.driver.Load(r.driver.Save())
	back.state("blocked:kind=permission")
	if back.shown == nil {
		t.Fatal("there is no prompt")
	}
	if raw, err := json.Marshal(back.shown.Input); err != nil || string(raw) != input {
		t.Errorf("the prompt is of %s, %v", raw, err)
	}
}
