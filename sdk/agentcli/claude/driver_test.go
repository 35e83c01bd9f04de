package claude_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/claude"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

const (
	idle = "✳ Claude Code"
	busy = "⠂ Claude Code"
)

// rig is a driver with a host that records.
type rig struct {
	t *testing.T
	*drivertest.FakeHost
	driver agentcli.Driver
	shown  *runtime.Prompt
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, FakeHost: &drivertest.FakeHost{}}
	r.driver = claude.New().NewDriver(agentcli.Plan{}, agentcli.Room{}, r.FakeHost)
	return r
}

// readyRig is one whose claude is ready.
func readyRig(t *testing.T) *rig {
	r := newRig(t)
	r.Screen = []string{"────────", "❯ ", "────────", "  ? for shortcuts"}
	r.title(idle)
	r.hook("SessionStart", map[string]any{"session_id": "s-1"})
	r.Pass(time.Second)
	r.want("session[s-1] idle")
	return r
}

func (r *rig) title(s string) { r.driver.OSC(0, []byte(s)) }

func (r *rig) hook(name string, payload map[string]any) *drivertest.FakeCall {
	r.t.Helper()
	c := drivertest.Call(r.t, name, payload)
	r.driver.Hook(c.Call)
	for _, s := range r.Signals {
		if s.Kind == agentcli.SignalBlocked {
			r.shown = s.Prompt
		}
	}
	if name != "PermissionRequest" && !c.Answered {
		r.t.Errorf("the hook %s is not answered at once", name)
	}
	return c
}

func (r *rig) want(kinds string) {
	r.t.Helper()
	if got := r.Kinds(); got != kinds {
		r.t.Errorf("signals are\n %s, want\n %s", got, kinds)
	}
}

func bash(command string) map[string]any {
	return map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": command}, "tool_use_id": "id " + command}
}

// A claude that is taken over while it starts gets ready: what it told before is remembered, and of its SessionStart, which
// may have been lost in between, it is independent in the end.
func TestTakenOverWhileItStarts(t *testing.T) {
	for name, hooked := range map[string]bool{"Hooked": true, "Lost": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.title(idle)
			if hooked {
				r.hook("SessionStart", map[string]any{"session_id": "s-1"})
				r.want("session[s-1]")
			}
			back := newRig(t)
			back.driver.Load(r.driver.Save())
			back.Pass(time.Minute / 2)
			back.want("idle") // without a composer that is recognised
			back = newRig(t)
			back.Screen = []string{"────────", "❯ ", "────────", "  ? for shortcuts"}
			back.driver.Load(r.driver.Save())
			back.Pass(time.Second)
			want := "idle"
			if !hooked {
				want = ""
			}
			back.want(want)
		})
	}
}

func TestTurn(t *testing.T) {
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "hello"})
	r.title(busy)
	r.hook("Stop", map[string]any{"last_assistant_message": "hi"})
	r.title("⠐ A title at last") // the spinner's last breath
	r.title(idle)
	r.Pass(time.Second)
	r.want("took[hello] text[hi] turn_end[hi]")
}

// The title of a turn that ended comes late: the next message was taken meanwhile, and its turn goes on.
func TestLateTitle(t *testing.T) {
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "one"})
	r.title(busy)
	r.hook("Stop", map[string]any{"last_assistant_message": "first"})
	r.hook("UserPromptSubmit", map[string]any{"prompt": "two"})
	r.title(busy)
	r.title(idle)
	r.Pass(500 * time.Millisecond)
	r.title(busy)
	r.Pass(5 * time.Second)
	r.want("took[one] text[first] turn_end[first] took[two]")
	// What ends it without a hook is seen nevertheless.
	r.title(idle)
	r.Pass(5 * time.Second)
	r.want("turn_end!")

	// The spinner of the second turn may take its time: the title of the first one ends nothing.
	r.hook("UserPromptSubmit", map[string]any{"prompt": "one"})
	r.title(busy)
	r.hook("Stop", map[string]any{})
	r.hook("UserPromptSubmit", map[string]any{"prompt": "two"})
	r.title(idle)
	r.Pass(15 * time.Second)
	r.want("took[one] turn_end(TURN_UNKNOWN) took[two]")
	r.hook("Stop", map[string]any{"last_assistant_message": "second"})
	r.want("text[second] turn_end[second]")
}

