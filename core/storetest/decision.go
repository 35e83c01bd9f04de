package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/wire"
)

func decision(id, executionID, fingerprint string) *core.Decision {
	return &core.Decision{
		Decision: wire.Decision{
			ID: id, ExecutionID: executionID, ThreadID: threadAt(start, 1), Category: core.DecisionFinding, Summary: "use the cache",
			CreatedBy: core.System.ID, CreatedAt: start, Count: 1,
		}, Fingerprint: fingerprint,
	}
}

func putDecision(tb testing.TB, s *store.Store, d *core.Decision) {
	tb.Helper()
	mustUpdate(tb, s, func(tx core.Tx) error { return tx.PutDecision(d) })
}

func testDecision(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	d := decision(ownID(core.PrefixDecision, start, 1), idAt(start, 1), "f1")
	_, err := s.FindDecision(ctx, d.ID)
	wantCode(t, err, core.CodeNotFound)
	putDecision(t, s, d)
	if got, err := s.FindDecision(ctx, d.ID); err != nil || !reflect.DeepEqual(got, d) {
		t.Fatalf("got %+v, %v, want %+v", got, err, d)
	}
	same := func(executionID, fingerprint, want string) {
		t.Helper()
		mustUpdate(t, s, func(tx core.Tx) error {
			got, err := tx.SameDecision(executionID, fingerprint)
			if (got == nil) != (want == "") || got != nil && got.ID != want {
				t.Errorf("same as %q in %q: %+v, want %q", fingerprint, executionID, got, want)
			}
			return err
		})
	}
	same(d.ExecutionID, "f1", d.ID)
	same(d.ExecutionID, "f", "")
	same(d.ExecutionID, "", "")
	same(idAt(start, 2), "f1", "")
	// Another that says the same takes the fingerprint over, and the first one does not take it away.
	second := decision(ownID(core.PrefixDecision, start, 2), d.ExecutionID, "f1")
	putDecision(t, s, second)
	same(d.ExecutionID, "f1", second.ID)
	changed := *d
	changed.Fingerprint = "f2"
	putDecision(t, s, &changed)
	same(d.ExecutionID, "f1", second.ID)
	same(d.ExecutionID, "f2", d.ID)
	none := *second
	none.Fingerprint = ""
	putDecision(t, s, &none)
	same(d.ExecutionID, "f1", "")
	// Within a transaction the second of two finds the first.
	mustUpdate(t, s, func(tx core.Tx) error {
		err := tx.PutDecision(decision(ownID(core.PrefixDecision, start, 3), d.ExecutionID, "f3"))
		got, findErr := tx.SameDecision(d.ExecutionID, "f3")
		if findErr != nil || got == nil {
			t.Errorf("in the transaction: %+v, %v", got, findErr)
		}
		return err
	})
}

func testDecisionInvalid(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	id, execID := ownID(core.PrefixDecision, start, 1), idAt(start, 1)
	putDecision(t, s, decision(id, execID, "f1"))
	odd := decision(id, execID, "f1")
	odd.Category = "a\xff"
	for name, d := range map[string]*core.Decision{
		"ErrIDRequired":          decision("", execID, ""),
		"ErrExecutionRequired":   decision(id, "", ""),
		"ErrOtherExecution":      decision(id, idAt(start, 2), "f1"),
		"ErrCategoryNotUTF8":     odd,
		"ErrFingerprintNotUTF8":  decision(id, execID, "f\xff"),
		"ErrFingerprintTooLarge": decision(id, execID, strings.Repeat("f", 70_000)),
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.PutDecision(d) }), core.CodeValidation)
		})
	}
	wantPages(t, decisionList(s, core.DecisionFilter{ExecutionID: execID}))
}

func decisionList(s *store.Store, f core.DecisionFilter) lister {
	return listOf(s.FindDecisions, func(p core.Page) core.DecisionFilter { f.Page = p; return f },
		func(d *core.Decision) string { return d.ID })
}

func testDecisionListsEqualModel(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	rnd := rand.New(rand.NewPCG(11, 12))
	model := map[string]*core.Decision{}
	categories := []string{"", core.DecisionFinding, core.DecisionThreadSummary}
	for i := range 300 {
		id := ownID(core.PrefixDecision, start.Add(time.Duration(i%200)*time.Millisecond), 1)
		d := decision(id, idAt(start, 1+i%2), fmt.Sprint("f", rnd.IntN(50)))
		d.ThreadID = []string{"", threadAt(start, 1), threadAt(start, 2)}[rnd.IntN(3)]
		d.Category, d.Count, d.CreatedBy = categories[rnd.IntN(3)], i, []string{"", "ann", core.System.ID}[rnd.IntN(3)]
		model[id] = d
		putDecision(t, s, d)
	}
	for _, exec := range []string{"", idAt(start, 1), idAt(start, 9)} {
		for _, thread := range []string{"", threadAt(start, 1)} {
			for _, category := range categories {
				for _, by := range []string{"", "ann", "an"} {
					f := core.DecisionFilter{ExecutionID: exec, ThreadID: thread, Category: category, CreatedBy: by}
					want := selectIDs(model, func(d *core.Decision) bool {
						return either(exec, d.ExecutionID) && either(thread, d.ThreadID) && either(category, d.Category) && either(by, d.CreatedBy)
					})
					wantList(t, fmt.Sprintf("%+v", f), decisionList(s, f), want, 1+rnd.IntN(20))
				}
			}
		}
	}
}

// A transaction that fails leaves no trace in lists, counts and fingerprints.
func testDecisionRolledBack(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	d := decision(ownID(core.PrefixDecision, start, 1), idAt(start, 1), "f1")
	failed := errors.New("failed")
	if err := s.Update(ctx, func(tx core.Tx) error { return errors.Join(tx.PutDecision(d), failed) }); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	wantList(t, "all", decisionList(s, core.DecisionFilter{}), nil, 10)
	mustUpdate(t, s, func(tx core.Tx) error {
		got, err := tx.SameDecision(d.ExecutionID, "f1")
		if got != nil {
			t.Errorf("got %+v", got)
		}
		return err
	})
}
