package threads_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

func roleSpec(instance int) core.RoleSpec {
	return core.RoleSpec{ExecutionID: "exec_1", Role: "reviewer", Instance: instance, Objective: "Review it", Workspace: &core.WorkspaceSpec{Repo: "app"}}
}

func roleAgent() core.ManagedAgentSpec {
	return core.ManagedAgentSpec{Name: "reviewer-0", Type: "claude", Labels: map[string]string{"wardroom.role": "reviewer"}}
}

// roleOf is the newest thread of a role.
func (r *rig) roleOf() *core.ThreadRecord {
	r.t.Helper()
	list, _, _ := r.store.FindThreads(r.ctx, core.ThreadFilter{ExecutionID: "exec_1"})
	if len(list) == 0 {
		r.t.Fatal("there is no thread")
	}
	return list[0]
}

func (r *rig) turnOf(agent string) {
	r.agents.do(agent, func(a *scripted) {
		a.busy()
		a.say("Reviewed.")
		a.end("Reviewed.")
	})
}

func TestRole(t *testing.T) {
	for _, tt := range []struct {
		end    core.ExecutionStatus
		status core.ThreadStatus
		state  core.CompletionState
	}{
		{core.ExecutionRunning, core.ThreadCompleted, core.CompletionComplete},
		{core.ExecutionCompleted, core.ThreadCompleted, core.CompletionComplete},
		{core.ExecutionFailed, core.ThreadFailed, core.CompletionFailed},
		{core.ExecutionCancelled, core.ThreadStopped, core.CompletionPartial},
	} {
		t.Run(string(tt.end), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, core.SystemClock{}).open()
			r.pattern("exec_1", true)
			a, err := r.SpawnRole(r.ctx, roleSpec(0), roleAgent())
			if err != nil {
				t.Fatal(err)
			}
			made := r.agents.specs[0]
			rec := r.roleOf()
			if made.Workdir == "" || made.Workdir != rec.Workspace.Path || made.Labels["wardroom.thread"] != rec.ID || made.Labels["wardroom.role"] != "reviewer" ||
				rec.ManagedAgentID != a.ID || len(r.spaces.files[rec.Workspace.ID]) != 1 {
				t.Errorf("spec %+v of %+v", made, rec)
			}
			if again, err := r.SpawnRole(r.ctx, roleSpec(0), roleAgent()); err != nil || again.ID != a.ID {
				t.Errorf("spawned again: %+v, %v", again, err)
			}
			r.turnOf(a.ID)
			r.endPattern("exec_1", tt.end)
			r.EndRole(a.ID, "over")
			rec = r.untilStatus(rec.ID, tt.status)
			if rec.Completion.State != tt.state || rec.TurnCount != 1 || rec.Completion.Summary == "" {
				t.Errorf("%+v after %d turns", rec.Completion, rec.TurnCount)
			}
			if len(r.store.lessons()) != 1 || r.store.lessons()[0].Role != "reviewer" {
				t.Errorf("experiences %+v", r.store.lessons())
			}
			if got := r.store.execution("exec_1").Status; got != tt.end {
				t.Errorf("the execution is %s", got)
			}
			r.EndRole(a.ID, "again")
			r.EndRole("magent_nobody", "never was")
		})
	}
}

// The agent of an execution that cannot be read any more does not wait for it for ever: neither when the execution lets go of
// it, nor over a restart.
func TestRoleOfBrokenExecution(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart=", restart), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, core.SystemClock{}).open()
			r.pattern("exec_1", true)
			a, err := r.SpawnRole(r.ctx, roleSpec(0), roleAgent())
			if err != nil {
				t.Fatal(err)
			}
			rec := r.roleOf()
			r.store.spoil("exec_1")
			if restart {
				r.reopen()
			} else {
				r.EndRole(a.ID, "over")
			}
			r.untilStatus(rec.ID, core.ThreadStopped)
		})
	}
}

