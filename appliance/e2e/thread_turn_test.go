package e2e_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

// A turn that the model refused is no answer of a thread of a real command line: it does not complete by it, and
// what was asked stays with it.
func TestFailedTurnOfThread(t *testing.T) {
	t.Parallel()
	for _, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			s := staffed(t)
			spec := threadSpec(tool, repository(t), "Make the widget. FAIL[400]")
			spec.Policy.CompleteAfterTurns = 1
			r := s.spawnThread(spec)
			r = s.awaitThread(r.ID, "its end", func(r *client.Thread) bool { return r.Over() })
			if r.Status != client.ThreadFailed || r.StatusReason != core.ThreadReasonTurnFailed || r.TurnCount != 0 || r.FailedTurns != 1 ||
				r.Completion == nil || r.Completion.State != "failed" || r.QueuedInputs != 1 {
				t.Fatalf("it is %s", r.Body)
			}
			if r.LastTurn == nil || r.LastTurn.Error == nil || r.LastTurn.Error.Code != "MODEL_ERROR" {
				t.Errorf("its last turn is %+v", r.LastTurn)
			}
			events, err := s.api.ListThreadEvents(t.Context(), r.ID, client.ThreadEventFilter{Types: []string{client.EventThreadTurnComplete}})
			if err != nil || len(events.Events) != 1 || strings.Contains(string(events.Events[0].Data), `"output"`) {
				t.Errorf("turns %+v, %v", events, err)
			}
		})
	}
}
