package runtimes_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/runtimes"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// denies is a policy that denies the prompts of one tool, and no rule for others.
type denies string

func (d denies) Decide(_ context.Context, q core.PromptQuestion) (core.PromptRuling, bool) {
	return core.PromptRuling{PromptID: q.PromptID, Answer: runtime.ChoiceDeny, Rule: "r", By: core.RulingByPolicy}, q.Tool == string(d)
}

// refuses has every answer refused from now on, and returns how many there were.
func (f *fake) refuses(err error) *atomic.Int32 {
	given := new(atomic.Int32)
	f.change(func() {
		f.answer = func(runtime.Answer) error {
			given.Add(1)
			return err
		}
	})
	return given
}

// The next prompt of an agent may be stored before it is noted who answered the one before: its ruling by the policy stays, and
// is given after a crash.
func TestAnswerBeforeTheNextPrompt(t *testing.T) {
	f := newFake("claude")
	store := newMemory(t)
	policy := func(o *runtimes.Options) { o.Approver = denies("Edit") }
	r := newRig(t, store, map[string]*fake{"local": f}, policy).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	ask := func(prompt, tool string) {
		f.tell(a.ID, runtime.EventBlocked, func(a *runtime.Agent, e *runtime.Event) {
			a.Status = runtime.StatusBlocked
			a.Prompt = &runtime.Prompt{ID: prompt, Kind: runtime.PromptApproval, Text: "may I?", Tool: tool}
			e.Prompt = a.Prompt
		})
		r.until(a.ID, "the prompt "+prompt, func(a *core.ManagedAgent) bool {
			var open runtime.Prompt
			return json.Unmarshal(a.Prompt, &open) == nil && open.ID == prompt
		})
	}
	ask("p1", "Bash")
	f.change(func() {
		f.answer = func(a runtime.Answer) error {
			if a.PromptID == "p2" {
				return runtime.Errorf(runtime.CodeUnavailable, "away")
			}
			return nil
		}
		f.answered = func(string) { ask("p2", "Edit") }
	})
	ann := core.WithPrincipal(ctx, core.Principal{Kind: core.PrincipalUser, ID: "ann"})
	if _, err := r.AnswerManagedAgent(ann, a.ID, core.ManagedAgentAnswer{PromptID: "p1", Choice: "allow"}); err != nil {
		t.Fatal(err)
	}
	if rec := store.record(a.ID); rec.Ruling == nil || rec.Ruling.PromptID != "p2" || rec.Ruling.Answer != runtime.ChoiceDeny {
		t.Errorf("the prompt %s has the ruling %+v", rec.Prompt, rec.Ruling)
	}
	r.Close()
	f.change(func() { f.answer, f.answered = nil, nil })
	r = newRig(t, store, map[string]*fake{"local": f}, policy).ready("local")
	coretest.WaitFor(t, "the answer of the policy", func() bool {
		rec := store.record(a.ID)
		return len(rec.Prompt) == 0
	})
}

// The answer of the policy is given by one goroutine, however often the agent that does not take it yet is found again.
func TestRuledAnswerIsGivenOnce(t *testing.T) {
	f := newFake("claude")
	store := newMemory(t)
	r := newRig(t, store, map[string]*fake{"local": f}, func(o *runtimes.Options) { o.Approver = denies("Edit") }).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	given := f.refuses(runtime.Errorf(runtime.CodeUnavailable, "its node does not answer"))
	timers := r.clock.Pending()
	f.tell(a.ID, runtime.EventBlocked, func(a *runtime.Agent, e *runtime.Event) {
		a.Status = runtime.StatusBlocked
		a.Prompt = &runtime.Prompt{ID: "p1", Kind: runtime.PromptApproval, Text: "may I?", Tool: "Edit"}
		e.Prompt = a.Prompt
	})
	coretest.WaitFor(t, "the next try to be due", func() bool { return given.Load() == 1 && r.clock.Pending() == timers+1 })
	for n := range 5 {
		if err := r.Sweep(ctx); err != nil { // finds the agent again, as every few seconds
			t.Fatal(err)
		}
		f.tell(a.ID, runtime.EventToolRunning, func(a *runtime.Agent, _ *runtime.Event) { a.Turn = n + 1 })
		r.until(a.ID, "the event", func(a *core.ManagedAgent) bool { return a.Turn == n+1 })
		if _, err := r.AnswerManagedAgent(ctx, a.ID, core.ManagedAgentAnswer{PromptID: "p1", Choice: "allow"}); err == nil {
			t.Error("it is taken")
		}
	}
	if n := given.Load(); n != 1+5 || r.clock.Pending() != timers+1 {
		t.Errorf("it was given %d times, want %d; %d wait to give it", n, 1+5, r.clock.Pending()-timers)
	}
	// The one that is left gives it once the agent takes it.
	f.change(func() { f.answer = nil })
	coretest.WaitFor(t, "the answer", func() bool {
		r.clock.Advance(time.Second)
		return len(store.record(a.ID).Prompt) == 0
	})
}

// A prompt that was left to people stays theirs when the agent shows it again, as one that was out of reach does.
func TestPromptOfPeopleComesAgain(t *testing.T) {
	f := newFake("claude")
	store := newMemory(t)
	r := newRig(t, store, map[string]*fake{"local": f}, func(o *runtimes.Options) { o.Approver = denies("Edit") }).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	given := f.refuses(runtime.Errorf(runtime.CodeInvalidArgument, "the prompt takes no such answer"))
	tell := func(kind runtime.EventType, status runtime.Status, turn int, prompt string) {
		f.tell(a.ID, kind, func(a *runtime.Agent, e *runtime.Event) {
			a.Status, a.Turn = status, turn
			a.Prompt = &runtime.Prompt{ID: prompt, Kind: runtime.PromptApproval, Text: "may I?", Tool: "Edit"}
			if kind == runtime.EventBlocked {
				e.Prompt = a.Prompt
			}
		})
		r.until(a.ID, "the event", func(a *core.ManagedAgent) bool { return a.Turn == turn })
	}
	left := func(prompt string) {
		t.Helper()
		coretest.WaitFor(t, "people to be asked", func() bool {
			rec := store.record(a.ID)
			return rec.Ruling != nil && rec.Ruling.PromptID == prompt && rec.Ruling.Answer == core.RulingAsk
		})
	}
	tell(runtime.EventBlocked, runtime.StatusBlocked, 1, "p1")
	left("p1")
	tries := given.Load()
	tell(runtime.EventError, runtime.StatusUnreachable, 2, "p1")
	tell(runtime.EventBlocked, runtime.StatusBlocked, 3, "p1")
	if rec := store.record(a.ID); rec.Ruling == nil || rec.Ruling.Answer != core.RulingAsk {
		t.Errorf("the ruling is %+v, after people were asked", rec.Ruling)
	}
	tell(runtime.EventBlocked, runtime.StatusBlocked, 4, "p2") // the next is the policy's again
	left("p2")
	if n := given.Load(); n != 2*tries {
		t.Errorf("the policy answered %d times, want %d for each prompt", n, tries)
	}
}
