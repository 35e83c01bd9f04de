package pattern_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pattern"
)

// shipped returns the definitions that the product ships, by name.
func shipped(tb testing.TB) map[string]string {
	tb.Helper()
	paths, err := filepath.Glob("../../configs/patterns/*.yaml")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no definitions: %v", err)
	}
	all := make(map[string]string)
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".yaml")] = string(raw)
	}
	return all
}

// TestShippedDefinitions: the built-in patterns are what the interface says of them.
func TestShippedDefinitions(t *testing.T) {
	type shape struct{ roles, steps string }
	want := map[string]shape{
		"startup-team":      {"architect! engineer<architect+2", "assign architect, parallel (assign engineer, assign engineer), review architect"},
		"enterprise-review": {"architect! tech_lead<architect engineer<tech_lead qa<tech_lead", "assign engineer, review tech_lead, assign qa, approve architect"},
		"pair-programming":  {"navigator! driver!", "assign navigator, assign driver, review navigator, assign driver, review navigator"},
	}
	all := shipped(t)
	if len(all) != len(want) {
		t.Fatalf("%d definitions", len(all))
	}
	for name, source := range all {
		plan := mustParse(t, source)
		d, c := plan.Definition(), plan.OrgChart().Chart()
		if d.Name != name || len(d.Description) < 80 {
			t.Errorf("%s is called %q: %s", name, d.Name, d.Description)
		}
		var roles []string
		for _, r := range c.Roles {
			word := r.Key
			if r.Singleton {
				word += "!"
			}
			if r.ReportsTo != "" {
				word += "<" + r.ReportsTo
			}
			if r.Min > 1 {
				word += "+2"
			}
			roles = append(roles, word)
			if len(r.Capabilities) == 0 || len(r.AgentTypes) != 3 || r.Managed {
				t.Errorf("%s: role %+v", name, r)
			}
		}
		got := shape{strings.Join(roles, " "), describeSteps(c.Steps)}
		if got != want[name] {
			t.Errorf("%s is\n%+v, want\n%+v", name, got, want[name])
		}
		if _, err := plan.CheckInput([]byte(`{"task":"build it"}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := plan.CheckInput([]byte(`{}`)); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%s takes no task: %v", name, err)
		}
	}
}

func describeSteps(steps []*core.ChartStep) string {
	words := make([]string, len(steps))
	for i, s := range steps {
		words[i] = strings.TrimSpace(string(s.Kind) + " " + s.Role)
		if len(s.Steps) > 0 {
			words[i] += " (" + describeSteps(s.Steps) + ")"
		}
	}
	return strings.Join(words, ", ")
}

// reopen starts a service anew over the same store, with other built-in patterns.
func (f *fixture) reopen(builtIns ...string) *fixture {
	f.t.Helper()
	f.clock.Advance(time.Hour)
	next := &fixture{t: f.t, store: f.store, clock: f.clock}
	next.Service = pattern.NewService(f.store, f.clock, pattern.Options{BuiltIns: builtIns})
	if err := next.Open(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	return next
}

func TestBuiltIns(t *testing.T) {
	old := source("team", "1.0.0") + "description: the old one\n"
	f := newFixture(t, pattern.Options{BuiltIns: []string{old, source("other", "1.0.0")}})
	made, err := f.FindPattern(t.Context(), "team", "")
	if err != nil || !made.ReadOnly || made.CreatedBy != "system" || made.Source != old || made.Description != "the old one" || len(made.Definition) == 0 {
		t.Fatalf("found %+v, %v", made, err)
	}
	if list, info, err := f.FindPatterns(t.Context(), core.PatternFilter{}); err != nil || info.Total != 2 || !list[0].ReadOnly {
		t.Errorf("list %+v, %v", list, err)
	}
	_, err = f.CreatePattern(ann(t), core.PatternInput{Source: source("team", "2.0.0")})
	if e := wantCode(t, err, core.CodeConflict); !strings.Contains(e.Message, "shipped with the product") || !strings.Contains(e.Message, "another name") {
		t.Errorf("message %s", e.Message)
	}
	_, err = f.UpdatePattern(ann(t), "team", core.PatternInput{Source: source("team", "2.0.0")})
	wantCode(t, err, core.CodeConflict)
	for _, version := range []string{"", "1.0.0", "9.9.9"} {
		_, err = f.DeletePattern(ann(t), "team", version)
		wantCode(t, err, core.CodeConflict)
	}
	f.create("mine", "1.0.0")

	f.clock.Advance(time.Minute)
	same := f.reopen(old, source("other", "1.0.0"))
	if p, err := same.FindPattern(t.Context(), "team", ""); err != nil || !p.UpdatedAt.Equal(made.CreatedAt) {
		t.Errorf("what did not change was stored again: %+v, %v", p, err)
	}

	changed := source("team", "1.0.0") + "description: the new one\n"
	next := f.reopen(changed)
	p, err := next.FindPattern(t.Context(), "team", "1.x")
	if err != nil || p.Description != "the new one" || !p.CreatedAt.Equal(made.CreatedAt) || !p.UpdatedAt.Equal(f.clock.Now()) {
		t.Errorf("found %+v, %v", p, err)
	}
	if plan, err := next.Plan(t.Context(), made.Hash); err != nil || plan.Definition().Description != "the old one" {
		t.Errorf("an execution lost its definition: %v", err)
	}
	_, err = next.FindPattern(t.Context(), "other", "")
	wantCode(t, err, core.CodeNotFound)
	if _, err := next.FindPattern(t.Context(), "mine", ""); err != nil {
		t.Error(err)
	}

	third := f.reopen(source("team", "1.1.0"))
	if versions, err := third.FindPatternVersions(t.Context(), "team"); err != nil || len(versions) != 1 || versions[0].Version != "1.1.0" {
		t.Errorf("versions %+v, %v", versions, err)
	}
	if n := len(f.store.Appended()); n != 1 {
		t.Errorf("%d events: the built-in patterns make none", n)
	}
}

// TestBuiltInsLeaveOthersAlone: a pattern that somebody made before its name was shipped stays as it is.
func TestBuiltInsLeaveOthersAlone(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	f.create("team", "0.1.0")
	next := f.reopen(source("team", "1.0.0"))
	versions, err := next.FindPatternVersions(t.Context(), "team")
	if err != nil || len(versions) != 1 || versions[0].Version != "0.1.0" || versions[0].ReadOnly {
		t.Errorf("versions %+v, %v", versions, err)
	}
	next.create("team", "0.2.0")
	if n, err := next.DeletePattern(ann(t), "team", ""); err != nil || n != 2 {
		t.Errorf("removed %d, %v", n, err)
	}
	if p, err := next.reopen(source("team", "1.0.0")).FindPattern(t.Context(), "team", ""); err != nil || !p.ReadOnly {
		t.Errorf("found %+v, %v", p, err)
	}
}

func TestBuiltInsThatCannotBeStored(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	f.store.Break(0, core.Unavailable("disk", "the disk is full"))
	full := f.reopen(source("team", "1.0.0"))
	_, err := full.FindPattern(t.Context(), "team", "")
	wantCode(t, err, core.CodeNotFound)

	f.store.Break(0, errDisk)
	s := pattern.NewService(f.store, f.clock, pattern.Options{BuiltIns: []string{source("team", "1.0.0")}})
	if err := s.Open(t.Context()); err == nil {
		t.Error("a store that is broken goes unnoticed")
	}
	s = pattern.NewService(f.store, f.clock, pattern.Options{BuiltIns: []string{"name: team"}})
	wantCode(t, s.Open(t.Context()), core.CodeInternal)
}

// TestAgentTypes: only new definitions are held to the types that there are now.
func TestAgentTypes(t *testing.T) {
	known := []string{"claude", "codex"}
	options := pattern.Options{AgentTypes: func(context.Context) []string { return slices.Clone(known) }}
	f := newFixture(t, options)
	text := strings.Replace(chart("  steps: [{type: assign, role: worker, task: t}]\n"), "{capabilities: [planning]}", "{agentType: [codex, claud]}", 1)
	_, err := f.CreatePattern(ann(t), core.PatternInput{Source: text})
	if e := wantCode(t, err, core.CodeValidation); e.Message != `definition: structure.roles.lead.agentType: names "claud", which is no agent type here; did you mean claude?` {
		t.Errorf("message %s", e.Message)
	}
	if _, found := f.CheckPattern(t.Context(), text); len(found) != 1 || found[0].Line != 5 {
		t.Errorf("problems %v", found)
	}
	p, err := f.CreatePattern(ann(t), core.PatternInput{Source: strings.Replace(text, "claud]", "claude]", 1)})
	if err != nil {
		t.Fatal(err)
	}
	known = []string{"codex"}
	s := pattern.NewService(f.store, f.clock, options)
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if plan, err := s.Plan(t.Context(), p.Hash); err != nil || plan.OrgChart() == nil {
		t.Errorf("a stored definition is refused: %v", err)
	}
	found, plan, err := s.Resolve(t.Context(), "team", "")
	if err != nil || plan.OrgChart().Chart().Role("lead").AgentTypes[1] != "claude" || !strings.Contains(string(found.Definition), `"structure":{"roles":{"lead"`) {
		t.Errorf("found %+v, %v", found, err)
	}
}

// TestChartIsNoStep: a flat pattern cannot run an org chart as one of its steps.
func TestChartIsNoStep(t *testing.T) {
	f := newFixture(t, pattern.Options{})
	if _, err := f.CreatePattern(ann(t), core.PatternInput{Source: chart("  steps: [{type: assign, role: worker, task: t}]\n")}); err != nil {
		t.Fatal(err)
	}
	_, found := f.CheckPattern(t.Context(), "name: p\nversion: 1.0.0\nsteps:\n  - {id: a, pattern: team}\n")
	if len(found) != 1 || found[0].Line != 4 || !strings.Contains(found[0].Reason, "org chart") {
		t.Errorf("problems %v", found)
	}
}
