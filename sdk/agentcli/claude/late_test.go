package claude_test

import (
	"testing"
	"time"
)

// A message that claude gets before it took note of the end of a turn has the id of that one in its hook: what the transcript tells
// of the turn before, late, is no end of this one.
func TestMessageWithTheIDOfTheTurnBefore(t *testing.T) {
	text := ""
	r := readingRig(t, &text)
	r.told("UserPromptSubmit", "1", map[string]any{"prompt": "go"})
	r.title(busy)
	text += asked("1", "") + answered("1") + halted("1")
	r.told("Stop", "1", map[string]any{"last_assistant_message": "answer 1"})
	r.title(idle)
	r.want("took[go] text[answer 1] turn_end[answer 1]")

	r.told("UserPromptSubmit", "1", map[string]any{"prompt": "go"})
	text += `{"parentUuid":"h1","type":"system","subtype":"turn_duration","uuid":"d1"}` + "\n"
	r.Pass(2 * time.Second)
	r.want("took[go]")
	r.title(busy)
	text += asked("2", "d1") + answered("2") + halted("2")
	r.told("Stop", "2", map[string]any{"last_assistant_message": "answer 2"})
	r.want("text[answer 2] turn_end[answer 2]")
}
