package codex_test

import (
	"fmt"
	"testing"
	"time"
)

// helperUsed is an entry of a helper's transcript: one request of a thread.
func helperUsed(thread string, input, cached, output int) string {
	return fmt.Sprintf(`{"type":"token_usage_record","payload":{"thread_id":"%s","turn_id":"h","usage":`+
		`{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d}}}`+"\n", thread, input, cached, output)
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
