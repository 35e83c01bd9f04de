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
	onRead func(name string) // nil: nothing
}

func newRig(t *testing.T, hook ...string) *rig {
	r := &rig{t: t, FakeHost: &drivertest.FakeHost{}, files: map[string]string{}}
	r.driver = codex.New().NewDriver(agentcli.Plan{}, agentcli.Room{Hook: hook, ReadFile: func(name string) ([]byte, error) {
		if r.onRead != nil {
			r.onRead(name)
		}
		if text, ok := r.files[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}}, r.FakeHost)
	return r
}

func readyRig(t *testing.T, hook ...string) *rig {
	r := newRig(t, hook...)
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

// busy begins a turn of which no hook tells.
func (r *rig) busy() {
	r.t.Helper()
	r.state("working")
	r.Pass(3 * time.Second)
	r.want("busy")
}

// asks has codex ask for an approval of which no hook tells, and which does not come on the screen.
func (r *rig) asks() {
	r.state("blocked:kind=permission")
	r.Pass(4 * time.Second)
	r.note()
	r.title("[ . ] Action Required")
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
	r.want("session[s-1] took[hello]") // a message would still steer
	r.state("done")
	r.want("turn_end[hi]") // there is no transcript to look into
	r.state("idle")        // on the first key
	r.Pass(time.Second)
	r.want("")
}

func TestInterrupt(t *testing.T) {
	r := readyRig(t)
	r.busy()
	r.state("idle")
	r.Pass(100 * time.Millisecond)
	r.want("turn_end!")
}

func TestApproval(t *testing.T) {
	r := readyRig(t)
	r.busy()
	r.hook("PreToolUse", shell("rm x"))
	r.hook("PermissionRequest", shell("rm x"))
	r.want("tool") // another hook might still decide
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
	r.hook("Stop", map[string]any{"last_assistant_message": "did it"})
	r.state("done")
	r.want("unblocked[allow] tool_done turn_end[did it]")
}

func TestAnswerAtOnce(t *testing.T) {
	r := readyRig(t)
	r.busy()
	r.asks()
	r.want("blocked[The agent asks for an approval: see its terminal.]")
	steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceDeny})
	if keys := drivertest.Keystrokes(steps); err != nil || keys != "\x1b" {
		t.Errorf("%v, typed %q", err, keys)
	}
	r.state("working")
	r.state("idle")
	r.Pass(100 * time.Millisecond)
	r.want("unblocked[deny] turn_end!(refused)")
}

// A refusal ends codex's turn and not the caller's: the reason follows, and its answer is that of the turn.
func TestRefusalWithReason(t *testing.T) {
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"turn_id": "t1", "prompt": "do it"})
	r.state("working")
	r.asks()
	steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceDeny, Text: "no: why?"})
	if keys := drivertest.Keystrokes(steps); err != nil || keys != "\x1b" {
		t.Fatalf("%v, typed %q", err, keys)
	}
	r.state("working")
	r.state("idle")
	r.Pass(100 * time.Millisecond)
	if keys := r.Keystrokes(); !strings.Contains(keys, "no: why?") || !strings.HasSuffix(keys, "\r") {
		t.Fatalf("typed %q", keys)
	}
	r.state("idle") // on the first key
	r.Pass(time.Second)
	r.want("took[do it] blocked[The agent asks for an approval: see its terminal.] unblocked[deny]")
	r.state("working")
	r.hook("UserPromptSubmit", map[string]any{"turn_id": "t2", "prompt": "no: why?"})
	r.hook("Stop", map[string]any{"turn_id": "t2", "last_assistant_message": "because"})
	r.state("done")
	r.want("took[no: why?] turn_end[because](refused)")
}

