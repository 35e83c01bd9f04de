package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/wire"
)

func experience(id, fingerprint string, outcome core.ExperienceOutcome) *core.Experience {
	return &core.Experience{
		Experience: wire.Experience{
			ID: id, ExecutionID: idAt(start, 1), ThreadID: threadAt(start, 1), Role: "driver", Repo: "acme/parser", Objective: "make it faster",
			Summary: "a table did it", Outcome: outcome, Details: json.RawMessage(`{"turns":3}`), CreatedAt: start, Count: 1,
		}, Fingerprint: fingerprint,
	}
}

func putExperience(tb testing.TB, s *store.Store, e *core.Experience) {
	tb.Helper()
	mustUpdate(tb, s, func(tx core.Tx) error { return tx.PutExperience(e) })
}

func testExperience(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	e := experience(ownID(core.PrefixMemory, start, 1), "f1", core.ExperienceSuccessful)
	_, err := s.FindExperience(ctx, e.ID)
	wantCode(t, err, core.CodeNotFound)
	scored := *e
	scored.Score = 0.7
	putExperience(t, s, &scored)
	if got, err := s.FindExperience(ctx, e.ID); err != nil || !reflect.DeepEqual(got, e) {
		t.Fatalf("got %+v, %v, want %+v", got, err, e)
	}
	same := func(fingerprint, want string) {
		t.Helper()
		mustUpdate(t, s, func(tx core.Tx) error {
			got, err := tx.SameExperience(fingerprint)
			if (got == nil) != (want == "") || got != nil && got.ID != want {
				t.Errorf("same as %q: %+v, want %q", fingerprint, got, want)
			}
			return err
		})
	}
	same("f1", e.ID)
	same("f", "")
	same("", "")
	changed := *e
	changed.Fingerprint, changed.Count = "f2", 2
	putExperience(t, s, &changed)
	same("f1", "")
	same("f2", e.ID)
	for range 2 { // an unknown one is no error
		mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteExperience(e.ID) })
	}
	same("f2", "")
	_, err = s.FindExperience(ctx, e.ID)
	wantCode(t, err, core.CodeNotFound)
}

func testExperienceInvalid(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	odd := experience("exp_1", "", core.ExperienceFailed)
	odd.Repo = "a\xff"
	for name, e := range map[string]*core.Experience{
		"ErrIDRequired":     experience("", "f", core.ExperienceFailed),
		"ErrOutcomeUnknown": experience("exp_1", "f", "well"),
		"ErrRepoNotUTF8":    odd,
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.PutExperience(e) }), core.CodeValidation)
		})
	}
	_, _, err := s.FindExperiences(ctx, core.ExperienceFilter{Outcome: "well"})
	wantCode(t, err, core.CodeValidation)
	wantPages(t, experienceList(s, core.ExperienceFilter{}))
}

func experienceList(s *store.Store, f core.ExperienceFilter) lister {
	return listOf(s.FindExperiences, func(p core.Page) core.ExperienceFilter { f.Page = p; return f },
		func(e *core.Experience) string { return e.ID })
}

func testExperienceListsEqualModel(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	rnd := rand.New(rand.NewPCG(13, 14))
	model := map[string]*core.Experience{}
	for i := range 500 {
		id := ownID(core.PrefixMemory, start.Add(time.Duration(rnd.IntN(300))*time.Millisecond), 1)
		if rnd.IntN(5) == 0 {
			delete(model, id)
			mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteExperience(id) })
			continue
		}
		e := experience(id, fmt.Sprint("f", i), core.ExperienceOutcomes[rnd.IntN(3)])
		e.ExecutionID, e.Role = idAt(start, 1+rnd.IntN(3)), []string{"", "driver", "reviewer"}[rnd.IntN(3)]
		e.Repo = []string{"", "a", "a/b"}[rnd.IntN(3)]
		model[id] = e
		putExperience(t, s, e)
	}
	for _, exec := range []string{"", idAt(start, 1)} {
		for _, outcome := range append([]core.ExperienceOutcome{""}, core.ExperienceOutcomes...) {
			for _, role := range []string{"", "driver", "nobody"} {
				for _, repo := range []string{"", "a", "a/b"} {
					f := core.ExperienceFilter{ExecutionID: exec, Outcome: outcome, Role: role, Repo: repo}
					want := selectIDs(model, func(e *core.Experience) bool {
						return either(exec, e.ExecutionID) && either(outcome, e.Outcome) && either(role, e.Role) && either(repo, e.Repo)
					})
					wantList(t, fmt.Sprintf("%+v", f), experienceList(s, f), want, 1+rnd.IntN(40))
				}
			}
		}
	}
	ids := selectIDs(model, func(*core.Experience) bool { return true })
	slices.Reverse(ids)
	for _, from := range []int{0, 1, len(ids) / 2, len(ids)} {
		after := ""
		if from > 0 {
			after = ids[from-1]
		}
		var got []string
		err := s.WalkExperiences(ctx, after, func(e *core.Experience) error {
			if !reflect.DeepEqual(e, model[e.ID]) {
				t.Errorf("got %+v, want %+v", e, model[e.ID])
			}
			got = append(got, e.ID)
			return nil
		})
		if err != nil || !slices.Equal(got, ids[from:]) {
			t.Fatalf("walk after %q: %v, %v, want %v", after, got, err, ids[from:])
		}
	}
}

// A walk may use the store, and ends with the first error.
func testWalkExperiences(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	const n = 450 // more than are read at a time
	mustUpdate(t, s, func(tx core.Tx) (err error) {
		for i := range n {
			id := ownID(core.PrefixMemory, start.Add(time.Duration(i)*time.Millisecond), 1)
			err = errors.Join(err, tx.PutExperience(experience(id, fmt.Sprint("f", i), core.ExperienceFailed)))
		}
		return err
	})
	seen := 0
	err := s.WalkExperiences(ctx, "", func(e *core.Experience) error {
		seen++
		return s.Update(ctx, func(tx core.Tx) error { return tx.DeleteExperience(e.ID) })
	})
	if err != nil || seen != n {
		t.Fatalf("walked over %d, %v, want %d", seen, err, n)
	}
	wantList(t, "all", experienceList(s, core.ExperienceFilter{}), nil, 10)
	putExperience(t, s, experience("exp_1", "f", core.ExperienceFailed))
	failed := errors.New("failed")
	if err := s.WalkExperiences(ctx, "", func(*core.Experience) error { return failed }); !errors.Is(err, failed) {
		t.Fatalf("got %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	err = s.WalkExperiences(ended, "", func(*core.Experience) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}
