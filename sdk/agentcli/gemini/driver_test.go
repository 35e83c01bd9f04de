package gemini_test

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	idle = "◇  Ready (work)"
	busy = "✦  Working… (work)"
	asks = "✋  Action Required (work)"
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
	room := agentcli.Room{Hook: []string{"/hook"}, ReadFile: func(name string) ([]byte, error) {
		if text, ok := r.files[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}}
	r.driver = gemini.New().NewDriver(agentcli.Plan{}, room, r.FakeHost)
	return r
}

func readyRig(t *testing.T) *rig {
	r := newRig(t)
	r.title(idle)
	r.Pass(200 * time.Millisecond)
	r.Screen = []string{" >   Type your message or @path/to/file"}
	r.hook("SessionStart", map[string]any{"session_id": "s-1", "transcript_path": "/t.jsonl"})
	r.Pass(200 * time.Millisecond)
	r.want("session[s-1] idle")
	return r
}

func (r *rig) title(s string) {
	r.driver.OSC(0, []byte(s))
	r.note()
}

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

// says writes the transcript of a turn.
func (r *rig) says(lines ...string) {
	r.files["/t.jsonl"] = `{"id":"1","type":"user","content":[{"text":"earlier"}]}` + "\n" +
		`{"id":"2","type":"gemini","content":"an earlier answer"}` + "\n" +
		`{"id":"3","type":"user","content":[{"text":"go"}]}` + "\n" + `{"$set":{"messages":[]}}` + "\n" +
		strings.Join(lines, "\n") + "\n{\"id\":\"9"
}

func TestTurn(t *testing.T) {
	r := readyRig(t)
	r.hook("BeforeAgent", map[string]any{"prompt": "go"})
	r.title(busy)
	r.says(`{"id":"4","type":"gemini","content":"first"}`,
		`{"id":"5","type":"user","content":[{"functionResponse":{"name":"x"}}]}`,
		`{"id":"6","type":"gemini","content":"the  answer"}`)
	r.hook("AfterAgent", map[string]any{"prompt_response": "the   answer wer"})
	r.Pass(time.Millisecond)
	r.title(idle)
	r.Pass(time.Second)
	r.want("took[go] turn_end[the  answer]")
}

func TestSlowTranscript(t *testing.T) {
	r := readyRig(t)
	r.hook("BeforeAgent", map[string]any{"prompt": "go"})
	r.title(busy)
	r.title(idle) // no AfterAgent
	r.Pass(0)
	r.want("took[go] turn_end")
}

func TestInterrupt(t *testing.T) {
	r := readyRig(t)
	r.hook("BeforeAgent", map[string]any{"prompt": "go"})
	r.title(busy)
	r.says(`{"id":"4","type":"info","content":"Request cancelled."}`)
	r.hook("AfterAgent", map[string]any{})
	r.Pass(time.Millisecond)
	r.want("took[go] turn_end!")
}

func TestFailure(t *testing.T) {
	r := readyRig(t)
	r.hook("BeforeAgent", map[string]any{"prompt": "go"})
	r.title(busy)
	r.says(`{"id":"4","type":"error","content":"UNAUTHENTICATED"}`, `{"id":"5","type":"info","content":"This request failed."}`)
	r.hook("AfterAgent", map[string]any{})
	r.Pass(time.Millisecond)
	r.want("took[go] turn_end[UNAUTHENTICATED] login[UNAUTHENTICATED]")
}

// asksFor brings the rig to the dialog of a tool.
func (r *rig) asksFor(tool string, input map[string]any) {
	r.t.Helper()
	r.hook("BeforeAgent", map[string]any{"prompt": "go"})
	r.title(busy)
	r.hook("BeforeTool", map[string]any{"tool_name": tool, "tool_input": input})
	kind := "exec"
	if tool == "ask_user" {
		kind = tool
	}
	r.hook("Notification", map[string]any{"notification_type": "ToolPermission", "details": map[string]any{"type": kind}})
}

func TestApproval(t *testing.T) {
	r := readyRig(t)
	r.asksFor("run_shell_command", map[string]any{"command": "rm x"})
	r.want("took[go] tool blocked[run_shell_command: rm x]")
	steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceAllow})
	if err != nil || len(steps) > 0 || r.Keystrokes() != "" {
		t.Fatalf("%v; typed %q before the dialog stands", err, drivertest.Keystrokes(steps))
	}
	r.title(asks)
	if keys := r.Keystrokes(); keys != "1" {
		t.Errorf("typed %q", keys)
	}
	r.title(busy)
	r.hook("AfterTool", map[string]any{"tool_name": "run_shell_command"})
	r.want("unblocked[allow] tool_done")
}

func TestDenial(t *testing.T) {
	r := readyRig(t)
	r.asksFor("run_shell_command", map[string]any{"command": "rm x"})
	r.title(asks)
	r.want("took[go] tool blocked[run_shell_command: rm x]")
	r.title(idle) // Escape by a person
	r.Pass(time.Millisecond)
	r.want("unblocked[deny] turn_end!")
}

