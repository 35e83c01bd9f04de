package codex_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
)

// startScripted starts a codex whose requests that hold PLAY[name] get the answers of that name, one after the other.
func startScripted(t *testing.T, answers map[string][]http.HandlerFunc) *drivertest.Agent {
	t.Helper()
	drivertest.CLI(t, "codex")
	return started(t, codex.New(), modelEnv(drivertest.Played(t, answers)))
}

// event is one of a stream.
type event map[string]any

// says streams events, and then breaks off.
func says(events ...event) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			b, err := json.Marshal(e)
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], b)
		}
	}
}

var created = event{"type": "response.created", "response": event{"id": "resp_1"}}

// item is a whole item of an answer.
func item(it event) event {
	return event{"type": "response.output_item.done", "output_index": 0, "item": it}
}

func message(text string) event {
	return event{"type": "message", "role": "assistant", "id": "msg_1", "content": []event{{"type": "output_text", "text": text}}}
}
