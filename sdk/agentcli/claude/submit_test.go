package claude_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
)

func TestMessageIsRecognised(t *testing.T) {
	r := readyRig(t)
	for _, m := range []string{"/help", "!ls", "plain", "a\ttab"} {
		keys := drivertest.Keystrokes(r.driver.Submit(m))
		if strings.Contains(keys, "~/") || strings.Contains(keys, "~!") || !strings.HasSuffix(keys, " \x1b[201~\x1b[13u") {
			t.Errorf("%q is typed as %q", m, keys)
		}
		r.hook("UserPromptSubmit", map[string]any{"prompt": " " + strings.ReplaceAll(m, "\t", "    ")})
		r.hook("Stop", map[string]any{"last_assistant_message": "hi"})
		r.want("took[" + m + "] text[hi] turn_end[hi]")
	}
}

func TestLineIsClearedOnlyOfADraft(t *testing.T) {
	r := readyRig(t)
	if keys := drivertest.Keystrokes(r.driver.Submit("hello")); keys != "\x1b[200~hello \x1b[201~\x1b[13u" {
		t.Errorf("typed %q", keys)
	}
	r.Draft = true
	keys := drivertest.Keystrokes(r.driver.Submit("hello"))
	if !strings.HasPrefix(keys, "\x1b[101;5u\x1b[117;5u\x1b[127u") {
		t.Errorf("typed %q", keys)
	}
	// A program that reads it all at once shall not take any of it for text.
	if strings.ContainsAny(keys, "\x01\x03\x05\x15\x7f\r") {
		t.Errorf("control characters are typed: %q", keys)
	}
}

func TestLineIsClearedOfTheLastMessage(t *testing.T) {
	r := readyRig(t)
	r.driver.Submit("count this\nand that")
	for screen, cleared := range map[string]bool{
		"❯ ": false, "❯ Try \"edit main.go\"": false, "❯ count this": true, "❯ count th": true, "❯ count this and more": true,
	} {
		r.Screen = []string{"❯ count this", "────────", screen, "────────", "  ? for shortcuts"}
		keys := drivertest.Keystrokes(r.driver.Submit("count this\nand that"))
		if got := strings.HasPrefix(keys, "\x1b[101;5u"); got != cleared {
			t.Errorf("with %q on the screen it typed %q", screen, keys)
		}
	}
}

// An Enter that claude dropped is pressed again, as long as the message stands in the line.
func TestDroppedEnter(t *testing.T) {
	for line, pressed := range map[string]bool{"❯ ": false, "❯ hello": true, "❯ [Pasted text #1 +30 lines]": true, "❯ something else": false} {
		r := readyRig(t)
		r.driver.Submit("hello")
		r.Screen[1] = line
		r.Pass(2 * time.Second)
		if keys := r.Keystrokes(); (keys == "\x1b[13u") != pressed {
			t.Errorf("with %q on the screen it typed %q", line, keys)
		}
		r.Pass(time.Minute) // it gives up
		r.Keystrokes()
		r.hook("UserPromptSubmit", map[string]any{"prompt": "hello"})
		r.Pass(2 * time.Second)
		if keys := r.Keystrokes(); keys != "" {
			t.Errorf("typed %q into a turn", keys)
		}
	}
}

// A message whose Enter was dropped because somebody's prompt came first is entered when that turn is over, however long it took.
func TestDroppedEnterBehindAnotherTurn(t *testing.T) {
	r := readyRig(t)
	r.driver.Submit("hello")
	r.hook("UserPromptSubmit", map[string]any{"prompt": "mine", "prompt_id": "1"})
	r.title(busy)
	r.Screen[1] = "❯ hello"
	r.Pass(time.Minute)
	if keys := r.Keystrokes(); keys != "" {
		t.Errorf("typed %q into the turn", keys)
	}
	r.hook("Stop", map[string]any{"prompt_id": "1", "last_assistant_message": "yours"})
	r.title(idle)
	r.Pass(time.Second)
	if keys := r.Keystrokes(); keys == "" || strings.Trim(keys, "\x1b[13u") != "" {
		t.Errorf("typed %q after the turn", keys)
	}
	r.hook("UserPromptSubmit", map[string]any{"prompt": "hello", "prompt_id": "2"})
	r.want("took[mine] text[yours] turn_end[yours] took[hello]")
}

