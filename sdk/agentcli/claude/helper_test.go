package claude_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/claude"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
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
	cut := []string{"────────", " Do you want to proceed?", " ❯ 1. Yes", "   2. No"}
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
		"Cut":    {cut, false, ""},
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

// A dialog that holds the words of another helper's command, and not those of its own, ends no request.
func TestHelperWithTheWordsOfAnother(t *testing.T) {
	r := working(t)
	r.Screen = []string{"────────", " Create file · from the general-purpose agent", "   notes/README.md", "   1 run ls to see",
		" Do you want to create README.md?", " ❯ 1. Yes", "   2. No"}
	r.title(idle)
	write := map[string]any{"tool_name": "Write", "tool_input": map[string]any{"file_path": "/work/notes/README.md", "content": "run ls to see"}}
	call := r.hook("PermissionRequest", of("a", write))
	r.Pass(time.Second)
	r.hook("PermissionRequest", of("b", bash("ls")))
	r.Pass(5 * time.Second)
	r.want("took[go] blocked[Write: /work/notes/README.md]")
	if call.Answered {
		t.Error("the request is over though its dialog stands")
	}
}

// Helpers that ask for the same command, and claude with them, are asked about one by one: what one ran is no answer to another.
func TestHelpersAskForTheSame(t *testing.T) {
	for _, other := range []string{"b", ""} {
		r := working(t)
		r.Screen = asking("git diff")
		r.title(idle)
		r.hook("PermissionRequest", of(other, bash("git diff")))
		second := r.hook("PermissionRequest", of("a", bash("git diff")))
		r.Pass(time.Second)
		if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceAllow}); err != nil {
			t.Fatal(err)
		}
		r.hook("PostToolUse", of(other, bash("git diff")))
		r.Pass(time.Second)
		r.want("took[go] blocked[Bash: git diff] unblocked[allow] blocked[Bash: git diff] tool_done")
		if second.Answered {
			t.Errorf("of %q and another: the second one was answered %s", other, second.Answer)
		}
	}
}

// After a restart keys answer: only what is asked in the dialog that stands, which comes first.
func TestHelpersAskBehindARestart(t *testing.T) {
	r := working(t)
	r.Screen = asking("rm two")
	r.title(idle)
	r.hook("PermissionRequest", of("a", bash("rm one")))
	r.hook("PermissionRequest", of("b", bash("rm two")))
	r.want("took[go] blocked[Bash: rm one]")
	back := newRig(t)
	back.Screen = []string{"a screen that is drawn later"}
	back.driver.Load(r.driver.Save())
	answer := func(want string) {
		t.Helper()
		steps, err := back.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceAllow})
		if keys := drivertest.Keystrokes(steps); keys != want || (want == "") != (runtime.ErrorCode(err) == runtime.CodeNoPrompt) {
			t.Errorf("%q: typed %q, %v", r.shown.Text, keys, err)
		}
	}
	answer("")
	back.Screen = asking("rm two")
	answer("")
	back.title(idle)
	back.Pass(time.Second)
	for _, s := range back.Signals {
		r.shown = s.Prompt
	}
	back.want("unblocked blocked[Bash: rm two]")
	answer("1")
	back.title(busy)
	back.Screen = asking("rm one")
	back.want("unblocked blocked[Bash: rm one]")
}

