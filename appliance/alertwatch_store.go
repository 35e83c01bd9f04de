package appliance

import (
	"fmt"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// recordWatch raises alerts for stored records that cannot be read, and for kinds of records that retention cannot go
// through.
type recordWatch struct {
	raise    func(subject string, what core.Alert)
	broken   func() []store.BrokenRecord
	failures func() []store.RetentionFailure
	steps    func() []store.ClockStep

	told    map[string]bool // keys of records
	failing map[string]bool // kinds
	stepped map[time.Time]bool
}

func (w *recordWatch) look() {
	told := map[string]bool{}
	var fresh []store.BrokenRecord
	for _, r := range w.broken() {
		told[r.Key] = true
		if !w.told[r.Key] {
			fresh = append(fresh, r)
		}
	}
	w.told = told
	if len(fresh) > 0 {
		first := fresh[0]
		w.raise("store", core.Alert{
			Severity: core.SeverityCritical,
			Message: fmt.Sprintf("%d stored records cannot be read and are passed over, among them %s %s: "+
				"`wardroom store check` lists them", len(fresh), first.Kind, first.ID),
			Details: map[string]any{"records": len(fresh), "kind": first.Kind, "id": first.ID, "reason": first.Reason},
		})
	}
	failing := map[string]bool{}
	for _, f := range w.failures() {
		if f.Since.IsZero() {
			continue
		}
		failing[f.Kind] = true
		if !w.failing[f.Kind] {
			w.raise("store", core.Alert{
				Severity: core.SeverityCritical,
				Message:  "Retention does not go through " + f.Kind + ": " + f.Reason,
				Details:  map[string]any{"kind": f.Kind, "reason": f.Reason, "since": f.Since.UTC()},
			})
		}
	}
	w.failing = failing
	stepped := map[time.Time]bool{}
	for _, step := range w.steps() {
		stepped[step.From] = true
		if !w.stepped[step.From] {
			w.raise("clock", core.Alert{
				Severity: core.SeverityWarning,
				Message:  "The clock " + clockText(step),
				Details:  map[string]any{"from": step.From.UTC(), "seconds": int64(step.By / time.Second)},
			})
		}
	}
	w.stepped = stepped
}

// clockText says what a step of the clock means.
func clockText(step store.ClockStep) string {
	text := fmt.Sprintf("went forward by %s from %s, and retention leaves that time out",
		step.By.Round(time.Minute), step.From.UTC().Format(time.RFC3339))
	if step.Until > 0 {
		text += fmt.Sprintf(" until it went on for another %s", step.Until.Round(time.Minute))
	}
	return text
}