// A message that is taken late is taken, unless its caller was answered that it was not delivered: it may have been sent again.
func TestLateMessageIsRefused(t *testing.T) {
	for name, late := range map[string]time.Duration{"InTime": 3 * time.Second, "Late": 6 * time.Second, "AMinuteLater": time.Minute} {
		for _, forgotten := range []bool{false, true} {
			t.Run(fmt.Sprint(name, forgotten), func(t *testing.T) {
				r := readyRig(t)
				drivertest.Keystrokes(r.driver.Submit("hello"))
				drivertest.Keystrokes(r.driver.Confirm())
				if forgotten {
					r.driver.(agentcli.Forgetter).Forget("hello")
				}
				r.Pass(late)
				call := r.hook("UserPromptSubmit", map[string]any{"prompt": "hello"})
				if got := strings.Contains(call.Answer, `"block"`); got != forgotten {
					t.Errorf("answered %q", call.Answer)
				}
				if forgotten {
					r.want("")
				} else {
					r.want("took[hello]")
				}
			})
		}
	}
	// It waited behind somebody's turn.
	r := readyRig(t)
	r.driver.Submit("hello")
	r.driver.Confirm()
	r.hook("UserPromptSubmit", map[string]any{"prompt": "mine", "prompt_id": "1"})
	r.Pass(6 * time.Second)
	r.hook("Stop", map[string]any{"prompt_id": "1", "last_assistant_message": "yours"})
	r.hook("UserPromptSubmit", map[string]any{"prompt": "hello", "prompt_id": "2"})
	r.want("took[mine] text[yours] turn_end[yours] took[hello]")
}

// claude takes no Escape while it begins with a turn: it is pressed until the turn stops.
func TestInterruptIsRepeated(t *testing.T) {
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go", "prompt_id": "1"})
	r.title(busy)
	r.Screen[3] = "  esc to interrupt"
	if keys := drivertest.Keystrokes(r.driver.(agentcli.Interrupter).Interrupt()); keys != "\x1b" {
		t.Errorf("typed %q", keys)
	}
	r.Pass(2 * time.Second)
	if keys := r.Keystrokes(); keys != "\x1b" {
		t.Errorf("typed %q", keys)
	}
	r.driver.(agentcli.Interrupter).Interrupt()
	r.hook("Stop", map[string]any{"prompt_id": "1"})
	r.hook("UserPromptSubmit", map[string]any{"prompt": "on", "prompt_id": "2"})
	r.title(busy)
	r.Pass(time.Minute)
	if keys := r.Keystrokes(); keys != "" {
		t.Errorf("typed %q into the next turn", keys)
	}
}

// In shell mode a message would be run: it is typed once the line has left that.
func TestShellModeIsLeft(t *testing.T) {
	r := readyRig(t)
	r.Screen[1] = "! ls"
	if keys := drivertest.Keystrokes(r.driver.Submit("rm x")); strings.Contains(keys, "rm x") || !strings.HasPrefix(keys, "\x1b[101;5u") {
		t.Errorf("typed %q", keys)
	}
	r.Pass(2 * time.Second)
	if keys := r.Keystrokes() + drivertest.Keystrokes(r.driver.Confirm()); strings.Contains(keys, "rm x") || strings.Contains(keys, "13u") || strings.Contains(keys, "\r") {
		t.Errorf("typed %q", keys)
	}
	r.Screen[1] = "❯ "
	r.Pass(time.Second)
	if keys := r.Keystrokes(); !strings.HasSuffix(keys, "rm x \x1b[201~\x1b[13u") {
		t.Errorf("typed %q", keys)
	}
	r.Screen[1] = "! ls"
	r.driver.Submit("rm y")
	r.Pass(time.Minute)
	if keys := r.Keystrokes(); strings.Contains(keys, "rm y") {
		t.Errorf("typed %q", keys)
	}
}

