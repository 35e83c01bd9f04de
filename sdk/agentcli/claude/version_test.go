package claude_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// What the title turns while claude works differs between versions: braille up to 2.1, circles in 2.1.332.
func TestSpinners(t *testing.T) {
	for title, busy := range map[string]bool{
		"⠂ Claude Code": true, "⠐ a title": true, "◐ Claude Code": true, "◑ a title": true,
		"✳ Claude Code": false, "Claude Code": false, "claude": false, "◐": false, "": false,
	} {
		r := readyRig(t)
		r.title(title)
		if got := strings.Contains(r.Kinds(), "busy"); got != busy {
			t.Errorf("the title %q is that of a claude that works: %v, want %v", title, got, busy)
		}
	}
}

// Nothing in front of a slash lets claude take a message for a command, and what it takes is the message.
func TestNoCommand(t *testing.T) {
	for _, m := range []string{"/help", " /help", "\n\n/help me", "\u00a0/help", "\ufeff/clear", "\u200b \u2060/clear"} {
		r := readyRig(t)
		keys := drivertest.Keystrokes(r.driver.Submit(m))
		if text := strings.NewReplacer("\x1b[200~", "", "\x1b[201~", "").Replace(keys); text != "\u2800"+m+" \x1b[13u" {
			t.Errorf("%q is typed as %q", m, keys)
		}
		r.hook("UserPromptSubmit", map[string]any{"prompt": "\u2800" + strings.NewReplacer("\ufeff", "", "\u200b", "", "\u2060", "").Replace(m)})
		r.want("took[" + m + "]")
	}
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "\u2800 what a person typed"})
	r.want("took[ what a person typed]")
}

// A message is pasted in pieces that claude does not take for quotations.
func TestMessageInPieces(t *testing.T) {
	r := readyRig(t)
	text := strings.Repeat("a line of it\n", 10) + strings.Repeat("one long line ", 200) + "end"
	keys := drivertest.Keystrokes(r.driver.Submit(text))
	pieces := strings.SplitAfter(keys, "\x1b[201~")
	var all strings.Builder
	for _, p := range pieces[:len(pieces)-1] {
		p = strings.TrimSuffix(strings.TrimPrefix(p, "\x1b[200~"), "\x1b[201~")
		if strings.Count(p, "\n") > 2 || len(p) > 800 {
			t.Errorf("a piece is %q", p)
		}
		all.WriteString(p)
	}
	if all.String() != text+" " || pieces[len(pieces)-1] != "\x1b[13u" {
		t.Errorf("typed %q", keys)
	}
	r.hook("UserPromptSubmit", map[string]any{"prompt": text})
	r.want("took[" + text + "]")
}

// Enter is pressed again for a message of which claude removed what is not shown, and which it wants to be looked at.
func TestRemovedCharacters(t *testing.T) {
	r := readyRig(t)
	r.driver.Submit("\u200b")
	r.Screen[1] = "❯ somebody's draft"
	r.Pass(2 * time.Second)
	if keys := r.Keystrokes(); keys != "" {
		t.Errorf("for a message that is not shown it typed %q behind a draft", keys)
	}
	for line, m := range map[string]string{"❯ rtl mark": "rtl \u200fmark", "❯ abcdef": "abc\u200bdef", "❯ \u2800/clear": "\ufeff/clear"} {
		r := readyRig(t)
		r.driver.Submit(m)
		r.Screen = []string{"   Removed 1 invisible character · review and press Enter to send", "────────", line, "────────", "  ⏸ manual mode on"}
		r.Pass(2 * time.Second)
		if keys := r.Keystrokes(); keys != "\x1b[13u" {
			t.Errorf("with %q in the line it typed %q", line, keys)
		}
		r.hook("UserPromptSubmit", map[string]any{"prompt": strings.TrimPrefix(line, "❯ ")})
		r.want("took[" + m + "]")
	}
}

// An answer by a key that claude passed over is given again while its dialog stands as it did, and into nothing else.
func TestKeyIsPressedAgain(t *testing.T) {
	dialog := []string{"────────", " Do you want to proceed?", " ❯ 1. Yes", "   2. No"}
	for name, tt := range map[string]struct {
		then []string // the screen after the first key
		want string   // typed later
	}{
		"Stands": {dialog, "111"},
		"Gone":   {[]string{"────────", "❯ ", "────────", "  ? for shortcuts"}, ""},
		"Next":   {[]string{"────────", " Do you want to delete?", " ❯ 1. Yes", "   2. No"}, ""},
		"Moved":  {[]string{"────────", " Do you want to proceed?", "   1. Yes", " ❯ 2. No"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := readyRig(t)
			r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
			r.title(busy)
			r.hook("PreToolUse", bash("rm x"))
			call := r.hook("PermissionRequest", bash("rm x"))
			r.Screen = dialog
			r.title(idle)
			call.Leave()
			r.Pass(10 * time.Second)
			steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceAllow})
			if err != nil || drivertest.Keystrokes(steps) != "1" {
				t.Fatalf("typed %q, %v", drivertest.Keystrokes(steps), err)
			}
			r.Screen = tt.then
			r.Pass(10 * time.Second)
			if keys := r.Keystrokes(); keys != tt.want {
				t.Errorf("typed %q later, want %q", keys, tt.want)
			}
		})
	}
}

// A dialog that stands before claude starts is a question; a claude that starts in spite of it asks no more.
func TestDialogAtStart(t *testing.T) {
	r := newRig(t)
	r.Screen = []string{"────────", "  New MCP server found in this project: own", "    Use this MCP server", "  ❯ Continue without using this MCP server", "  Enter to confirm"}
	r.driver.Screen(r.Screen, 0, 0)
	r.Pass(5 * time.Second)
	r.want("blocked[New MCP server found in this project: own\nEnter to confirm]")
	r.Screen = []string{"────────", "❯ ", "────────", "  ? for shortcuts"}
	r.title(idle)
	r.hook("SessionStart", map[string]any{"session_id": "s-1"})
	r.Pass(time.Second)
	r.want("session[s-1] unblocked idle")
}

// A second question before the start comes up in place of the first, and is a prompt of its own. A screen that is drawn in half is none.
func TestSecondDialogAtStart(t *testing.T) {
	server := []string{"────────", "  New MCP server found in this project: own", "  ❯ 1. Use this MCP server", "    2. Continue without using this MCP server"}
	half := server[:3]
	imports := []string{"────────", "  Allow external CLAUDE.md file imports?", "  ❯ 1. Yes, allow external imports", "    2. No, disable external imports"}
	r := newRig(t)
	r.Screen = server
	r.driver.Screen(r.Screen, 0, 0)
	r.Pass(5 * time.Second)
	r.want("blocked[New MCP server found in this project: own]")
	for range 3 {
		r.Screen = half
		r.Pass(100 * time.Millisecond)
		r.Screen = server
		r.Pass(100 * time.Millisecond)
	}
	r.want("")
	r.Screen = imports
	r.Pass(5 * time.Second)
	r.want("unblocked blocked[Allow external CLAUDE.md file imports?]")
	back := newRig(t)
	back.Screen = server
	back.driver.Load(r.driver.Save())
	back.Pass(5 * time.Second)
	back.want("unblocked blocked[New MCP server found in this project: own]")
}