// Behind a restart a dialog is taken for that of a request only where it can be no other's: the name of a file differs from that of
// one in another folder, and a command from one that holds it. Requests that look alike are answered in the terminal.
func TestHelpersToldApartBehindARestart(t *testing.T) {
	writing := func(file string) []string {
		return []string{"────────", " Create file · from the general-purpose agent      1 of 2", " " + file, "╌╌╌╌╌╌╌╌", "  1 ls", "╌╌╌╌╌╌╌╌",
			" Do you want to create it?", " ❯ 1. Yes", "   2. No"}
	}
	running := func(command string) []string {
		return []string{"────────", " Bash command · from the general-purpose agent", " one.md", "╌╌╌╌╌╌╌╌", " " + command, "╌╌╌╌╌╌╌╌",
			" Do you want to proceed?", " ❯ 1. Yes", "   2. No"}
	}
	write := func(file, content string) map[string]any {
		return map[string]any{"tool_name": "Write", "cwd": "/work", "tool_input": map[string]any{"file_path": "/work/" + file, "content": content}}
	}
	requests := []map[string]any{
		write("one.md", ""), write("sub/one.md", ""), write("two.md", "a"), write("two.md", "b"), write("a/long/three.md", ""),
		write("four.md", ""), write("four.md", ""), bash("ls"), bash("ls -la"),
	}
	for name, tt := range map[string]struct {
		screen []string
		want   string // that is asked about then
	}{
		"Root":        {writing("one.md"), "Write: /work/one.md"},
		"Folder":      {writing("sub/one.md"), "Write: /work/sub/one.md"},
		"Elsewhere":   {writing("../one.md"), ""},
		"Cut":         {writing("…ong/three.md"), "Write: /work/a/long/three.md"},
		"Alike":       {writing("two.md"), ""},
		"The same":    {writing("four.md"), "Write: /work/four.md"},
		"Command":     {running("ls"), "Bash: ls"},
		"Longer":      {running("ls -la"), "Bash: ls -la"},
		"Another one": {running("one.md"), ""},
		"Not asked":   {running("ls -lah"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := working(t)
			r.title(idle)
			for i, payload := range append([]map[string]any{bash("rm it")}, requests...) {
				r.hook("PermissionRequest", of(fmt.Sprint(i), payload))
			}
			back := newRig(t)
			back.Screen = tt.screen
			back.driver.Load(r.driver.Save())
			back.title(idle)
			back.Pass(time.Second)
			got := ""
			for _, s := range back.Signals {
				if s.Kind == agentcli.SignalBlocked {
					got, r.shown = s.Prompt.Text, s.Prompt
				}
			}
			if got != tt.want {
				t.Errorf("asked about %q, want %q", got, tt.want)
			}
			steps, err := back.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceAllow})
			if keys := drivertest.Keystrokes(steps); (keys == "1") != (tt.want != "") || (keys == "") != (runtime.ErrorCode(err) == runtime.CodeNoPrompt) {
				t.Errorf("typed %q, %v", keys, err)
			}
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
		r.title(idle)
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

// A transcript of which only a part can be read counts nothing: a part would be taken for all, and count again later.
func TestHelperUsageReadInPart(t *testing.T) {
	begin := used("1", 100, 1)
	whole := begin + used("2", 100, 1)
	r := &rig{t: t, FakeHost: &drivertest.FakeHost{Screen: []string{"────────", "❯ ", "────────", "  ? for shortcuts"}}}
	fails := true
	r.driver = claude.New().NewDriver(agentcli.Plan{}, agentcli.Room{ReadFrom: func(name string, offset int64, _ int) ([]byte, int64, error) {
		switch {
		case !strings.Contains(name, "subagents"):
			return nil, 0, nil
		case offset > 0 && fails:
			return nil, 0, errors.New("the disk fails")
		case fails:
			return []byte(begin), 0, nil
		}
		return []byte(whole[min(int(offset), len(whole)):]), offset, nil
	}}, r.FakeHost)
	r.title(idle)
	r.hook("SessionStart", map[string]any{"session_id": "s", "transcript_path": "/t.jsonl"})
	r.Pass(time.Second)
	for id, want := range []int64{0, 2} {
		prompt := map[string]any{"prompt": "go", "prompt_id": fmt.Sprint(id), "transcript_path": "/t.jsonl"}
		r.hook("UserPromptSubmit", prompt)
		r.title(busy)
		tool := bash("true")
		maps.Copy(tool, prompt)
		tool["agent_id"] = "a"
		r.hook("PreToolUse", tool)
		r.driver.Hook(drivertest.Call(t, "Stop", prompt).Call)
		r.title(idle)
		r.Pass(2 * time.Second)
		got := int64(0)
		if u := r.Signals[len(r.Signals)-1].Usage; u != nil {
			got = u.Requests
		}
		if got != want {
			t.Errorf("%d requests, want %d", got, want)
		}
		fails = false
	}
}
