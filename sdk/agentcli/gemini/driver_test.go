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

// ready is the screen with the composer.
var ready = []string{" >   Type your message or @path/to/file"}

func readyRig(t *testing.T) *rig {
	r := newRig(t)
	r.files["/t.jsonl"] = head + earlier
	r.title(idle)
	r.Pass(200 * time.Millisecond)
	r.Screen = ready
	r.hook("SessionStart", map[string]any{"session_id": "s-1", "transcript_path": "/t.jsonl"})
	r.Pass(time.Second)
	r.want("idle")
	return r
}

// A gemini that is taken over while it starts gets ready: what it told before is remembered, and of its SessionStart, which
// may have been lost in between, it is independent in the end.
func TestTakenOverWhileItStarts(t *testing.T) {
	for name, hooked := range map[string]bool{"Hooked": true, "Lost": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.title(idle)
			if hooked {
				r.hook("SessionStart", map[string]any{"session_id": "s-1", "transcript_path": "/t.jsonl"})
			}
			r.want("")
			back := newRig(t)
			back.Screen = ready
			back.Pass(time.Second)
			back.driver.Load(r.driver.Save())
			back.Pass(2 * time.Second)
			if !hooked {
				back.want("")
				back.Pass(15 * time.Second)
			}
			back.want("idle")
		})
	}
}

// The transcript before a turn: an earlier conversation.
const (
	head    = `{"sessionId":"s-0","kind":"main"}` + "\n"
	earlier = `{"id":"1","type":"user","content":[{"text":"earlier"}]}` + "\n" +
		`{"id":"2","type":"gemini","content":"an earlier answer","model":"m","tokens":{"input":9}}` + "\n"
)

func (r *rig) announced() bool { return r.driver.(agentcli.Announcer).Announced() }

func (r *rig) title(s string) {
	r.driver.OSC(0, []byte(s))
	r.note()
}