// A reason that codex never takes does not keep the turn open.
func TestRefusalWithReasonLost(t *testing.T) {
	r := readyRig(t)
	r.busy()
	r.asks()
	if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceDeny, Text: "no"}); err != nil {
		t.Fatal(err)
	}
	r.state("idle")
	r.Pass(100 * time.Millisecond)
	r.Keystrokes()
	r.Pass(5 * time.Second)
	if keys := r.Keystrokes(); keys != "\r" {
		t.Errorf("typed %q", keys)
	}
	r.Pass(5 * time.Second)
	r.want("blocked[The agent asks for an approval: see its terminal.] unblocked[deny] turn_end!(refused)")
}

// What came with a message is not for the model: the prompt is refused, and the message typed once more.
func TestMixedPromptIsRefused(t *testing.T) {
	r := readyRig(t, "/hook")
	r.driver.Submit("the message")
	r.state("working")
	c := drivertest.Call(t, "UserPromptSubmit", map[string]any{"turn_id": "t1", "prompt": "a draft the message"})
	r.driver.Hook(c.Call)
	if !strings.Contains(c.Answer, `"block"`) {
		t.Fatalf("answered %q", c.Answer)
	}
	r.state("working") // read late
	r.Pass(time.Second)
	r.state("done")
	if keys := drivertest.Keystrokes(r.driver.Confirm()); !strings.HasPrefix(keys, "\x05\x15") || !strings.Contains(keys, "~the message \x1b[201~\r") {
		t.Errorf("typed %q", keys)
	}
	r.want("")
	r.state("working")
	r.hook("UserPromptSubmit", map[string]any{"turn_id": "t2", "prompt": "the message"})
	r.hook("Stop", map[string]any{"turn_id": "t2", "last_assistant_message": "yes"})
	r.state("done")
	r.want("took[the message] turn_end[yes]")

	r.driver.Submit("one")
	r.Pass(time.Minute) // it was given up, and somebody makes something of what lies in the line
	r.hook("UserPromptSubmit", map[string]any{"turn_id": "t3", "prompt": "one more"})
	r.want("took[one more]")
}

// Of whom the turn is that codex begins while a message is on its way only its hook tells: somebody at the terminal may have
// been first, and Enter is not pressed into a turn.
func TestTurnOfSomebodyElse(t *testing.T) {
	r := readyRig(t, "/hook")
	r.driver.Submit("the message")
	r.state("working")
	r.Pass(2 * time.Second)
	r.want("")
	if keys := drivertest.Keystrokes(r.driver.Confirm()); keys != "" {
		t.Errorf("typed %q", keys)
	}
	r.hook("UserPromptSubmit", map[string]any{"turn_id": "t1", "prompt": "mine"})
	r.hook("Stop", map[string]any{"turn_id": "t1", "last_assistant_message": "yours"})
	r.state("done")
	r.want("took[mine] turn_end[yours]")
	if keys := drivertest.Keystrokes(r.driver.Confirm()); keys != "\r" {
		t.Errorf("typed %q", keys)
	}
	r.state("working")
	r.Pass(10 * time.Second) // without its hook
	r.want("busy")
}

// A turn whose end codex said while nobody read its terminal ends by its transcript, with its own answer.
func TestEndIsNotHeard(t *testing.T) {
	r := readyRig(t)
	r.taken("2")
	r.files["/t.jsonl"] = turn("1", said("not this")+doneEntry+"\n") + turn("2", said("this")+doneEntry+"\n")
	r.Screen = []string{"• Working (1s • esc to interrupt)"}
	r.Pass(time.Minute)
	r.want("text[this]")
	r.Screen = []string{"› Ask Codex to do anything"}
	r.Pass(2 * time.Second)
	r.want("")
	r.Pass(3 * time.Second)
	r.want("turn_end[the answer]")
}