// A turn that ended just before a crash of ours leaves the spinner in the title for a while. It is no turn.
func TestTakenOverAtTheEndOfATurn(t *testing.T) {
	for name, known := range map[string]bool{"Watched": true, "TakenOverInTheTurn": false} {
		t.Run(name, func(t *testing.T) {
			r := readyRig(t)
			r.hook("UserPromptSubmit", map[string]any{"prompt": "hello"})
			if known {
				r.title(busy)
			} else {
				taken := newRig(t)
				taken.driver.Load(r.driver.Save())
				r = taken
			}
			r.hook("Stop", map[string]any{"last_assistant_message": "hi"})
			back := newRig(t)
			back.driver.Load(r.driver.Save())
			back.title("⠐ Claude Code")
			back.title(idle)
			back.Pass(5 * time.Second)
			back.want("")
			back.title(busy) // something else began a turn
			back.want("busy")
		})
	}
}

// Without a transcript only the input line tells that claude was stopped.
func TestInterrupt(t *testing.T) {
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
	r.title(busy)
	r.title(idle)
	r.Pass(2 * time.Second)
	r.want("took[go]") // it may wait with something that is not drawn yet
	r.Pass(2 * time.Second)
	r.want("turn_end!")

	// A message that stands in the line again was not begun with.
	r.driver.Submit("go")
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
	r.title(busy)
	r.Screen[1] = "❯ go"
	r.title(idle)
	r.Pass(time.Second)
	r.want("took[go]")
	r.Pass(time.Second)
	r.want("turn_end!")

	// It may stand there still, and not again: the title flips before the line is drawn anew.
	r.driver.Submit("go there")
	r.Screen[1] = "❯ go there"
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go there"})
	r.title(busy)
	r.title(idle)
	r.Pass(time.Second)
	r.title(busy)
	r.Screen[1] = "❯ "
	r.hook("Stop", map[string]any{"last_assistant_message": "there"})
	r.title(idle)
	r.want("took[go there] text[there] turn_end[there]")

	// Until a hook tells of the turn, the line that it began with may not be drawn anew: claude is slow.
	r.driver.Submit("go on")
	r.Screen[1] = "❯ go on"
	r.title(busy)
	r.Pass(time.Second)
	r.title(idle)
	r.Pass(2 * time.Second)
	r.want("busy")
	r.title(busy)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go on"})
	r.hook("Stop", map[string]any{"last_assistant_message": "done"})
	r.want("took[go on] text[done] turn_end[done]")
}

// A tool was announced: whatever the title says, its dialog or its end is to come.
func TestToolKeepsTheTurnOpen(t *testing.T) {
	composer := []string{"────────", "❯ ", "────────", "  ? for shortcuts"}
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
	r.title(busy)
	r.hook("PreToolUse", bash("rm x"))
	r.Screen = []string{"────────", " Bash command", "   rm x", " Do you want to proceed?", " ❯ 1. Yes", "   2. No"}
	r.title(idle)
	r.Pass(9 * time.Second)
	r.want("took[go] tool")
	r.hook("PermissionRequest", bash("rm x"))
	r.want("blocked[Bash: rm x]")

	// The hook never comes: the dialog is told of as it is read.
	r = readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
	r.title(busy)
	r.Screen = []string{"────────", " Something new", " ❯ 1. Go on", "   2. Stop", " Esc to cancel"}
	r.title(idle)
	r.Pass(11 * time.Second)
	p := r.Signals[len(r.Signals)-1].Prompt
	r.want("took[go] blocked[Something new\nEsc to cancel]")
	if p == nil || p.Kind != runtime.PromptQuestion || len(p.Options) != 2 || p.Options[1] != (runtime.Option{ID: "2", Label: "Stop"}) {
		t.Fatalf("prompt %+v", p)
	}
	if _, err := r.driver.Answer(p, runtime.Answer{Choice: "allow"}); runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
		t.Errorf("a wrong choice: %v", err)
	}
	if steps, err := r.driver.Answer(p, runtime.Answer{Choice: "2"}); err != nil || drivertest.Keystrokes(steps) != "2" {
		t.Errorf("typed %q, %v", drivertest.Keystrokes(steps), err)
	}
	if steps, err := r.driver.Answer(p, runtime.Answer{Choice: "2"}); runtime.ErrorCode(err) != runtime.CodeNoPrompt {
		t.Errorf("a second answer typed %q, %v", drivertest.Keystrokes(steps), err)
	}
	r.Screen = composer
	r.Pass(10 * time.Second)
	r.want("unblocked turn_end!")
}

