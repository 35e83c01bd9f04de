package pattern_test

import (
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/pattern"
	"github.com/wardroom/wardroom/core/storetest"
)

// A version that is made, replaced or deleted by a commit whose answer is lost is known as it is stored.
func TestPatternInDoubt(t *testing.T) {
	storetest.EachDoubt(t, func(t *testing.T, d storetest.Doubt) {
		f := newFixture(t, pattern.Options{})
		change := func(change func() error) { _ = d.Change(f.store.Memory, f.clock, change) }
		change(func() error {
			_, err := f.CreatePattern(ann(t), core.PatternInput{Source: source("a", "1.0.0")})
			return err
		})
		_, err := f.FindPattern(t.Context(), "a", "1.0.0")
		wantCode(t, err, "")
		change(func() error {
			_, err := f.UpdatePattern(ann(t), "a", core.PatternInput{Source: source("a", "1.1.0")})
			return err
		})
		if p, err := f.FindPattern(t.Context(), "a", ""); err != nil || p.Version != "1.1.0" {
			t.Errorf("the latest is %+v, %v", p, err)
		}
		change(func() error { _, err := f.DeletePattern(ann(t), "a", ""); return err })
		_, err = f.FindPattern(t.Context(), "a", "")
		wantCode(t, err, core.CodeNotFound)
	})
}

// Built-in patterns that are stored by a commit whose answer is lost are known once the store takes writes again.
func TestBuiltInInDoubt(t *testing.T) {
	store, clock := newMemory(t), coretest.NewClock()
	s := pattern.NewService(store, clock, pattern.Options{BuiltIns: []string{source("shipped", "1.0.0")}})
	if err := store.Losing(clock, 0, func() error { return s.Open(t.Context()) }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.FindPattern(t.Context(), "shipped", ""); err != nil {
		t.Error(err)
	}
}
