package codex_test

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// rig is a driver with a host that records.
type rig struct {
	t *testing.T
	*drivertest.FakeHost
	driver agentcli.Driver
	files  map[string]string
	shown  *runtime.Prompt
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, FakeHost: &drivertest.FakeHost{}, files: map[string]string{}}
	r.driver = codex.New().NewDriver(agentcli.Plan{}, agentcli.Room{ReadFile: func(name string) ([]byte, error) {
		if text, ok := r.files[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}}, r.FakeHost)
	return r
}

func readyRig(t *testing.T) *rig {
	r := newRig(t)
	r.state("idle")
	r.Pass(time.Second)
	r.want("idle")
	return r
}

func (r *rig) state(s string) {
	r.driver.OSC(7501, []byte("state="+s+":app=codex"))
	r.note()
}

func (r *rig) title(s string) { r.driver.OSC(0, []byte(s)) }

func (r *rig) hook(name string, payload map[string]any) {
	r.t.Helper()
	c := drivertest.Call(r.t, name, payload)
	r.driver.Hook(c.Call)
	if !c.Answered || c.Answer != "" {
		r.t.Errorf("the hook %s got %q, answered %v", name, c.Answer, c.Answered)
	}
	r.note()
}

func (r *rig) note() {
	for _, s := range r.Signals {
		if s.Kind == agentcli.SignalBlocked {
			r.shown = s.Prompt
		}
	}
}

func (r *rig) want(kinds string) {
	r.t.Helper()
	if got := r.Kinds(); got != kinds {
		r.t.Errorf("signals are\n %s, want\n %s", got, kinds)
	}
}

func shell(command string) map[string]any {
	return map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": command}}
}

func TestReadyHolds(t *testing.T) {
	r := newRig(t)
	r.state("idle")
	r.Pass(40 * time.Millisecond)
	r.state("working")
	r.Pass(10 * time.Millisecond)
	r.state("idle")
	r.Pass(299 * time.Millisecond)
	r.want("")
	r.Pass(time.Millisecond)
	r.want("idle")
}

func TestTurn(t *testing.T) {
	r := readyRig(t)
	r.state("working")
	r.hook("SessionStart", map[string]any{"session_id": "s-1"})
	r.hook("UserPromptSubmit", map[string]any{"session_id": "s-1", "prompt": "hello"})
	r.hook("Stop", map[string]any{"last_assistant_message": "hi"})
	r.want("busy session[s-1] took[hello]") // a message would still steer
	r.state("done")
	r.want("turn_end[hi]")
	r.state("idle") // on the first key
	r.Pass(time.Second)
	r.want("")
}

func TestInterrupt(t *testing.T) {
	r := readyRig(t)
	r.state("working")
	r.state("idle")
	r.Pass(100 * time.Millisecond)
	r.want("busy turn_end!")
}

func TestApproval(t *testing.T) {
	r := readyRig(t)
	r.state("working")
	r.hook("PreToolUse", shell("rm x"))
	r.hook("PermissionRequest", shell("rm x"))
	r.want("busy tool") // another hook might still decide
	r.state("blocked:kind=permission")
	r.want("blocked[Bash: rm x]")

	steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceAllow})
	if err != nil || len(steps) > 0 || r.Keystrokes() != "" {
		t.Fatalf("%v; typed %q before the dialog stands", err, drivertest.Keystrokes(steps))
	}
	if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceDeny}); runtime.ErrorCode(err) != runtime.CodeNoPrompt {
		t.Errorf("a second answer meanwhile: %v", err)
	}
	r.Pass(time.Second)
	r.title("[ . ] Action Required | x")
	if keys := r.Keystrokes(); keys != "1" {
		t.Errorf("typed %q", keys)
	}
	r.Pass(1400 * time.Millisecond)
	r.title("[ ! ] Action Required | x")
	r.Pass(200 * time.Millisecond)
	if keys := r.Keystrokes(); keys != "1" {
		t.Errorf("typed %q the second time", keys)
	}
	r.state("working")
	r.hook("PostToolUse", shell("rm x"))
	r.state("done")
	r.want("unblocked tool_done turn_end")
}

func TestAnswerAtOnce(t *testing.T) {
	r := readyRig(t)
	r.state("working")
	r.state("blocked:kind=permission") // without a hook
	r.title("[ . ] Action Required")
	r.want("busy blocked[The agent asks for an approval: see its terminal.]")
	steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceDeny, Text: "no: why?"})
	if keys := drivertest.Keystrokes(steps); err != nil || !strings.HasPrefix(keys, "\x1b\x05") || !strings.Contains(keys, "no: why?") {
		t.Errorf("%v, typed %q", err, keys)
	}
	r.state("working")
	r.state("idle")
	r.Pass(100 * time.Millisecond)
	r.want("unblocked[deny] turn_end!")
}