func TestRoleIsNotEndedByItsWords(t *testing.T) {
	clock := coretest.NewClock()
	r := newRig(t, clock).open()
	r.pattern("exec_1", true)
	a, err := r.SpawnRole(r.ctx, roleSpec(0), roleAgent())
	if err != nil {
		t.Fatal(err)
	}
	r.agents.do(a.ID, func(s *scripted) {
		s.busy()
		s.end(block("complete", "Reviewed"))
	})
	id := r.roleOf().ID
	r.until(id, "the turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 1 && rec.Status == core.ThreadReady })
	for range 5 {
		clock.Advance(3600e9)
	}
	if rec := r.record(id); rec.Status != core.ThreadReady {
		t.Errorf("it is %s", rec.Status)
	}
	if receipt, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "by hand"}); err != nil || !receipt.Sent {
		t.Errorf("sent %+v, %v", receipt, err)
	}
	events, _, err := r.store.Events(r.ctx, id, 0, 1<<20)
	if i := slices.IndexFunc(events, func(e core.Event) bool { return e.Type == core.EventThreadInput }); err != nil || i < 0 || field(events[i], "text") != "by hand" || field(events[i], "state") != "sent" {
		t.Errorf("what was sent is told by %d, %v", i, err)
	}
	// A lost agent is not brought back: the engine has another one spawned.
	r.agents.do(a.ID, func(s *scripted) { s.lose() })
	r.EndRole(a.ID, "its role has another agent")
	b, err := r.SpawnRole(r.ctx, roleSpec(0), roleAgent())
	if err != nil || b.ID == a.ID {
		t.Fatalf("spawned %+v, %v", b, err)
	}
	if rec := r.untilStatus(id, core.ThreadFailed); rec.StatusReason != core.ThreadReasonLost {
		t.Errorf("reason %q", rec.StatusReason)
	}
	if rec := r.roleOf(); rec.ID == id || rec.ManagedAgentID != b.ID {
		t.Errorf("the new thread %+v", rec)
	}
}

// TestRoleUncertainStart: a start that nobody knows the outcome of leaves an agent that runs. The engine takes it up by
// its label, without another SpawnRole, and the thread must be its.
func TestRoleUncertainStart(t *testing.T) {
	clock := coretest.NewClock()
	r := newRig(t, clock).open()
	r.pattern("exec_1", true)
	fake := r.agents
	fake.spawn = func(spec core.ManagedAgentSpec) error {
		fake.spawn = nil
		fake.mu.Unlock() // as the call itself does it
		defer fake.mu.Lock()
		if _, err := fake.SpawnManagedAgent(r.ctx, spec); err != nil {
			return err
		}
		return core.Unavailable("runtime_unavailable", "no answer")
	}
	if _, err := r.SpawnRole(r.ctx, roleSpec(0), roleAgent()); err == nil {
		t.Fatal("the start is certain")
	}
	id := r.roleOf().ID
	agent := fake.all()[0].ID
	rec := r.advanceUntil(clock, id, core.ThreadReady, 1e9)
	if rec.ManagedAgentID != agent || rec.StartedAt == nil {
		t.Errorf("the thread has the agent %q, want %s", rec.ManagedAgentID, agent)
	}
	if a, err := r.SpawnRole(r.ctx, roleSpec(0), roleAgent()); err != nil || a.ID != agent || len(fake.all()) != 1 {
		t.Errorf("spawned again: %+v, %v", a, err)
	}
	r.turnOf(agent)
	r.endPattern("exec_1", core.ExecutionCompleted)
	r.EndRole(agent, "over")
	r.advanceUntil(clock, id, core.ThreadCompleted, 1e9)
	started := 0
	for _, kind := range r.kinds(id) {
		if kind == "thread_started" {
			started++
		}
	}
	if started != 1 {
		t.Errorf("events %v", r.kinds(id))
	}
}

// TestRoleCrashes kills the service after each of its transactions while a role is spawned, works and ends.
func TestRoleCrashes(t *testing.T) {
	life := func(t *testing.T, after int) (kinds string, writes int) {
		r := newRig(t, core.SystemClock{})
		r.pattern("exec_1", true)
		if after >= 0 {
			r.store.failAfter(after)
		}
		r.open()
		mend := func() {
			select {
			case <-r.store.Failed():
				if after >= 0 {
					after = -1
					r.Close()
					r.store.Heal()
					r.open()
				}
			default:
			}
		}
		var a *core.ManagedAgent
		coretest.WaitFor(t, "the agent", func() (ok bool) {
			var err error
			a, err = r.SpawnRole(r.ctx, roleSpec(0), roleAgent())
			mend()
			return err == nil
		})
		r.turnOf(a.ID)
		r.endPattern("exec_1", core.ExecutionCompleted)
		r.EndRole(a.ID, "over")
		_ = r.agents.StopManagedAgent(r.ctx, a.ID, core.ManagedAgentStop{})
		coretest.WaitFor(t, "the end", func() bool {
			mend()
			return r.roleOf().Status.Terminal()
		})
		if n := len(r.store.threads()); n != 1 || len(r.agents.records) != 1 {
			t.Errorf("%d threads, %d agents", n, len(r.agents.records))
		}
		return fmt.Sprint(r.kinds(r.roleOf().ID)), r.store.Stored()
	}
	want, writes := life(t, -1)
	for n := range writes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			if got, _ := life(t, n); got != want {
				t.Errorf("events\n got %s\nwant %s", got, want)
			}
		})
	}
}

