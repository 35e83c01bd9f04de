package claude_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/claude"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// waiting is how claude looks that waits for a helper.
var waiting = []string{"✻ Waiting for 1 background agent to finish", "────────", "❯ ", "────────", "  ● main", "  ◯ general-purpose  helper   5s"}

// heldRig is one whose claude stopped in the turn 1, and waits for a helper.
func heldRig(t *testing.T) *rig {
	r := readyRig(t)
	composer := r.FakeHost.Screen
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go", "prompt_id": "1"})
	r.title(busy)
	r.FakeHost.Screen = waiting
	r.hook("Stop", map[string]any{"last_assistant_message": "started it", "prompt_id": "1", "background_tasks": []any{
		map[string]any{"id": "b", "type": "shell"}, map[string]any{"id": "a", "type": "subagent"},
	}})
	r.title(idle)
	r.Pass(time.Minute)
	r.want("took[go] text[started it]")
	t.Cleanup(func() { r.FakeHost.Screen = composer })
	return r
}

const notification = "<task-notification>\n<task-id>a</task-id>\n</task-notification>"

// helps makes what hooks of a helper tell beside the rest.
func helps(payload map[string]any) map[string]any {
	payload["agent_id"], payload["prompt_id"] = "a", "1"
	return payload
}

// A turn whose claude waits for helpers goes on with the prompt that claude makes of their outcome.
func TestHeldTurn(t *testing.T) {
	r := heldRig(t)
	r.hook("PreToolUse", helps(bash("ls")))
	r.hook("PostToolUse", helps(bash("ls")))
	r.hook("UserPromptSubmit", map[string]any{"prompt": notification, "prompt_id": "2"})
	r.title(busy)
	r.hook("Stop", map[string]any{"last_assistant_message": "all done", "prompt_id": "2", "background_tasks": []any{
		map[string]any{"id": "b", "type": "shell"},
	}})
	r.want("tool tool_done text[all done] turn_end[all done]")
}

// After an interrupt the title goes on to say that claude works, and its helper does: that is no turn, and no other turn waits for it.
func TestHeldTurnIsLetGo(t *testing.T) {
	r := heldRig(t)
	r.title(busy)
	r.driver.(agentcli.Interrupter).Interrupt()
	for range 20 {
		r.Pass(time.Second)
		r.title(busy)
	}
	r.want("turn_end!")
	r.hook("UserPromptSubmit", map[string]any{"prompt": "more", "prompt_id": "2"})
	r.hook("Stop", map[string]any{"last_assistant_message": "fine", "prompt_id": "2", "background_tasks": []any{
		map[string]any{"id": "a", "type": "subagent"},
	}})
	r.want("took[more] text[fine] turn_end[fine]")
	r.hook("UserPromptSubmit", map[string]any{"prompt": notification, "prompt_id": "3"})
	r.hook("Stop", map[string]any{"last_assistant_message": "it is done", "prompt_id": "3"})
	r.want("took[" + notification + "] text[it is done] turn_end[it is done]")
}

// What ends a turn that is held: an interrupt, another message, and a screen on which no helper works for a while.
func TestHeldTurnEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(r *rig)
		want string
	}{
		"interrupt": {func(r *rig) { r.driver.(agentcli.Interrupter).Interrupt() }, "turn_end!"},
		"message": {func(r *rig) {
			r.hook("UserPromptSubmit", map[string]any{"prompt": "more", "prompt_id": "2"})
			r.title(busy)
		}, "turn_end[started it] took[more]"},
		"nothing": {func(r *rig) {
			r.FakeHost.Screen = []string{"────────", "❯ ", "────────"}
		}, "turn_end[started it]"},
		"reload": {func(r *rig) {
			saved := r.driver.Save()
			r.driver = claude.New().NewDriver(agentcli.Plan{}, agentcli.Room{}, r.FakeHost)
			r.driver.Load(saved)
			r.hook("UserPromptSubmit", map[string]any{"prompt": notification, "prompt_id": "2"})
			r.hook("Stop", map[string]any{"last_assistant_message": "all done", "prompt_id": "2"})
		}, "text[all done] turn_end[all done]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := heldRig(t)
			tt.end(r)
			r.Pass(15 * time.Second)
			r.want(tt.want)
		})
	}
}

