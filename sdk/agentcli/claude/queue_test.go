package claude_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
)

// A prompt that claude gets within a turn has the id of that, and is the next one's: also behind a restart, and where others wait before it.
func TestQueuedPrompts(t *testing.T) {
	text := ""
	r := readingRig(t, &text)
	r.told("UserPromptSubmit", "1", map[string]any{"prompt": "mine"})
	r.title(busy)
	r.told("UserPromptSubmit", "1", map[string]any{"prompt": "two"})
	r.told("UserPromptSubmit", "1", map[string]any{"prompt": "three"})
	r.want("took[mine]")
	saved := r.driver.Save()
	r = readingRig(t, &text)
	r.driver.Load(saved)
	r.title(busy)
	text += asked("1", "") + answered("1") + halted("1")
	r.told("Stop", "1", map[string]any{"last_assistant_message": "answer 1"})
	r.want("text[answer 1] turn_end[answer 1] took[two] took[three]") // claude asks both at once
	r.told("UserPromptSubmit", "1", map[string]any{"prompt": "four"}) // it came while Stop hooks ran
	text += asked("2", "h1") + asked("3", "u2") + answered("3")
	r.told("UserPromptSubmit", "3", map[string]any{"prompt": "five"})
	// The transcript may be ahead of the hooks.
	text += halted("3") + asked("5", "h3") + answered("5")
	r.told("Stop", "3", map[string]any{"last_assistant_message": "answer 3"})
	r.want("took[four] text[answer 3] turn_end[answer 3] took[five]")
	text += halted("5")
	r.Pass(time.Second / 2)
	r.want("text[answer 5]")
	saved = r.driver.Save()
	r = readingRig(t, &text)
	r.driver.Load(saved)
	r.title(busy)
	r.told("Stop", "5", map[string]any{"last_assistant_message": "answer 5"})
	r.want("turn_end[answer 5]")

	// What it reads of turns before a restart is of none that follows.
	r.told("UserPromptSubmit", "6", map[string]any{"prompt": "six"})
	r.told("UserPromptSubmit", "6", map[string]any{"prompt": "seven"})
	text += asked("6", "h5") + answered("6") + halted("6")
	r.told("Stop", "6", map[string]any{"last_assistant_message": "answer 6"})
	r.want("took[six] text[answer 6] turn_end[answer 6] took[seven]")
	text += asked("7", "h6") + answered("7") + halted("7")
	r.told("Stop", "7", map[string]any{"last_assistant_message": "answer 7"})
	r.want("text[answer 7] turn_end[answer 7]")
	r.title(idle)
	r.Pass(time.Minute)
	r.want("")
}

// A turn that was to be interrupted is, though claude wrote nothing of that, and the hook of the prompt that waited is the first sign.
func TestQueuedPromptInterrupted(t *testing.T) {
	text := ""
	r := readingRig(t, &text)
	r.told("UserPromptSubmit", "1", map[string]any{"prompt": "mine"})
	r.title(busy)
	r.told("UserPromptSubmit", "1", map[string]any{"prompt": "two"})
	text += asked("1", "")
	r.driver.(agentcli.Interrupter).Interrupt()
	text += asked("2", "u1") + answered("2") + halted("2")
	r.told("Stop", "2", map[string]any{"last_assistant_message": "answer 2"})
	r.Pass(2 * time.Second)
	r.want("took[mine] turn_end! took[two] text[answer 2] turn_end[answer 2]")
}

// An interrupt of a turn stops no turn of a prompt that waited behind it, which claude begins with at once.
func TestInterruptEndsWithItsTurn(t *testing.T) {
	text := ""
	r := readingRig(t, &text)
	r.told("UserPromptSubmit", "1", map[string]any{"prompt": "mine"})
	r.title(busy)
	r.Screen[3] = "  esc to interrupt"
	r.told("UserPromptSubmit", "1", map[string]any{"prompt": "two"})
	r.driver.(agentcli.Interrupter).Interrupt()
	r.Pass(4 * time.Second) // a busy claude writes that late
	text += asked("1", "") + `{"parentUuid":"u1","promptId":"1","type":"user","uuid":"i1","message":{"role":"user","content":"[Request interrupted by user]"}}` + "\n" + asked("2", "i1")
	r.Pass(10 * time.Second)
	if keys := r.Keystrokes(); keys != "" {
		t.Errorf("typed %q", keys)
	}
	r.want("took[mine] turn_end! took[two]")
	text += answered("2") + halted("2")
	r.told("Stop", "2", map[string]any{"last_assistant_message": "answer 2"})
	r.want("text[answer 2] turn_end[answer 2]")

	// An Escape that was lost is pressed again.
	r.told("UserPromptSubmit", "3", map[string]any{"prompt": "mine"})
	r.told("UserPromptSubmit", "3", map[string]any{"prompt": "two"})
	r.driver.(agentcli.Interrupter).Interrupt()
	r.Pass(10 * time.Second)
	if keys := r.Keystrokes(); !strings.HasPrefix(keys, "\x1b") {
		t.Errorf("typed %q", keys)
	}
}

