package threads_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// turnsOf returns the data of each thread_turn_complete of a thread.
func (r *rig) turnsOf(id string) []map[string]any {
	r.t.Helper()
	page, _, err := r.store.Events(r.ctx, id, 0, 1<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	var list []map[string]any
	for _, e := range page {
		if e.Type != core.EventThreadTurnComplete {
			continue
		}
		var data map[string]any
		if err := json.Unmarshal(e.Data, &data); err != nil {
			r.t.Fatal(err)
		}
		list = append(list, data)
	}
	return list
}

// waiting returns the texts of the messages that wait in a thread.
func (r *rig) waiting(id string) []string {
	r.t.Helper()
	page, err := r.store.QueuedInputs(r.ctx, id, 0, 100)
	if err != nil {
		r.t.Fatal(err)
	}
	var list []string
	for _, in := range page {
		list = append(list, in.Message)
	}
	return list
}

func shellSpec(objective string) core.ThreadSpec {
	s := spec()
	s.AgentType, s.Objective = "shell", objective
	return s
}

// TestFailedTurn has the model refuse a message: that is no answer, the thread does not complete by it, and what was
// asked stays with it.
func TestFailedTurn(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, _ string) {
		a.busy()
		a.say(block("complete", "not true"))
		a.fail(wire.TurnModelError, false)
	}
	r.open()
	s := shellSpec("one")
	s.Policy.CompleteAfterTurns = 1
	id := r.spawn(s).ID
	rec := r.untilStatus(id, core.ThreadFailed)
	if rec.StatusReason != core.ThreadReasonTurnFailed || rec.Error == nil || rec.Error.Code != core.CodeAgentError ||
		!strings.Contains(rec.Error.Message, "turn 1 failed: MODEL_ERROR: the model said no") {
		t.Errorf("%q %+v", rec.StatusReason, rec.Error)
	}
	if rec.TurnCount != 0 || rec.FailedTurns != 1 || rec.LastTurn == nil || rec.LastTurn.Error == nil || rec.Completion.State != core.CompletionFailed ||
		strings.Contains(rec.Summary, "not true") || strings.Contains(rec.Summary, "API Error") {
		t.Errorf("record %+v, completion %+v", rec, rec.Completion)
	}
	if turns := r.turnsOf(id); len(turns) != 1 || turns[0]["output"] != nil || turns[0]["error"] == nil {
		t.Errorf("turns %v", turns)
	}
	if len(r.store.lessons()) != 1 || r.store.lessons()[0].Outcome != core.ExperienceFailed {
		t.Errorf("experiences %+v", r.store.lessons())
	}
	if got := r.waiting(id); !slices.Equal(got, []string{"one"}) || rec.QueuedInputs != 1 {
		t.Errorf("%q wait, %d are counted", got, rec.QueuedInputs)
	}
}

// TestTurnRetries has turns fail in a way that may pass: the message is given again, before those that wait, and not
// for ever. An agent knows each attempt by another id.
func TestTurnRetries(t *testing.T) {
	for _, tt := range []struct {
		fails, retries int
		status         core.ThreadStatus
		messages       []string
	}{
		{1, 3, core.ThreadCompleted, []string{"one", "one", "two"}},
		{3, 3, core.ThreadCompleted, []string{"one", "one", "one", "one", "two"}},
		{3, 2, core.ThreadFailed, []string{"one", "one", "one"}},
		{1, 0, core.ThreadFailed, []string{"one"}},
	} {
		t.Run(fmt.Sprint(tt.fails, " of ", tt.retries), func(t *testing.T) {
			r := newRig(t, core.SystemClock{})
			r.config.TurnRetryDelay = time.Millisecond
			left := tt.fails
			r.agents.script = func(a *scripted, text string) {
				a.busy()
				if left--; left >= 0 {
					a.fail(wire.TurnModelUnavailable, true)
					return
				}
				a.end("did " + text)
			}
			r.open()
			s := shellSpec("one")
			s.Policy.CompleteAfterTurns, s.Policy.TurnRetries = 2, &tt.retries
			id := r.spawn(s).ID
			if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "two"}); err != nil && tt.retries > 0 {
				t.Fatal(err)
			}
			rec := r.untilStatus(id, tt.status)
			if got := r.agents.messages(); !slices.Equal(got, tt.messages) {
				t.Errorf("the agent got %q, want %q", got, tt.messages)
			}
			repeated := 0
			for _, kind := range r.kinds(id) {
				if kind == "thread_status input_repeated" {
					repeated++
				}
			}
			if want := min(tt.fails, tt.retries); repeated != want || rec.FailedTurns != min(tt.fails, tt.retries+1) || rec.RetryAt != nil {
				t.Errorf("%d repeats, want %d; %d failed turns", repeated, want, rec.FailedTurns)
			}
		})
	}
}

