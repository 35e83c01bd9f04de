package claude_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// A command of claude's own that a person runs is a turn that no hook reports: its outcome comes from the transcript. One that
// left nothing was stopped.
func TestLocalCommand(t *testing.T) {
	const begun = `{"parentUuid":null,"promptId":"c","type":"user","isMeta":true,"uuid":"c1","message":{"content":"<local-command-caveat>It was run.</local-command-caveat>"}}` + "\n"
	output := func(tag, words string) string {
		return `{"parentUuid":"c1","promptId":"c","type":"user","uuid":"c2","message":{"content":"<` + tag + `>` + words + `</` + tag + `>"}}` + "\n"
	}
	note := `{"parentUuid":"c1","type":"system","subtype":"local_command","uuid":"c2","content":"<local-command-stderr>` +
		`Error during compaction: API Error: 529 overloaded</local-command-stderr>"}` + "\n"
	for name, tt := range map[string]struct {
		text      string
		interrupt bool
		waits     time.Duration
		want      string
	}{
		"Done":        {begun + output("local-command-stdout", "Compacted"), false, time.Second, "turn_end"},
		"Failed":      {begun + output("local-command-stderr", "Not enough messages"), false, time.Second, "turn_end(TURN_UNKNOWN)"},
		"Refused":     {begun + note, false, time.Second, "turn_end(MODEL_UNAVAILABLE)"},
		"Stopped":     {begun, false, 5 * time.Second, "turn_end!"},
		"Interrupted": {"", true, 5 * time.Second, "turn_end!"},
		"Unknown":     {"", false, 5 * time.Second, "turn_end(TURN_UNKNOWN)"},
		"Works":       {begun, false, time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := ""
			r := readingRig(t, &text)
			r.told("UserPromptSubmit", "1", map[string]any{"prompt": "go"})
			r.title(busy)
			text += asked("1", "") + answered("1") + halted("1")
			r.told("Stop", "1", map[string]any{"last_assistant_message": "answer 1"})
			r.title(idle)
			r.Pass(time.Second)
			r.want("took[go] text[answer 1] turn_end[answer 1]")
			r.title(busy)
			r.Pass(10 * time.Second)
			if tt.interrupt {
				r.driver.(agentcli.Interrupter).Interrupt()
			}
			r.want("busy")
			text += tt.text
			r.title(idle)
			r.Pass(tt.waits)
			r.want(tt.want)
			r.told("UserPromptSubmit", "2", map[string]any{"prompt": "more"})
			r.title(busy)
			r.Pass(5 * time.Second)
			if tt.want != "" {
				r.want("took[more]")
			}
		})
	}
}