// A helper that outlives its turn may ask: that is no turn, and its answer begins none. Nor does what its tools tell.
func TestHelperOutsideOfATurn(t *testing.T) {
	r := heldRig(t)
	r.driver.(agentcli.Interrupter).Interrupt()
	r.Pass(time.Second)
	r.want("turn_end!")
	for i, choice := range []string{runtime.ChoiceAllow, runtime.ChoiceDeny} {
		command := fmt.Sprintf("rm %d", i)
		r.hook("PreToolUse", helps(bash(command)))
		call := r.hook("PermissionRequest", helps(bash(command)))
		r.Pass(time.Minute)
		if s := r.Signals[0]; s.Source != runtime.SourceScreen {
			t.Errorf("it is told from %s", s.Source)
		}
		r.want("blocked[Bash: " + command + "]")
		if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: choice}); err != nil || !strings.Contains(call.Answer, choice) {
			t.Errorf("%s: %v, the hook got %s", choice, err, call.Answer)
		}
		r.hook("PostToolUse", helps(bash(command)))
		r.Pass(time.Minute)
		r.want("unblocked[" + choice + "]")
	}
}

// A request of a helper outlives the turn in which it came, and one that is refused at the terminal ends no turn.
func TestHelperAsksAtTheEndOfATurn(t *testing.T) {
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go", "prompt_id": "1"})
	r.title(busy)
	call := r.hook("PermissionRequest", helps(bash("rm x")))
	r.title(idle)
	r.title(busy) // that claude works on says nothing of what a helper asks
	r.hook("Stop", map[string]any{"last_assistant_message": "done", "prompt_id": "1"})
	r.title(idle)
	r.Pass(time.Minute)
	r.want("took[go] blocked[Bash: rm x] text[done] unblocked turn_end[done] blocked[Bash: rm x]")
	if call.Answered {
		t.Fatal("the hook was let go of")
	}
	r.hook("UserPromptSubmit", map[string]any{"prompt": "more", "prompt_id": "2"})
	r.title(busy)
	call.Leave()
	r.Pass(time.Second)
	r.want("took[more] unblocked[deny]")
	r.hook("Stop", map[string]any{"last_assistant_message": "fine", "prompt_id": "2"})
	r.want("text[fine] turn_end[fine]")
}

// What a helper used is in its own file, which may be written late. It counts once, also of one that goes on later.
func TestHelperUsage(t *testing.T) {
	line := func(id, text string, output int) string {
		return fmt.Sprintf(`{"isSidechain":true,"type":"assistant","uuid":"u%s","message":{"id":"%s","model":"small","stop_reason":"end_turn",`+
			`"usage":{"input_tokens":100,"output_tokens":%d,"cache_read_input_tokens":7},"content":[{"type":"text","text":"%s"}]}}`+"\n", id, id, output, text)
	}
	text := line("m1", "looks", 1)
	r := &rig{t: t, FakeHost: &drivertest.FakeHost{}}
	r.driver = claude.New().NewDriver(agentcli.Plan{}, agentcli.Room{ReadFrom: func(name string, offset int64, limit int) ([]byte, int64, error) {
		return agentcli.ReadPart(strings.NewReader(map[string]string{"/agent.jsonl": text}[name]), offset, limit)
	}}, r.FakeHost)
	r.FakeHost.Screen = waiting
	for i, want := range []string{"200 11 14 2", "100 20 7 1"} {
		id := fmt.Sprint(i)
		r.hook("UserPromptSubmit", map[string]any{"prompt": "go", "prompt_id": id})
		stop := drivertest.Call(t, "SubagentStop", map[string]any{
			"agent_id": "a", "agent_transcript_path": "/agent.jsonl", "last_assistant_message": "last " + id,
		})
		r.driver.Hook(stop.Call)
		r.Pass(100 * time.Millisecond)
		if stop.Answered {
			t.Error("claude goes on before the helper's words are read")
		}
		text += line("m2"+id, "last "+id, 10*(i+1))
		r.Pass(100 * time.Millisecond)
		if !stop.Answered {
			t.Fatal("the hook is not answered")
		}
		r.hook("Stop", map[string]any{"last_assistant_message": "done", "prompt_id": id})
		u := r.Signals[len(r.Signals)-1].Usage
		if u == nil || fmt.Sprint(u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.Requests) != want || u.Model != "small" {
			t.Errorf("usage %+v, want %s", u, want)
		}
		r.Signals = nil
	}
}
