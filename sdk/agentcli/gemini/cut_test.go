package gemini_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What gemini writes of an answer that the model ended early, and of one that came later.
const (
	cutNote   = `{"id":"n","timestamp":"2026-11-30T10:00:00.000Z","type":"info","content":"⚠️  Response truncated due to token limits."}`
	cutAnswer = `{"id":"4","timestamp":"2026-11-30T10:00:00.400Z","type":"gemini","content":"half","model":"m","tokens":{"input":9,"output":1}}`
	lateOne   = `{"id":"4","timestamp":"2026-11-30T10:00:01.100Z","type":"gemini","content":"whole","model":"m","tokens":{"input":9,"output":1}}`
	cutCall   = `{"id":"4","timestamp":"2026-11-30T10:00:00.400Z","type":"gemini","content":"half","model":"m","toolCalls":[{}]}`
	nextOne   = `{"id":"5","timestamp":"2026-11-30T10:00:00.900Z","type":"gemini","content":"whole","model":"m"}`
	emptyOne  = `{"id":"e","timestamp":"2026-11-30T10:00:09.000Z","type":"error","content":"The model returned an empty response with no text."}`
)

// A part of an answer is no answer. What came to nothing before gemini asked again, or belongs to the call of a tool, cuts nothing.
func TestCutShort(t *testing.T) {
	for name, tt := range map[string]struct {
		lines []string
		want  string
	}{
		"Cut":      {[]string{cutNote, cutAnswer}, "text[half] turn_end(MODEL_ERROR)"},
		"Repeated": {[]string{cutNote, lateOne}, "text[whole] turn_end[whole]"},
		"Called":   {[]string{cutNote, cutCall, nextOne}, "text[half] text[whole] turn_end[whole]"},
		"Nothing":  {[]string{cutNote, cutNote, emptyOne}, "turn_end(MODEL_ERROR)"},
		"Empty":    {[]string{emptyOne}, "turn_end(MODEL_CUT)"},
	} {
		t.Run(name, func(t *testing.T) {
			r := readyRig(t)
			r.takes("now")
			r.title(busy)
			r.says(tt.lines...)
			r.hook("AfterAgent", nil)
			r.title(idle)
			r.Pass(10 * time.Second)
			r.want("took[now] session[s-0] " + tt.want)
		})
	}
}

// What stands on the screen with the note was cut, however late its stream ends. An answer that is drawn later is of another attempt.
func TestCutThenLate(t *testing.T) {
	drawn := append([]string{"ℹ ⚠️  Response truncated due to token limits.", "", "✦ half", ""}, ready...)
	for name, tt := range map[string]struct {
		screen []string
		want   string
	}{
		"Drawn":    {drawn, "text[whole] turn_end(MODEL_ERROR)"},
		"NotDrawn": {append([]string{drawn[0], "", "  Executing Hook: wardroom (esc to cancel, 1s)"}, ready...), "text[whole] turn_end[whole]"},
		"Narrow":   {append([]string{drawn[0], "", "⠏ Thinking…", "  (esc to cancel, 1s)"}, ready...), "text[whole] turn_end[whole]"},
		"Earlier":  {append([]string{drawn[0], "", "▄▄▄▄▄▄▄▄", "> now"}, ready...), "text[whole] turn_end[whole]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := readyRig(t)
			r.takes("now")
			r.title(busy)
			r.says(cutNote)
			r.shows(tt.screen)
			r.Pass(time.Second)
			r.says(lateOne)
			r.hook("AfterAgent", nil)
			r.title(idle)
			r.shows(ready)
			r.Pass(10 * time.Second)
			r.want("took[now] session[s-0] " + tt.want)
		})
	}
}

// The provider may end an answer early: at the limit of tokens, or for what is in it.
func TestRealCutShort(t *testing.T) {
	t.Parallel()
	half, all := `{"text":"half of an"}`, chunk("STOP", `{"text":"all of it"}`)
	a := startScripted(t, map[string][]reply{
		"tokens":  {{chunk("MAX_TOKENS", half)}},
		"late":    {{chunk("MAX_TOKENS", half), pause}},
		"safety":  {{chunk("SAFETY", half)}},
		"recited": {{chunk("RECITATION", half)}},
		"banned":  slices.Repeat([]reply{{chunk("PROHIBITED_CONTENT")}}, 4), // so often gemini asks
		"spoken":  {{chunk("MAX_TOKENS")}, {all}},
	})
	for name, words := range map[string]string{
		"tokens": "truncated due to token limits", "late": "truncated due to token limits", "safety": "safety", "recited": "recitation", "banned": "prohibited content", "spoken": "",
	} {
		a.Send("PLAY[" + name + "] please")
		switch end := a.Turn(); {
		case words == "" && (end.Error != nil || end.Text != "all of it"):
			t.Errorf("%s: the turn ended with %q, %+v", name, end.Text, end.Error)
		case words == "":
		case end.Error == nil || end.Error.Code != wire.TurnModelError || !strings.Contains(end.Error.Message, words) || end.Text != "":
			t.Errorf("%s: the turn ended with %q, %+v", name, end.Text, end.Error)
		}
	}
	a.Send("after all")
	if end := a.Turn(); end.Text != "ANSWER[after all]" {
		t.Errorf("the next turn ended with %+v", end.Signal)
	}
}
