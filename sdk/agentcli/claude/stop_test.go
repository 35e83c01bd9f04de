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

// readingRig is a ready one whose driver reads text as the transcript of a session.
func readingRig(t *testing.T, text *string) *rig {
	t.Helper()
	r := &rig{t: t, FakeHost: &drivertest.FakeHost{Screen: []string{"────────", "❯ ", "────────", "  ? for shortcuts"}}}
	r.driver = claude.New().NewDriver(agentcli.Plan{}, agentcli.Room{ReadFrom: func(_ string, offset int64, limit int) ([]byte, int64, error) {
		return agentcli.ReadPart(strings.NewReader(*text), offset, limit)
	}}, r.FakeHost)
	r.title(idle)
	r.told("SessionStart", "", map[string]any{"session_id": "s-1"})
	r.Pass(time.Second)
	r.want("session[s-1] idle")
	return r
}

// told is a hook of the turn of an id.
func (r *rig) told(name, id string, payload map[string]any) *drivertest.FakeCall {
	payload["transcript_path"], payload["prompt_id"] = "/t.jsonl", id
	call := drivertest.Call(r.t, name, payload)
	r.driver.Hook(call.Call)
	r.Pass(50 * time.Millisecond)
	return call
}

// asked and answered are entries of turn id, whose prompt follows another entry.
func asked(id, parent string) string {
	return `{"parentUuid":"` + parent + `","promptId":"` + id + `","type":"user","message":{"role":"user","content":"go"},"uuid":"u` + id + `"}` + "\n"
}

func answered(id string) string { return said(id, "u"+id) }

// said is an answer that follows another entry.
func said(id, parent string) string {
	return `{"parentUuid":"` + parent + `","type":"assistant","uuid":"a` + id + `","message":{"id":"m` + id + `","model":"m","stop_reason":"end_turn",` +
		`"content":[{"type":"text","text":"answer ` + id + `"}]}}` + "\n"
}

// halted is the entry behind the answer a<id> with which claude says that its Stop hooks ended.
func halted(id string) string {
	return `{"parentUuid":"a` + id + `","type":"system","subtype":"stop_hook_summary","uuid":"h` + id + `"}` + "\n"
}

// keptAtWork is the same with a hook that has claude go on.
func keptAtWork(id string) string {
	return `{"parentUuid":"a` + id + `","promptId":"` + id + `","type":"user","isMeta":true,"uuid":"f` + id +
		`","message":{"role":"user","content":"Stop hook feedback:\nnot yet"}}` + "\n" +
		`{"parentUuid":"f` + id + `","type":"system","subtype":"stop_hook_summary","uuid":"h` + id + `"}` + "\n"
}

// givenContext is the same with a hook that gives claude more to think of.
func givenContext(id string) string {
	return `{"parentUuid":"a` + id + `","type":"system","subtype":"stop_hook_summary","uuid":"h` + id + `","hookAdditionalContext":["not yet"]}` + "\n"
}

// stopping is a turn whose Stop was answered, and of which nothing tells yet whether claude goes on.
func stopping(t *testing.T, text *string) *rig {
	t.Helper()
	r := readingRig(t, text)
	r.told("UserPromptSubmit", "1", map[string]any{"prompt": "go"})
	r.title(busy)
	*text += asked("1", "") + answered("1")
	if call := r.told("Stop", "1", map[string]any{"last_assistant_message": "answer 1"}); !call.Answered {
		t.Error("claude waits for the answer to its Stop")
	}
	r.Pass(500 * time.Millisecond)
	r.want("took[go] text[answer 1]")
	return r
}