// TestTurnRetryWaits has the next attempt wait, over a crash as well.
func TestTurnRetryWaits(t *testing.T) {
	clock := coretest.NewClock()
	r := newRig(t, clock)
	r.config.TurnRetries, r.config.TurnRetryDelay = 3, time.Minute
	first := true
	r.agents.script = func(a *scripted, text string) {
		a.busy()
		if first {
			first = false
			a.fail(wire.TurnModelRateLimited, true)
			return
		}
		a.end("did " + text)
	}
	r.open()
	id := r.spawn(shellSpec("one")).ID
	rec := r.until(id, "the wait", func(rec *core.ThreadRecord) bool {
		return rec.StatusReason == core.ThreadReasonRetrying && rec.Status == core.ThreadReady
	})
	if rec.RetryAt == nil || rec.RetryAt.Sub(clock.Now()) != time.Minute || rec.QueuedInputs != 1 {
		t.Errorf("again at %v, %d wait", rec.RetryAt, rec.QueuedInputs)
	}
	r.reopen()
	clock.Advance(30 * time.Second)
	if got := r.agents.messages(); len(got) != 1 {
		t.Errorf("it was given again at once: %q", got)
	}
	coretest.WaitFor(t, "the second attempt", func() bool {
		clock.Advance(10 * time.Second)
		rec := r.record(id)
		return rec.TurnCount == 1 && rec.StatusReason == ""
	})
}

// TestSomebodyElsesTurnFails: a turn that nobody asked this thread for fails nothing.
func TestSomebodyElsesTurnFails(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	s := shellSpec("")
	id := r.spawn(s).ID
	r.untilStatus(id, core.ThreadReady)
	r.agents.do("", func(a *scripted) {
		a.busy()
		a.fail(wire.TurnModelError, false)
	})
	r.until(id, "the turn", func(rec *core.ThreadRecord) bool { return rec.FailedTurns == 1 && rec.Status == core.ThreadReady })
	if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "one"}); err != nil {
		t.Fatal(err)
	}
	r.until(id, "an answer", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 1 && rec.LastTurn.Error == nil })
}

// TestInterruptedTurn: a turn that somebody stopped completes nothing.
func TestInterruptedTurn(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, text string) {
		a.busy()
		if text == "one" {
			a.tell(core.EventManagedTurnComplete, core.AgentSignal{TurnOutcome: wire.TurnOutcome{Interrupted: true, Refused: true}})
			a.tell(core.EventManagedReady, core.AgentSignal{})
			return
		}
		a.end(text)
	}
	r.open()
	s := shellSpec("one")
	s.Policy.CompleteAfterTurns = 1
	id := r.spawn(s).ID
	r.until(id, "the turn", func(rec *core.ThreadRecord) bool { return rec.LastTurn != nil && rec.Status == core.ThreadReady })
	if turn := r.turnsOf(id)[0]; turn["interrupted"] != true || turn["refused"] != true || turn["output"] != "" {
		t.Errorf("turn %v", turn)
	}
	if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "two"}); err != nil {
		t.Fatal(err)
	}
	if rec := r.untilStatus(id, core.ThreadCompleted); rec.TurnCount != 2 || rec.LastTurn.Interrupted {
		t.Errorf("record %+v", rec)
	}
}

// TestRefusedTurn ends a thread whose last turn refused an approval and said nothing: that is no complete work. One that went on
// has the answer of the turn.
func TestRefusedTurn(t *testing.T) {
	for text, want := range map[string]core.CompletionState{"": core.CompletionPartial, "done without it": core.CompletionComplete} {
		r := newRig(t, core.SystemClock{})
		r.agents.script = func(a *scripted, _ string) {
			a.busy()
			a.tell(core.EventManagedTurnComplete, core.AgentSignal{Text: text, TurnOutcome: wire.TurnOutcome{Refused: true}})
			a.tell(core.EventManagedReady, core.AgentSignal{})
		}
		r.open()
		s := shellSpec("one")
		s.Policy.CompleteAfterTurns = 1
		rec := r.untilStatus(r.spawn(s).ID, core.ThreadCompleted)
		if rec.Completion == nil || rec.Completion.State != want {
			t.Errorf("%q completes as %+v, want %s", text, rec.Completion, want)
		}
	}
}