func TestQuestion(t *testing.T) {
	r := readyRig(t)
	r.busy()
	r.hook("PreToolUse", map[string]any{"tool_name": "request_user_input", "tool_input": map[string]any{"questions": []any{
		map[string]any{"question": "Which?", "options": []any{map[string]any{"label": "red"}, map[string]any{"label": "blue"}}},
	}}})
	r.helperAsks("one") // whose dialog comes later
	r.state("blocked:kind=question")
	r.title("[ . ] Action Required")
	r.want("blocked[Which?]")
	if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: "green"}); runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
		t.Errorf("a wrong choice: %v", err)
	}
	steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: "2"})
	if keys := drivertest.Keystrokes(steps); err != nil || keys != "2" {
		t.Errorf("%v, typed %q", err, keys)
	}
	r.state("working")
	r.state("blocked:kind=permission")
	r.note()
	r.want("unblocked[2] blocked[Bash: one]")
}

// turn is a turn of a transcript.
func turn(id, entries string) string {
	return `{"type":"event_msg","payload":{"type":"task_started","turn_id":"` + id + `","root_turn_id":"` + id + `"}}` + "\n" +
		strings.ReplaceAll(entries, "$", id)
}

const (
	saidEntry = `{"type":"event_msg","payload":{"type":"item_completed","turn_id":"$",` +
		`"item":{"type":"AgentMessage","content":[{"text":"%s"}]}}}`
	doneEntry  = `{"type":"event_msg","payload":{"type":"task_complete","turn_id":"$","last_agent_message":"the answer"}}`
	abortEntry = `{"type":"event_msg","payload":{"type":"turn_aborted","turn_id":"$","reason":"interrupted"}}`
	usedEntry  = `{"type":"token_usage_record","payload":{"turn_id":"$","turn_token_usage":{"input_tokens":100,` +
		`"cached_input_tokens":60,"cache_write_input_tokens":10,"output_tokens":7}}}`
	modelEntry = `{"type":"turn_context","payload":{"turn_id":"$","model":"gpt-x"}}`
)

func said(text string) string { return strings.ReplaceAll(saidEntry, "%s", text) + "\n" }

func failedEntry(message, info string) string {
	return `{"type":"event_msg","payload":{"type":"task_complete","turn_id":"$","last_agent_message":null,"error":{"message":"` +
		message + `","codex_error_info":` + info + `}}}` + "\n"
}

// taken begins a turn with a transcript.
func (r *rig) taken(id string) {
	r.t.Helper()
	r.state("working")
	r.hook("UserPromptSubmit", map[string]any{"session_id": "s", "transcript_path": "/t.jsonl", "turn_id": id, "prompt": "go"})
	r.Kinds()
}

func TestFailures(t *testing.T) {
	for _, tt := range []struct{ message, info, want string }{
		{"unexpected status 401 Unauthorized", `{"http_connection_failed":{"http_status_code":401}}`, "LOGIN_REQUIRED"},
		{"exceeded retry limit", `{"response_too_many_failed_attempts":{"http_status_code":429}}`, "MODEL_RATE_LIMITED"},
		{"high demand", `"internal_server_error"`, "MODEL_UNAVAILABLE"},
		{"unexpected status 404 Not Found", `"other"`, "MODEL_ERROR"},
		{"unexpected status 503 Away", `{"a name of a later version":{}}`, "MODEL_UNAVAILABLE"},
		{"stream disconnected before completion", `"other"`, "MODEL_CUT"},
		{"Missing environment variable: `X`", `null`, "LOGIN_REQUIRED"},
		{"too long", `"context_window_exceeded"`, "MODEL_ERROR"},
		{"you are out of it", `"usage_limit_exceeded"`, "MODEL_RATE_LIMITED"},
		{"rate limit exceeded: try again in 100ms", `"rate_limit_exceeded"`, "MODEL_RATE_LIMITED"},
	} {
		t.Run(tt.message, func(t *testing.T) {
			r := readyRig(t)
			r.taken("2")
			r.files["/t.jsonl"] = turn("1", doneEntry+"\n") + turn("2", said("so far")+failedEntry(tt.message, tt.info)) + "not whole"
			r.state("error")
			r.Pass(0)
			want := "text[so far] turn_end(" + tt.want + ")"
			if tt.want == "LOGIN_REQUIRED" {
				want += " login[" + tt.message + "]"
			}
			r.want(want)
		})
	}
}