// A turn ends when claude stopped, and not with the first Stop that comes: what else the user has it run then may take its time, and
// keep claude at work.
func TestStopHookGoesOn(t *testing.T) {
	tool := map[string]any{"tool_name": "Bash", "tool_use_id": "t"}
	for name, goOn := range map[string]func(r *rig, text *string){
		"By the transcript": func(r *rig, text *string) {
			*text += keptAtWork("1")
			r.Pass(time.Second)
		},
		"By context": func(r *rig, text *string) {
			*text += givenContext("1")
			r.Pass(time.Second)
		},
		"By a tool": func(r *rig, _ *string) {
			if call := r.told("PreToolUse", "1", tool); !call.Answered {
				r.t.Error("the tool waits")
			}
			r.want("tool")
		},
		"Behind a restart": func(r *rig, text *string) {
			saved := r.driver.Save()
			*text += keptAtWork("1")
			back := readingRig(r.t, text)
			back.driver.Load(saved)
			back.Pass(time.Second)
			*r = *back
			r.title(busy)
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := ""
			r := stopping(t, &text)
			for range 20 { // as long as it takes
				r.title(busy)
				r.Pass(time.Second)
			}
			goOn(r, &text)
			if !strings.Contains(text, "not yet") {
				text += keptAtWork("1")
			}
			r.Pass(time.Second)
			r.want("")
			text += said("2", "h1")
			r.told("Stop", "1", map[string]any{"last_assistant_message": "answer 2"})
			r.Pass(500 * time.Millisecond)
			r.want("text[answer 2]")
			text += halted("2")
			r.Pass(time.Second)
			r.want("turn_end[answer 2]")
		})
	}
}

// A turn of which claude does not write that its Stop hooks ended is over once claude waits or was heard of after it, or when its title
// stands still.
func TestStopWithoutWord(t *testing.T) {
	for name, tt := range map[string]struct {
		then func(r *rig)
		want string
	}{
		"Idle":  {func(r *rig) { r.title(idle) }, "turn_end[answer 1]"},
		"Next":  {func(r *rig) { r.told("UserPromptSubmit", "2", map[string]any{"prompt": "more"}) }, "turn_end[answer 1] took[more]"},
		"Still": {func(r *rig) { r.Pass(5 * time.Second) }, "turn_end[answer 1]"},
	} {
		t.Run(name, func(t *testing.T) {
			text := ""
			r := stopping(t, &text)
			tt.then(r)
			r.Pass(1100 * time.Millisecond)
			r.want(tt.want)
		})
	}
}

// Where claude had no Stop hook but the driver's the last time, a title that waits ends the turn before the transcript has that they
// ended; not where an interrupt may have, nor where it may be the title of a dialog.
func TestStopAlone(t *testing.T) {
	const now, later = "turn_end[answer 2]", ""
	for name, tt := range map[string]struct {
		hooks int
		then  func(r *rig)
		want  string
	}{
		"Alone":       {1, func(r *rig) { r.title(idle) }, now},
		"Another one": {2, func(r *rig) { r.title(idle) }, later},
		"Works":       {1, func(r *rig) { r.title(busy) }, later},
		"Interrupted": {1, func(r *rig) {
			r.driver.(agentcli.Interrupter).Interrupt()
			r.title(idle)
		}, later},
	} {
		t.Run(name, func(t *testing.T) {
			text := ""
			r := stopping(t, &text)
			summary := func(id string) {
				text += strings.Replace(halted(id), `"system"`, fmt.Sprintf(`"system","hookCount":%d`, tt.hooks), 1)
			}
			summary("1")
			r.Pass(time.Second)
			r.title(idle)
			r.want("turn_end[answer 1]")

			r.told("UserPromptSubmit", "2", map[string]any{"prompt": "more"})
			r.title(busy)
			text += asked("2", "h1") + answered("2")
			r.told("Stop", "2", map[string]any{"last_assistant_message": "answer 2"})
			r.Pass(time.Second / 2)
			r.want("took[more] text[answer 2]")
			tt.then(r)
			r.Pass(5 * time.Millisecond)
			r.want(tt.want)
			if tt.want == later {
				return
			}
			summary("2")
			r.told("UserPromptSubmit", "3", map[string]any{"prompt": "at last"}) // what is written late is no end of this one
			r.title(busy)
			text += asked("3", "h2")
			r.Pass(5 * time.Second)
			r.want("took[at last]")
		})
	}
}

// The title of a dialog that was answered before it was drawn comes behind the Stop, and has nothing to do with it.
func TestStopBehindADialog(t *testing.T) {
	text := ""
	r := readingRig(t, &text)
	r.told("UserPromptSubmit", "1", map[string]any{"prompt": "go"})
	r.title(busy)
	text += `{"promptId":"0","type":"system","subtype":"stop_hook_summary","hookCount":1,"uuid":"h0"}` + "\n" + asked("1", "")
	r.told("PermissionRequest", "1", bash("true"))
	if _, err := r.driver.Answer(r.Signals[len(r.Signals)-1].Prompt, runtime.Answer{Choice: runtime.ChoiceAllow}); err != nil {
		t.Fatal(err)
	}
	text += answered("1")
	r.told("Stop", "1", map[string]any{"last_assistant_message": "answer 1"})
	r.title(idle)
	r.Pass(100 * time.Millisecond)
	r.title(busy)
	r.Pass(500 * time.Millisecond)
	if got := r.Kinds(); !strings.HasSuffix(got, "text[answer 1]") {
		t.Errorf("got %q", got)
	}
	r.title(idle)
	r.Pass(5 * time.Millisecond)
	r.want("turn_end[answer 1]")
}