// What came with a message is not for the model: the prompt is refused, and the message typed once more.
func TestMixedPromptIsRefused(t *testing.T) {
	for _, tt := range []struct {
		sent, prompt string
		refused      bool
	}{
		{"the message", "the message", false},
		{"the message", "\x15\x7f\x15the message", true},
		{"the message", "\x15\x7f", true},
		{"the message", "a draft the message", true},
		{"the message", "the message and what was typed behind", true},
		{"the message", "a person's own", false},
		{"the message", "\x15a person's own", false},
		{"a\ttab  and\nlines", "a    tab  and\nlines", false},
		{"look at @READ", "look at @README.md", false},
		{"/help", " /help", false},
	} {
		r := readyRig(t)
		r.driver.Submit(tt.sent)
		r.title(busy) // which may come before the hook
		call := r.hook("UserPromptSubmit", map[string]any{"prompt": tt.prompt})
		if got := strings.Contains(call.Answer, `"block"`); got != tt.refused {
			t.Errorf("%q taken as %q: %s", tt.sent, tt.prompt, call.Answer)
		}
		if !tt.refused {
			continue
		}
		again := func(keys string) {
			if !strings.HasPrefix(keys, "\x1b[101;5u") || !strings.Contains(keys, "~"+tt.sent+" \x1b[201~") {
				t.Errorf("typed %q", keys)
			}
		}
		r.title(idle)
		r.Pass(time.Second)
		again(r.Keystrokes())
		if keys := drivertest.Keystrokes(r.driver.Confirm()); keys != "\r" {
			t.Errorf("confirmed by %q", keys)
		}
		// Once more: now the session asks for it.
		r.hook("UserPromptSubmit", map[string]any{"prompt": tt.prompt})
		r.Pass(5 * time.Second)
		if keys := r.Keystrokes(); keys != "" {
			t.Errorf("typed %q", keys)
		}
		r.want("")
		again(drivertest.Keystrokes(r.driver.Confirm()))
		r.hook("UserPromptSubmit", map[string]any{"prompt": tt.sent})
		r.want("took[" + tt.sent + "]")
	}
}

// The title of a prompt that was refused may be read after its hook: that is no turn, and the message is typed again.
func TestRefusedPromptIsNoTurn(t *testing.T) {
	for name, late := range map[string]string{"Mixed": "a draft hello", "Late": "hello"} {
		t.Run(name, func(t *testing.T) {
			r := readyRig(t)
			drivertest.Keystrokes(r.driver.Submit("hello"))
			if name == "Late" {
				r.driver.(agentcli.Forgetter).Forget("hello")
			}
			if call := r.hook("UserPromptSubmit", map[string]any{"prompt": late}); !strings.Contains(call.Answer, `"block"`) {
				t.Errorf("answered %q", call.Answer)
			}
			r.title(busy)
			r.title(idle)
			r.Pass(time.Second)
			if keys := r.Keystrokes(); strings.Contains(keys, "\x1b[200~hello \x1b[201~") != (name == "Mixed") {
				t.Errorf("typed %q", keys)
			}
			r.Pass(5 * time.Second)
			r.want("")
			r.driver.Submit("on")
			r.hook("UserPromptSubmit", map[string]any{"prompt": "on"})
			r.want("took[on]")
		})
	}
}

// A turn may be over before its title is read.
func TestTitleAfterTheTurn(t *testing.T) {
	r := readyRig(t)
	r.driver.Submit("hello")
	r.hook("UserPromptSubmit", map[string]any{"prompt": "hello", "prompt_id": "1"})
	r.hook("Stop", map[string]any{"prompt_id": "1", "last_assistant_message": "hi"})
	r.title(busy)
	r.title(idle)
	r.Pass(time.Minute)
	r.want("took[hello] text[hi] turn_end[hi]")
}

// TestInputLine reads lines as claude draws them, over an edge of the box too, as a busy one may.
func TestInputLine(t *testing.T) {
	line, ok := readyRig(t).driver.(agentcli.Lined)
	if !ok {
		t.Fatal("the driver reads no input line")
	}
	for want, rows := range map[string][]string{
		"a message":      {"──────────", "❯ a message", "──────────"},
		"two lines of":   {"text", "──────────", "❯ two lines", "  of", "──────────", "  ? for shortcuts"},
		"over an edge":   {"❯ over an edge", "──────────", "❯ over─an─edge ──────", "❯ ", "", ""},
		"":               {"──────────", "❯ ", "──────────"},
		"no input line":  nil,
		"nor a line now": {"❯ of history", "", "● an answer"},
	} {
		text, shown := line.InputLine(rows)
		got := strings.Join(strings.Fields(text), " ")
		if hidden := strings.HasPrefix(want, "no"); shown == hidden || shown && got != want {
			t.Errorf("%q is read as %q, %t", rows, got, shown)
		}
	}
}

// A menu that a person opened may look like a turn. A message that comes when it is closed is not over because claude waited before it,
// nor because it stands in the line until claude draws that anew.
func TestMessageBehindAMenu(t *testing.T) {
	r := readyRig(t)
	r.title(busy)
	r.Pass(time.Second)
	r.title(idle)
	r.Pass(2500 * time.Millisecond)
	r.driver.Submit("a message")
	r.Screen[1] = "❯ a message"
	r.hook("UserPromptSubmit", map[string]any{"prompt": "a message", "prompt_id": "1"})
	r.Pass(time.Second)
	r.want("busy took[a message]")
	r.title(busy)
	r.hook("Stop", map[string]any{"prompt_id": "1", "last_assistant_message": "an answer"})
	r.want("text[an answer] turn_end[an answer]")
}