// An agent that codex's own one started has a transcript and turns of its own: no turn is answered by it, or ends with it, and none
// begins with what it does behind the end of a turn.
func TestHelper(t *testing.T) {
	r := readyRig(t)
	r.taken("1")
	helper := map[string]any{"session_id": "s", "transcript_path": "/helper.jsonl", "turn_id": "h", "agent_id": "a", "agent_type": "default", "tool_name": "Bash"}
	r.files["/t.jsonl"] = turn("1", said("I have it done."))
	r.files["/helper.jsonl"] = turn("h", said("on it")+strings.ReplaceAll(doneEntry, "the answer", "of the helper")+"\n")
	r.hook("PreToolUse", helper)
	r.hook("PostToolUse", helper)
	for range 40 {
		r.Pass(250 * time.Millisecond)
	}
	r.want("tool tool_done text[I have it done.]")
	r.files["/t.jsonl"] += turn("1", said("the answer")+usedEntry+"\n"+doneEntry+"\n")
	r.hook("Stop", map[string]any{"session_id": "s", "transcript_path": "/t.jsonl", "turn_id": "1", "last_assistant_message": "the answer"})
	r.state("done")
	r.Pass(time.Second)
	if n := len(r.Signals); n == 0 || r.Signals[n-1].Usage == nil || r.Signals[n-1].Usage.Requests != 1 {
		t.Errorf("the usage is not that of the turn: %+v", r.Signals)
	}
	r.want("text[the answer] turn_end[the answer]")
	r.hook("PreToolUse", helper)
	r.hook("PostToolUse", helper)
	r.Pass(10 * time.Second)
	r.want("")
}

// The transcript may be behind what the terminal tells, and a turn is never answered by another one.
func TestLateTranscript(t *testing.T) {
	r := readyRig(t)
	old := turn("1", strings.ReplaceAll(doneEntry, "the answer", "of the turn before")+"\n")
	r.files["/t.jsonl"] = old
	r.taken("2")
	r.state("done")
	for range 3 {
		r.Pass(100 * time.Millisecond)
	}
	r.want("")
	r.files["/t.jsonl"] = old + turn("2", modelEntry+"\n"+said("the answer")+usedEntry+"\n"+usedEntry+"\n"+doneEntry+"\n")
	r.Pass(100 * time.Millisecond)
	r.Pass(100 * time.Millisecond)
	used := r.Signals[len(r.Signals)-1].Usage
	r.want("text[the answer] turn_end[the answer]")
	if used == nil || used.Model != "gpt-x" || used.InputTokens != 30 || used.CacheReadTokens != 60 || used.CacheWriteTokens != 10 ||
		used.OutputTokens != 7 || used.Requests != 2 {
		t.Errorf("usage %+v", used)
	}
}

// Without hooks the transcript tells; without both nobody knows.
func TestNoHooks(t *testing.T) {
	r := readyRig(t)
	r.busy()
	r.state("done")
	r.want("turn_end(TURN_UNKNOWN)")

	r.taken("1")
	r.hook("Stop", map[string]any{"turn_id": "1", "last_assistant_message": "the answer"})
	r.files["/t.jsonl"] = turn("1", said("the answer")+doneEntry+"\n")
	r.state("done")
	r.Pass(0)
	r.want("text[the answer] turn_end[the answer]")

	r.state("working")
	r.Pass(300 * time.Millisecond)
	r.files["/t.jsonl"] += turn("2", said("step one"))
	r.Pass(300 * time.Millisecond)
	r.Pass(300 * time.Millisecond)
	r.want("busy text[step one]")
	r.files["/t.jsonl"] += strings.ReplaceAll(said("step two")+said("step three")+doneEntry+"\n", "$", "2")
	r.state("done")
	r.Pass(0)
	r.Pass(0)
	r.want("text[step two] text[step three] turn_end[the answer]")

	r.state("working")
	r.Pass(300 * time.Millisecond)
	r.state("done") // and the transcript never tells
	for range 60 {
		r.Pass(100 * time.Millisecond)
	}
	r.want("busy turn_end(TURN_UNKNOWN)")
}