func (r *rig) hook(name string, payload map[string]any) {
	r.t.Helper()
	c := drivertest.Call(r.t, name, payload)
	r.driver.Hook(c.Call)
	r.Pass(0)
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

// Prompt returns the prompt that was told last.
func (r *rig) Prompt() *runtime.Prompt {
	r.note()
	return r.shown
}

func (r *rig) want(kinds string) {
	r.t.Helper()
	r.note()
	if got := r.Kinds(); got != kinds {
		r.t.Errorf("signals are\n %s, want\n %s", got, kinds)
	}
}

// says writes on in the transcript.
func (r *rig) says(lines ...string) {
	r.files["/t.jsonl"] += strings.Join(lines, "\n") + "\n"
}

// takes begins a turn.
func (r *rig) takes(prompt string) {
	r.t.Helper()
	r.hook("BeforeAgent", map[string]any{"session_id": "other", "transcript_path": "/t.jsonl", "prompt": prompt})
	r.title(busy)
	r.says(`{"id":"3","type":"user","content":[{"text":"` + prompt + `"}]}`)
}

// ends ends a turn as gemini does.
func (r *rig) ends() {
	r.t.Helper()
	r.hook("AfterAgent", map[string]any{"prompt_response": "the   answer wer"})
	r.title(idle)
	r.Pass(100 * time.Millisecond)
}

// What came with a message is not for the model: the prompt is refused, and the message typed once more.
func TestMixedPromptIsRefused(t *testing.T) {
	for _, early := range []bool{true, false} { // the title may be read before or after the hook
		r := readyRig(t)
		r.driver.Submit("the message")
		if early {
			r.title(busy)
		}
		c := drivertest.Call(t, "BeforeAgent", map[string]any{"transcript_path": "/t.jsonl", "prompt": "a draft the message"})
		r.driver.Hook(c.Call)
		if !strings.Contains(c.Answer, `"block"`) {
			t.Fatalf("answered %q", c.Answer)
		}
		r.title(busy)
		r.Pass(time.Second)
		r.title(idle)
		if keys := drivertest.Keystrokes(r.driver.Confirm(), "▄▄▄▄▄▄▄▄", " > the message"); !strings.HasPrefix(keys, "\x05\x15") || !strings.Contains(keys, "~the message \x1b[201~\r") {
			t.Errorf("typed %q", keys)
		}
		r.Pass(time.Minute)
		r.want("")
		r.driver.Submit("the message")
		r.takes("the message")
		r.says(`{"id":"4","type":"gemini","content":"yes","model":"m"}`)
		r.ends()
		r.want("took[the message] session[s-0] text[yes] turn_end[yes]")
		r.driver.Submit("one")
		r.Pass(time.Minute) // it was given up, and somebody makes something of what lies in the line
		r.takes("one more")
		r.want("took[one more]")
	}
}

func TestTurn(t *testing.T) {
	r := readyRig(t)
	r.takes("go")
	r.want("took[go] session[s-0]")
	r.says(`{"id":"4","type":"gemini","content":"first","model":"m1","tokens":{"input":100,"output":7,"cached":60,"thoughts":3}}`)
	r.hook("BeforeTool", map[string]any{"tool_name": "x"})
	r.hook("AfterTool", map[string]any{"tool_name": "x"})
	r.says(`{"id":"4","type":"gemini","content":"first","model":"m1","tokens":{"input":100,"output":7,"cached":60,"thoughts":3},"toolCalls":[{"id":"c"}]}`,
		`{"id":"5","type":"user","content":[{"functionResponse":{"name":"x"}}]}`,
		`{"$set":{"messages":[{"id":"x","type":"gemini","content":"no","model":"m"}]}}`,
		`{"id":"6","type":"gemini","content":"the  answer","model":"m2","tokens":{"input":200,"output":5,"tool":2}}`)
	r.Pass(600 * time.Millisecond)
	r.want("text[first] tool tool_done text[the  answer]")
	r.hook("AfterAgent", map[string]any{"prompt_response": "the   answer wer"})
	r.Pass(3 * time.Second)
	r.want("") // it draws
	r.title(idle)
	r.Pass(100 * time.Millisecond)
	u := r.Signals[0].Usage
	if u == nil || *u != (runtime.Usage{Model: "m2", InputTokens: 242, OutputTokens: 15, CacheReadTokens: 60, Requests: 2}) {
		t.Errorf("usage %+v", u)
	}
	r.want("turn_end[the  answer]")
	r.Pass(time.Minute)
	r.want("")
}

// A turn is not over before the composer is there, and gemini listens.
func TestEndNeedsTheComposer(t *testing.T) {
	r := readyRig(t)
	r.takes("go")
	r.Screen = []string{"", "  Executing Hook (esc to cancel, 1s)", "────────────", " Shift+Tab to accept edits", "▄▄▄▄▄▄▄▄▄▄▄▄", " > a draft"}
	r.says(`{"id":"4","type":"gemini","content":"a long one","model":"m"}`)
	r.ends()
	r.want("took[go] session[s-0]")
	r.Screen = ready
	r.Pass(100 * time.Millisecond)
	r.want("text[a long one] turn_end[a long one]")
}

func TestTurnWithoutAfterAgent(t *testing.T) {
	r := readyRig(t)
	r.takes("go")
	r.title(idle)
	r.Pass(time.Second)
	r.want("took[go] session[s-0]")
	r.Pass(3 * time.Second)
	r.want("turn_end(TURN_UNKNOWN)")
}

// The next turn's text is never that of the one before.
func TestTurnWithoutHooks(t *testing.T) {
	r := readyRig(t)
	r.takes("go")
	r.says(`{"id":"4","type":"gemini","content":"one","model":"m"}`)
	r.ends()
	r.want("took[go] session[s-0] text[one] turn_end[one]")
	r.title(busy)
	r.title(idle)
	r.Pass(5 * time.Second)
	r.want("busy turn_end(TURN_UNKNOWN)")
	r.title(busy) // the transcript is a witness of its own
	r.says(`{"id":"5","type":"user","content":[{"text":"go"}]}`, `{"id":"6","type":"gemini","content":"two","model":"m"}`)
	r.title(idle)
	r.Pass(5 * time.Second)
	r.want("busy text[two] turn_end[two]")
}

func TestInterrupt(t *testing.T) {
	r := readyRig(t)
	r.takes("go")
	r.says(`{"id":"4","type":"info","content":"Request cancelled."}`)
	r.title(idle)
	r.Pass(100 * time.Millisecond)
	r.want("took[go] session[s-0] turn_end!")
}

func TestFailures(t *testing.T) {
	for said, want := range map[string]string{
		`[API Error: {\"error\":{\"code\":401,\"status\":\"UNAUTHENTICATED\"}}]`:              "LOGIN_REQUIRED",
		`[API Error: {\"error\":{\"code\":400,\"message\":\"no\"}}]`:                          "MODEL_ERROR",
		`[API Error: {\"error\":{\"code\":529,\"status\":\"INTERNAL\"}}]`:                     "MODEL_UNAVAILABLE",
		`[API Error: slow down (Status: RESOURCE_EXHAUSTED)]`:                                 "MODEL_RATE_LIMITED",
		`[API Error: API key not valid. Please pass a valid one. (Status: INVALID_ARGUMENT)]`: "LOGIN_REQUIRED",
		`[API Error: You have exhausted your daily quota on this model.]`:                     "MODEL_RATE_LIMITED",
		`[API Error: terminated]`:                                     "MODEL_CUT",
		`[API Error: fetch failed: connect ECONNREFUSED 127.0.0.1:1]`: "MODEL_UNAVAILABLE",
		`[API Error: An unknown error occurred.]`:                     "MODEL_ERROR",
	} {
		r := readyRig(t)
		r.takes("go")
		r.says(`{"id":"4","type":"gemini","content":"begun","model":"m"}`,
			`{"id":"5","type":"error","content":"`+said+`"}`, `{"id":"6","type":"info","content":"This request failed."}`)
		r.ends()
		login := ""
		if want == "LOGIN_REQUIRED" {
			login = " login[" + strings.ReplaceAll(said, `\"`, `"`) + "]"
		}
		r.want("took[go] session[s-0] text[begun] turn_end(" + want + ")" + login)
	}
}

// asksFor brings the rig to the dialog of a tool.
func (r *rig) asksFor(tool string, input map[string]any) {
	r.t.Helper()
	r.takes("go")
	r.want("took[go] session[s-0]")
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
	r.want("tool blocked[run_shell_command: rm x]")
	steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceAllow})
	if err != nil || len(steps) > 0 || r.Keystrokes() != "" {
		t.Fatalf("%v; typed %q before the dialog stands", err, drivertest.Keystrokes(steps))
	}
	r.Screen = nil // the dialog took the place of the composer
	r.title(asks)
	if keys := r.Keystrokes(); keys != "1" {
		t.Errorf("typed %q", keys)
	}
	r.title(busy)
	r.hook("AfterTool", map[string]any{"tool_name": "run_shell_command"})
	r.want("unblocked[allow] tool_done")
}

