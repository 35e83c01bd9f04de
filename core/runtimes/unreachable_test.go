package runtimes_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// An agent that its runtime cannot reach is no stopped one: calls say that it passes, and its status does, until the
// runtime says otherwise.
func TestUnreachableAgent(t *testing.T) {
	f := newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	a, other := r.spawn(core.ManagedAgentSpec{Type: "claude"}), r.spawn(core.ManagedAgentSpec{Type: "claude"})
	f.tell(a.ID, runtime.EventError, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusUnreachable })
	got := r.until(a.ID, "the agent to be out of reach", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedUnreachable })
	if got.StatusReason != core.ReasonAgentAway || got.Gone() {
		t.Errorf("out of reach: %+v", got)
	}
	f.send = func(string, runtime.Input) (runtime.SendResult, error) {
		return runtime.SendResult{}, runtime.Errorf(runtime.CodeNotRunning, "the agent is not running")
	}
	_, err := r.SendManagedAgent(ctx, a.ID, core.ManagedAgentInput{Message: "hi"})
	if e := core.AsError(err); err == nil || !e.Unavailable || e.Details["runtimeCode"] == string(runtime.CodeNotRunning) {
		t.Errorf("a send: %v", err)
	}
	list, info, err := r.FindManagedAgents(ctx, core.ManagedAgentFilter{Status: core.ManagedUnreachable})
	if err != nil || info.Total != 1 || list[0].ID != a.ID {
		t.Errorf("list: %+v, %v", list, err)
	}
	f.tell(a.ID, runtime.EventReady, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusReady })
	r.until(a.ID, "the agent to be back", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedReady && a.StatusReason == "" })
	if a, err := r.FindManagedAgent(ctx, other.ID); err != nil || a.Status != core.ManagedStarting {
		t.Errorf("the other agent: %+v, %v", a, err)
	}
}

// A runtime that says UNAVAILABLE of one agent, without an event, makes that one unreachable until it is found again.
func TestUnreachableByAnswer(t *testing.T) {
	f := newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	f.tell(a.ID, runtime.EventReady, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusReady })
	r.until(a.ID, "ready", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedReady })
	f.change(func() {
		f.stuck = a.ID
		f.send = func(string, runtime.Input) (runtime.SendResult, error) {
			return runtime.SendResult{}, runtime.Errorf(runtime.CodeUnavailable, "the agent cannot be reached now")
		}
	})
	if _, err := r.SendManagedAgent(ctx, a.ID, core.ManagedAgentInput{Message: "hi"}); err == nil || !core.AsError(err).Unavailable {
		t.Errorf("a send: %v", err)
	}
	if a, err := r.FindManagedAgent(ctx, a.ID); err != nil || a.Status != core.ManagedUnreachable || a.StatusReason != core.ReasonAgentAway {
		t.Errorf("the agent: %+v, %v", a, err)
	}
	f.change(func() { f.stuck = "" })
	coretest.WaitFor(t, "the agent to be found again", func() bool {
		r.clock.Advance(time.Second)
		a, err := r.FindManagedAgent(ctx, a.ID)
		return err == nil && a.Status == core.ManagedReady
	})
}

// A runtime that does not answer about one of its agents keeps none of the others waiting: neither its own, nor those
// of other runtimes.
func TestRuntimeThatDoesNotAnswer(t *testing.T) {
	mute, well := newFake("claude"), newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": mute, "docker": well}).ready("local", "docker")
	var agents []*core.ManagedAgent
	for i, on := range []string{"local", "local", "docker"} {
		a := r.spawn(core.ManagedAgentSpec{Type: "claude", Runtime: on})
		f := []*fake{mute, mute, well}[i]
		f.tell(a.ID, runtime.EventReady, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusReady })
		r.until(a.ID, "ready", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedReady })
		agents = append(agents, a)
	}
	away := func(string, runtime.Input) (runtime.SendResult, error) {
		return runtime.SendResult{}, runtime.Errorf(runtime.CodeUnavailable, "the agent cannot be reached now")
	}
	mute.change(func() { mute.send, mute.stuck, mute.silent = away, agents[0].ID, true })
	well.change(func() { well.send = away })
	for _, a := range agents {
		if _, err := r.SendManagedAgent(ctx, a.ID, core.ManagedAgentInput{Message: "hi"}); err == nil || !core.AsError(err).Unavailable {
			t.Errorf("a send: %v", err)
		}
	}
	for _, a := range agents[1:] {
		coretest.WaitFor(t, "the agent to be found again", func() bool {
			r.clock.Advance(time.Second)
			a, err := r.FindManagedAgent(ctx, a.ID)
			return err == nil && a.Status == core.ManagedReady
		})
	}
	if a, err := r.FindManagedAgent(ctx, agents[0].ID); err != nil || a.Status != core.ManagedUnreachable {
		t.Errorf("the agent that nothing is known of: %+v, %v", a, err)
	}
}

