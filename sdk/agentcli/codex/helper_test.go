package codex_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// helperUsed is an entry of a helper's transcript: one request of a thread.
func helperUsed(thread string, input, cached, output int) string {
	return fmt.Sprintf(`{"type":"token_usage_record","payload":{"thread_id":"%s","turn_id":"h","usage":`+
		`{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d}}}`+"\n", thread, input, cached, output)
}

// What a helper asks between two turns is no turn, and answered as it was: codex does not say that it works then.
func TestHelperAsks(t *testing.T) {
	r := readyRig(t)
	for _, tt := range []struct{ choice, keys, then string }{
		{runtime.ChoiceAllow, "1", "idle"}, {runtime.ChoiceDeny, "\x1b", "done"}, {runtime.ChoiceAllow, "1", "working"},
	} {
		r.hook("PermissionRequest", map[string]any{"agent_id": "a", "tool_name": "Bash", "tool_input": map[string]any{"command": "rm x"}})
		r.state("blocked:kind=permission")
		if len(r.Signals) != 1 || r.Signals[0].Source != runtime.SourceScreen { // which begins no turn
			t.Fatalf("signals are %+v", r.Signals)
		}
		r.want("blocked[Bash: rm x]")
		r.title("[ . ] Action Required")
		steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: tt.choice})
		if keys := drivertest.Keystrokes(steps); err != nil || keys != tt.keys {
			t.Errorf("%v, typed %q", err, keys)
		}
		r.state(tt.then)
		r.Pass(10 * time.Second)
		r.want("unblocked[" + tt.choice + "]")
	}
}

// What helpers used is counted though the process ends that reads it.
func TestHelperUsageSaved(t *testing.T) {
	r := readyRig(t)
	r.taken("1")
	r.files["/t.jsonl"] = turn("1", usedEntry+"\n"+doneEntry+"\n")
	r.files["/helper.jsonl"] = `{"type":"session_meta","payload":{"id":"own"}}` + "\n" + helperUsed("own", 100, 30, 1)
	r.hook("SubagentStop", map[string]any{"session_id": "s", "agent_id": "a", "agent_transcript_path": "/helper.jsonl"})
	var saved []byte
	r.onRead = func(name string) {
		if name == "/helper.jsonl" {
			saved = r.driver.Save()
		}
	}
	r.state("done")
	r.Pass(time.Second)
	back := newRig(t)
	back.files = r.files
	back.driver.Load(saved)
	back.Pass(time.Second)
	for _, signals := range [][]agentcli.Signal{r.Signals, back.Signals} {
		if n := len(signals); n == 0 || signals[n-1].Usage == nil || signals[n-1].Usage.Requests != 2 {
			t.Errorf("signals are %+v", signals)
		}
	}
}

// A transcript of which only a part can be read counts nothing: a part would be taken for all, and count again later.
func TestHelperUsageReadInPart(t *testing.T) {
	calls := 0
	room := agentcli.Room{ReadFrom: func(string, int64, int) ([]byte, int64, error) {
		if calls++; calls > 1 {
			return nil, 0, errors.New("the disk fails")
		}
		return []byte(`{"type":"session_meta","payload":{"id":"own"}}` + "\n" + helperUsed("own", 100, 30, 1)), 0, nil
	}}
	if u := codex.ReadUsage(room, "/helper.jsonl"); u != nil {
		t.Errorf("usage %+v", u)
	}
}

// What a helper used is in its own transcript, of which a part may be copied from that of its parent. It counts once: what a helper
// uses behind the end of a turn is the next one's.
func TestHelperUsage(t *testing.T) {
	r := readyRig(t)
	r.files["/helper.jsonl"] = `{"type":"session_meta","payload":{"id":"own"}}` + "\n" + `{"type":"session_meta","payload":{"id":"s"}}` + "\n" +
		helperUsed("s", 5000, 0, 5000) + `{"type":"turn_context","payload":{"turn_id":"h","model":"small"}}` + "\n" +
		helperUsed("own", 100, 30, 1)
	for i, want := range []string{"200 9 90 3", "130 7 60 2", "30 7 60 1"} {
		id := fmt.Sprint(i + 1)
		r.taken(id)
		r.files["/t.jsonl"] += turn(id, usedEntry+"\n"+doneEntry+"\n")
		if i < 2 {
			r.files["/helper.jsonl"] += helperUsed("own", 100, 0, 1-i)
			r.hook("SubagentStop", map[string]any{
				"session_id": "s", "transcript_path": "/t.jsonl", "agent_id": "a", "agent_transcript_path": "/helper.jsonl", "turn_id": "h",
			})
		}
		r.state("done")
		r.Pass(time.Second)
		u := r.Signals[len(r.Signals)-1].Usage
		if u == nil || fmt.Sprint(u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.Requests) != want {
			t.Errorf("usage %+v, want %s", u, want)
		}
		r.Signals = nil
	}
}