func TestRoleOnceAtATime(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	r.pattern("exec_1", true)
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		wg.Add(1)
		go func() {
			defer wg.Done()
			a, err := r.SpawnRole(r.ctx, roleSpec(i%2), roleAgent())
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = a.ID
		}()
	}
	wg.Wait()
	if len(r.agents.records) != 2 || ids[0] == ids[1] || ids[0] != ids[2] {
		t.Errorf("%d agents, %q", len(r.agents.records), ids)
	}
}

// asks stores a question with its event.
func (r *rig) asks(q *core.Question) {
	r.t.Helper()
	raw, err := json.Marshal(map[string]any{"question": q})
	if err != nil {
		r.t.Fatal(err)
	}
	r.store.Put(func(tx core.Tx) error {
		return errors.Join(tx.PutQuestion(q), tx.Append(core.Event{Type: core.EventQuestionAsked, Subject: q.ExecutionID, Data: raw}))
	})
}

func TestSurfacedQuestion(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	r.pattern("exec_1", true)
	a, err := r.SpawnRole(r.ctx, roleSpec(0), roleAgent())
	if err != nil {
		t.Fatal(err)
	}
	id := r.roleOf().ID
	r.untilStatus(id, core.ThreadReady)
	q := &core.Question{
		ID: r.ids.New(core.PrefixQuestion), ExecutionID: "exec_1", Kind: core.QuestionMessage, Status: core.QuestionOpen,
		AgentID: a.ID, Text: "Which branch?",
	}
	r.asks(q)
	rec := r.untilStatus(id, core.ThreadBlocked)
	var prompt struct{ ID, Kind, Text string }
	if json.Unmarshal(rec.Prompt, &prompt) != nil || prompt.ID != q.ID || prompt.Kind != "question" || prompt.Text != q.Text {
		t.Errorf("prompt %s", rec.Prompt)
	}
	if _, err := r.AnswerThread(r.ctx, id, core.ThreadAnswer{Text: "main"}); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("an answer without questions: %v", err)
	}
	r.Close()
	closed := *q
	closed.Status = core.QuestionAnswered
	r.store.Put(func(tx core.Tx) error {
		return errors.Join(tx.PutQuestion(&closed),
			tx.Append(core.Event{Type: core.EventQuestionAnswered, Subject: "exec_1", Data: json.RawMessage(`{"questionId":"` + q.ID + `"}`)}))
	})
	r.open()
	r.untilStatus(id, core.ThreadRunning)
	kinds := r.kinds(id)
	if kinds[len(kinds)-1] != "thread_status unblocked" {
		t.Errorf("events %q", kinds)
	}
}

// TestRoleNeverStarted: nobody tells the end of a thread for which no agent could be started. It ends with its
// execution, and completes nothing.
func TestRoleNeverStarted(t *testing.T) {
	refused := core.Invalid("type", "is not installed")
	for _, tt := range []struct {
		name           string
		provision, run error
		end            core.ExecutionStatus
		status         core.ThreadStatus
	}{
		{"NoAgent", nil, refused, core.ExecutionCompleted, core.ThreadStopped},
		{"NoWorkspace", refused, nil, core.ExecutionCompleted, core.ThreadStopped},
		{"Failed", nil, refused, core.ExecutionFailed, core.ThreadFailed},
		{"Cancelled", refused, nil, core.ExecutionCancelled, core.ThreadStopped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, core.SystemClock{})
			r.spaces.provision = func(context.Context) error { return tt.provision }
			r.agents.spawn = func(core.ManagedAgentSpec) error { return tt.run }
			r.open()
			r.pattern("exec_1", true)
			for range 2 {
				if _, err := r.SpawnRole(r.ctx, roleSpec(0), roleAgent()); core.ErrorCode(err) != core.CodeValidation {
					t.Fatalf("spawned: %v", err)
				}
			}
			id := r.roleOf().ID
			r.endPattern("exec_1", tt.end)
			rec := r.untilStatus(id, tt.status)
			if rec.StatusReason != core.ThreadReasonExecution || rec.Workspace.Status != core.WorkspaceReleased || len(r.store.threads()) != 1 {
				t.Errorf("record %+v of %d", rec, len(r.store.threads()))
			}
		})
	}
}