// A runtime that never answers about one of its agents after a start of ours is ready for all others, and that agent is out of reach; one
// that does not answer at all is asked again, and is ready once it does.
func TestRuntimeThatHangsAtRecovery(t *testing.T) {
	for _, all := range []bool{false, true} {
		f, well, store := newFake("claude"), newFake("claude"), newMemory(t)
		first := newRig(t, store, map[string]*fake{"local": f, "docker": well}).ready("local", "docker")
		stuck, other := first.spawn(core.ManagedAgentSpec{Type: "claude"}), first.spawn(core.ManagedAgentSpec{Type: "claude"})
		first.Close()
		f.tell(other.ID, runtime.EventReady, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusReady })
		f.change(func() { f.stuck, f.silent, f.mute = stuck.ID, true, all })
		r := newRig(t, store, map[string]*fake{"local": f, "docker": well}).ready("docker") // which waits for nothing
		isReady := func() bool {
			r.clock.Advance(time.Second)
			return r.Runtimes(ctx)[0].Ready
		}
		if all {
			for range 300 {
				if isReady() {
					t.Fatal("a runtime that says nothing is ready")
				}
			}
			f.change(func() { f.mute = false })
		}
		coretest.WaitFor(t, "the runtime to be ready", isReady)
		r.until(other.ID, "the other agent", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedReady })
		r.until(stuck.ID, "the agent to be out of reach", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedUnreachable })
		f.change(func() { f.silent, f.stuck = false, "" })
		coretest.WaitFor(t, "the agent to be found again", func() bool {
			r.clock.Advance(time.Second)
			a, err := r.FindManagedAgent(ctx, stuck.ID)
			return err == nil && a.Status == core.ManagedStarting
		})
		r.Close()
	}
}

// A stream of events that was too slow is read again at once: the runtime stays ready, and takes work.
func TestLaggedEvents(t *testing.T) {
	f, store := newFake("claude"), newMemory(t)
	r := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	f.change(func() { f.lagged = 20 })
	away := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-away:
				return
			default:
			}
			if info := r.Runtimes(ctx); !info[0].Ready {
				t.Errorf("the runtime is not ready: %s", info[0].Reason)
				return
			}
		}
	}()
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	for range 30 {
		f.tell(a.ID, runtime.EventBusy, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusBusy })
	}
	coretest.WaitFor(t, "all events", func() bool { return len(store.kinds(a.ID)) == 31 })
	close(away)
	<-done
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lagged != 0 || f.reads < 21 {
		t.Errorf("events were read %d times, %d lags are left", f.reads, f.lagged)
	}
}

// An answer names an option by id or by label.
func TestAnswerByLabel(t *testing.T) {
	f := newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	asks := func(p runtime.Prompt) {
		f.tell(a.ID, runtime.EventQuestion, func(a *runtime.Agent, e *runtime.Event) { a.Status, a.Prompt, e.Prompt = runtime.StatusBlocked, &p, &p })
		r.until(a.ID, "the prompt", func(a *core.ManagedAgent) bool { return a.Prompt != nil })
	}
	options := []runtime.Option{{ID: "1", Label: "alpha"}, {ID: "2", Label: "Beta"}, {ID: "3", Label: "same"}, {ID: "4", Label: "same"}}
	asks(runtime.Prompt{ID: "p1", Kind: runtime.PromptQuestion, Options: options})
	_, err := r.AnswerManagedAgent(ctx, a.ID, core.ManagedAgentAnswer{Choice: "gamma"})
	wantCode(t, err, core.CodeValidation, "")
	if got := core.AsError(err).Message; got != `choice: "gamma" is no option of the prompt; it has 1 (alpha), 2 (Beta), 3 (same), 4 (same)` {
		t.Errorf("message %q", got)
	}
	_, err = r.AnswerManagedAgent(ctx, a.ID, core.ManagedAgentAnswer{Choice: "same"})
	wantCode(t, err, core.CodeValidation, "")
	for choice, want := range map[string]string{"beta": "2", "1": "1"} {
		asks(runtime.Prompt{ID: "p1", Kind: runtime.PromptQuestion, Options: options})
		if _, err := r.AnswerManagedAgent(ctx, a.ID, core.ManagedAgentAnswer{Choice: choice}); err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		if got := f.events[len(f.events)-1].Answered; got != want {
			t.Errorf("%s was given as %s, want %s", choice, got, want)
		}
		f.mu.Unlock()
	}
	asks(runtime.Prompt{ID: "p2", Kind: runtime.PromptApproval, Options: []runtime.Option{{ID: "allow_always", Label: "Always"}}})
	if _, err := r.AnswerManagedAgent(ctx, a.ID, core.ManagedAgentAnswer{Choice: "deny"}); err != nil {
		t.Errorf("deny: %v", err)
	}
}