// A turn that is interrupted while Stop hooks run says so, though the transcript has it a moment later than the title, or never.
func TestStopHookInterrupted(t *testing.T) {
	for name, word := range map[string]string{
		"Written": `{"parentUuid":"a1","promptId":"1","type":"user","uuid":"i1","message":{"role":"user","content":"[Request interrupted by user]"}}` + "\n",
		"Never":   "",
	} {
		t.Run(name, func(t *testing.T) {
			text := ""
			r := stopping(t, &text)
			r.title(busy)
			r.Pass(3 * time.Second)
			if word == "" {
				r.driver.(agentcli.Interrupter).Interrupt()
			}
			r.title(idle)
			r.Pass(800 * time.Millisecond)
			text += word
			r.Pass(time.Second)
			r.want("turn_end[answer 1]!")
		})
	}
}

// A message that a hook refused stands in the line again: the transcript tells why, though it comes late.
func TestRefusalWrittenLate(t *testing.T) {
	text := ""
	r := readingRig(t, &text)
	r.driver.Submit("forbidden")
	r.told("UserPromptSubmit", "1", map[string]any{"prompt": "forbidden"})
	r.title(busy)
	r.title(idle)
	r.Screen = []string{"● UserPromptSubmit operation blocked by hook:", "  why", "────────", "❯ forbidden", "────────", "  ? for shortcuts"}
	r.Pass(5 * time.Second)
	r.want("took[forbidden]")
	text += `{"parentUuid":null,"type":"system","subtype":"informational","uuid":"b1","promptSubmitEnding":{"ending":{"kind":"blocked_by_hook","reason":"why"}}}` + "\n"
	r.Pass(time.Second)
	r.want("turn_end(HOOK_REFUSED)")
}

// A runtime that is started anew while claude waits for its Stop hooks finds the end of the turn in the transcript.
func TestRestartWithinStopHooks(t *testing.T) {
	text := ""
	r := stopping(t, &text)
	saved := r.driver.Save()
	text += halted("1")
	back := readingRig(r.t, &text)
	back.driver.Load(saved)
	back.title(idle)
	back.Pass(10 * time.Second)
	if got := back.Kinds(); !strings.Contains(got, "turn_end[answer 1]") {
		t.Errorf("got %q", got)
	}
}

// A helper in the background works on while Stop hooks of the user's own run.
func TestHelperWithinStopHooks(t *testing.T) {
	text := ""
	r := stopping(t, &text)
	r.title(busy)
	call := r.told("PreToolUse", "1", map[string]any{"tool_name": "Bash", "tool_use_id": "x", "agent_id": "h"})
	r.title(busy)
	r.Pass(time.Second)
	if !call.Answered || strings.Contains(r.Kinds(), "turn_end") {
		t.Errorf("answered %v, got %q", call.Answered, r.Kinds())
	}
}

// What a hook refused before the prompt of a turn is no end of that.
func TestRefusalBeforePrompt(t *testing.T) {
	text := `{"parentUuid":null,"type":"system","subtype":"informational","uuid":"b0","promptSubmitEnding":{"ending":{"kind":"blocked_by_hook","reason":"why"}}}` + "\n"
	r := readingRig(t, &text)
	r.driver.Hook(drivertest.Call(t, "SessionStart", map[string]any{"session_id": "s-2", "transcript_path": "/u.jsonl"}).Call)
	r.Pass(time.Second)
	r.driver.Hook(drivertest.Call(t, "UserPromptSubmit", map[string]any{"prompt": "go", "prompt_id": "1", "transcript_path": "/u.jsonl"}).Call)
	text += asked("1", "b0")
	r.Pass(5 * time.Second)
	r.title(busy)
	r.Pass(time.Second)
	r.title(idle)
	r.Pass(5 * time.Second)
	if got := r.Kinds(); strings.Contains(got, "HOOK_REFUSED") || !strings.Contains(got, "took[go]") {
		t.Errorf("got %q", got)
	}
}