func TestQuestion(t *testing.T) {
	r := readyRig(t)
	r.asksFor("ask_user", map[string]any{"questions": []any{
		map[string]any{"question": "Which?", "options": []any{map[string]any{"label": "red"}, map[string]any{"label": "blue"}}},
	}})
	r.title(asks)
	r.want("took[go] blocked[Which?]")
	steps, err := r.driver.Answer(r.shown, runtime.Answer{Text: "green"})
	if keys := drivertest.Keystrokes(steps); err != nil || keys != "\x1b[B\x1b[B\x1b[200~green\x1b[201~\r" {
		t.Errorf("%v, typed %q", err, keys)
	}
}

func TestWithoutHooks(t *testing.T) {
	h := &drivertest.FakeHost{Screen: []string{" >   Type your message or @path/to/file"}}
	d := gemini.New().NewDriver(agentcli.Plan{}, agentcli.Room{}, h)
	for _, title := range []string{idle, busy, asks, busy, idle} {
		d.OSC(0, []byte(title))
		h.Pass(200 * time.Millisecond)
	}
	const want = "idle busy blocked[The agent asks for an approval: see its terminal.] unblocked turn_end"
	if got := h.Kinds(); got != want {
		t.Errorf("signals are\n %s, want\n %s", got, want)
	}
}

func TestLogin(t *testing.T) {
	r := newRig(t)
	r.Screen = []string{"? Get started", "How would you like to authenticate for this project?"}
	r.title(idle)
	r.Pass(10 * time.Second)
	r.want("login")
	r.driver.Screen([]string{"https://accounts.google.com/o/oauth2/v2/auth?a=b", "Enter the authorization code:"}, 0, 0)
	r.want("login[https://accounts.google.com/o/oauth2/v2/auth?a=b]")
	r.hook("SessionStart", map[string]any{})
	if r.driver.Screen([]string{" >   Type your message or @path/to/file"}, 0, 0) {
		t.Error("it goes on looking")
	}
	r.want("idle")
}

func TestShellModeIsLeft(t *testing.T) {
	r := readyRig(t)
	if keys := drivertest.Keystrokes(r.driver.Submit("/x")); strings.Contains(keys, "\x1b\x1b[200~") || !strings.Contains(keys, "~\u2060/x ") {
		t.Errorf("typed %q", keys)
	}
	r.Screen = []string{"  shell mode enabled (esc to disable)", " ! ls"}
	if keys := drivertest.Keystrokes(r.driver.Submit("x")); !strings.Contains(keys, "\x1b\x1b[200~") {
		t.Errorf("typed %q", keys)
	}
}

func FuzzDriver(f *testing.F) {
	f.Add("Notification", []byte(`{"notification_type":"ToolPermission","details":{"type":"ask_user"}}`))
	f.Add("BeforeTool", []byte(`{"tool_name":"ask_user","tool_input":{"questions":[{"question":"a"}]}}`))
	f.Add("AfterAgent", []byte(`{"id":"1","type":"gemini","content":[{"text":"x"}]}`))
	f.Fuzz(func(_ *testing.T, name string, payload []byte) {
		h := &drivertest.FakeHost{Screen: []string{"Type your message"}}
		room := agentcli.Room{ReadFile: func(string) ([]byte, error) { return payload, nil }}
		d := gemini.New().NewDriver(agentcli.Plan{}, room, h)
		d.OSC(0, []byte(idle))
		h.Pass(time.Second)
		d.Hook(agentcli.NewHookCall("BeforeAgent", []byte(`{"transcript_path":"/t"}`), nil, func([]byte) {}))
		d.Hook(agentcli.NewHookCall(name, payload, nil, func([]byte) {}))
		d.OSC(0, []byte(asks))
		for _, s := range h.Signals {
			if s.Kind == agentcli.SignalBlocked {
				_, _ = d.Answer(s.Prompt, runtime.Answer{Text: string(payload)})
			}
		}
		d.Load(d.Save())
		d.OSC(0, []byte(idle))
		h.Pass(2 * time.Second)
	})
}

// A resumed gemini draws the conversation first, and loses what is typed meanwhile.
func TestReadyAfterTheConversationIsDrawn(t *testing.T) {
	h := &drivertest.FakeHost{}
	d := gemini.New().NewDriver(agentcli.Plan{Args: []string{"--resume", "s-1"}}, agentcli.Room{}, h)
	d.OSC(0, []byte(idle))
	for _, line := range []string{"one", "two", "three"} {
		h.Screen = []string{line, " >   Type your message or @path/to/file"}
		h.Pass(600 * time.Millisecond)
		if got := h.Kinds(); got != "" {
			t.Fatalf("after %q it says %s", line, got)
		}
	}
	h.Pass(600 * time.Millisecond)
	if got := h.Kinds(); got != "idle" {
		t.Errorf("the conversation is drawn, and it says %q", got)
	}
}