// TestUsage sums what turns used, and stops a thread at a limit with the reason.
func TestUsage(t *testing.T) {
	cost := 0.25
	for _, tt := range []struct {
		name   string
		limit  func(p *core.ThreadPolicy)
		turns  int
		reason string
	}{
		{"tokens", func(p *core.ThreadPolicy) { p.MaxTokens = 25 }, 3, "limit: 30 of 25 tokens (policy.maxTokens)"},
		{"cost", func(p *core.ThreadPolicy) { p.MaxCost = 0.5 }, 2, "limit: 0.5 of 0.5 US dollars (policy.maxCost)"},
		{"turns", func(p *core.ThreadPolicy) { p.MaxTurns = 1 }, 1, "limit: 1 of 1 turns (policy.maxTurns)"},
		{"none", func(*core.ThreadPolicy) {}, 4, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, core.SystemClock{})
			r.agents.script = func(a *scripted, text string) {
				a.busy()
				a.tell(core.EventManagedTurnComplete, core.AgentSignal{Text: text, TurnOutcome: wire.TurnOutcome{
					Usage: &wire.Usage{Model: "m-1", InputTokens: 7, OutputTokens: 3, Requests: 1, CostUSD: &cost},
				}})
				a.tell(core.EventManagedReady, core.AgentSignal{})
			}
			r.open()
			s := shellSpec("")
			tt.limit(&s.Policy)
			id := r.spawn(s).ID
			sent := 0
			for _, text := range []string{"1", "2", "3", "4"} {
				if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: text}); err == nil {
					sent++
				}
			}
			rec := r.until(id, "the turns", func(rec *core.ThreadRecord) bool {
				return rec.Status.Terminal() || tt.reason == "" && rec.TurnCount == sent
			})
			if rec.StatusReason != tt.reason || rec.TurnCount != tt.turns || tt.reason != "" && rec.Completion.State != core.CompletionPartial {
				t.Errorf("%s %q after %d turns, %+v", rec.Status, rec.StatusReason, rec.TurnCount, rec.Completion)
			}
			if u := rec.Usage; u == nil || u.Tokens() != int64(10*tt.turns) || u.Model != "m-1" || *u.CostUSD != 0.25*float64(tt.turns) {
				t.Errorf("usage %+v", u)
			}
			if u, _ := r.turnsOf(id)[0]["usage"].(map[string]any); u["inputTokens"] != 7.0 {
				t.Errorf("the turn used %v", u)
			}
			if tt.reason != "" && len(r.waiting(id)) != sent-tt.turns {
				t.Errorf("%q wait", r.waiting(id))
			}
		})
	}
	r := newRig(t, core.SystemClock{}).open()
	s := spec()
	s.Policy.MaxCost, s.Policy.MaxTokens, s.Policy.MaxTurns = -1, -1, -1
	if _, err := r.SpawnThread(r.ctx, s); core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), "and 2 more") {
		t.Errorf("negative limits: %v", err)
	}
}

// TestLimitBeforeSent has a turn reach a limit before it is known that the agent took its message: the message has its answer,
// and does not stay with the thread.
func TestLimitBeforeSent(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.send = func(in core.ManagedAgentInput) error {
		s := &scripted{f: r.agents, r: r.agents.records[0]}
		s.busy()
		s.end("did " + in.Message)
		return &core.Error{Code: core.CodeAgentError, Message: "the runtime is away", Unavailable: true}
	}
	r.open()
	s := shellSpec("one")
	s.Policy.MaxTurns = 1
	id := r.spawn(s).ID
	_, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "two"})
	rec := r.until(id, "its end", func(rec *core.ThreadRecord) bool { return rec.Status.Terminal() })
	if got := r.waiting(id); rec.TurnCount != 1 || slices.Contains(got, "one") || err == nil && !slices.Equal(got, []string{"two"}) {
		t.Errorf("%q wait after %d turns", got, rec.TurnCount)
	}
}

// TestOutputWhileItRuns: what an agent says is told while the turn runs, in order, not more often than ten times a
// second, and nothing twice; the turn's whole text stays on its end.
func TestOutputWhileItRuns(t *testing.T) {
	clock := coretest.NewClock()
	r := newRig(t, clock)
	r.agents.script = func(a *scripted, _ string) { a.busy() }
	r.open()
	id := r.spawn(shellSpec("one")).ID
	r.untilStatus(id, core.ThreadRunning)
	outputs := func() (texts []string) {
		page, _, err := r.store.Events(r.ctx, id, 0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			if e.Type == core.EventThreadOutput {
				texts = append(texts, field(e, "text"))
			}
		}
		return texts
	}
	var said []string
	for i := range 50 {
		said = append(said, fmt.Sprint("line ", i))
		r.agents.do("", func(a *scripted) { a.say(said[i]) })
	}
	r.until(id, "what was said", func(rec *core.ThreadRecord) bool { return rec.LastText == said[49] })
	if got := outputs(); !slices.Equal(got, said[:1]) {
		t.Errorf("at once %q", got)
	}
	coretest.WaitFor(t, "the others", func() bool {
		clock.Advance(100 * time.Millisecond)
		return len(outputs()) > 1
	})
	if got := outputs(); len(got) != 2 || got[1] != strings.Join(said[1:], "\n") {
		t.Errorf("then %q", got)
	}
	whole := strings.Join(said, "\n\n") + "\n\nThat is all."
	r.agents.do("", func(a *scripted) {
		a.say("said last")
		a.end(whole)
	})
	r.until(id, "the end", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 1 })
	if got := strings.Join(outputs()[2:], "\n"); got != "said last\nThat is all." {
		t.Errorf("at the end %q", got)
	}
	if turns := r.turnsOf(id); turns[0]["output"] != whole {
		t.Errorf("turn %v", turns)
	}
}
