package appliance

import (
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	recall "github.com/wardroom/wardroom/core/memory"
	"github.com/wardroom/wardroom/core/pattern"
	"github.com/wardroom/wardroom/core/policy"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/store/kv/memory"
	"github.com/wardroom/wardroom/sdk/wire"
)

// What was kept of an execution before its pattern got an allow-list is recalled by no other one, also once the execution is gone.
func TestRecallOfDeletedExecution(t *testing.T) {
	ctx, clock := t.Context(), coretest.NewClock()
	ids := core.NewIDs(clock)
	s, err := store.OpenOn(ctx, memory.New(), store.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	a := &App{store: s, clock: clock, work: ctx, patterns: pattern.NewService(s, clock, pattern.Options{})}
	if err := a.patterns.Open(ctx); err != nil {
		t.Fatal(err)
	}
	m := recall.New(recall.Options{Store: s, Clock: clock, IDs: ids, Guarded: a.guardedExecution, Config: recall.DefaultConfig()})
	if err := m.Open(ctx); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	const open = "version: 1.0.0\nagents: {capabilities: [x], min: 1}\n"
	now := clock.Now()
	for _, name := range []string{"closed", "open"} {
		if _, err := a.patterns.CreatePattern(ctx, core.PatternInput{Name: name, Source: open}); err != nil {
			t.Fatal(err)
		}
		x := &core.Execution{ID: ids.New(core.PrefixExecution), Status: core.ExecutionCompleted, Pattern: core.PatternRef{Name: name}, CompletedAt: &now}
		e := &core.Experience{Experience: wire.Experience{ExecutionID: x.ID, Objective: "of " + name, Summary: name, Repo: "app", Outcome: core.ExperienceSuccessful}}
		if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutExecution(x) }); err != nil {
			t.Fatal(err)
		}
		if err := s.Update(ctx, func(tx core.Tx) error { return m.KeepExperience(tx, e) }); err != nil {
			t.Fatal(err)
		}
		m.Kept(e)
		if err := s.DeleteExecution(ctx, x.ID, core.Event{Type: core.EventExecutionDeleted, Subject: x.ID}); err != nil {
			t.Fatal(err)
		}
	}
	recalled := func() (list []string) {
		found, err := m.Recall(ctx, core.MemoryQuery{ExecutionID: ids.New(core.PrefixExecution), Repo: "app"})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found.Experiences {
			list = append(list, e.Summary)
		}
		return list
	}
	if list := recalled(); len(list) != 2 {
		t.Fatalf("as both patterns are open: %v", list)
	}
	if _, err := a.patterns.UpdatePattern(ctx, "closed", core.PatternInput{Source: open + "security: {allowedUsers: [ann]}\n"}); err != nil {
		t.Fatal(err)
	}
	if list := recalled(); len(list) != 1 || list[0] != "open" {
		t.Errorf("recalled: %v", list)
	}
}

// An experience outlives its execution, as retention has it: it is there for administrators then, and for no others.
func TestExperienceOfDeletedExecution(t *testing.T) {
	ctx, clock := t.Context(), coretest.NewClock()
	s, err := store.OpenOn(ctx, memory.New(), store.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	rules, err := policy.New(ctx, policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	a := &App{store: s, clock: clock, work: ctx, policy: rules}
	gone := core.NewIDs(clock).New(core.PrefixExecution)
	for _, tt := range []struct {
		scope, resource string
		allowed         bool
	}{
		{core.ScopeAdmin, "experiences", true}, {core.ScopeRead, "experiences", false},
		{core.ScopeAdmin, "executions", false}, {core.ScopeRead, "executions", false},
	} {
		p := core.Principal{Kind: core.PrincipalAPIKey, ID: "ann", Name: "ann", Scopes: []string{tt.scope}}
		access := core.Access{Action: tt.resource + ".read", Resource: tt.resource, Scope: core.ScopeExecutionsRead, ID: gone}
		if ruling, hidden := a.decide(ctx, p, access); ruling.Allowed != tt.allowed || hidden == tt.allowed {
			t.Errorf("%s of %s: %+v, hidden %v", tt.scope, tt.resource, ruling, hidden)
		}
	}
}