// What was typed again of a message that was taken is refused, as often as it was, and not typed any more.
func TestTypedAgain(t *testing.T) {
	r := readyRig(t)
	prompt := func(text string, refused bool) {
		t.Helper()
		call := r.hook("UserPromptSubmit", map[string]any{"prompt": text})
		if got := strings.Contains(call.Answer, `"block"`); got != refused {
			t.Errorf("%q is answered with %q", text, call.Answer)
		}
	}
	drivertest.Keystrokes(r.driver.Submit("hello"))
	drivertest.Keystrokes(r.driver.Submit("hello"))
	third := r.driver.Submit("hello")
	prompt("hello", false)
	if keys := drivertest.Keystrokes(third); keys != "" {
		t.Errorf("typed %q", keys)
	}
	r.hook("Stop", map[string]any{"last_assistant_message": "hi"})
	prompt("hello", true)
	prompt("hello", false) // a person's
	r.hook("Stop", map[string]any{"last_assistant_message": "hi"})
	r.want("took[hello] text[hi] turn_end[hi] took[hello] text[hi] turn_end[hi]")

	// A caller who sends it again has it run, and once.
	drivertest.Keystrokes(r.driver.Submit("again"))
	r.driver.(agentcli.Forgetter).Forget("again")
	drivertest.Keystrokes(r.driver.Submit("again"))
	prompt("again", false)
	r.hook("Stop", map[string]any{"last_assistant_message": "hi"})
	prompt("again", true)
	r.want("took[again] text[hi] turn_end[hi]")

	// A person may say the same later.
	drivertest.Keystrokes(r.driver.Submit("again"))
	r.driver.(agentcli.Forgetter).Forget("again")
	r.Pass(3 * time.Minute)
	prompt("again", false)
	r.hook("Stop", map[string]any{"last_assistant_message": "hi"})
	r.want("took[again] text[hi] turn_end[hi]")

	// One that was refused for a draft beside it does not come again.
	drivertest.Keystrokes(r.driver.Submit("mixed"))
	prompt("a draft mixed", true)
	r.Pass(time.Second)
	prompt("mixed", false)
	r.hook("Stop", map[string]any{"last_assistant_message": "hi"})
	prompt("mixed", false)
	r.hook("Stop", map[string]any{"last_assistant_message": "hi"})
	r.want("took[mixed] text[hi] turn_end[hi] took[mixed] text[hi] turn_end[hi]")

	// The line may hold what was refused.
	drivertest.Keystrokes(r.driver.Submit("last"))
	drivertest.Keystrokes(r.driver.Submit("last"))
	prompt("last", false)
	prompt("last", true)
	if keys := drivertest.Keystrokes(r.driver.Submit("next")); !strings.HasPrefix(keys, "\x1b[101;5u") {
		t.Errorf("typed %q", keys)
	}
}

// A later process knows of what may yet come: a message that was given up does not run, and one that was typed twice runs once.
func TestTypedAgainReloaded(t *testing.T) {
	r := readyRig(t)
	drivertest.Keystrokes(r.driver.Submit("given up"))
	r.driver.(agentcli.Forgetter).Forget("given up")
	drivertest.Keystrokes(r.driver.Submit("twice"))
	drivertest.Keystrokes(r.driver.Submit("twice"))
	saved := r.driver.Save()
	r = readyRig(t)
	r.driver.Load(saved)
	for i, tt := range []struct {
		text    string
		refused bool
	}{{"given up", true}, {"twice", false}, {"twice", true}, {"twice", false}} {
		call := r.hook("UserPromptSubmit", map[string]any{"prompt": tt.text})
		if got := strings.Contains(call.Answer, `"block"`); got != tt.refused {
			t.Errorf("%d: %q is answered with %q", i, tt.text, call.Answer)
		}
		if !tt.refused {
			r.hook("Stop", map[string]any{"last_assistant_message": "hi"})
		}
	}
	r.want("took[twice] text[hi] turn_end[hi] took[twice] text[hi] turn_end[hi]")
}
