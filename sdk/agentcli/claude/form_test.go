package claude_test

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

var formScreen = []string{"────────", "  MCP server “own” requests your input", "  Which colour?", "  ❯ * colour: ▸ not set", "    Accept    Decline"}

// formed is a rig whose claude shows the form of a server.
func formed(t *testing.T) *rig {
	t.Helper()
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
	r.title(busy)
	r.hook("Elicitation", ofServer(map[string]any{
		"message": "Which colour?", "requested_schema": json.RawMessage(`{"properties":{"colour":{"type":"string","enum":["red","blue"]}}}`),
	}))
	r.want("took[go] blocked[own asks: Which colour?\ncolour (red / blue), optional]")
	r.Screen = formScreen
	r.title(idle)
	r.title(busy)
	r.Pass(5 * time.Second)
	r.want("") // neither title says that it is over
	return r
}

func ofServer(payload map[string]any) map[string]any {
	maps.Copy(payload, map[string]any{"mcp_server_name": "own"})
	return payload
}

// closed gives the hook of what became of the form, and returns what claude is answered.
func (r *rig) closed(action string) string {
	call := drivertest.Call(r.t, "ElicitationResult", ofServer(map[string]any{"action": action}))
	r.driver.Hook(call.Call)
	if !call.Answered {
		r.t.Error("claude waits for the answer to what became of a form")
	}
	return call.Answer
}

const blue = `{"hookSpecificOutput":{"action":"accept","content":{"colour":"blue"},"hookEventName":"ElicitationResult"}}`

// A form is closed for an answer, again if it stays, and claude gets the answer for it, also behind a restart. A person who was first
// has done with it what counts.
func TestFormAnswered(t *testing.T) {
	for name, tt := range map[string]struct {
		restart     bool
		between     bool // the restart is behind the answer, which is given again
		action      string
		then, given string
	}{
		"Closed":           {action: "cancel", then: "unblocked[2]", given: blue},
		"Behind a restart": {restart: true, action: "cancel", then: "unblocked[2]", given: blue},
		"Before a restart": {between: true, action: "cancel", then: "unblocked[2]", given: blue},
		"A person accepts": {action: "accept", then: "unblocked[accept]"},
		"A person refuses": {action: "decline", then: "unblocked[decline]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := formed(t)
			if tt.between {
				if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: "2"}); err != nil {
					t.Fatal(err)
				}
			}
			if tt.restart || tt.between {
				back := newRig(t)
				back.Screen, back.shown = formScreen, r.shown
				back.driver.Load(r.driver.Save())
				r = back
			}
			steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: "2"})
			if keys := drivertest.Keystrokes(steps, formScreen...); err != nil || keys != "\x1b" {
				t.Errorf("typed %q, %v", keys, err)
			}
			if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: "1"}); runtime.ErrorCode(err) != runtime.CodeNoPrompt {
				t.Errorf("another answer: %v", err)
			}
			r.Pass(7 * time.Second)
			if keys := r.Keystrokes(); keys != "\x1b" {
				t.Errorf("typed %q again", keys)
			}
			r.Screen = []string{"a screen without it"}
			r.Pass(3 * time.Second / 2)
			if got := r.closed(tt.action); got != tt.given {
				t.Errorf("claude gets %q", got)
			}
			r.want(tt.then)
			if got := r.closed("cancel"); got != "" {
				t.Errorf("of another form claude gets %q", got)
			}
		})
	}
}

// A form that a person closes is over, as is one that a server gave up, of which no hook tells. Escape is typed into nothing else.
func TestFormOver(t *testing.T) {
	r := formed(t)
	if got := r.closed("cancel"); got != "" {
		t.Errorf("claude gets %q", got)
	}
	r.want("unblocked[cancel]")

	r = formed(t)
	r.Screen = []string{"* Calling own (esc to interrupt)", "────────", "❯ ", "────────"}
	steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: "2"})
	if keys := drivertest.Keystrokes(steps, r.Screen...); err != nil || keys != "" {
		t.Errorf("typed %q, %v", keys, err)
	}
	r.Pass(5 * time.Second)
	r.want("unblocked")
	if keys := r.Keystrokes(); keys != "" {
		t.Errorf("typed %q", keys)
	}
}

// An interrupt closes a form first, and claude does not go on with that before the turn is to end.
func TestFormInterrupted(t *testing.T) {
	r := formed(t)
	steps := r.driver.(agentcli.Interrupter).Interrupt()
	if keys := drivertest.Keystrokes(steps, formScreen...); keys != "\x1b" {
		t.Errorf("typed %q", keys)
	}
	if keys := drivertest.Keystrokes(steps, "* Calling own (esc to interrupt)"); keys != "\x1b\x1b" {
		t.Errorf("typed %q", keys)
	}
	call := drivertest.Call(t, "ElicitationResult", ofServer(map[string]any{"action": "cancel"}))
	r.driver.Hook(call.Call)
	r.want("unblocked[cancel]")
	if r.Pass(time.Second); call.Answered {
		t.Error("claude goes on at once")
	}
	if r.Pass(2 * time.Second); !call.Answered || call.Answer != "" {
		t.Errorf("claude waits, or gets %q", call.Answer)
	}
}

// Of several forms the one that is drawn is asked about, and what became of it is not taken for that of another.
func TestFormsAtOnce(t *testing.T) {
	r := formed(t)
	first := r.shown
	r.hook("Elicitation", ofServer(map[string]any{"message": "Really?", "requested_schema": map[string]any{}}))
	if _, err := r.driver.Answer(first, runtime.Answer{Choice: "2"}); err != nil {
		t.Error(err)
	}
	r.Screen = []string{"────────", "  MCP server “own” requests your input", "  Really?", "  ❯ Accept    Decline"}
	r.Pass(time.Second)
	r.want("unblocked blocked[own asks: Really?]")
	if got := r.closed("cancel"); got != "" {
		t.Errorf("claude gets %q", got)
	}
	r.want("unblocked[cancel] blocked[own asks: Which colour?\ncolour (red / blue), optional]")
	r.Screen = formScreen
	if got := r.closed("cancel"); got != blue {
		t.Errorf("claude gets %q", got)
	}
}

// An answer that was taken before a restart is that of the form which claude closes right behind it.
func TestFormAnsweredBeforeRestart(t *testing.T) {
	r := formed(t)
	if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: "2"}); err != nil {
		t.Fatal(err)
	}
	back := newRig(t)
	back.Screen, back.shown = formScreen, r.shown
	back.driver.Load(r.driver.Save())
	if got := back.closed("cancel"); got != blue {
		t.Errorf("claude gets %q", got)
	}
	back.want("unblocked[2]")
}
