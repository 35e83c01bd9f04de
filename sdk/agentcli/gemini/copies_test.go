package gemini_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
)

// prompted has gemini report a prompt, and wants it to be refused or not.
func (r *rig) prompted(text string, refused bool) {
	r.t.Helper()
	c := drivertest.Call(r.t, "BeforeAgent", map[string]any{"session_id": "other", "transcript_path": "/t.jsonl", "prompt": text})
	r.driver.Hook(c.Call)
	r.Pass(time.Millisecond) // it may read first
	if got := strings.Contains(c.Answer, `"block"`); got != refused || !c.Answered {
		r.t.Errorf("%q is answered with %q", text, c.Answer)
	}
	r.note()
}

// A message whose caller was answered that it was not delivered does not run, and is not typed on; one that is sent again does. So it is
// in a later process.
func TestGivenUp(t *testing.T) {
	for _, anew := range []bool{false, true} {
		r := readyRig(t)
		rest := r.driver.Submit("hello")
		keys := drivertest.Keystrokes(rest)
		r.driver.(agentcli.Forgetter).Forget("hello")
		if more := drivertest.Keystrokes(rest); !strings.HasSuffix(keys, "\r") || more != "" {
			t.Errorf("typed %q, and then %q", keys, more)
		}
		if anew {
			saved := r.driver.Save()
			r = readyRig(t)
			r.driver.Load(saved)
		}
		r.prompted("hello", true)
		r.title(busy)
		r.title(idle)
		r.Pass(time.Second)
		r.want("")
		drivertest.Keystrokes(r.driver.Submit("hello"))
		r.prompted("hello", false)
		r.want("took[hello] session[s-0]")
	}
}

// What waited with a message for the end of a turn is in its prompt: it is the message's, and nothing of it is lost. A draft that the
// message was typed behind is none of that, and neither is the message once more.
func TestJoined(t *testing.T) {
	for prompt, refused := range map[string]bool{
		"hello\n\nmine": false, "mine\n\nhello": false, "a\n\nhello\n\nb": false, "mine hello": true, "hello\n\nhello": true,
	} {
		r := readyRig(t)
		r.prompted("before", false)
		r.title(busy)
		r.want("took[before] session[s-0]")
		r.driver.Submit("hello")
		r.says(`{"id":"4","type":"gemini","content":"yes","model":"m"}`)
		r.ends()
		r.want("text[yes] turn_end[yes]")
		r.prompted(prompt, refused)
		want := "took[hello]"
		if refused {
			want = ""
		}
		r.want(want)
	}
	r := readyRig(t)
	r.driver.Submit("hello")
	r.prompted("a draft\n\nhello", true)
}