// TestStartsAtOnce: agents of roles count among those that are started at the same time.
func TestStartsAtOnce(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.config.SpawnsAtOnce = 1
	gate := make(chan struct{})
	var starting, most atomic.Int32
	r.agents.spawn = func(core.ManagedAgentSpec) error {
		most.Store(max(most.Load(), starting.Add(1)))
		defer starting.Add(-1)
		r.agents.mu.Unlock() // as the call itself does it
		defer r.agents.mu.Lock()
		<-gate
		return nil
	}
	r.open()
	r.pattern("exec_1", true)
	var calls sync.WaitGroup
	for i := range 3 {
		calls.Go(func() {
			if _, err := r.SpawnRole(r.ctx, roleSpec(i), roleAgent()); err != nil {
				t.Error(err)
			}
		})
	}
	coretest.WaitFor(t, "all to be prepared", func() bool {
		list, _, _ := r.store.FindThreads(r.ctx, core.ThreadFilter{ExecutionID: "exec_1"})
		n := 0
		for _, rec := range list {
			if rec.Status == core.ThreadStarting {
				n++
			}
		}
		return n == 3
	})
	close(gate)
	calls.Wait()
	if most.Load() != 1 {
		t.Errorf("%d agents were started at once", most.Load())
	}
}

// What an agent did before its work was noted is no turn of it; what it did since is, also over a restart.
func TestRoleWork(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	r.pattern("exec_1", true)
	a, err := r.SpawnRole(r.ctx, roleSpec(0), roleAgent())
	if err != nil {
		t.Fatal(err)
	}
	note := func(key string, attempt int, want core.RoleWork) {
		t.Helper()
		if got, err := r.OpenWork(r.ctx, a.ID, key, attempt); err != nil || got != want {
			t.Errorf("the work %s, attempt %d: %+v, %v; want %+v", key, attempt, got, err, want)
		}
	}
	r.turnOf(a.ID)
	note("task_1.1", 0, core.RoleWork{})
	note("task_1.1", 0, core.RoleWork{})
	r.reopen()
	note("task_1.1", 0, core.RoleWork{})
	r.Close()
	r.turnOf(a.ID)
	r.open()
	note("task_1.1", 0, core.RoleWork{Shown: true})
	note("task_1.1", 1, core.RoleWork{Attempt: 1})
	r.agents.do(a.ID, func(s *scripted) { s.busy() })
	note("task_1.1", 0, core.RoleWork{Attempt: 1, Shown: true})
	note("task_2.1", 0, core.RoleWork{})
	r.agents.do(a.ID, func(s *scripted) {
		s.turn("", wire.TurnOutcome{Interrupted: true})
		s.tell(core.EventManagedLogin, core.AgentSignal{})
	})
	note("task_2.1", 0, core.RoleWork{Shown: true})
	if list, err := r.QueuedThreadInputs(r.ctx, r.roleOf().ID, 0, 10); err != nil || len(list.Inputs) > 0 {
		t.Errorf("its queue: %+v, %v", list, err)
	}
	if got, err := r.OpenWork(r.ctx, "magent_none", "task_1.1", 2); err != nil || got != (core.RoleWork{Attempt: 2}) {
		t.Errorf("of an agent without a thread: %+v, %v", got, err)
	}
}

// Who sends to the agent of a role without an Idempotency-Key cannot send it again without harm: the runtime learns so, and its errors
// do not ask for that.
func TestRoleInputWithoutKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, core.SystemClock{}).open()
	r.pattern("exec_1", true)
	if _, err := r.SpawnRole(r.ctx, roleSpec(0), roleAgent()); err != nil {
		t.Fatal(err)
	}
	id := r.roleOf().ID
	var got []core.ManagedAgentInput
	r.agents.send = func(in core.ManagedAgentInput) error {
		got = append(got, in)
		return core.Unavailable("shutting_down", "the service is shutting down")
	}
	for _, ctx := range []context.Context{r.ctx, core.WithIdempotency(r.ctx, &core.IdempotencyClaim{Key: "k"})} {
		if _, err := r.SendThread(ctx, id, core.ThreadInput{Message: "hi"}); !core.AsError(err).Unavailable {
			t.Fatal(err)
		}
	}
	if len(got) != 2 || got[0].Key == "" || !got[0].OwnKey || got[1].Key == "" || got[1].OwnKey {
		t.Errorf("sent %+v", got)
	}
}