func TestApprovalOverAPI(t *testing.T) {
	for _, order := range []string{"title first", "title last"} {
		t.Run(order, func(t *testing.T) {
			r := readyRig(t)
			r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
			r.title(busy)
			r.hook("PreToolUse", bash("rm x"))
			if order == "title first" {
				r.title(idle)
			}
			call := r.hook("PermissionRequest", bash("rm x"))
			r.want("took[go] tool blocked[Bash: rm x]")
			if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: "maybe"}); runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
				t.Errorf("a wrong choice: %v", err)
			}
			if call.Answered {
				t.Fatal("a wrong choice answered the hook")
			}
			if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceAllow}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(call.Answer, `"behavior":"allow"`) {
				t.Errorf("the hook got %s", call.Answer)
			}
			if order == "title last" {
				r.title(idle)
			}
			r.Pass(300 * time.Millisecond)
			r.title(busy)
			r.hook("PostToolUse", bash("rm x"))
			r.hook("Stop", map[string]any{"last_assistant_message": "done"})
			r.want("unblocked[allow] tool_done text[done] turn_end[done]")
			if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceAllow}); runtime.ErrorCode(err) != runtime.CodeNoPrompt {
				t.Errorf("a second answer: %v", err)
			}
		})
	}
}

// People may take their time with an approval: its dialog, which stays on the screen for a moment when it is answered, is no
// other one.
func TestApprovalAfterALongTime(t *testing.T) {
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
	r.title(busy)
	r.hook("PreToolUse", bash("rm x"))
	r.title(idle)
	r.hook("PermissionRequest", bash("rm x"))
	r.Screen = []string{"  Do you want to proceed?", "  ❯ 1. Yes", "    2. No", "  Esc to cancel"}
	r.Pass(time.Minute)
	if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceAllow}); err != nil {
		t.Fatal(err)
	}
	r.Pass(2 * time.Second)
	r.want("took[go] tool blocked[Bash: rm x] unblocked[allow]")
}

func TestApprovalByKey(t *testing.T) {
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
	r.title(busy)
	r.hook("PreToolUse", bash("rm x"))
	call := r.hook("PermissionRequest", bash("rm x"))
	r.title("⠐ still the spinner")
	r.want("took[go] tool blocked[Bash: rm x]")
	r.title(idle)
	r.title(busy)
	r.want("unblocked")
	if !call.Answered || call.Answer != "" {
		t.Errorf("the forgotten hook got %q, answered %v", call.Answer, call.Answered)
	}

	// Escape is told by the end of the hook alone.
	r.hook("PreToolUse", bash("rm y"))
	call = r.hook("PermissionRequest", bash("rm y"))
	r.title(idle)
	r.want("tool blocked[Bash: rm y]")
	call.Leave()
	r.Pass(time.Second)
	r.want("unblocked[deny] turn_end!")
}

