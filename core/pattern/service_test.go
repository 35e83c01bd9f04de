package pattern_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/pattern"
)

// fixture is a service over a store in memory.
type fixture struct {
	*pattern.Service
	t     testing.TB
	store *memory
	clock *coretest.Clock
}

func newFixture(t testing.TB, options pattern.Options) *fixture {
	t.Helper()
	f := &fixture{t: t, store: newMemory(t), clock: coretest.NewClock()}
	f.Service = pattern.NewService(f.store, f.clock, options)
	if err := f.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f
}

// source returns a small definition.
func source(name, version string) string {
	return fmt.Sprintf("name: %s\nversion: %q\nagents: {capabilities: [c]}\n", name, version)
}

// create stores a version, a second after the one before.
func (f *fixture) create(name, version string) *core.Pattern {
	f.t.Helper()
	f.clock.Advance(time.Second)
	p, err := f.CreatePattern(ann(f.t), core.PatternInput{Source: source(name, version)})
	if err != nil {
		f.t.Fatalf("create %s@%s: %v", name, version, err)
	}
	return p
}

func ann(t testing.TB) context.Context {
	return core.WithPrincipal(t.Context(), core.Principal{Kind: "user", ID: "ann"})
}

func wantCode(t testing.TB, err error, code core.Code) *core.Error {
	t.Helper()
	if core.ErrorCode(err) != code {
		t.Fatalf("error is %v, want %s", err, code)
	}
	return core.AsError(err)
}

func (f *fixture) wantEvent(kind core.EventType, subject, data string) {
	f.t.Helper()
	events := f.store.Appended()
	if len(events) == 0 {
		f.t.Fatal("no event")
	}
	last := events[len(events)-1]
	if last.Type != kind || last.Subject != core.PatternSubject(subject) || string(last.Data) != data || !core.ValidID(core.PrefixEvent, last.ID) || !last.Time.Equal(f.clock.Now()) {
		f.t.Errorf("event is %s %s %s %s", last.Type, last.ID, last.Subject, last.Data)
	}
}

func TestCreatePattern(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	made := f.create("a", "1.0.0")
	f.wantEvent(core.EventPatternCreated, "a", `{"createdBy":"ann","name":"a","version":"1.0.0"}`)
	if made.CreatedBy != "ann" || made.Hash == "" || !made.CreatedAt.Equal(f.clock.Now()) || string(made.Definition) != `{"agents":{"capabilities":["c"],"min":1}}` {
		t.Errorf("made %+v, definition %s", made, made.Definition)
	}
	found, err := f.FindPattern(t.Context(), "a", "")
	if err != nil || found.Source != made.Source || string(found.Definition) != string(made.Definition) {
		t.Errorf("found %+v, %v", found, err)
	}
	if f.store.reads.Load() != 0 {
		t.Errorf("the store was read %d times", f.store.reads.Load())
	}

	_, err = f.CreatePattern(ann(t), core.PatternInput{Source: source("a", "1.0.0")})
	if e := wantCode(t, err, core.CodeConflict); e.Details["resource"] != "pattern" || e.Details["id"] != "a@1.0.0" {
		t.Errorf("details %v", e.Details)
	}
	_, err = f.CreatePattern(ann(t), core.PatternInput{Source: "name: a\nfoo: 1\n"})
	if e := wantCode(t, err, core.CodeValidation); len(e.Details["errors"].([]core.Problem)) != 3 {
		t.Errorf("details %v", e.Details)
	}
	_, err = f.CreatePattern(ann(t), core.PatternInput{Source: source(core.AdHocPattern.Name, "1.0.0")})
	if e := wantCode(t, err, core.CodeValidation); e.Details["field"] != "name" {
		t.Errorf("a pattern with the name of ad-hoc executions: details %v", e.Details)
	}
	if n := len(f.store.Appended()); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

func TestCreatePatternIdentityBesideTheText(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	text := "agents: {capabilities: [c]}\n"
	for _, name := range []string{"one", "two"} {
		p, err := f.CreatePattern(ann(t), core.PatternInput{Name: name, Version: "1.0.0", Description: "said beside", Source: text})
		if err != nil || p.Name != name || p.Description != "said beside" {
			t.Fatalf("made %+v, %v", p, err)
		}
	}
	reopened := pattern.NewService(f.store, f.clock, pattern.Options{})
	if err := reopened.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		p, plan, err := reopened.Resolve(t.Context(), name, "1.x")
		if err != nil || p.Description != "said beside" || plan.Definition().Name != name || plan.Definition().Version != "1.0.0" {
			t.Fatalf("resolved %+v, %v", p, err)
		}
		pinned, err := reopened.Plan(t.Context(), p.Hash)
		if err != nil || pinned.Definition().Name != "" || len(pinned.Definition().Steps) != 1 {
			t.Fatalf("pinned %+v, %v", pinned, err)
		}
	}
	// What the request says wins over the text.
	p, err := f.CreatePattern(ann(t), core.PatternInput{Name: "three", Version: "2", Source: source("other", "1")})
	if err != nil || p.Name != "three" || p.Version != "2" {
		t.Errorf("made %+v, %v", p, err)
	}
}

