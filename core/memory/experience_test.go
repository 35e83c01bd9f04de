package memory_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/memory"
	"github.com/wardroom/wardroom/sdk/wire"
)

func TestFindExperiences(t *testing.T) {
	r := newRig(t, "")
	r.keep(
		core.Experience{Experience: wire.Experience{ExecutionID: "exec_1", Role: "coder", Repo: "git/app", Objective: "Fix the flaky login test", Summary: "A clock was not injected."}},
		core.Experience{Experience: wire.Experience{ExecutionID: "exec_1", Role: "tester", Repo: "git/app", Objective: "Write load tests", Summary: "The login page takes 3 s.", Outcome: core.ExperienceFailed,
			Details: json.RawMessage(`{"error":{"code":"TIMEOUT","message":"selenium never answered"},"artifacts":[{"type":"file","value":"core/store/db.go"}]}`)}},
		core.Experience{Experience: wire.Experience{ExecutionID: "exec_2", Role: "coder", Repo: "git/web", Objective: "Translate the menu", Summary: "Done for five languages.", Outcome: core.ExperiencePartial}},
	)
	const login, load, menu = "Fix the flaky login test", "Write load tests", "Translate the menu"
	for _, tt := range []struct {
		name   string
		filter core.ExperienceFilter
		want   string
	}{
		{"NoQuery", core.ExperienceFilter{}, menu + ", " + load + ", " + login},
		{"BlankQuery", core.ExperienceFilter{Query: " \n"}, menu + ", " + load + ", " + login},
		{"ObjectiveBeforeSummary", core.ExperienceFilter{Query: "login"}, login + ", " + load},
		{"Case", core.ExperienceFilter{Query: "LOGIN"}, login + ", " + load},
		{"Stem", core.ExperienceFilter{Query: "translated menus"}, menu},
		{"AnyWord", core.ExperienceFilter{Query: "flaky menu zebra"}, menu + ", " + login},
		{"Details", core.ExperienceFilter{Query: "selenium"}, load},
		{"NotInDetails", core.ExperienceFilter{Query: "selenium", NoDetails: true}, ""},
		{"BesideDetails", core.ExperienceFilter{Query: "selenium load TIMEOUT", NoDetails: true, Repo: "git/app"}, load},
		{"PartOfPath", core.ExperienceFilter{Query: "store"}, load},
		{"WholePath", core.ExperienceFilter{Query: "core/store/db.go"}, load},
		{"Role", core.ExperienceFilter{Query: "tester"}, load},
		{"Repo", core.ExperienceFilter{Query: "web"}, menu},
		{"FilterRepo", core.ExperienceFilter{Query: "login menu", Repo: "git/web"}, menu},
		{"FilterIsExact", core.ExperienceFilter{Query: "login", Repo: "git"}, ""},
		{"FilterRole", core.ExperienceFilter{Query: "login", Role: "tester"}, load},
		{"FilterOutcome", core.ExperienceFilter{Query: "login menu", Outcome: core.ExperiencePartial}, menu},
		{"FilterExecution", core.ExperienceFilter{Query: "login menu", ExecutionID: "exec_2"}, menu},
		{"Filters", core.ExperienceFilter{Query: "login", Role: "coder", Repo: "git/app", Outcome: core.ExperienceSuccessful, ExecutionID: "exec_1"}, login},
		{"Nothing", core.ExperienceFilter{Query: "zebra"}, ""},
		{"OnlyCommonWords", core.ExperienceFilter{Query: "the of and"}, ""},
		{"Syntax", core.ExperienceFilter{Query: `+login -menu objective:"x" /.*/ *`}, login + ", " + load + ", " + menu},
		{"Wildcard", core.ExperienceFilter{Query: "log*"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := r.found(tt.filter)
			if tt.name == "Syntax" || tt.name == "AnyWord" { // all that counts is that no character has a meaning
				if len(got) != len(tt.want) {
					t.Errorf("found %q, want %q in any order", got, tt.want)
				}
				return
			}
			if got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFindExperiencesPages(t *testing.T) {
	r := newRig(t, "")
	for i := range 25 {
		r.keep(core.Experience{Experience: wire.Experience{Objective: fmt.Sprintf("login variant%d", i), Summary: strings.Repeat("more words ", i)}})
	}
	seen := map[string]bool{}
	for offset := 0; offset < 25; offset += 10 {
		list, info, err := r.FindExperiences(t.Context(), core.ExperienceFilter{Query: "login", Page: core.Page{Limit: 10, Offset: offset}})
		if err != nil {
			t.Fatal(err)
		}
		if info.Total != 25 || info.HasMore != (offset < 20) || info.NextCursor != "" {
			t.Errorf("offset %d: %+v", offset, info)
		}
		last := 1e9
		for _, e := range list {
			if e.Score <= 0 || e.Score > last {
				t.Errorf("offset %d: score %v behind %v", offset, e.Score, last)
			}
			last = e.Score
			seen[e.ID] = true
		}
	}
	if len(seen) != 25 {
		t.Errorf("%d of 25 were listed", len(seen))
	}
	for name, f := range map[string]core.ExperienceFilter{
		"cursor": {Query: "x", Page: core.Page{Cursor: "x"}}, "limit": {Query: "x", Page: core.Page{Limit: 101}},
		"offset": {Query: "x", Page: core.Page{Offset: 10_000}}, "outcome": {Query: "x", Outcome: "superb"},
	} {
		_, _, err := r.FindExperiences(t.Context(), f)
		if e := core.AsError(err); core.ErrorCode(err) != core.CodeValidation || e.Details["field"] != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No offset, however large, harms the index, which is there for others as before.
func TestFindExperiencesFarOff(t *testing.T) {
	r := newRig(t, "")
	r.keep(core.Experience{Experience: wire.Experience{Objective: "login"}})
	for _, offset := range []int{math.MaxInt, math.MaxInt - 20, math.MaxInt32, 9_981} {
		_, _, err := r.FindExperiences(t.Context(), core.ExperienceFilter{Query: "login", Page: core.Page{Limit: 20, Offset: offset}})
		if e := core.AsError(err); core.ErrorCode(err) != core.CodeValidation || e.Details["field"] != "offset" {
			t.Errorf("%d: %v", offset, err)
		}
		if list, _, err := r.FindExperiences(t.Context(), core.ExperienceFilter{Query: "login"}); err != nil || len(list) != 1 {
			t.Fatalf("behind %d: %v, %v", offset, list, err)
		}
	}
}

// An experience is kept once, however often it is made, and found at once.
func TestKeepExperience(t *testing.T) {
	r := newRig(t, "")
	first := r.keep(core.Experience{Experience: wire.Experience{Objective: "Fix login", Summary: "Done in thread_01JGABCDEFGHJKMNPQRSTVWXYZ at 3f2a9bc.", Repo: "a"}})[0]
	if first.ID == "" || first.Count != 1 || first.Fingerprint == "" || !first.CreatedAt.Equal(r.clock.Now()) || first.UpdatedAt != nil {
		t.Errorf("first: %+v", first)
	}
	r.clock.Advance(time.Minute)
	again := r.keep(core.Experience{Experience: wire.Experience{Objective: " fix\n LOGIN", Summary: "done in thread_01JGABCDEFGHJKMNPQRSTVWXY0 at 77d1e00.", Repo: "a"}})[0]
	if again.ID != first.ID || again.Count != 2 || again.UpdatedAt == nil || !again.UpdatedAt.Equal(r.clock.Now()) || !again.CreatedAt.Equal(first.CreatedAt) {
		t.Errorf("again: %+v", again)
	}
	for what, e := range map[string]core.Experience{
		"repo":    {Experience: wire.Experience{Objective: first.Objective, Summary: first.Summary, Repo: "b"}},
		"role":    {Experience: wire.Experience{Objective: first.Objective, Summary: first.Summary, Repo: "a", Role: "x"}},
		"outcome": {Experience: wire.Experience{Objective: first.Objective, Summary: first.Summary, Repo: "a", Outcome: core.ExperienceFailed}},
		"number":  {Experience: wire.Experience{Objective: first.Objective, Summary: "Done, 3 tests fail", Repo: "a"}},
		"number2": {Experience: wire.Experience{Objective: first.Objective, Summary: "Done, 4 tests fail", Repo: "a"}},
		"word":    {Experience: wire.Experience{Objective: first.Objective, Summary: "It was defaced", Repo: "a"}},
		"word2":   {Experience: wire.Experience{Objective: first.Objective, Summary: "It was effaced", Repo: "a"}},
	} {
		if kept := r.keep(e)[0]; kept.Count != 1 {
			t.Errorf("another %s counts as the same: %+v", what, kept)
		}
	}
	if _, info, err := r.FindExperiences(t.Context(), core.ExperienceFilter{Query: "login"}); err != nil || info.Total != 8 {
		t.Errorf("%d experiences are found: %v", info.Total, err)
	}
}

// Nothing is kept of an execution that is for some people only, and what was kept before is not recalled by others.
func TestGuardedExecution(t *testing.T) {
	var guarded atomic.Bool
	r := newRig(t, "", func(o *memory.Options) {
		o.Guarded = func(id, _ string) bool { return guarded.Load() && id == "exec_1" }
	})
	exp := func(execution, objective string) core.Experience {
		return core.Experience{Experience: wire.Experience{ExecutionID: execution, Objective: objective, Summary: "s", Repo: "a"}}
	}
	r.keep(exp("exec_1", "fix the secret login"), exp("exec_2", "fix the login form"))
	guarded.Store(true)
	if e := r.keep(exp("exec_1", "another secret login"))[0]; e.ID != "" {
		t.Errorf("kept: %+v", e)
	}
	if n := r.total(core.ExperienceFilter{Query: "another"}); n != 0 {
		t.Errorf("%d experiences have its words", n)
	}
	for execution, want := range map[string]int{"exec_1": 2, "exec_2": 1, "": 1} {
		m := r.recall(core.MemoryQuery{ExecutionID: execution, Objective: "fix the login", Repo: "a"})
		if len(m.Experiences) != want || want == 1 && strings.Contains(m.File.Content, "secret") {
			t.Errorf("for %q: %d experiences, want %d:\n%s", execution, len(m.Experiences), want, m.File.Content)
		}
	}
}

// What is gone from the store is not found, and leaves the index.
func TestFindExperiencesOfRemoved(t *testing.T) {
	r := newRig(t, "")
	kept := r.keep(core.Experience{Experience: wire.Experience{Objective: "login one"}}, core.Experience{Experience: wire.Experience{Objective: "login two"}})
	if got := r.found(core.ExperienceFilter{Query: "login"}); len(strings.Split(got, ", ")) != 2 {
		t.Fatalf("found %q", got)
	}
	r.store.drop(kept[0].ID)
	if got := r.found(core.ExperienceFilter{Query: "login"}); got != "login two" {
		t.Errorf("found %q", got)
	}
	if _, info, err := r.FindExperiences(t.Context(), core.ExperienceFilter{Query: "login"}); err != nil || info.Total != 1 {
		t.Errorf("total %d, %v", info.Total, err)
	}
}

func FuzzFindExperiences(f *testing.F) {
	for _, s := range []string{"login", `+a -b "c`, "(((", "a:b^3~2", "/[/", "\x00\xff", "*", "\\", "日本語 test", strings.Repeat("a b c ", 3000)} {
		f.Add(s)
	}
	r := newRig(f, "")
	r.keep(core.Experience{Experience: wire.Experience{Objective: "Fix the login", Summary: "日本語 a b c", Role: "x", Repo: "y"}})
	f.Fuzz(func(t *testing.T, q string) {
		list, info, err := r.FindExperiences(t.Context(), core.ExperienceFilter{Query: q})
		if err != nil {
			t.Fatalf("%q: %v", q, err)
		}
		if len(list) != info.Total || info.HasMore {
			t.Fatalf("%q: %d of %+v", q, len(list), info)
		}
	})
}

// What was kept before patterns were noted has the name of one once it is made again: that of its own execution while that is there,
// and of the one that made it again after that.
func TestPatternIsNotedLater(t *testing.T) {
	r := newRig(t, "")
	for id, pattern := range map[string]string{"exec_own": "own", "exec_other": "other"} {
		r.store.Put(func(tx core.Tx) error {
			return tx.PutExecution(&core.Execution{ID: id, Status: core.ExecutionRunning, Pattern: core.PatternRef{Name: pattern}})
		})
	}
	for former, want := range map[string]string{"exec_own": "own", "exec_gone": "other"} {
		e := core.Experience{Experience: wire.Experience{ExecutionID: former, Objective: former, Summary: "s", Repo: "a"}}
		kept := *r.keep(e)[0]
		kept.Pattern = "" // as it was stored then
		r.store.put(&kept)
		for _, want := range []string{want, want} { // and stays
			e.ExecutionID = "exec_other"
			again := r.keep(e)[0]
			stored, err := r.store.FindExperience(t.Context(), again.ID)
			if err != nil || again.ID != kept.ID || again.ExecutionID != former || stored.Pattern != want {
				t.Errorf("of %s: %+v, %v, want the pattern %s", former, stored, err, want)
			}
		}
	}
}
