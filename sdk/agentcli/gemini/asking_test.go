package gemini_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// shell is the dialog of a command, of which others wait beside it.
func shell(command, place string) []string {
	return []string{
		"╭──────────────────────────────────╮",
		"│ ? Shell  " + command + "      " + place + " │",
		"│ ╭──────────────────────────────╮ │",
		"│ │ " + command + "             │ │",
		"│ ╰──────────────────────────────╯ │",
		"│ Allow execution of [Shell]?      │",
		"│ ● 1. Allow once                  │",
		"│   2. Allow for this session      │",
		"│   3. No, suggest changes (esc)   │",
		"╰──────────────────────────────────╯",
	}
}

// shows draws a screen.
func (r *rig) shows(rows []string) {
	r.Screen = rows
	r.driver.Screen(rows, 0, 0)
	r.note()
}

// asksForTwo brings the rig to two commands that are to be approved, announced in another order than gemini asks.
func asksForTwo(t *testing.T) *rig {
	t.Helper()
	r := readyRig(t)
	r.takes("go")
	r.want("took[go] session[s-0]")
	for _, hook := range []string{"BeforeTool", "Notification"} {
		for _, command := range []string{"mkdir b", "touch a"} {
			r.hook(hook, map[string]any{
				"tool_name": "run_shell_command", "tool_input": map[string]any{"command": command},
				"notification_type": "ToolPermission", "details": map[string]any{"type": "exec", "command": command},
			})
		}
	}
	r.title(asks)
	r.want("tool tool")
	r.shows(shell("touch a", "1 of 2"))
	r.Pass(500 * time.Millisecond)
	r.want("blocked[run_shell_command: touch a]")
	return r
}

// An answer is one to the tool that its prompt is about: the next dialog, of which no title and no hook comes, is a prompt of its own,
// and is not answered by the keys of the one before when these are typed again.
func TestToolsAtOnce(t *testing.T) {
	r := asksForTwo(t)
	first := r.Prompt()
	steps, err := r.driver.Answer(first, runtime.Answer{Choice: runtime.ChoiceAllow})
	if keys := drivertest.Keystrokes(steps, r.Screen...); err != nil || keys != "1" {
		t.Fatalf("%v, typed %q", err, keys)
	}
	r.Screen = shell("mkdir b", "2 of 2") // before the driver looks
	r.Pass(2 * time.Second)
	if keys := r.Keystrokes(); keys != "" {
		t.Errorf("the next dialog was answered by %q", keys)
	}
	r.shows(r.Screen)
	r.want("unblocked[allow] blocked[run_shell_command: mkdir b]")
	if _, err := r.driver.Answer(first, runtime.Answer{Choice: runtime.ChoiceAllow}); runtime.ErrorCode(err) != runtime.CodeNoPrompt {
		t.Errorf("an answer to the first prompt: %v", err)
	}
	steps, err = r.driver.Answer(r.Prompt(), runtime.Answer{Choice: runtime.ChoiceAllow})
	if keys := drivertest.Keystrokes(steps, r.Screen...); err != nil || keys != "1" {
		t.Errorf("%v, typed %q", err, keys)
	}
	r.title(busy)
	r.want("unblocked[allow]")
	if keys := drivertest.Keystrokes(steps, ready...); keys != "" {
		t.Errorf("what comes late is typed into the line of messages: %q", keys)
	}
}

// A dialog that comes in front of the one that was asked about takes its place, and the answer to that is not typed into it.
func TestToolComesInFront(t *testing.T) {
	r := asksForTwo(t)
	r.Screen = shell("mkdir b", "2 of 2")
	steps, err := r.driver.Answer(r.Prompt(), runtime.Answer{Choice: runtime.ChoiceAllow})
	if keys := drivertest.Keystrokes(steps, r.Screen...); err != nil || keys != "" {
		t.Errorf("%v, typed %q", err, keys)
	}
	r.shows(r.Screen)
	r.want("unblocked blocked[run_shell_command: mkdir b]")
}

// A tool that comes to ask later may stand in front of one that was answered: gemini did not take the answer, and asks anew.
func TestToolComesInFrontOfAnAnswer(t *testing.T) {
	r := readyRig(t)
	r.takes("go")
	for _, hook := range []string{"BeforeTool", "Notification"} {
		for _, command := range []string{"touch one", "touch one1", "touch one12"} {
			r.hook(hook, map[string]any{
				"tool_name": "x", "tool_input": map[string]any{"command": command},
				"notification_type": "ToolPermission", "details": map[string]any{"type": "exec", "command": command},
			})
		}
	}
	r.title(asks)
	r.shows(shell("touch one12", "3 of 3"))
	r.Pass(3 * time.Second) // all ask, and the screen is behind
	r.want("took[go] session[s-0] tool tool tool")
	r.Pass(10 * time.Second)
	r.want("blocked[x: touch one12]")
	steps, err := r.driver.Answer(r.Prompt(), runtime.Answer{Choice: runtime.ChoiceAllow})
	if keys := drivertest.Keystrokes(steps, r.Screen...); err != nil || keys != "1" {
		t.Fatalf("%v, typed %q", err, keys)
	}
	r.shows(shell("touch one", "1 of 3"))
	if s := r.Signals[0]; s.Choice != "" || !s.Unanswered {
		t.Errorf("%+v", s)
	}
	r.want("unblocked blocked[x: touch one]")
	r.shows(shell("touch one1", "2 of 3"))
	r.want("unblocked blocked[x: touch one1]")
}