func TestUpdatePattern(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	first := f.create("a", "1.0.0")
	f.clock.Advance(time.Hour)
	bob := core.WithPrincipal(t.Context(), core.Principal{ID: "bob"})

	changed := source("a", "1.0.0") + "description: changed\n"
	up, err := f.UpdatePattern(bob, "a", core.PatternInput{Source: changed})
	if err != nil || up.Created || up.PreviousVersion != "1.0.0" {
		t.Fatalf("update %+v, %v", up, err)
	}
	if p := up.Pattern; p.CreatedBy != "ann" || !p.CreatedAt.Equal(first.CreatedAt) || !p.UpdatedAt.Equal(f.clock.Now()) || p.Description != "changed" {
		t.Errorf("pattern %+v", p)
	}
	f.wantEvent(core.EventPatternUpdated, "a", `{"name":"a","previousVersion":"1.0.0","updatedBy":"bob","version":"1.0.0"}`)
	if p, err := f.FindPattern(t.Context(), "a", ""); err != nil || p.Source != changed {
		t.Errorf("found %+v, %v", p, err)
	}
	if plan, err := f.Plan(t.Context(), first.Hash); err != nil || plan.Definition().Description != "" {
		t.Errorf("the pinned definition: %+v, %v", plan, err)
	}

	up, err = f.UpdatePattern(bob, "a", core.PatternInput{Version: "1.1.0", Source: "agents: {min: 2}"})
	if err != nil || !up.Created || up.PreviousVersion != "1.0.0" || up.Pattern.CreatedBy != "bob" {
		t.Fatalf("update %+v, %v", up, err)
	}
	f.wantEvent(core.EventPatternUpdated, "a", `{"name":"a","previousVersion":"1.0.0","updatedBy":"bob","version":"1.1.0"}`)

	// A text that names its version is stored under a new one as it is.
	up, err = f.UpdatePattern(bob, "a", core.PatternInput{Version: "1.2.0", Source: changed})
	if err != nil || !up.Created || up.Pattern.Version != "1.2.0" || up.Pattern.Source != changed {
		t.Fatalf("update %+v, %v", up, err)
	}
	if _, plan, err := f.Resolve(t.Context(), "a", "1.2.0"); err != nil || plan.Definition().Version != "1.2.0" {
		t.Errorf("resolved %v, %v", plan, err)
	}
	f.wantEvent(core.EventPatternUpdated, "a", `{"name":"a","previousVersion":"1.1.0","updatedBy":"bob","version":"1.2.0"}`)

	_, err = f.UpdatePattern(bob, "nope", core.PatternInput{Source: source("nope", "1")})
	wantCode(t, err, core.CodeNotFound)
	_, err = f.UpdatePattern(bob, "a", core.PatternInput{Name: "b", Source: source("b", "1")})
	if e := wantCode(t, err, core.CodeValidation); e.Details["field"] != "name" {
		t.Errorf("details %v", e.Details)
	}
	_, err = f.UpdatePattern(bob, "a", core.PatternInput{Source: source("b", "1")})
	wantCode(t, err, core.CodeValidation)
}

