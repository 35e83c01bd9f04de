package claude_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/claude"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
)

// A message that claude gets before it took note of the end of a turn has the id of that one in its hook: what the transcript tells
// of the turn before, late, is no end of this one.
func TestMessageWithTheIDOfTheTurnBefore(t *testing.T) {
	text := ""
	r := &rig{t: t, FakeHost: &drivertest.FakeHost{}}
	r.driver = claude.New().NewDriver(agentcli.Plan{}, agentcli.Room{ReadFrom: func(_ string, offset int64, limit int) ([]byte, int64, error) {
		return agentcli.ReadPart(strings.NewReader(text), offset, limit)
	}}, r.FakeHost)
	r.FakeHost.Screen = []string{"────────", "❯ ", "────────", "  ? for shortcuts"}
	asked := func(id, parent string) string {
		return `{"parentUuid":"` + parent + `","promptId":"` + id + `","type":"user","message":{"role":"user","content":"go"},"uuid":"u` + id + `"}` + "\n"
	}
	answered := func(id string) string {
		return `{"parentUuid":"u` + id + `","type":"assistant","uuid":"a` + id + `","message":{"id":"m` + id + `","model":"m","stop_reason":"end_turn",` +
			`"content":[{"type":"text","text":"answer ` + id + `"}]}}` + "\n"
	}
	hook := func(name, id string, payload map[string]any) {
		payload["transcript_path"], payload["prompt_id"] = "/t.jsonl", id
		r.driver.Hook(drivertest.Call(t, name, payload).Call)
		r.Pass(50 * time.Millisecond)
	}
	r.title(idle)
	hook("SessionStart", "", map[string]any{"session_id": "s-1"})
	r.Pass(time.Second)
	hook("UserPromptSubmit", "1", map[string]any{"prompt": "go"})
	r.title(busy)
	text += asked("1", "") + answered("1")
	hook("Stop", "1", map[string]any{"last_assistant_message": "answer 1"})
	r.title(idle)
	r.want("session[s-1] idle took[go] text[answer 1] turn_end[answer 1]")

	hook("UserPromptSubmit", "1", map[string]any{"prompt": "go"})
	text += `{"parentUuid":"a1","type":"system","subtype":"turn_duration","uuid":"d1"}` + "\n"
	r.Pass(2 * time.Second)
	r.want("took[go]")
	r.title(busy)
	text += asked("2", "d1") + answered("2")
	hook("Stop", "2", map[string]any{"last_assistant_message": "answer 2"})
	r.want("text[answer 2] turn_end[answer 2]")
}