// A gemini that is slow takes the keys when they were typed again already: the answer is that which was given.
func TestApprovalTakenLate(t *testing.T) {
	r := readyRig(t)
	r.asksFor("run_shell_command", map[string]any{"command": "rm x"})
	r.title(asks)
	r.want("tool blocked[run_shell_command: rm x]")
	steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceAllow})
	if err != nil || drivertest.Keystrokes(steps) != "1" {
		t.Fatalf("%v; typed %q", err, drivertest.Keystrokes(steps))
	}
	r.Screen = nil // the dialog took the place of the composer
	r.Pass(2 * time.Second)
	if keys := r.Keystrokes(); keys != "1" {
		t.Errorf("typed again %q", keys)
	}
	r.title(busy)
	r.want("unblocked[allow]")
}

// cancels ends a turn as gemini does when an approval is refused: it writes the conversation again.
func (r *rig) cancels() {
	r.says(`{"id":"7","type":"info","content":"Request cancelled."}`,
		`{"id":"8","type":"user","content":[{"text":"<session_context>\nThis is the Gemini CLI."}]}`,
		`{"id":"9","type":"gemini","content":[{"text":"an earlier answer"}],"tokens":null}`)
	r.title(idle)
	r.Pass(200 * time.Millisecond)
}

func TestDenialByKey(t *testing.T) {
	r := readyRig(t)
	r.asksFor("run_shell_command", map[string]any{"command": "rm x"})
	r.title(asks)
	r.want("tool blocked[run_shell_command: rm x]")
	r.cancels()
	r.want("unblocked[deny] turn_end!")
}

