package threads_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// TestInputsAndToolsAreTold: what an agent was asked, and by whom, is read from events after it took it; so is the end of
// its tools. What is typed into its terminal is not.
func TestInputsAndToolsAreTold(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, text string) {
		a.busy()
		a.tell(core.EventManagedTool, core.AgentSignal{Tool: &core.AgentTool{Name: "Bash"}})
		a.tell(core.EventManagedToolDone, core.AgentSignal{Tool: &core.AgentTool{Name: "Bash"}, Reason: "failed", DurationMs: 7})
		a.tell(core.EventManagedTool, core.AgentSignal{Tool: &core.AgentTool{Name: "Read"}})
		a.tell(core.EventManagedToolDone, core.AgentSignal{Tool: &core.AgentTool{Name: "Read"}})
		a.end("done")
	}
	r.open()
	th := r.spawn(spec())
	r.until(th.ID, "the first turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 1 && rec.Status == core.ThreadReady })
	long := "and " + strings.Repeat("é", 64<<10)
	receipt, err := r.SendThread(r.ctx, th.ID, core.ThreadInput{Message: long})
	if err != nil {
		t.Fatal(err)
	}
	r.until(th.ID, "the second turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 2 && rec.Status == core.ThreadReady })
	if _, err := r.SendThread(r.ctx, th.ID, core.ThreadInput{Raw: "password"}); err != nil {
		t.Fatal(err)
	}
	events, _, err := r.store.Events(r.ctx, th.ID, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var inputs, tools []core.Event
	for _, e := range events {
		switch e.Type {
		case core.EventThreadInput:
			inputs = append(inputs, e)
		case core.EventThreadToolDone:
			tools = append(tools, e)
		}
	}
	if len(inputs) != 2 || !strings.HasPrefix(field(inputs[0], "text"), "Fix the parser") || field(inputs[0], "state") != "queued" {
		t.Fatalf("messages %+v", inputs)
	}
	second := field(inputs[1], "text")
	if field(inputs[1], "inputId") != receipt.InputID || !strings.HasPrefix(long, second) || len(second) > 64<<10 || !strings.Contains(string(inputs[1].Data), `"truncated":true`) {
		t.Errorf("the second message is %d bytes, %s", len(second), field(inputs[1], "inputId"))
	}
	if len(tools) != 4 || string(tools[0].Data) != `{"tool":"Bash","outcome":"failed","durationMs":7}` || field(tools[1], "outcome") != "done" {
		t.Errorf("tools %+v", tools)
	}
}