// A refusal cancels the others as well, one after the other: nobody is asked about them.
func TestRefusalOfTwo(t *testing.T) {
	r := asksForTwo(t)
	steps, err := r.driver.Answer(r.Prompt(), runtime.Answer{Choice: runtime.ChoiceDeny})
	if keys := drivertest.Keystrokes(steps, r.Screen...); err != nil || keys != "\x1b" {
		t.Errorf("%v, typed %q", err, keys)
	}
	r.shows(shell("mkdir b", "2 of 2"))
	r.Pass(100 * time.Millisecond)
	r.want("")
	r.Screen = ready
	r.cancels()
	r.want("unblocked[deny] turn_end(refused)")
}

// The place of a dialog is no part of its command.
func TestPlaceIsNoInput(t *testing.T) {
	r := readyRig(t)
	r.takes("go")
	for _, command := range []string{"touch one", "touch one1", "touch one12"} {
		r.hook("BeforeTool", map[string]any{"tool_name": "x", "tool_input": map[string]any{"command": command}})
	}
	r.title(asks)
	r.shows(shell("touch one", "1 of 3"))
	r.Pass(time.Second)
	r.want("took[go] session[s-0] tool tool tool blocked[x: touch one]")
	r.shows(shell("touch one1", "2 of 3"))
	r.want("unblocked blocked[x: touch one1]")
}

// What cannot be told from the screen is asked by the words of the dialog.
func TestToolsAtOnceUnknown(t *testing.T) {
	r := readyRig(t)
	r.takes("go")
	for _, command := range []string{"one", "two"} {
		r.hook("BeforeTool", map[string]any{"tool_name": "x", "tool_input": map[string]any{"command": command}})
	}
	r.title(asks)
	r.shows(shell("three", "2 of 2"))
	r.Pass(1900 * time.Millisecond)
	r.want("took[go] session[s-0] tool tool")
	r.Pass(200 * time.Millisecond)
	r.want("blocked[? Shell  three      2 of 2\nthree\nAllow execution of [Shell]?]")
	if p := r.Prompt(); p.Tool != "" || len(p.Options) != 3 {
		t.Errorf("prompt %+v", p)
	}
}

// gemini itself asks the model again that said nothing to the result of a tool: it is not the next message.
func TestNudge(t *testing.T) {
	r := readyRig(t)
	r.takes("go")
	r.says(`{"id":"4","type":"gemini","content":"let me look","model":"m"}`,
		`{"id":"4","type":"gemini","content":"let me look","model":"m","toolCalls":[{"id":"c"}]}`)
	r.hook("AfterAgent", map[string]any{})
	r.hook("BeforeAgent", map[string]any{"prompt": "[System: You successfully executed a tool but returned an empty response. Please go on.]"})
	r.says(`{"id":"5","type":"gemini","content":"it is empty","model":"m"}`)
	r.Pass(3 * time.Second)
	r.ends()
	r.want("took[go] session[s-0] text[let me look] text[it is empty] turn_end[it is empty]")
}

func TestQuestionOfSeveralOptions(t *testing.T) {
	const down, enter = "\x1b[B", "\r"
	for name, tt := range map[string]struct {
		answer runtime.Answer
		keys   string
	}{
		"Options": {runtime.Answer{Choice: "2,1"}, "21" + down + down + down + down + enter},
		"Own":     {runtime.Answer{Text: "green"}, down + down + down + "\x1b[200~green\x1b[201~" + enter + enter + down + enter},
	} {
		r := readyRig(t)
		r.asksFor("ask_user", map[string]any{"questions": []any{map[string]any{
			"question": "Which?", "multiSelect": true, "options": []any{map[string]any{"label": "red"}, map[string]any{"label": "blue"}},
		}}})
		r.title(asks)
		steps, err := r.driver.Answer(r.shown, tt.answer)
		if keys := drivertest.Keystrokes(steps); err != nil || keys != tt.keys {
			t.Errorf("%s: %v, typed %q", name, err, keys)
		}
	}
}

// The answer to several questions is typed once, whether their dialog stood already or not: the same ones may be asked again behind them.
func TestQuestionsOnce(t *testing.T) {
	options := []any{map[string]any{"label": "red"}, map[string]any{"label": "blue"}}
	screen := []string{"╭────╮", "│ Which? │", "│ ● 1. red │", "│   2. blue │", "│   3. Enter a custom value │", "╰────╯"}
	for _, late := range []bool{false, true} {
		r := readyRig(t)
		r.asksFor("ask_user", map[string]any{"questions": []any{
			map[string]any{"question": "Which?", "options": options}, map[string]any{"question": "And?", "options": options},
		}})
		r.Screen = screen
		if !late {
			r.title(asks)
		}
		steps, err := r.driver.Answer(r.shown, runtime.Answer{Text: "blue\nred"})
		if err != nil {
			t.Fatal(err)
		}
		typed := drivertest.Keystrokes(steps, screen...)
		if late {
			r.title(asks)
			typed = r.Keystrokes()
		}
		if r.Pass(3 * time.Second); typed != "21\r" || r.Keystrokes() != "" {
			t.Errorf("late %v: typed %q, and again", late, typed)
		}
	}
}