// What stands in the composer's place outside of a turn is in the way of a message.
func TestDialogOutsideOfATurn(t *testing.T) {
	composer := []string{"────────", "❯ ", "────────", "  ? for shortcuts"}
	menu := []string{"────────", " Select a model", " ❯ 1. Big", "   2. Small"}
	r := readyRig(t)
	for _, rows := range [][]string{composer, menu, menu} {
		r.Screen = rows
		if !r.driver.Screen(rows, 0, 0) {
			t.Fatal("the screen is not looked at any more")
		}
	}
	r.Pass(time.Second)
	r.want("")
	r.Pass(time.Second)
	r.want("blocked[Select a model]")
	r.Screen = composer
	r.Pass(time.Second)
	r.want("unblocked")
	// One that goes away by itself was none.
	r.Screen = menu
	r.driver.Screen(menu, 0, 0)
	r.Screen = composer
	r.Pass(10 * time.Second)
	r.want("")
}

// A hook that ends while its dialog stands was lost, and nobody refused: keys answer.
func TestLostRequest(t *testing.T) {
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
	r.title(busy)
	r.hook("PreToolUse", bash("rm x"))
	call := r.hook("PermissionRequest", bash("rm x"))
	r.Screen = []string{"────────", " Do you want to proceed?", " ❯ 1. Yes", "   2. No"}
	r.title(idle)
	call.Leave()
	r.Pass(10 * time.Second)
	r.want("took[go] tool blocked[Bash: rm x]")
	if steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceAllow}); err != nil || drivertest.Keystrokes(steps) != "1" {
		t.Errorf("typed %q, %v", drivertest.Keystrokes(steps), err)
	}
	r.title(busy)
	r.want("unblocked")
}

func TestSeveralRequests(t *testing.T) {
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
	r.title(busy)
	r.hook("PreToolUse", bash("a"))
	r.hook("PreToolUse", bash("b"))
	r.hook("PermissionRequest", bash("a"))
	r.hook("PermissionRequest", bash("b"))
	r.title(idle)
	r.want("took[go] tool tool blocked[Bash: a]")
	r.hook("PostToolUse", bash("a"))
	r.want("unblocked[allow] blocked[Bash: b] tool_done")
	if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceDeny}); err != nil {
		t.Fatal(err)
	}
	r.hook("Stop", map[string]any{})
	r.want("unblocked[deny] turn_end")
}

// What calls hooks by itself, or tells of the begin of tools and not of their end, does not fill the memory and the state.
func TestHooksWithoutEnd(t *testing.T) {
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
	text := strings.Repeat("x", 1<<20)
	for i := range 100 {
		r.hook("PreToolUse", map[string]any{"tool_name": "Write", "tool_input": map[string]any{"content": text[:64<<10]}, "tool_use_id": fmt.Sprint(i)})
	}
	if n := len(r.driver.Save()); n > 64<<10 {
		t.Errorf("with tools that run the state has %d bytes", n)
	}
	for _, test := range []struct{ calls, size, open int }{{100, 10, 64}, {10, 1 << 20, 7}} {
		r, open := readyRig(t), 0
		r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
		for i := range test.calls {
			call := r.hook("PermissionRequest", map[string]any{"tool_name": "Write", "tool_input": map[string]any{"i": i, "content": text[:test.size]}})
			if !call.Answered {
				open++
			} else if call.Answer != "" {
				t.Errorf("a request got the answer %q", call.Answer)
			}
		}
		if open != test.open {
			t.Errorf("%d requests of %d bytes are open, want %d", open, test.size, test.open)
		}
		back := newRig(t) // a later process counts those that are open
		back.driver.Load(r.driver.Save())
		if call := back.hook("PermissionRequest", map[string]any{"tool_name": "Edit", "tool_input": map[string]any{"content": text[:test.size]}}); !call.Answered {
			t.Errorf("one more request of %d bytes is open after a restart", test.size)
		}
	}
}

