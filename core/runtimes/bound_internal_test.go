package runtimes

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// What a runtime says of a tool's input is kept only as far as every reader of a record can read it back.
func TestToolInputIsBounded(t *testing.T) {
	deep := map[string]any{}
	for range 9000 {
		deep = map[string]any{"a": deep}
	}
	long := map[string]any{"a": strings.Repeat("x", maxEventText)}
	for name, input := range map[string]map[string]any{"deep": deep, "long": long} {
		e := &runtime.Event{
			Type: runtime.EventBlocked, AgentID: "a", Prompt: &runtime.Prompt{ID: "p", Text: "may I", Tool: "bash", Input: input},
			Tool: &runtime.ToolCall{Name: "bash", Input: input},
		}
		ev, ok := stored(e, core.ManagedBusy, nil)
		if !ok || rawjson.TooDeep(ev.Data, rawjson.MaxDepth) || len(ev.Data) > maxEventText {
			t.Errorf("%s: the event has %d bytes, %t", name, len(ev.Data), ok)
		}
		r := &core.ManagedAgentRecord{}
		take(r, &runtime.Agent{Prompt: e.Prompt}, ev.Time)
		var prompt runtime.Prompt
		if err := json.Unmarshal(r.Prompt, &prompt); err != nil || prompt.Text != "may I" || prompt.Input != nil {
			t.Errorf("%s: the record has %+v, %v", name, prompt, err)
		}
		if e.Prompt.Input == nil || e.Tool.Input == nil {
			t.Error("the runtime's own event was changed")
		}
	}
	small := &runtime.Prompt{Input: map[string]any{"command": "ls"}}
	if boundPrompt(small) != small {
		t.Error("an ordinary input was left out")
	}
}