func TestQuestion(t *testing.T) {
	r := readyRig(t)
	r.state("working")
	r.hook("PreToolUse", map[string]any{"tool_name": "request_user_input", "tool_input": map[string]any{"questions": []any{
		map[string]any{"question": "Which?", "options": []any{map[string]any{"label": "red"}, map[string]any{"label": "blue"}}},
	}}})
	r.state("blocked:kind=question")
	r.title("[ . ] Action Required")
	r.want("busy blocked[Which?]")
	if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: "green"}); runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
		t.Errorf("a wrong choice: %v", err)
	}
	steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: "2"})
	if keys := drivertest.Keystrokes(steps); err != nil || keys != "2" {
		t.Errorf("%v, typed %q", err, keys)
	}
}

func TestFailure(t *testing.T) {
	r := readyRig(t)
	r.files["/t.jsonl"] = `{"payload":{"type":"task_complete","error":{"message":"old"}}}` + "\n" +
		`{"payload":{"type":"task_complete","error":{"message":"unexpected status 401 Unauthorized"}}}` + "\nnot whole"
	r.state("working")
	r.hook("SessionStart", map[string]any{"session_id": "s", "transcript_path": "/t.jsonl"})
	r.state("error")
	r.Pass(time.Millisecond)
	const why = "unexpected status 401 Unauthorized"
	r.want("busy session[s] turn_end answer[" + why + "] login[" + why + "]")
}

// The transcript may be behind what the terminal tells.
func TestLateFailure(t *testing.T) {
	r := readyRig(t)
	old := `{"payload":{"type":"task_complete","error":{"message":"old"}}}` + "\n" + `{"payload":{"type":"task_started"}}` + "\n"
	r.files["/t.jsonl"] = old
	r.state("working")
	r.hook("SessionStart", map[string]any{"session_id": "s", "transcript_path": "/t.jsonl"})
	r.state("error")
	r.Pass(100 * time.Millisecond)
	r.files["/t.jsonl"] = old + `{"payload":{"type":"task_complete","error":{"message":"why"}}}` + "\n"
	r.Pass(100 * time.Millisecond)
	r.want("busy session[s] turn_end answer[why]")
}

func TestLogin(t *testing.T) {
	r := newRig(t)
	for range 2 {
		if !r.driver.Screen([]string{"> 1. Sign in with ChatGPT"}, 0, 0) {
			t.Error("it stopped looking")
		}
	}
	if keys := r.Keystrokes(); keys != "\r" {
		t.Errorf("typed %q", keys)
	}
	for range 2 {
		r.driver.OSC(8, []byte(";https://auth.openai.com/oauth/authorize?a=b;c"))
		r.driver.OSC(8, []byte(";"))
	}
	r.want("login login[https://auth.openai.com/oauth/authorize?a=b;c]")
	r.state("idle")
	r.Pass(time.Second)
	r.want("idle")
}

func TestSaved(t *testing.T) {
	r := readyRig(t)
	r.state("working")
	r.hook("PermissionRequest", shell("rm x"))
	r.state("blocked:kind=permission")
	r.title("[ . ] Action Required")
	back := newRig(t)
	back.driver.Load(r.driver.Save())
	steps, err := back.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceAllow})
	if err != nil || drivertest.Keystrokes(steps) != "1" {
		t.Errorf("%v, typed %q", err, drivertest.Keystrokes(steps))
	}
	back.state("working")
	back.state("done")
	back.want("unblocked[allow] turn_end")
}

func FuzzDriver(f *testing.F) {
	f.Add("PermissionRequest", []byte(`{"tool_name":"Bash","tool_input":{"command":["ls","-l"]}}`))
	f.Add("PreToolUse", []byte(`{"tool_name":"request_user_input","tool_input":{"questions":[{"question":"a"}]}}`))
	f.Add("Stop", []byte("state=blocked:kind=question"))
	f.Fuzz(func(_ *testing.T, name string, payload []byte) {
		h := &drivertest.FakeHost{}
		d := codex.New().NewDriver(agentcli.Plan{}, agentcli.Room{}, h)
		d.OSC(7501, []byte("state=idle"))
		h.Pass(time.Second)
		d.Hook(agentcli.NewHookCall(name, payload, nil, func([]byte) {}))
		d.OSC(7501, payload)
		d.OSC(0, payload)
		d.OSC(7501, []byte("state=blocked:kind=question"))
		h.Pass(time.Second)
		for _, s := range h.Signals {
			if s.Kind == agentcli.SignalBlocked {
				_, _ = d.Answer(s.Prompt, runtime.Answer{Text: string(payload)})
			}
		}
		d.Load(d.Save())
		d.OSC(7501, []byte("state=done"))
	})
}
