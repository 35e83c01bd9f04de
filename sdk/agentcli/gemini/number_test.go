package gemini_test

import (
	"encoding/json"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// The input of a tool is told with the numbers that gemini wrote, also where the driver was saved before gemini asked.
func TestNumbersOfTools(t *testing.T) {
	const input = `{"big":9007199254740993,"far":[1e400,0.1000000000000000055],"questions":[{"question":"which?"}]}`
	for _, tool := range []string{"run_shell_command", "ask_user"} {
		t.Run(tool, func(t *testing.T) {
			r := readyRig(t)
			r.takes("go")
			r.hook("BeforeTool", map[string]any{"tool_name": tool, "tool_input": json.RawMessage(input)})
			for _, s := range r.Signals {
				if s.Kind != agentcli.SignalTool {
					continue
				}
				if raw, err := json.Marshal(s.Tool.Input); err != nil || string(raw) != input {
					t.Errorf("the tool runs with %s, %v", raw, err)
				}
			}
			back := newRig(t)
			back.files, back.Screen = r.files, ready
			back.driver.Load(r.driver.Save())
			kind := "exec"
			if tool == "ask_user" {
				kind = tool
			}
			back.hook("Notification", map[string]any{"notification_type": "ToolPermission", "details": map[string]any{"type": kind}})
			if back.shown == nil {
				t.Fatal("there is no prompt")
			}
			if raw, err := json.Marshal(back.shown.Input); err != nil || string(raw) != input {
				t.Errorf("the prompt is of %s, %v", raw, err)
			}
		})
	}
}