func TestDeletePattern(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	f.create("a", "1.0.0")
	second := f.create("a", "1.1.0")
	f.create("a", "2.0.0")
	_, err := f.DeletePattern(ann(t), "a", "1.x")
	wantCode(t, err, core.CodeNotFound)
	if n, err := f.DeletePattern(ann(t), "a", "2.0.0"); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	f.wantEvent(core.EventPatternDeleted, "a", `{"deletedBy":"ann","name":"a"}`)
	if p, err := f.FindPattern(t.Context(), "a", "latest"); err != nil || p.Version != "1.1.0" {
		t.Errorf("latest is %+v, %v", p, err)
	}
	if n, err := f.DeletePattern(ann(t), "a", ""); n != 2 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	_, err = f.FindPattern(t.Context(), "a", "")
	wantCode(t, err, core.CodeNotFound)
	_, err = f.DeletePattern(ann(t), "a", "")
	wantCode(t, err, core.CodeNotFound)
	if _, err := f.Plan(t.Context(), second.Hash); err != nil {
		t.Errorf("an execution lost its definition: %v", err)
	}
}

// Who asks at the event of a pattern finds the version that it tells of.
func TestPatternIsThereBeforeItsEvent(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	var want string
	f.store.Shown(func([]core.Event) {
		all, err := f.FindPatternVersions(t.Context(), "vote-more")
		if want == "" && core.ErrorCode(err) != core.CodeNotFound || want != "" && (err != nil || all[0].Version != want) {
			t.Errorf("at the event there is %+v, %v; want version %q", all, err, want)
		}
	})
	want = "1.0.0"
	f.create("vote-more", "1.0.0")
	want = "1.1.0"
	if _, err := f.UpdatePattern(ann(t), "vote-more", core.PatternInput{Source: source("vote-more", "1.1.0")}); err != nil {
		t.Fatal(err)
	}
	want = ""
	if _, err := f.DeletePattern(ann(t), "vote-more", ""); err != nil {
		t.Fatal(err)
	}
}

func TestShippedPatternIsReadOnly(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	p := f.create("a", "1.0.0")
	shipped := *p
	shipped.ReadOnly = true
	if err := f.store.Update(t.Context(), func(tx core.Tx) error { return tx.PutPattern(&shipped) }); err != nil {
		t.Fatal(err)
	}
	_, err := f.DeletePattern(ann(t), "a", "")
	wantCode(t, err, core.CodeConflict)
	_, err = f.UpdatePattern(ann(t), "a", core.PatternInput{Source: source("a", "1.0.0")})
	wantCode(t, err, core.CodeConflict)
	_, err = f.UpdatePattern(ann(t), "a", core.PatternInput{Source: source("a", "1.0.1")})
	wantCode(t, err, core.CodeConflict)
	_, err = f.CreatePattern(ann(t), core.PatternInput{Source: source("a", "1.0.1")})
	wantCode(t, err, core.CodeConflict)
}

func TestFailedTransactionChangesNothing(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	f.store.Break(0, errDisk)
	if _, err := f.CreatePattern(ann(t), core.PatternInput{Source: source("a", "1")}); err == nil {
		t.Fatal("no error")
	}
	_, err := f.FindPattern(t.Context(), "a", "")
	wantCode(t, err, core.CodeNotFound)
	f.store.Heal()
	f.create("a", "1")
	f.store.Break(0, errDisk)
	if _, err := f.DeletePattern(ann(t), "a", ""); err == nil {
		t.Fatal("no error")
	}
	if _, err := f.FindPattern(t.Context(), "a", "1"); err != nil {
		t.Errorf("the pattern went although the store refused: %v", err)
	}
}

