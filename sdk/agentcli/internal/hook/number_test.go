package hook_test

import (
	"encoding/json"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
)

// Numbers of a tool's input are those that the CLI wrote, also where a float64 rounds them or has none.
func TestParseKeepsNumbers(t *testing.T) {
	const input = `{"id":9007199254740993,"n":[0.1000000000000000055,1e400,1.0]}`
	p, err := hook.Parse([]byte(`{"tool_name":"x","tool_input":` + input + `,"details":` + input + `}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{"input": p.Input, "details": p.Details} {
		if raw, err := json.Marshal(v); err != nil || string(raw) != input {
			t.Errorf("%s is %s, %v", name, raw, err)
		}
	}
}