func TestDenial(t *testing.T) {
	r := readyRig(t)
	r.asksFor("run_shell_command", map[string]any{"command": "rm x"})
	r.title(asks)
	r.want("tool blocked[run_shell_command: rm x]")
	steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceDeny})
	if err != nil || drivertest.Keystrokes(steps) != "\x1b" {
		t.Fatalf("%v; typed %q", err, drivertest.Keystrokes(steps))
	}
	r.cancels()
	r.want("unblocked[deny] turn_end(refused)")
}

// A gemini that is taken over between a refusal with a reason and its taking goes on: the reason is entered again, and the turn
// ends in the end if that is lost.
func TestDenialWithReasonTakenOver(t *testing.T) {
	r := readyRig(t)
	r.asksFor("run_shell_command", map[string]any{"command": "rm x"})
	r.title(asks)
	if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceDeny, Text: "not now"}); err != nil {
		t.Fatal(err)
	}
	r.cancels()
	r.want("tool blocked[run_shell_command: rm x] unblocked[deny]")
	back := newRig(t)
	back.files, back.Screen = r.files, ready
	back.Pass(time.Second)
	back.driver.Load(r.driver.Save())
	back.Pass(5 * time.Second)
	if keys := back.Keystrokes(); keys == "" {
		t.Error("nothing is typed")
	}
	back.want("")
	back.Pass(time.Minute)
	back.want("turn_end(refused)")
}

// A title that says that gemini works is not the begin of the message's turn: its hook tells whose it is. Without any hook it
// is a turn all the same.
func TestTitleBeforeTheHook(t *testing.T) {
	for name, tell := range map[string]func(r *rig){
		"Hooked":  func(r *rig) { r.hook("BeforeAgent", map[string]any{"prompt": "a person's"}) },
		"Working": func(r *rig) { r.Pass(time.Minute) },
		"Over":    func(r *rig) { r.title(idle) },
	} {
		t.Run(name, func(t *testing.T) {
			r := readyRig(t)
			r.driver.Submit("mine")
			r.title(busy)
			r.Pass(time.Second)
			r.want("")
			if !r.announced() {
				t.Error("the turn that the title shows is not announced")
			}
			tell(r)
			r.Pass(100 * time.Millisecond)
			if r.announced() {
				t.Error("a turn that began is announced still")
			}
			want := "busy"
			if name == "Hooked" {
				want = "took[a person's] session[s-0]"
			}
			r.want(want)
		})
	}
}

// With a reason the turn goes on, and the answer to that is its text.
func TestDenialWithReason(t *testing.T) {
	r := readyRig(t)
	r.asksFor("run_shell_command", map[string]any{"command": "rm x"})
	r.title(asks)
	if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceDeny, Text: "not now"}); err != nil {
		t.Fatal(err)
	}
	r.want("tool blocked[run_shell_command: rm x]")
	r.cancels()
	r.want("unblocked[deny]")
	if keys := r.Keystrokes(); !strings.Contains(keys, "not now") {
		t.Fatalf("typed %q", keys)
	}
	r.hook("BeforeAgent", map[string]any{"prompt": "not now"})
	r.Pass(time.Minute) // the title is drawn late, and what was cancelled is of before
	r.want("")
	r.title(busy)
	r.says(`{"id":"10","type":"user","content":[{"text":"not now"}]}`, `{"id":"11","type":"gemini","content":"as you like","model":"m"}`)
	r.ends()
	r.want("text[as you like] turn_end[as you like](refused)")
}

// loop is a dialog of which only the screen tells.
var loop = []string{
	"╭──────────────────────────────────╮",
	"│ ?  A potential loop was detected │",
	"│ ● 1. Keep loop detection enabled │",
	"│   2. Disable loop detection      │",
	"╰──────────────────────────────────╯",
}

