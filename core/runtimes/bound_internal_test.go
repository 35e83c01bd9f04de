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

// The number that a person decides about is the one that the runtime told of: in the event, in the record, and in what is made
// of the record's prompt.
func TestToolInputKeepsNumbers(t *testing.T) {
	const text = `{"far":[1e400,0.1000000000000000055],"id":9007199254740993}`
	input := map[string]any{"id": json.Number("9007199254740993"), "far": []any{json.Number("1e400"), json.Number("0.1000000000000000055")}}
	e := &runtime.Event{
		Type: runtime.EventBlocked, AgentID: "a", Prompt: &runtime.Prompt{ID: "p", Text: "may I", Tool: "pay", Input: input},
		Tool: &runtime.ToolCall{Name: "pay", Input: input},
	}
	ev, ok := stored(e, core.ManagedBusy, nil)
	if n := strings.Count(string(ev.Data), text); !ok || n != 2 {
		t.Errorf("the event is %s", ev.Data)
	}
	var signal core.AgentSignal
	if err := json.Unmarshal(ev.Data, &signal); err != nil {
		t.Fatal(err)
	}
	if raw := encode(signal.Tool); !strings.Contains(string(raw), text) {
		t.Errorf("threads and roles hear of %s", raw)
	}
	r := &core.ManagedAgentRecord{}
	take(r, &runtime.Agent{Prompt: e.Prompt}, ev.Time)
	var prompt runtime.Prompt
	if err := json.Unmarshal(r.Prompt, &prompt); err != nil || !strings.Contains(string(r.Prompt), text) || string(encode(prompt.Input)) != text {
		t.Errorf("the record has %s, which is read as %s, %v", r.Prompt, encode(prompt.Input), err)
	}
}
