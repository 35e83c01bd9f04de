package claude_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/claude"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
)

// of makes a payload that of a helper.
func of(agent string, payload map[string]any) map[string]any {
	payload = maps.Clone(payload)
	payload["agent_id"], payload["prompt_id"] = agent, "p"
	return payload
}

// asking is the screen of a claude whose helper asks to run a command.
func asking(command string) []string {
	return []string{"────────", " Bash command · from the general-purpose agent", "   " + command, " Do you want to proceed?", " ❯ 1. Yes", "   2. No"}
}

// working is a rig with a turn in which a helper works.
func working(t *testing.T) *rig {
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go", "prompt_id": "p"})
	r.title(busy)
	return r
}

// A helper that failed ends no turn.
func TestHelperFails(t *testing.T) {
	r := working(t)
	r.hook("StopFailure", of("a", map[string]any{"error": "server_error", "last_assistant_message": "API Error: 500"}))
	r.Pass(time.Second)
	r.hook("Stop", map[string]any{"prompt_id": "p", "last_assistant_message": "it failed"})
	r.want("took[go] text[it failed] turn_end[it failed]")
}

// What a person refused to a helper is not asked any more: when the helper is over, or its dialog is gone for a while.
func TestHelperRefusedByKey(t *testing.T) {
	const next = "unblocked blocked[Bash: rm two]"
	composer := []string{"────────", "❯ ", "────────", "  esc to interrupt"}
	for name, tt := range map[string]struct {
		then []string // the screen after the refusal
		over bool     // the helper is over
		want string
	}{
		"Over":   {asking("rm two"), true, next},
		"Next":   {asking("rm two"), false, next},
		"Gone":   {composer, false, next},
		"Stands": {asking("rm one"), false, ""},
		"Hidden": {[]string{"a long conversation"}, false, ""},
		"Cut":    {[]string{"────────", " Do you want to proceed?", " ❯ 1. Yes", "   2. No"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := working(t)
			r.Screen = asking("rm one")
			r.title(idle)
			r.hook("PermissionRequest", of("a", bash("rm one")))
			r.hook("PermissionRequest", of("b", bash("rm two")))
			r.Pass(5 * time.Second)
			r.want("took[go] blocked[Bash: rm one]")
			r.Screen = tt.then
			if tt.over {
				r.hook("SubagentStop", of("a", map[string]any{}))
			} else {
				r.Pass(5 * time.Second)
			}
			r.want(tt.want)
		})
	}
}

// used is an entry of a helper's transcript: one request.
func used(id string, input, output int) string {
	return fmt.Sprintf(`{"type":"assistant","uuid":"%s","isSidechain":true,"message":{"id":"%s","model":"small","usage":`+
		`{"input_tokens":%d,"output_tokens":%d,"cache_read_input_tokens":1}}}`+"\n", id, id, input, output)
}

// What helpers used is counted in the turn, each request once: what one uses behind the end of a turn is the next one's.
func TestHelperUsage(t *testing.T) {
	const main, below = "/t.jsonl", "/t/subagents/agent-a.jsonl"
	files := map[string]string{below: "no entry\n" + used("1", 9, 9) + used("1", 100, 1)}
	host := &drivertest.FakeHost{Screen: []string{"────────", "❯ ", "────────", "  ? for shortcuts"}}
	r := &rig{t: t, FakeHost: host}
	r.driver = claude.New().NewDriver(agentcli.Plan{}, agentcli.Room{ReadFile: func(name string) ([]byte, error) {
		return []byte(files[name]), nil
	}}, host)
	r.title(idle)
	r.hook("SessionStart", map[string]any{"session_id": "s", "transcript_path": main})
	r.Pass(time.Second)
	for i, want := range []string{"100 1 1 1", "200 2 2 2", ""} {
		id := fmt.Sprint(i)
		r.hook("UserPromptSubmit", map[string]any{"prompt": "go", "prompt_id": id, "transcript_path": main})
		r.title(busy)
		if i < 2 {
			tool := bash("true")
			maps.Copy(tool, map[string]any{"agent_id": "a", "prompt_id": id, "transcript_path": main})
			r.hook("PreToolUse", tool)
		}
		call := drivertest.Call(t, "Stop", map[string]any{"prompt_id": id, "transcript_path": main, "last_assistant_message": "done"})
		r.driver.Hook(call.Call)
		r.Pass(2 * time.Second)
		got := ""
		if u := r.Signals[len(r.Signals)-1].Usage; u != nil {
			got = fmt.Sprint(u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.Requests)
		}
		if got != want || !call.Answered {
			t.Errorf("turn %d: usage %q, want %q; the hook is answered: %v", i, got, want, call.Answered)
		}
		files[below] += used("2", 100, 1) + used("3", 100, 1)
	}
}
