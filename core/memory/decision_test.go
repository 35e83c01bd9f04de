package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// asPerson is a request of a person.
func asPerson(ctx context.Context) context.Context {
	return core.WithPrincipal(ctx, core.Principal{ID: "ada", Name: "Ada"})
}

func TestAddDecision(t *testing.T) {
	r := newRig(t, "")
	ctx := asPerson(t.Context())
	got, err := r.AddDecision(ctx, core.Decision{
		Decision: wire.Decision{
			ID: "dec_x", ExecutionID: "exec_1", Category: "architecture", Summary: " Use one queue. ", Details: json.RawMessage(` {"a":1} `),
			CreatedBy: "somebody", Count: 7,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !core.ValidID(core.PrefixDecision, got.ID) || got.Summary != "Use one queue." || string(got.Details) != `{"a":1}` || got.CreatedBy != "ada" ||
		got.Count != 1 || !got.CreatedAt.Equal(r.clock.Now()) || got.UpdatedAt != nil || !got.ByHand() {
		t.Errorf("%+v", got)
	}
	r.clock.Advance(time.Minute)
	again, err := r.AddDecision(ctx, core.Decision{Decision: wire.Decision{ThreadID: "thread_1", Category: "architecture", Summary: "use ONE\nqueue."}})
	if err != nil || again.ID != got.ID || again.Count != 2 || again.UpdatedAt == nil || !again.UpdatedAt.Equal(r.clock.Now()) {
		t.Errorf("again: %+v, %v", again, err)
	}
	for what, d := range map[string]core.Decision{
		"execution": {Decision: wire.Decision{ExecutionID: "exec_2", Category: "architecture", Summary: "Use one queue."}},
		"category":  {Decision: wire.Decision{ExecutionID: "exec_1", Category: "finding", Summary: "Use one queue."}},
		"summary":   {Decision: wire.Decision{ExecutionID: "exec_1", Category: "architecture", Summary: "Use two queues."}},
	} {
		if other, err := r.AddDecision(ctx, d); err != nil || other.Count != 1 || other.ID == got.ID {
			t.Errorf("another %s: %+v, %v", what, other, err)
		}
	}
	list, info, err := r.FindDecisions(ctx, core.DecisionFilter{ExecutionID: "exec_1"})
	if err != nil || info.Total != 3 || len(list) != 3 {
		t.Errorf("listed %d: %v", info.Total, err)
	}
}

func TestAddDecisionProblems(t *testing.T) {
	r := newRig(t, "")
	good := core.Decision{Decision: wire.Decision{ExecutionID: "exec_1", Category: "x", Summary: "y"}}
	for _, tt := range []struct {
		name   string
		change func(d *core.Decision)
		code   core.Code
		field  string
	}{
		{"Good", func(*core.Decision) {}, "", ""},
		{"NoExecution", func(d *core.Decision) { d.ExecutionID = "" }, core.CodeValidation, "executionId"},
		{"UnknownExecution", func(d *core.Decision) { d.ExecutionID = "exec_9" }, core.CodeNotFound, ""},
		{"UnknownThread", func(d *core.Decision) { d.ThreadID = "thread_9" }, core.CodeNotFound, ""},
		{"OtherThread", func(d *core.Decision) { d.ExecutionID, d.ThreadID = "exec_2", "thread_1" }, core.CodeValidation, "threadId"},
		{"NoCategory", func(d *core.Decision) { d.Category = "" }, core.CodeValidation, "category"},
		{"OddCategory", func(d *core.Decision) { d.Category = "Big Idea" }, core.CodeValidation, "category"},
		{"LongCategory", func(d *core.Decision) { d.Category = strings.Repeat("x", 65) }, core.CodeValidation, "category"},
		{"LineBehindCategory", func(d *core.Decision) { d.Category = "x\n" }, core.CodeValidation, "category"},
		{"SystemCategory", func(d *core.Decision) { d.Category = core.DecisionThreadSummary }, core.CodeValidation, "category"},
		{"Outcome", func(d *core.Decision) { d.Category = core.DecisionCompletionOutcome }, core.CodeValidation, "category"},
		{"Recovery", func(d *core.Decision) { d.Category = core.DecisionFailureRecovery }, core.CodeValidation, "category"},
		{"Finding", func(d *core.Decision) { d.Category = core.DecisionFinding }, "", ""},
		{"NoSummary", func(d *core.Decision) { d.Summary = " \n" }, core.CodeValidation, "summary"},
		{"LongSummary", func(d *core.Decision) { d.Summary = strings.Repeat("ö", 4001) }, core.CodeValidation, "summary"},
		{"LongestSummary", func(d *core.Decision) { d.Summary = strings.Repeat("ö", 4000) }, "", ""},
		{"BrokenSummary", func(d *core.Decision) { d.Summary = "\xff" }, core.CodeValidation, "summary"},
		{"DetailsNoObject", func(d *core.Decision) { d.Details = json.RawMessage(`[1]`) }, core.CodeValidation, "details"},
		{"DetailsBroken", func(d *core.Decision) { d.Details = json.RawMessage(`{"a":`) }, core.CodeValidation, "details"},
		{"DetailsLarge", func(d *core.Decision) {
			d.Details = json.RawMessage(`{"a":"` + strings.Repeat("x", 64<<10) + `"}`)
		}, core.CodeValidation, "details"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := good
			tt.change(&d)
			_, err := r.AddDecision(asPerson(t.Context()), d)
			if core.ErrorCode(err) != tt.code {
				t.Fatalf("error %v, want %q", err, tt.code)
			}
			if tt.field != "" && core.AsError(err).Details["field"] != tt.field {
				t.Errorf("field %v, want %s", core.AsError(err).Details["field"], tt.field)
			}
		})
	}
	_, err := r.AddDecision(t.Context(), core.Decision{})
	if problems, _ := core.AsError(err).Details["errors"].([]core.Problem); len(problems) != 3 {
		t.Errorf("not all problems are told: %v", err)
	}
}

// The key is taken in the transaction that writes the decision.
func TestAddDecisionIdempotency(t *testing.T) {
	r := newRig(t, "")
	ctx := core.WithIdempotency(asPerson(t.Context()), &core.IdempotencyClaim{Key: "k"})
	d := core.Decision{Decision: wire.Decision{ExecutionID: "exec_1", Category: "x", Summary: "y"}}
	first, err := r.AddDecision(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	if claimed, err := r.store.FindIdempotency(ctx, "", "k", r.clock.Now()); err != nil || claimed == nil || claimed.ResourceID != first.ID {
		t.Fatalf("%+v, %+v, %v", first, claimed, err)
	}
	if _, err := r.AddDecision(ctx, d); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("a second use of the key: %v", err)
	}
	if got, err := r.store.FindDecision(ctx, first.ID); err != nil || got.Count != 1 {
		t.Errorf("what was refused counts: %+v, %v", got, err)
	}
}

func TestFindDecisionsOfUnknown(t *testing.T) {
	r := newRig(t, "")
	for _, f := range []core.DecisionFilter{{ExecutionID: "exec_9"}, {ThreadID: "thread_9"}} {
		if _, _, err := r.FindDecisions(t.Context(), f); core.ErrorCode(err) != core.CodeNotFound {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

func TestKeepDecision(t *testing.T) {
	r := newRig(t, "")
	keep := func(d core.Decision) core.Decision {
		t.Helper()
		if err := r.store.Update(t.Context(), func(tx core.Tx) error { return r.KeepDecision(tx, &d) }); err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := keep(core.Decision{Decision: wire.Decision{ExecutionID: "exec_1", ThreadID: "thread_1", Category: core.DecisionThreadSummary, Summary: strings.Repeat("ö", 5000) + "\xff"}})
	if first.ID == "" || first.CreatedBy != core.System.ID || first.ByHand() || first.Count != 1 || utf8.RuneCountInString(first.Summary) != 4000 {
		t.Errorf("first: %d characters, %+v", utf8.RuneCountInString(first.Summary), first.ID)
	}
	if again := keep(core.Decision{Decision: wire.Decision{ExecutionID: "exec_1", Category: core.DecisionThreadSummary, Summary: strings.Repeat("Ö", 5000)}}); again.ID != first.ID || again.Count != 2 {
		t.Errorf("again: %s, %d", again.ID, again.Count)
	}
	// What the system found, and a person says as well, counts as by hand.
	found := keep(core.Decision{Decision: wire.Decision{ExecutionID: "exec_1", Category: core.DecisionFinding, Summary: "The cache is cold."}})
	said, err := r.AddDecision(asPerson(t.Context()), core.Decision{Decision: wire.Decision{ExecutionID: "exec_1", Category: core.DecisionFinding, Summary: "the cache is cold."}})
	if err != nil || said.ID != found.ID || !said.ByHand() || said.Count != 2 {
		t.Errorf("%+v, %v", said, err)
	}
	if found = keep(core.Decision{Decision: wire.Decision{ExecutionID: "exec_1", Category: core.DecisionFinding, Summary: "The cache is cold."}}); !found.ByHand() || found.Count != 3 {
		t.Errorf("%+v", found)
	}
}

func TestRecallDecisions(t *testing.T) {
	r := newRig(t, "")
	put := func(category, summary, by string) {
		r.clock.Advance(time.Minute)
		d := core.Decision{Decision: wire.Decision{ExecutionID: "exec_1", Category: category, Summary: summary, CreatedBy: by}}
		must(t, r.store.Update(t.Context(), func(tx core.Tx) error { return r.KeepDecision(tx, &d) }))
	}
	put("x", "hand old", "ada")
	for i := range 250 { // more than a page behind it
		put(core.DecisionThreadSummary, fmt.Sprintf("summary %d", i), "")
	}
	put(core.DecisionCompletionOutcome, "outcome", "")
	put(core.DecisionFailureRecovery, "recovery", "")
	put("y", "hand new", "ada")
	put(core.DecisionFinding, "finding", "")
	summaries := func(q core.MemoryQuery) string {
		m, err := r.Recall(t.Context(), q)
		must(t, err)
		var words []string
		for _, d := range m.Decisions {
			words = append(words, d.Summary)
		}
		return strings.Join(words, ", ")
	}
	if got, want := summaries(core.MemoryQuery{ExecutionID: "exec_1"}), "hand new, hand old, finding, recovery, outcome"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	for _, execution := range []string{"", core.NewExecution, "exec_2"} {
		if got := summaries(core.MemoryQuery{ExecutionID: execution}); got != "" {
			t.Errorf("a thread of %q is told %q", execution, got)
		}
	}
	c := r.opts.Config
	c.MaxDecisions = 0
	r.ApplyConfig(c)
	if got := summaries(core.MemoryQuery{ExecutionID: "exec_1"}); got != "" {
		t.Errorf("told %q", got)
	}
}