func TestQuestions(t *testing.T) {
	ask := map[string]any{"tool_name": "AskUserQuestion", "tool_input": map[string]any{"questions": []any{
		map[string]any{"question": "Colour?", "options": []any{map[string]any{"label": "red"}, map[string]any{"label": "blue"}}, "multiSelect": true},
		map[string]any{"question": "Size?", "options": []any{map[string]any{"label": "big"}}},
	}}}
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
	call := r.hook("PermissionRequest", ask)
	r.want("took[go] blocked[1. Colour? (red / blue)\n2. Size? (big)]")
	for _, wrong := range []runtime.Answer{{Choice: "1"}, {Text: "red"}, {Text: "red\n \nx"}, {}} {
		if _, err := r.driver.Answer(r.shown, wrong); runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	if _, err := r.driver.Answer(r.shown, runtime.Answer{Text: "1, blue\nrather small"}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		HookSpecificOutput struct {
			Decision struct {
				UpdatedInput struct {
					Questions []any
					Answers   map[string]string
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(call.Answer), &got); err != nil {
		t.Fatal(err)
	}
	in := got.HookSpecificOutput.Decision.UpdatedInput
	if len(in.Questions) != 2 || in.Answers["Colour?"] != "red, blue" || in.Answers["Size?"] != "rather small" {
		t.Errorf("the hook got %s", call.Answer)
	}
}

func TestStopNotUnderstood(t *testing.T) {
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
	r.hook("Stop", map[string]any{"last_assistant_message": []int{1}, "session_id": "s-1"})
	r.want("took[go] turn_end(TURN_UNKNOWN)") // nothing was said, as far as is known: that is no answer
}

func TestFailure(t *testing.T) {
	for _, tt := range []struct{ kind, text, code string }{
		{"authentication_failed", "Please run /login · API Error: 401 no", wire.TurnLoginRequired},
		{"oauth_org_not_allowed", "not here", wire.TurnLoginRequired},
		{"authentication_failed", "API Error: 403 no", wire.TurnLoginRequired},
		{"rate_limit", "API Error: Request rejected (429) · slower", wire.TurnModelRateLimited},
		{"unknown", "API Error: 400 no", wire.TurnModelError},
		{"model_not_found", "There is no such model", wire.TurnModelError},
		{"invalid_request", "Prompt is too long", wire.TurnModelError},
		{"server_error", "API Error: 500 oh. Try again", wire.TurnModelUnavailable},
		{"overloaded", "API Error: 529 busy", wire.TurnModelUnavailable},
		{"server_error", "API Error: Unable to connect to API (ConnectionRefused)", wire.TurnModelUnavailable},
		{"server_error", "API Error: Connection to the API was lost (ECONNRESET).", wire.TurnModelCut},
		{"server_error", "API Error: Connection closed mid-response. The response above may be incomplete.", wire.TurnModelCut},
	} {
		r := readyRig(t)
		r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
		r.title(busy)
		r.title(idle)
		r.Pass(30 * time.Millisecond)
		r.hook("StopFailure", map[string]any{"error": tt.kind, "last_assistant_message": tt.text})
		want := "took turn_end"
		if tt.code == wire.TurnLoginRequired {
			want += " login"
		}
		var kinds []string
		for _, s := range r.Signals {
			kinds = append(kinds, string(s.Kind))
			if s.Kind != agentcli.SignalTurnEnd {
				continue
			}
			if s.Error == nil || s.Error.Code != tt.code || s.Error.Message != tt.text || s.Text != "" {
				t.Errorf("%s, %q: error %+v, text %q", tt.kind, tt.text, s.Error, s.Text)
			}
		}
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("%s, %q: %s", tt.kind, tt.text, got)
		}
	}
}

// A Stop whose answer is in truth an error, as far as the words tell.
func TestStopWithAnError(t *testing.T) {
	for text, failed := range map[string]bool{
		"API Error: 500 oh": true, "API Error: Request rejected (429) · no": true,
		"The log says API Error: 500": false, "API Error: none": false,
	} {
		r := readyRig(t)
		r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
		r.hook("Stop", map[string]any{"last_assistant_message": text})
		if end := r.Signals[len(r.Signals)-1]; (end.Error != nil) != failed || (end.Text == "") != failed {
			t.Errorf("%q: %+v", text, end)
		}
	}
}

func TestLogin(t *testing.T) {
	r := newRig(t)
	r.Screen = []string{"────────", "❯ ", "────────", "  ? for shortcuts    Not logged in · Run /login"}
	r.title(idle)
	r.hook("SessionStart", map[string]any{"session_id": "s-1"})
	r.Pass(100 * time.Millisecond)
	r.want("session[s-1] login")
	if keys := r.Keystrokes(); keys != "/login\r" {
		t.Errorf("typed %q", keys)
	}
	r.driver.Screen([]string{"────────", "❯ /login", "────────", "  /login   Sign in"}, 0, 0)
	r.driver.Screen([]string{"Select login method:", "❯ 1. Claude account"}, 0, 0)
	if keys := r.Keystrokes(); keys != "\r" {
		t.Errorf("typed %q", keys)
	}
	r.driver.Screen([]string{
		"Browser didn't open? Use the url below to sign in",
		"https://claude.com/cai/oauth/authorize?code=true&client_i",
		"d=abc&scope=x",
		"",
		"Paste code here if prompted >",
	}, 0, 0)
	r.want("login[https://claude.com/cai/oauth/authorize?code=true&client_id=abc&scope=x]")
	r.driver.Screen([]string{"Login successful. Press Enter to continue"}, 0, 0)
	if keys := r.Keystrokes(); keys != "\r" {
		t.Errorf("typed %q", keys)
	}
	r.driver.Screen([]string{"────────", "❯ ", "────────", "  ? for shortcuts"}, 0, 0)
	r.want("idle")
}

func TestSaved(t *testing.T) {
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
	r.title(busy)
	r.hook("PreToolUse", bash("rm x"))
	r.hook("PermissionRequest", bash("rm x"))
	r.title(idle)
	prompt := r.shown

	// The hook comes again, and is not a second prompt.
	back := newRig(t)
	back.driver.Load(r.driver.Save())
	call := back.hook("PermissionRequest", bash("rm x"))
	back.want("")
	if _, err := back.driver.Answer(prompt, runtime.Answer{Choice: runtime.ChoiceAllow}); err != nil || !call.Answered {
		t.Errorf("%v, answered %v", err, call.Answered)
	}
	back.want("unblocked[allow]")

	// The hook is lost: keys answer.
	lost := newRig(t)
	lost.driver.Load(r.driver.Save())
	steps, err := lost.driver.Answer(prompt, runtime.Answer{Choice: runtime.ChoiceDeny})
	if err != nil || drivertest.Keystrokes(steps) != "\x1b" {
		t.Errorf("%v, typed %q", err, drivertest.Keystrokes(steps))
	}
	for _, broken := range []string{"", "null", "{", `{"tools":3}`} {
		newRig(t).driver.Load([]byte(broken))
	}
}

func FuzzHook(f *testing.F) {
	f.Add("PermissionRequest", []byte(`{"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"a","options":[{"label":"b"}]}]}}`))
	f.Add("PreToolUse", []byte(`{"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"1"}`))
	f.Add("Stop", []byte(`{"last_assistant_message":7}`))
	f.Fuzz(func(_ *testing.T, name string, payload []byte) {
		h := &drivertest.FakeHost{}
		d := claude.New().NewDriver(agentcli.Plan{}, agentcli.Room{}, h)
		d.Hook(agentcli.NewHookCall(name, payload, nil, func([]byte) {}))
		d.OSC(0, payload)
		h.Pass(2 * time.Second)
		for _, s := range h.Signals {
			if s.Kind == agentcli.SignalBlocked {
				_, _ = d.Answer(s.Prompt, runtime.Answer{Text: string(payload)})
			}
		}
		d.Load(d.Save())
	})
}

// A turn of which no hook tells is nobody's answer.
func TestTurnWithoutHooks(t *testing.T) {
	r := readyRig(t)
	r.title(busy)
	r.title(idle)
	r.Pass(10 * time.Second)
	end := r.Signals[len(r.Signals)-1]
	if end.Kind != agentcli.SignalTurnEnd || end.Error == nil || end.Error.Code != wire.TurnUnknown {
		t.Errorf("%+v", end)
	}
	r.want("busy turn_end(TURN_UNKNOWN)")

	// Of the second turn a hook tells, and not of the end of the first.
	r.hook("UserPromptSubmit", map[string]any{"prompt": "one", "prompt_id": "1"})
	r.title(busy)
	c := drivertest.Call(t, "UserPromptSubmit", map[string]any{"prompt": "two", "prompt_id": "2"})
	r.driver.Hook(c.Call)
	if end := r.Signals[1]; end.Kind != agentcli.SignalTurnEnd || end.Error == nil || end.Error.Code != wire.TurnUnknown {
		t.Errorf("%+v", end)
	}
	r.hook("Stop", map[string]any{"last_assistant_message": "late", "prompt_id": "1"})
	if !c.Answered {
		t.Error("the hook of the second turn waits")
	}
	r.want("took[one] turn_end(TURN_UNKNOWN) took[two]")
	r.hook("Stop", map[string]any{"last_assistant_message": "second", "prompt_id": "2"})
	r.want("text[second] turn_end[second]")
}

// The StopFailure of a turn that its transcript has ended may come after the next message, whose turn it does not end.
func TestFailureOfTheTurnBefore(t *testing.T) {
	const said = "API Error: 529 busy"
	line := func(id, parent, prompt string) string {
		return `{"parentUuid":"` + parent + `","promptId":"` + prompt + `","type":"user","message":{"role":"user","content":"go"},"uuid":"` + id + `"}` + "\n"
	}
	failed := func(id, parent string) string {
		return `{"parentUuid":"` + parent + `","type":"assistant","uuid":"` + id + `","message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"` +
			said + `"}]},"error":"overloaded","isApiErrorMessage":true,"apiErrorStatus":529}` + "\n"
	}
	text := ""
	r := &rig{t: t, FakeHost: &drivertest.FakeHost{}}
	r.driver = claude.New().NewDriver(agentcli.Plan{}, agentcli.Room{ReadFrom: func(_ string, offset int64, limit int) ([]byte, int64, error) {
		return agentcli.ReadPart(strings.NewReader(text), offset, limit)
	}}, r.FakeHost)
	r.Screen = []string{"────────", "❯ ", "────────", "  ? for shortcuts"}
	hook := func(name string, payload map[string]any) {
		payload["transcript_path"], payload["session_id"] = "/t.jsonl", "s-1"
		r.hook(name, payload)
		r.Pass(50 * time.Millisecond)
	}
	r.title(idle)
	hook("SessionStart", map[string]any{})
	r.Pass(time.Second)
	r.want("session[s-1] idle")

	hook("UserPromptSubmit", map[string]any{"prompt": "one", "prompt_id": "1"})
	r.title(busy)
	text += line("u1", "", "1") + failed("a1", "u1")
	r.title(idle)
	r.Pass(time.Second)
	r.want("took[one] turn_end(MODEL_UNAVAILABLE)")
	hook("UserPromptSubmit", map[string]any{"prompt": "two", "prompt_id": "2"})
	r.title(busy)
	text += line("u2", "a1", "2")
	hook("StopFailure", map[string]any{"error": "overloaded", "last_assistant_message": said})
	r.Pass(time.Second)
	r.want("took[two]")
	text += failed("a2", "u2")
	r.title(idle)
	r.Pass(time.Second)
	r.want("turn_end(MODEL_UNAVAILABLE)")
	hook("StopFailure", map[string]any{"error": "overloaded", "last_assistant_message": said}) // in its time

	hook("UserPromptSubmit", map[string]any{"prompt": "three", "prompt_id": "3"})
	r.title(busy)
	text += line("u3", "a2", "3") + `{"parentUuid":"u3","type":"assistant","uuid":"a3","message":{"id":"f","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":"fine"}]}}` + "\n" + halted("3")
	r.driver.Hook(drivertest.Call(t, "Stop", map[string]any{"last_assistant_message": "fine", "prompt_id": "3"}).Call)
	r.Pass(time.Second)
	r.want("took[three] text[fine] turn_end[fine]")
}