func TestDialogAtTheEnd(t *testing.T) {
	r := readyRig(t)
	r.takes("go")
	r.Screen = loop
	r.ends()
	r.want("took[go] session[s-0]")
	r.Pass(time.Second)
	const prompt = "blocked[?  A potential loop was detected]"
	r.want(prompt)
	p := r.Prompt()
	if p.Kind != runtime.PromptQuestion || len(p.Options) != 2 || p.Options[1].Label != "Disable loop detection" {
		t.Errorf("prompt %+v", p)
	}
	steps, err := r.driver.Answer(p, runtime.Answer{Choice: "2"})
	if keys := drivertest.Keystrokes(steps); err != nil || keys != "2" {
		t.Errorf("%v, typed %q", err, keys)
	}
	// A second answer, before gemini drew again, would be typed into the composer.
	if again, err := r.driver.Answer(p, runtime.Answer{Choice: "2"}); runtime.ErrorCode(err) != runtime.CodeNoPrompt {
		t.Errorf("a second answer typed %q, %v", drivertest.Keystrokes(again), err)
	}
	r.Screen = ready
	r.driver.Screen(r.Screen, 0, 0)
	r.want("unblocked[2]")
	r.Pass(3 * time.Second) // it tries again, and the turn goes on
	r.hook("BeforeAgent", map[string]any{"prompt": "go"})
	r.title(busy)
	r.says(`{"id":"5","type":"gemini","content":"aaa","model":"m"}`)
	r.ends()
	r.want("text[aaa] turn_end[aaa]")
}

func TestDialogHaltsTheTurn(t *testing.T) {
	r := readyRig(t)
	r.takes("go")
	r.Screen = loop
	r.ends()
	r.Pass(time.Second)
	if _, err := r.driver.Answer(r.Prompt(), runtime.Answer{Text: "keep loop detection enabled"}); err != nil {
		t.Error(err)
	}
	r.Screen = ready
	r.says(`{"id":"5","type":"info","content":"A potential loop was detected. The request has been halted."}`)
	r.driver.Screen(r.Screen, 0, 0)
	r.Pass(100 * time.Millisecond)
	r.want("took[go] session[s-0] blocked[?  A potential loop was detected] unblocked[1] turn_end(MODEL_ERROR)")
}

// A dialog may come while the title says that gemini works, or while it waits.
func TestDialogAtAnyTime(t *testing.T) {
	r := readyRig(t)
	r.Screen = loop
	r.driver.Screen(r.Screen, 0, 0)
	r.Pass(time.Second)
	r.want("blocked[?  A potential loop was detected]")
	r.Screen = ready
	r.driver.Screen(r.Screen, 0, 0)
	r.want("unblocked")
	r.takes("go")
	r.Screen = loop
	r.driver.Screen(r.Screen, 0, 0)
	r.Pass(700 * time.Millisecond)
	r.want("took[go] session[s-0]")
	r.Pass(time.Second)
	r.want("blocked[?  A potential loop was detected]")
}

func TestQuestion(t *testing.T) {
	r := readyRig(t)
	r.asksFor("ask_user", map[string]any{"questions": []any{
		map[string]any{"question": "Which?", "options": []any{map[string]any{"label": "red"}, map[string]any{"label": "blue"}}},
	}})
	r.title(asks)
	r.want("blocked[Which?]")
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
		h.Pass(time.Second)
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
	r.Screen = ready
	r.driver.Screen(ready, 0, 0)
	r.Pass(time.Second)
	r.want("idle")
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
	// It seemed to be: what has no choices is no dialog for a while.
	h.Screen = []string{"four", "five"}
	d.Screen(h.Screen, 0, 0)
	h.Pass(5 * time.Second)
	h.Screen = []string{"six", " >   Type your message or @path/to/file"}
	d.Screen(h.Screen, 0, 0)
	h.Pass(5 * time.Second)
	if got := h.Kinds(); got != "" {
		t.Errorf("the rest was drawn, and it says %q", got)
	}
	h.Screen = []string{"Something went wrong, press a key"}
	d.Screen(h.Screen, 0, 0)
	h.Pass(20 * time.Second)
	if got := h.Kinds(); !strings.HasPrefix(got, "blocked[Something went wrong") {
		t.Errorf("something stands there for long, and it says %q", got)
	}
}