// TestEveryWriteMayFail: whichever call of a transaction fails, the change did not happen, for the store
// and for readers alike.
func TestEveryWriteMayFail(t *testing.T) {
	changes := map[string]func(f *fixture) error{
		"create": func(f *fixture) error {
			_, err := f.CreatePattern(ann(t), core.PatternInput{Source: source("a", "2.0.0")})
			return err
		},
		"update": func(f *fixture) error {
			_, err := f.UpdatePattern(ann(t), "a", core.PatternInput{Source: source("a", "1.0.0") + "description: new"})
			return err
		},
		"delete": func(f *fixture) error {
			_, err := f.DeletePattern(ann(t), "a", "")
			return err
		},
	}
	for name, apply := range changes {
		f := newFixture(t, pattern.Options{})
		f.create("a", "1.0.0")
		failures := 0
		for f.store.trip = 1; ; f.store.trip++ {
			err := apply(f)
			if err == nil {
				break
			}
			failures++
			wantCode(t, err, core.CodeInternal)
			if strings.Contains(core.AsError(err).Message, "disk") {
				t.Errorf("%s: the cause is shown: %v", name, err)
			}
			p, err := f.FindPattern(t.Context(), "a", "")
			if err != nil || p.Version != "1.0.0" || p.Description != "" || len(f.store.Appended()) != 1 {
				t.Fatalf("%s, call %d: found %+v, %v", name, f.store.trip, p, err)
			}
		}
		if failures < 3 {
			t.Errorf("%s: %d calls could fail", name, failures)
		}
	}
}

func TestDamagedStore(t *testing.T) {
	f := newFixture(t, pattern.Options{CacheBytes: 1})
	p := f.create("a", "1.0.0")
	f.create("b", "1.0.0") // takes a's place in the cache
	f.store.damage = map[string]string{p.Hash: "name: [broken"}
	_, err := f.FindPattern(t.Context(), "a", "")
	wantCode(t, err, core.CodeInternal)
	_, err = f.Plan(t.Context(), p.Hash)
	wantCode(t, err, core.CodeInternal)
	f.store.damage[p.Hash] = ""
	_, _, err = f.Resolve(t.Context(), "a", "")
	wantCode(t, err, core.CodeNotFound)
}

func TestIdempotencyIsClaimedWithTheWrite(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	ctx := core.WithIdempotency(ann(t), &core.IdempotencyClaim{Key: "k"})
	if _, err := f.CreatePattern(ctx, core.PatternInput{Source: source("a", "1")}); err != nil {
		t.Fatal(err)
	}
	if claimed, err := f.store.FindIdempotency(ctx, "", "k", f.clock.Now()); err != nil || claimed == nil || claimed.ResourceID != "a@1" {
		t.Errorf("claimed %+v, %v", claimed, err)
	}
	_, err := f.CreatePattern(ctx, core.PatternInput{Source: source("b", "1")})
	wantCode(t, err, core.CodeConflict)
	_, err = f.FindPattern(t.Context(), "b", "")
	wantCode(t, err, core.CodeNotFound)
}

