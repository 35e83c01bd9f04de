package appliance

import (
	"fmt"

	"github.com/wardroom/wardroom/core/store"
)

// recordWatch raises alerts for stored records that cannot be read, and for kinds of records that retention cannot go
// through.
type recordWatch struct {
	raise    func(subject string, what alert)
	broken   func() []store.BrokenRecord
	failures func() []store.RetentionFailure

	told    map[string]bool // keys of records
	failing map[string]bool // kinds
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
		w.raise("store", alert{
			Severity: severityCritical,
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
			w.raise("store", alert{
				Severity: severityCritical,
				Message:  "Retention does not go through " + f.Kind + ": " + f.Reason,
				Details:  map[string]any{"kind": f.Kind, "reason": f.Reason, "since": f.Since.UTC()},
			})
		}
	}
	w.failing = failing
}
