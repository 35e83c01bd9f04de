package agents

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// FuzzDeepFrame holds what is read of a frame that is refused for its depth to what encoding/json reads of it, where that
// can: the task whose report it is must end, and no other. Where it cannot, nothing fails.
func FuzzDeepFrame(f *testing.F) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for _, seed := range append([]string{
		`{"type":"task_result","id":"r","payload":{"taskId":"task_1","executionId":"exec_1","attempt":2,"result":` + deep + `}}`,
		`{"payload":{"result":` + deep + `,"attempt":7,"taskId":"late"},"id":"last","type":"task_error"}`,
		`{"type":"task_result","payload":{"taskId":{"taskId":"inner"},"result":` + deep + `}}`,
		`{"type":"task_result","payload":{"taskId":"\u0061","attempt":1e3,"x":` + deep + `}}`,
		`{"type":7,"id":[],"payload":` + deep + `}`,
		`{"type":"task_result","payload":{"taskId":"a\"b","attempt":99999999999999999999,"result":` + strings.Repeat("[", 5_000),
		strings.Repeat(`{"payload":`, 4_000), strings.Repeat(`{"payload":{"taskId":`, 3_000), deep,
	}, frameSeeds...) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := deepFrame(data)
		// Keys that come twice, or in another case, are read in other ways by encoding/json.
		if rawjson.CheckWithin(data, 9_000) != nil || !plainKeys(data) {
			return
		}
		var want struct {
			Type    json.RawMessage `json:"type"`
			ID      json.RawMessage `json:"id"`
			Payload struct {
				TaskID      json.RawMessage `json:"taskId"`
				ExecutionID json.RawMessage `json:"executionId"`
			} `json:"payload"`
		}
		if json.Unmarshal(data, &want) != nil {
			return
		}
		for name, field := range map[string]struct {
			raw json.RawMessage
			got string
		}{
			"type": {want.Type, string(got.kind)}, "id": {want.ID, string(got.id)},
			"taskId": {want.Payload.TaskID, string(got.report.taskID)}, "executionId": {want.Payload.ExecutionID, string(got.report.executionID)},
		} {
			var text string
			if len(field.raw) > 0 && json.Unmarshal(field.raw, &text) != nil {
				text = "" // not a string: none
			}
			if field.got != text {
				t.Fatalf("%s of %.300q is %q, want %q", name, data, field.got, text)
			}
		}
		if got.report.attempt < 0 {
			t.Fatalf("attempt %d of %.300q", got.report.attempt, data)
		}
	})
}

// plainKeys reports whether the keys that matter come once at most, anywhere in the text, and in no other form.
func plainKeys(data []byte) bool {
	text := string(data)
	folded := strings.ToLower(text)
	for _, key := range []string{"type", "id", "payload", "taskId", "executionId"} {
		quoted := `"` + key + `"`
		if n := strings.Count(folded, strings.ToLower(quoted)); n > 1 || n != strings.Count(text, quoted) {
			return false
		}
	}
	return !strings.Contains(text, `\u`) && !strings.Contains(text, "\u017f") && !strings.Contains(text, "\u212a") // these fold to s and k
}
