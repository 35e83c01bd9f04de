package appliance

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/threads"
)

// alertWaitLook is how often managed agents are looked at that wait for people.
const alertWaitLook = 10 * time.Second

// waitWatch raises an alert for a managed agent that waits for people for long, once for each thing that it waits for.
// Threads, the ones of roles included, tell by themselves.
type waitWatch struct {
	raise func(subject string, what core.Alert)
	clock core.Clock
	limit func() time.Duration // 0: never
	list  func(ctx context.Context) ([]*core.ManagedAgentRecord, error)
	told  map[string]string // by agent: what it was that was reported
}

func (w *waitWatch) look(ctx context.Context) {
	limit := w.limit()
	if limit <= 0 {
		return
	}
	list, err := w.list(ctx)
	if err != nil {
		return // the next look finds what there is
	}
	told := make(map[string]string, len(w.told))
	for _, r := range list {
		what := string(r.Prompt)
		if r.LoginURL != "" {
			what = r.LoginURL
		}
		if what == "" || r.Gone() || r.Spec.Labels[threads.LabelThread] != "" {
			continue
		}
		waited := w.clock.Now().Sub(r.LastActivityAt)
		if w.told[r.ID] == what {
			told[r.ID] = what
			continue
		}
		if waited < limit {
			continue
		}
		told[r.ID] = what
		var prompt struct{ ID, Kind, Text string }
		_ = json.Unmarshal(r.Prompt, &prompt) // of a login there may be none
		waited = waited.Round(time.Second)
		w.raise(r.ID, core.Alert{
			Severity: core.SeverityWarning,
			Message:  fmt.Sprintf("The agent %s has waited for an answer for %s: `wardroom agent get %s`", r.Name, waited, r.ID),
			Details: map[string]any{
				"agentId": r.ID, "name": r.Name, "type": r.Type, "promptId": prompt.ID, "kind": prompt.Kind, "text": prompt.Text,
				"loginUrl": r.LoginURL, "waitedMs": waited.Milliseconds(),
			},
		})
	}
	w.told = told
}