// What codex does for a moment as it starts is no turn: a message that is being typed was not taken by it.
func TestBusyAtStart(t *testing.T) {
	r := readyRig(t)
	r.state("working")
	r.Pass(time.Second)
	r.state("idle")
	r.Pass(5 * time.Second)
	r.want("")
}

// Codex waits for a network for ever; somebody else has to end that.
func TestNoNetwork(t *testing.T) {
	r := readyRig(t)
	r.taken("1")
	r.files["/t.jsonl"] = turn("1", "")
	r.Screen = []string{"• Reconnecting... waiting for network (1m 00s • esc to interrupt)", "  └ Connection failed: error sending request"}
	r.Pass(119 * time.Second)
	if keys := r.Keystrokes(); keys != "" {
		t.Fatalf("typed %q", keys)
	}
	r.Pass(2 * time.Second)
	if keys := r.Keystrokes(); keys != "\x1b" {
		t.Fatalf("typed %q", keys)
	}
	r.files["/t.jsonl"] += strings.ReplaceAll(abortEntry+"\n", "$", "1")
	r.state("idle")
	r.Pass(100 * time.Millisecond)
	r.Pass(100 * time.Millisecond)
	why := r.Signals[len(r.Signals)-1].Error
	r.want("turn_end(MODEL_UNAVAILABLE)")
	if why == nil || !strings.Contains(why.Message, "error sending request") || !why.Retryable {
		t.Errorf("error %+v", why)
	}
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
	r.Screen = []string{"> 1. Sign in with ChatGPT"}
	r.Pass(3 * time.Second) // it was dropped
	if keys := r.Keystrokes(); keys != "\r" {
		t.Errorf("typed %q after a choice that was dropped", keys)
	}
	r.Screen = nil
	for range 2 {
		r.driver.OSC(8, []byte(";https://auth.openai.com/oauth/authorize?a=b;c"))
		r.driver.OSC(8, []byte(";"))
	}
	r.want("login login[https://auth.openai.com/oauth/authorize?a=b;c]")
	r.Pass(10 * time.Second)
	if keys := r.Keystrokes(); keys != "" {
		t.Errorf("typed %q at the address", keys)
	}
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
	back.hook("Stop", map[string]any{"last_assistant_message": "did it"})
	back.state("done")
	back.want("unblocked[allow] turn_end[did it]")
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

const history = "› hello\n\n• ANSWER[hello]\n\n  Worked for <1s\n\n"

// What stands where the composer would is a dialog, once it stays.
func TestDialog(t *testing.T) {
	r := readyRig(t)
	const picker = history + "  Select Model\n\n› 1. one\n  2. two\n\n  Press enter to confirm or esc to go back\n"
	for _, composer := range []string{
		history + "› Ask Codex to do anything\n\n  GPT · /work\n  ? for shortcuts\n",
		history + "› 1. a draft\n\n  GPT · /work\n  ? for shortcuts\n",
		history + "! ls\n\n  GPT · /work\n  esc exit shell mode\n",
		"",
	} {
		r.show(composer)
		r.Pass(time.Minute)
		r.want("")
	}
	r.show(picker)
	r.Pass(100 * time.Millisecond)
	r.show(history + "› Ask Codex to do anything\n\n  GPT · /work\n")
	r.Pass(time.Minute)
	r.want("") // it was a moment

	r.show(picker)
	r.Pass(600 * time.Millisecond)
	r.note()
	r.want("blocked[Worked for <1s\nSelect Model\nPress enter to confirm or esc to go back]")
	if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: "3"}); runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
		t.Errorf("a wrong choice: %v", err)
	}
	steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: "two"})
	if keys := drivertest.Keystrokes(steps); err != nil || keys != "2" {
		t.Errorf("%v, typed %q", err, keys)
	}
	r.show(history + "› Ask Codex to do anything\n\n  GPT · /work\n")
	r.want("unblocked[2]")

	r.show("/ T R A N S C R I P T /\n" + history + "^space select\n q close · f3 find\n")
	r.Pass(time.Second)
	r.want("") // it may be drawing
	r.Pass(2 * time.Second)
	r.note()
	if got := r.Kinds(); !strings.HasPrefix(got, "blocked[") || len(r.shown.Options) > 0 {
		t.Errorf("signals are %s", got)
	}
}