// Agents are found by a part of their name, why they are as they are, and the execution that they work for.
func TestFindByNameReasonExecution(t *testing.T) {
	f := newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Name: "Parser-fixer", Type: "claude", Labels: map[string]string{"wardroom.execution": "exec_1"}})
	r.spawn(core.ManagedAgentSpec{Name: "reviewer", Type: "claude"})
	f.tell(a.ID, runtime.EventBlocked, func(a *runtime.Agent, _ *runtime.Event) {
		a.Status, a.Reason = runtime.StatusBusy, core.ReasonBlocked
	})
	coretest.WaitFor(t, "the agent is blocked", func() bool {
		found, err := r.FindManagedAgent(ctx, a.ID)
		return err == nil && found.StatusReason == core.ReasonBlocked
	})
	for _, filter := range []core.ManagedAgentFilter{{Name: "parser"}, {Reason: core.ReasonBlocked}, {Execution: "exec_1"}} {
		if list, _, err := r.FindManagedAgents(ctx, filter); err != nil || len(list) != 1 || list[0].ID != a.ID {
			t.Errorf("%+v: %v, %v", filter, list, err)
		}
	}
	for _, filter := range []core.ManagedAgentFilter{{Name: "writer"}, {Reason: "exited"}, {Execution: "exec_2"}} {
		if list, _, err := r.FindManagedAgents(ctx, filter); err != nil || len(list) != 0 {
			t.Errorf("%+v: %v, %v", filter, list, err)
		}
	}
}

// Labels are shown and filtered; what turns used is summed, and how the last one ended is kept.
func TestLabelsAndUsage(t *testing.T) {
	f, store := newFake("claude"), newMemory(t)
	r := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude", Labels: map[string]string{"team": "core", "k": "v"}})
	r.spawn(core.ManagedAgentSpec{Type: "claude", Labels: map[string]string{"team": "web"}})
	if a.Labels["team"] != "core" || a.ReadyTimeoutMs != 60_000 {
		t.Errorf("spawned %+v", a)
	}
	for want, labels := range map[int]map[string]string{2: nil, 1: {"team": "core", "k": "v"}, 0: {"team": "core", "k": ""}} {
		if _, info, err := r.FindManagedAgents(ctx, core.ManagedAgentFilter{Labels: labels}); err != nil || info.Total != want {
			t.Errorf("%v: %d agents, %v, want %d", labels, info.Total, err, want)
		}
	}
	cost := 0.25
	for turn := 1; turn <= 2; turn++ {
		f.tell(a.ID, runtime.EventTurnComplete, func(a *runtime.Agent, e *runtime.Event) {
			a.Status, a.Turn, e.Turn, e.Refused = runtime.StatusReady, turn, turn, turn == 2
			e.Usage = &wire.Usage{Model: "m", InputTokens: 10, OutputTokens: 5, CostUSD: &cost}
		})
	}
	f.tell(a.ID, runtime.EventTurnComplete, func(a *runtime.Agent, e *runtime.Event) {
		a.Turn, e.Turn = 3, 3
		e.Error = &wire.TurnError{Code: wire.TurnModelError, Message: "no"}
	})
	got := r.until(a.ID, "the turns", func(a *core.ManagedAgent) bool { return a.Turn == 3 })
	if got.Usage == nil || got.Usage.InputTokens != 20 || *got.Usage.CostUSD != 0.5 || got.LastTurn == nil || got.LastTurn.Error.Code != wire.TurnModelError {
		t.Errorf("%+v, last turn %+v", got.Usage, got.LastTurn)
	}
}
