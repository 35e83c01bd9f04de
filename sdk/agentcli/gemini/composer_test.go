package gemini_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
)

func TestShellModeIsLeft(t *testing.T) {
	r := readyRig(t)
	if keys := drivertest.Keystrokes(r.driver.Submit("/x")); strings.Contains(keys, "\x1b\x1b[200~") || !strings.Contains(keys, "~\u2060/x ") {
		t.Errorf("typed %q", keys)
	}
	r.Screen = []string{"  shell mode enabled (esc to disable)", "▄▄▄▄▄▄▄▄", " ! ls"}
	if keys := drivertest.Keystrokes(r.driver.Submit("x")); !strings.HasPrefix(keys, "\x1b\x05\x15") || !strings.Contains(keys, "\x7f\x1b[200~x ") {
		t.Errorf("typed %q", keys)
	}
}

// What gemini cuts off the begin of a message does not keep it from being a command.
func TestCommandBehindBlanks(t *testing.T) {
	r := readyRig(t)
	for _, begin := range []string{"", " ", "\n\t", "\u00a0", "\u3000", "\ufeff", "\u200b", "\u202e", "\u2066 \u00a0"} {
		if keys := drivertest.Keystrokes(r.driver.Submit(begin + "/quit")); !strings.Contains(keys, "~\u2060"+begin+"/quit ") {
			t.Errorf("behind %q it typed %q", begin, keys)
		}
	}
}

// What somebody typed before a message may turn that mode on after the message was handed over: its Enter waits for what is drawn, and
// runs nothing.
func TestShellModeThatIsDrawnLate(t *testing.T) {
	edge, shell := "▄▄▄▄▄▄▄▄", "  shell mode enabled (esc to disable)"
	r := readyRig(t)
	r.Draft = true
	steps := r.driver.Submit("clean the house up")
	if keys := drivertest.Keystrokes(steps, shell, edge, " ! clean the house up"); !strings.HasSuffix(keys, "clean the house up \x1b[201~\x1b") {
		t.Errorf("in the mode it typed %q", keys)
	}
	if keys := drivertest.Keystrokes(steps, "✦ shell mode enabled (esc to disable)", edge, " > clean the house up"); !strings.HasSuffix(keys, "clean the house up \x1b[201~\r") {
		t.Errorf("in none it typed %q", keys)
	}
	if keys := drivertest.Keystrokes(steps, "✦ an answer", edge); !strings.HasSuffix(keys, "clean the house up \x1b[201~") {
		t.Errorf("while the composer is not drawn it typed %q", keys)
	}
	waited := false
	for _, s := range steps {
		if s.Until == nil || len(s.Write) > 0 {
			continue
		}
		waited = true
		for line, want := range map[string]bool{
			" > ": false, " ! ls": false, " > Type your message": false, " > clean\n\nthe house up\n▀▀▀▀▀▀▀▀": true, " ! clean the house up": true, " > clean the ho\nuse up": true, " > [Pasted Text: 40 lines]": true,
		} {
			if got := s.Until(append([]string{edge}, strings.Split(line, "\n")...)); got != want {
				t.Errorf("with %q drawn it goes on: %v", line, got)
			}
		}
	}
	if !waited {
		t.Error("it does not wait until the message is drawn")
	}
	r.Screen = []string{shell, edge, " ! clean the house up"} // it was not left in time
	if keys := drivertest.Keystrokes(r.driver.Confirm()); !strings.HasPrefix(keys, "\x1b\x05\x15") || !strings.Contains(keys, "\x7f\x1b[200~clean the house up ") {
		t.Errorf("confirmed by %q", keys)
	}
}

// Once that mode was left, Enter waits until a character was drawn and taken away again: gemini's keys lag behind its screen.
func TestEnterBehindShellMode(t *testing.T) {
	edge, end := "▄▄▄▄▄▄▄▄", "▀▀▀▀▀▀▀▀"
	shell, prompt := []string{edge, " ! clean up.", end}, []string{edge, " > clean up.", end}
	marked := []string{edge, " > clean up. ,", end}
	for name, tt := range map[string]struct {
		screens [][]string // before each key that depends on the screen: Escape, the character, Backspace, Enter
		want    string
	}{
		"Drawn":     {[][]string{shell, prompt, marked, prompt}, "\x1b,\x7f\r"},
		"NeverLeft": {[][]string{shell, shell, shell, shell}, "\x1b"},
		"NotDrawn":  {[][]string{shell, prompt, prompt, prompt}, "\x1b,"},
		"NotTaken":  {[][]string{shell, prompt, marked, marked}, "\x1b,\x7f"},
		"NoMode":    {[][]string{prompt, prompt, prompt, prompt}, "\r"},
	} {
		t.Run(name, func(t *testing.T) {
			r := readyRig(t)
			r.Draft = true
			keys := ""
			steps := r.driver.Submit("clean up.")
			for i, s := range steps[len(steps)-len(tt.screens):] {
				keys += drivertest.Keystrokes([]agentcli.Step{s}, tt.screens[i]...)
			}
			if keys != tt.want {
				t.Errorf("typed %q, want %q", keys, tt.want)
			}
			r.Screen = prompt
			again := drivertest.Keystrokes(r.driver.Confirm(), prompt...)
			if pressed := again == "\r"; pressed != strings.HasSuffix(tt.want, "\r") {
				t.Errorf("confirmed by %q", again)
			}
		})
	}
}

// A message goes into an empty line: a busy gemini would take what stands there by itself at the message's Enter, and drop the
// message.
func TestDraftIsRemoved(t *testing.T) {
	for name, tt := range map[string]struct {
		line  string
		clear bool
	}{
		"Draft":       {" > a draft that was not reported", true},
		"Empty":       {" >", false},
		"Placeholder": {" >   Type your message or @path/to/file", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := readyRig(t)
			r.Screen = []string{"▄▄▄▄▄▄▄▄", tt.line, "▀▀▀▀▀▀▀▀"}
			keys := drivertest.Keystrokes(r.driver.Submit("the message"))
			if clear := strings.HasPrefix(keys, "\x05\x15"); clear != tt.clear {
				t.Errorf("typed %q", keys)
			}
		})
	}
}