// A message does not answer a dialog that was drawn just now; it is typed when that is gone.
func TestMessageBehindDialog(t *testing.T) {
	const composer = history + "› Ask Codex to do anything\n\n  GPT · /work\n"
	const nudge = history + "  Switch?\n\n› 1. Switch\n  2. Keep\n\n  enter select · esc back\n"
	r := readyRig(t)
	r.show(composer)
	early := r.driver.Submit("hello") // the dialog comes while it is typed
	r.show(nudge)
	for _, steps := range [][]agentcli.Step{early, r.driver.Confirm(), r.driver.Submit("hello"), r.driver.Confirm()} {
		if keys := drivertest.Keystrokes(steps, r.Screen...); strings.Contains(keys, "\r") {
			t.Errorf("typed %q", keys)
		}
	}
	r.Pass(time.Second)
	r.show(composer)
	if keys := drivertest.Keystrokes(r.driver.Confirm(), r.Screen...); !strings.Contains(keys, "hello") || !strings.HasSuffix(keys, "\r") {
		t.Errorf("typed %q", keys)
	}
}

// A dialog may stand where codex starts; it is not ready then.
func TestDialogAtStart(t *testing.T) {
	r := newRig(t)
	r.Screen = []string{"  A new model!", "", "› 1. Try it", "  2. Keep the old one", "", "  Press enter to continue"}
	r.driver.Screen(r.Screen, 0, 0)
	r.state("idle")
	for range 20 {
		r.Pass(time.Second)
	}
	r.want("blocked[A new model!\nPress enter to continue]")
	r.Screen = []string{"› Ask Codex to do anything", "", "  GPT · /work"}
	r.driver.Screen(r.Screen, 0, 0)
	r.Pass(time.Second)
	r.want("unblocked idle")
}

// A new process of the runtime goes on where the old one was: within the end of a turn, too.
func TestSavedAtTheEnd(t *testing.T) {
	for _, tt := range []struct {
		name  string
		until func(r *rig)
		after func(r *rig)
		want  string
	}{
		{"Done", func(r *rig) {
			r.files["/t.jsonl"] = turn("1", "")
			r.state("done")
			r.Pass(100 * time.Millisecond)
		}, func(r *rig) {
			r.files["/t.jsonl"] += strings.ReplaceAll(doneEntry+"\n", "$", "1")
			r.Pass(100 * time.Millisecond)
		}, "turn_end[the answer]"},
		{"Idle", func(r *rig) {
			r.files["/t.jsonl"] = turn("1", abortEntry+"\n")
			r.state("idle")
		}, func(r *rig) { r.Pass(100 * time.Millisecond) }, "turn_end!"},
		{"Reason", func(r *rig) {
			r.files["/t.jsonl"] = turn("1", abortEntry+"\n")
			r.asks()
			if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceDeny, Text: "no"}); err != nil {
				t.Fatal(err)
			}
			r.state("idle")
			r.Pass(100 * time.Millisecond)
		}, func(r *rig) {
			r.state("working")
			r.hook("UserPromptSubmit", map[string]any{"turn_id": "2", "prompt": "no"})
			r.files["/t.jsonl"] += turn("2", doneEntry+"\n")
			r.state("done")
			r.Pass(100 * time.Millisecond)
		}, "took[no] turn_end[the answer](refused)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := readyRig(t)
			r.taken("1")
			tt.until(r)
			back := newRig(t)
			back.files = r.files
			back.driver.Load(r.driver.Save())
			tt.after(back)
			back.want(tt.want)
		})
	}
}