func TestComposition(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	compose := func(name string, inner ...string) error {
		text := "name: " + name + "\nversion: 1.0.0\nsteps:\n"
		for i, in := range inner {
			text += fmt.Sprintf("  - {id: s%d, pattern: %q}\n", i, in)
		}
		_, err := f.CreatePattern(ann(t), core.PatternInput{Source: text})
		return err
	}
	wantReason := func(err error, want string) {
		t.Helper()
		e := wantCode(t, err, core.CodeValidation)
		if got := fmt.Sprint(e.Details["errors"]); !strings.Contains(got, want) {
			t.Errorf("errors %s, want %s", got, want)
		}
	}
	wantReason(compose("self", "self@1.x"), "line 4: steps[0].pattern: leads back to this pattern: self -> self")
	if err := compose("a", "b@1.x", "unknown"); err != nil {
		t.Fatal(err)
	}
	if err := compose("b", "c"); err != nil {
		t.Fatal(err)
	}
	wantReason(compose("c", "leaf", "a"), "line 5: steps[1].pattern: leads back to this pattern: c -> a -> b -> c")
	if _, problems := f.CheckPattern(t.Context(), "name: c\nversion: 2.0.0\nsteps: [{id: x, pattern: a}]"); len(problems) != 1 {
		t.Errorf("problems %v", problems)
	}
	if p, problems := f.CheckPattern(t.Context(), "name: d\nversion: 2.0.0\ndescription: x\nagents: {capabilities: [y]}"); len(problems) != 0 ||
		p.Name != "d" || p.Version != "2.0.0" || p.Description != "x" || len(p.Definition) == 0 {
		t.Errorf("%+v, problems %v", p, problems)
	}
	for i := range 8 {
		if err := compose(fmt.Sprintf("n%d", i+1), fmt.Sprintf("n%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	wantReason(compose("n9", "n8"), "runs more than 8 patterns one inside the other")
}

func TestCacheIsBounded(t *testing.T) {
	f := newFixture(t, pattern.Options{CacheBytes: 3000})
	for i := range 10 {
		f.create(fmt.Sprintf("p%d", i), "1")
	}
	for range 2 {
		for i := range 10 {
			p, plan, err := f.Resolve(t.Context(), fmt.Sprintf("p%d", i), "")
			if err != nil || p.Source == "" || len(p.Definition) == 0 || plan.Definition().Name != p.Name {
				t.Fatalf("resolved %+v, %v", p, err)
			}
		}
	}
	if f.store.reads.Load() != 20 {
		t.Errorf("the store was read %d times, want 20", f.store.reads.Load())
	}
	if _, _, err := f.Resolve(t.Context(), "p9", ""); err != nil || f.store.reads.Load() != 20 {
		t.Errorf("the last one used was not kept: %d reads, %v", f.store.reads.Load(), err)
	}
}

func TestPlanUnknownHash(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	_, err := f.Plan(t.Context(), strings.Repeat("0", 64))
	wantCode(t, err, core.CodeNotFound)
}

func TestConcurrentUse(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	f.create("p", "1.0.0")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range 20 {
				if i < 2 {
					_, err := f.CreatePattern(ann(t), core.PatternInput{Source: source("p", fmt.Sprintf("1.%d.%d", i+1, n))})
					if err != nil {
						t.Error(err)
					}
					continue
				}
				p, plan, err := f.Resolve(t.Context(), "p", "^1.0")
				if err != nil || plan.Definition().Version != p.Version {
					t.Error(p, err)
				}
				if _, _, err := f.FindPatterns(t.Context(), core.PatternFilter{Search: "P"}); err != nil {
					t.Error(err)
				}
				if input, err := plan.CheckInput(json.RawMessage(`{"a":1}`)); err != nil || string(input) != `{"a":1}` {
					t.Error(string(input), err)
				}
			}
		}()
	}
	wg.Wait()
	if versions, err := f.FindPatternVersions(t.Context(), "p"); err != nil || len(versions) != 41 || versions[0].Version != "1.2.19" {
		t.Errorf("%d versions, %v", len(versions), err)
	}
}

// The events of a pattern with the name of another thing are not under that thing's subject.
func TestSubjectsOfPatterns(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	ids := core.NewIDs(f.clock)
	for _, prefix := range []string{core.PrefixExecution, core.PrefixThread, core.PrefixManaged, core.PrefixAgent, core.PrefixBatch, core.PrefixEvent} {
		id := ids.New(prefix)
		f.create(id, "1.0.0")
		events := f.store.Appended()
		if subject := events[len(events)-1].Subject; subject != "patterns:"+id {
			t.Errorf("%s is under %s", id, subject)
		}
	}
}

// That there are allow-lists is known from their first definition on, and over a restart also of definitions that are kept for what
// ran by them alone.
func TestGuarded(t *testing.T) {
	ctx := t.Context()
	m := newMemory(t)
	s := pattern.NewService(m, core.SystemClock{}, pattern.Options{})
	if err := s.Open(ctx); err != nil || s.Guarded() {
		t.Fatal(err, s.Guarded())
	}
	const open = "name: open\nversion: 1.0.0\nagents: {capabilities: [a], min: 1}\ndescription: 'says allowedUsers and \\'\n"
	const text = "name: closed\nversion: 1.0.0\nagents: {capabilities: [a], min: 1}\nsecurity: {\"allowed\\x55sers\": [ann]}\n"
	if _, err := s.CreatePattern(ctx, core.PatternInput{Source: open}); err != nil || s.Guarded() {
		t.Fatal(err, s.Guarded())
	}
	restarted := func() *pattern.Service {
		t.Helper()
		again := pattern.NewService(m, core.SystemClock{}, pattern.Options{})
		if err := again.Open(ctx); err != nil {
			t.Fatal(err)
		}
		return again
	}
	if restarted().Guarded() {
		t.Error("a description makes a list")
	}
	if _, err := s.CreatePattern(ctx, core.PatternInput{Source: text}); err != nil || !s.Guarded() {
		t.Fatal(err, s.Guarded())
	}
	if !restarted().Guarded() {
		t.Error("forgotten at the next start")
	}
}

// Each change of an allow-list counts, and no other does while there are none.
func TestGuardChanges(t *testing.T) {
	ctx := t.Context()
	s := pattern.NewService(newMemory(t), core.SystemClock{}, pattern.Options{})
	if err := s.Open(ctx); err != nil {
		t.Fatal(err)
	}
	const text = "name: a\nversion: 1.0.0\nagents: {capabilities: [a], min: 1}\n"
	count := func(what string, want uint64, err error) {
		t.Helper()
		if got := s.GuardChanges(); err != nil || got != want {
			t.Errorf("%s: %d, want %d, %v", what, got, want, err)
		}
	}
	update := func(text string) error {
		_, err := s.UpdatePattern(ctx, "a", core.PatternInput{Source: text})
		return err
	}
	_, err := s.CreatePattern(ctx, core.PatternInput{Source: text})
	count("made without", 0, err)
	count("described", 0, update(text+"description: x\n"))
	const newer = "name: a\nversion: 2.0.0\nagents: {capabilities: [a], min: 1}\nsecurity: {allowedUsers: [ann]}\n"
	count("a version with a list", 1, update(newer))
	count("the same again", 1, update(newer))
	count("another list", 2, update(strings.Replace(newer, "ann", "bob", 1)))
	count("a former version", 2, update(text))
	_, err = s.DeletePattern(ctx, "a", "2.0.0")
	count("the version with a list is deleted", 3, err)
	_, err = s.CreatePattern(ctx, core.PatternInput{Source: "not: [one"})
	if err == nil {
		t.Error("a broken definition is taken")
	}
	count("refused", 3, nil)
}

// An empty allow-list permits no one else, and does not open the pattern to all.
func TestEmptyAllowList(t *testing.T) {
	ctx := t.Context()
	s := pattern.NewService(newMemory(t), core.SystemClock{}, pattern.Options{})
	if err := s.Open(ctx); err != nil {
		t.Fatal(err)
	}
	for name, security := range map[string]string{"users": "{allowedUsers: []}", "roles": "{allowedRoles: []}", "none": "{}"} {
		p, err := s.CreatePattern(ctx, core.PatternInput{Source: "name: " + name + "\nversion: 1.0.0\nagents: {min: 1}\nsecurity: " + security + "\n"})
		if err != nil {
			t.Fatal(err)
		}
		guard, err := s.Guard(ctx, name)
		if err != nil || (guard == nil) != (name == "none") {
			t.Errorf("%s: %+v, %v", security, guard, err)
		}
		pinned, err := s.PinnedGuards(ctx, p.Hash)
		if err != nil || (len(pinned) == 0) != (name == "none") {
			t.Errorf("%s pinned: %+v, %v", security, pinned, err)
		}
	}
	if !s.Guarded() {
		t.Error("no definition has a list")
	}
}
