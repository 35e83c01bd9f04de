package threads_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// TestContinue goes on with a thread that failed: in its workspace, with its session, and with what got no answer.
func TestContinue(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	refuse := true
	r.agents.script = func(a *scripted, text string) {
		a.busy()
		if refuse {
			a.fail(wire.TurnModelError, false)
			return
		}
		a.end("did " + text)
	}
	r.open()
	old := r.spawn(spec()).ID
	was := r.untilStatus(old, core.ThreadFailed)
	if _, err := r.SendThread(r.ctx, old, core.ThreadInput{Message: "more"}); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("a message to it: %v", err)
	}
	const guarded = "hash of a definition with an allow-list"
	if err := r.store.Update(r.ctx, func(tx core.Tx) error {
		e, err := tx.FindExecution(was.ExecutionID)
		if err != nil {
			return err
		}
		ran := *e
		ran.Pattern, ran.Hash, ran.Pins = core.PatternRef{Name: "guarded", Version: "1.0.0"}, guarded, map[string]string{"inner@1": guarded}
		return tx.PutExecution(&ran)
	}); err != nil {
		t.Fatal(err)
	}
	refuse = false
	next, err := r.ContinueThread(r.ctx, old, core.ThreadContinue{Message: "use the other model"})
	if err != nil {
		t.Fatal(err)
	}
	rec := r.until(next.ID, "the turns", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 2 && rec.QueuedInputs == 0 })
	if rec.Continues != old || rec.Workspace.ID != was.Workspace.ID || rec.SessionID != "session-1" || rec.Role != "coder" || rec.ExecutionID == was.ExecutionID {
		t.Errorf("it goes on as %+v", rec)
	}
	// What it is open to is what the old one was open to.
	if e, err := r.store.FindExecution(r.ctx, rec.ExecutionID); err != nil || !e.AdHoc || e.Pins["guarded@1.0.0"] != guarded || e.Pins["inner@1"] != guarded {
		t.Errorf("its execution is %+v, %v", e, err)
	}
	got := r.agents.messages()
	if len(got) != 3 || got[1] != got[0] || !strings.HasPrefix(got[2], "use the other model\n\n(Before you begin") {
		t.Errorf("messages %q", got)
	}
	if len(r.agents.specs) != 2 || r.agents.specs[1].Resume != "session-1" {
		t.Errorf("specs %+v", r.agents.specs)
	}
	was = r.record(old)
	if was.Status != core.ThreadFailed || was.ContinuedBy != next.ID || was.QueuedInputs != 0 || len(r.waiting(old)) != 0 {
		t.Errorf("the old one is %+v, %q wait", was, r.waiting(old))
	}
	for id, what := range map[string]string{old: "goes on with it already", next.ID: "send it a message"} {
		if _, err := r.ContinueThread(r.ctx, id, core.ThreadContinue{Message: "x"}); core.ErrorCode(err) != core.CodeConflict || !strings.Contains(err.Error(), what) {
			t.Errorf("again: %v", err)
		}
	}
	if err := r.StopThread(r.ctx, next.ID, core.ThreadStop{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ContinueThread(r.ctx, next.ID, core.ThreadContinue{}); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("with nothing to do: %v", err)
	}
	third, err := r.ContinueThread(r.ctx, next.ID, core.ThreadContinue{Message: "x"})
	if err != nil || third.Continues != next.ID {
		t.Errorf("after a stop: %+v, %v", third, err)
	}
}

// TestContinueWithoutSession tells the agent what it goes on with.
func TestContinueWithoutSession(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.begin = func(a *scripted) {
		a.r.SessionID = ""
		a.tell(core.EventManagedReady, core.AgentSignal{})
	}
	r.agents.script = func(a *scripted, text string) {
		a.busy()
		a.end(block("partial", "Half of it"))
	}
	r.open()
	old := r.spawn(spec()).ID
	r.untilStatus(old, core.ThreadCompleted)
	r.agents.do("", func(a *scripted) { a.r.SessionID = "" })
	raw := r.record(old)
	raw.SessionID = ""
	if err := r.store.Update(r.ctx, func(tx core.Tx) error { return tx.PutThread(raw) }); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ContinueThread(r.ctx, old, core.ThreadContinue{Message: "the rest"}); err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "its message", func() bool { return r.agents.count() == 2 })
	if got := r.agents.messages()[1]; !strings.Contains(got, "Fix the parser\nWhat came of it: Half of it)\n\nthe rest") {
		t.Errorf("message %q", got)
	}
}

// TestContinueLostSession: a session that cannot be resumed is given up, and the agent is told what it goes on with.
func TestContinueLostSession(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.begin = func(a *scripted) {
		if a.r.Spec.Resume != "" {
			a.exit("exited_at_start: no such session", 1)
			return
		}
		a.tell(core.EventManagedReady, core.AgentSignal{})
	}
	r.agents.script = func(a *scripted, _ string) {
		a.busy()
		a.end(block("partial", "Half of it"))
	}
	r.open()
	first := spec()
	first.Preparation.Env = map[string]string{"TOKEN": "old", "CI": "1"}
	old := r.spawn(first).ID
	r.untilStatus(old, core.ThreadCompleted)
	next, err := r.ContinueThread(r.ctx, old, core.ThreadContinue{Message: "the rest", Env: map[string]string{"TOKEN": "secret-value"}})
	if err != nil {
		t.Fatal(err)
	}
	rec := r.untilStatus(next.ID, core.ThreadCompleted)
	if got := r.agents.messages(); len(got) != 2 || !strings.Contains(got[1], "What came of it: Half of it)\n\nthe rest") {
		t.Errorf("messages %q", got)
	}
	if specs := r.agents.specs; len(specs) != 3 || specs[1].Resume == "" || specs[2].Resume != "" || specs[2].Env["TOKEN"] != "secret-value" ||
		specs[2].Env["CI"] != "1" || len(rec.Preparation.EnvNames) != 2 {
		t.Errorf("specs %+v, names %v", specs, rec.Preparation.EnvNames)
	}
	if left := r.record(old).SealedEnv; left != nil || rec.SealedEnv == nil {
		t.Errorf("the old thread keeps the environment: %t, the new one: %t", left != nil, rec.SealedEnv != nil)
	}
}

// TestQueue lists and withdraws messages that wait: the agent never gets them, the others keep their order.
func TestQueue(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			r := newRig(t, core.SystemClock{})
			r.agents.script = func(a *scripted, text string) {
				a.busy()
				if text != "one" {
					a.end("did " + text)
				}
			}
			r.open()
			id := r.spawn(shellSpec("one")).ID
			inputs := map[string]string{}
			for _, text := range []string{"two", "three", "four", "five"} {
				receipt, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: text})
				if err != nil {
					t.Fatal(err)
				}
				inputs[text] = receipt.InputID
			}
			r.untilStatus(id, core.ThreadRunning)
			r.until(id, "the first to be taken", func(rec *core.ThreadRecord) bool { return rec.SentSeq == 1 })
			queue := func() (texts []string) {
				q, err := r.QueuedThreadInputs(r.ctx, id, 0, 100)
				if err != nil {
					t.Fatal(err)
				}
				for _, in := range q.Inputs {
					texts = append(texts, in.State+" "+in.Message)
				}
				return texts
			}
			if got := queue(); !slices.Equal(got, []string{"working one", "waiting two", "waiting three", "waiting four", "waiting five"}) {
				t.Errorf("queue %q", got)
			}
			if q, err := r.QueuedThreadInputs(r.ctx, id, 0, 2); err != nil || len(q.Inputs) != 2 || !q.HasMore || q.NextAfter != 2 || q.Queued != 4 {
				t.Errorf("a page %+v, %v", q, err)
			}
			for _, text := range []string{"two", "four"} {
				if err := r.WithdrawThreadInput(r.ctx, id, inputs[text]); err != nil {
					t.Fatal(err)
				}
			}
			for input, code := range map[string]core.Code{inputs["two"]: core.CodeNotFound, "in_none": core.CodeNotFound, r.record(id).Work.InputID: core.CodeConflict} {
				if err := r.WithdrawThreadInput(r.ctx, id, input); core.ErrorCode(err) != code {
					t.Errorf("withdraw %s: %v, want %s", input, err, code)
				}
			}
			if got := queue(); !slices.Equal(got, []string{"working one", "waiting three", "waiting five"}) || r.record(id).QueuedInputs != 2 {
				t.Errorf("queue %q, %d wait", got, r.record(id).QueuedInputs)
			}
			if restart {
				r.reopen()
			}
			r.agents.do("", func(a *scripted) { a.end("did one") })
			rec := r.until(id, "the others", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 3 && rec.SentSeq == 5 })
			if got := r.agents.messages(); !slices.Equal(got, []string{"one", "three", "five"}) || rec.Withdrawn != 0 || rec.QueuedInputs != 0 {
				t.Errorf("the agent got %q; record %+v", got, rec)
			}
		})
	}
}

// TestQueueIsOfOneMoment: a message that comes, or that the agent takes, while its queue is read is in the list and in the count, or
// in neither.
func TestQueueIsOfOneMoment(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, _ string) { a.busy() }
	r.open()
	id := r.spawn(shellSpec("one")).ID
	r.until(id, "the first to be taken", func(rec *core.ThreadRecord) bool { return rec.SentSeq == 1 && rec.Work != nil && rec.Work.Begun })
	check := func(what string, want int, meanwhile func()) {
		t.Helper()
		q, err := r.QueuedThreadInputs(context.WithValue(r.ctx, atQueue{}, sync.OnceFunc(meanwhile)), id, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		waiting := slices.DeleteFunc(slices.Clone(q.Inputs), func(in core.ThreadQueueItem) bool { return in.State != core.InputWaiting })
		if q.Queued != want || len(waiting) != want {
			t.Errorf("%s: %d are counted, %d in the list, want %d", what, q.Queued, len(waiting), want)
		}
	}
	check("one that came", 1, func() {
		if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "two"}); err != nil {
			t.Error(err)
		}
	})
	check("one that was taken", 0, func() {
		r.agents.do("", func(a *scripted) { a.end("did one") })
		r.until(id, "the second to be taken", func(rec *core.ThreadRecord) bool { return rec.SentSeq == 2 && rec.Work != nil && rec.Work.Begun })
	})
}

// failedThread starts a thread that fails over its first message, "one", which waits then.
func failedThread(t *testing.T) (r *rig, id, input string) {
	t.Helper()
	r = newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, _ string) {
		a.busy()
		a.fail(wire.TurnModelError, false)
	}
	r.open()
	id = r.spawn(shellSpec("one")).ID
	r.untilStatus(id, core.ThreadFailed)
	q, err := r.QueuedThreadInputs(r.ctx, id, 0, 10)
	if err != nil || len(q.Inputs) != 1 || q.Inputs[0].Message != "one" || q.Inputs[0].State != core.InputWaiting {
		t.Fatalf("queue %+v, %v", q, err)
	}
	return r, id, q.Inputs[0].InputID
}

// TestWithdrawAfterTheEnd: what a failed thread was asked can be withdrawn too.
func TestWithdrawAfterTheEnd(t *testing.T) {
	r, id, input := failedThread(t)
	if err := r.WithdrawThreadInput(r.ctx, id, input); err != nil {
		t.Fatal(err)
	}
	if q, err := r.QueuedThreadInputs(r.ctx, id, 0, 10); err != nil || len(q.Inputs) != 0 || q.Queued != 0 {
		t.Errorf("queue %+v, %v", q, err)
	}
}

// TestContinueWithdrawn: a message that is withdrawn while another thread is about to go on with it is given to no agent.
func TestContinueWithdrawn(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	refuse := true
	r.agents.script = func(a *scripted, text string) {
		a.busy()
		if refuse {
			a.fail(wire.TurnModelError, false)
			return
		}
		a.end("did " + text)
	}
	r.open()
	old := r.spawn(spec()).ID
	r.untilStatus(old, core.ThreadFailed)
	queue, err := r.QueuedThreadInputs(r.ctx, old, 0, 10)
	if err != nil || len(queue.Inputs) != 1 {
		t.Fatalf("%+v, %v", queue, err)
	}
	refuse = false
	r.meanwhile = func() { // each time anew
		if err := r.store.Update(r.ctx, func(tx core.Tx) error {
			latest, err := tx.FindThread(old)
			if err != nil {
				return err
			}
			next := *latest
			next.Withdrawals++
			return tx.PutThread(&next)
		}); err != nil {
			t.Error(err)
		}
	}
	if _, err := r.ContinueThread(r.ctx, old, core.ThreadContinue{Message: "second thoughts"}); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("the queue never rests: %v", err)
	}
	r.meanwhile = func() {
		r.meanwhile = nil
		if err := r.WithdrawThreadInput(r.ctx, old, queue.Inputs[0].InputID); err != nil {
			t.Error(err)
		}
	}
	next, err := r.ContinueThread(r.ctx, old, core.ThreadContinue{Message: "second thoughts"})
	if err != nil {
		t.Fatal(err)
	}
	r.until(next.ID, "the turn", func(rec *core.ThreadRecord) bool {
		return rec.TurnCount > 0 && rec.QueuedInputs == 0 && rec.Work == nil
	})
	if got := r.agents.messages(); len(got) != 2 || !strings.Contains(got[1], "second thoughts") {
		t.Errorf("the agents got %q", got)
	}
}

// TestUpdateThread: a workspace is changed only while its agent waits, and the agent waits as long.
func TestUpdateThread(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, text string) {
		a.busy()
		if text != "one" {
			a.end("did " + text)
		}
	}
	r.open()
	id := r.spawn(shellSpec("one")).ID
	r.untilStatus(id, core.ThreadRunning)
	if _, err := r.UpdateThread(r.ctx, id, core.WorkspaceMerge); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("while it works: %v", err)
	}
	r.agents.do("", func(a *scripted) { a.end("did one") })
	r.until(id, "the turn", func(rec *core.ThreadRecord) bool { return rec.Status == core.ThreadReady && rec.Work == nil })
	r.spaces.update = func() {
		if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "two"}); err != nil {
			t.Error(err)
		}
		for range 20 {
			if r.agents.count() != 1 {
				t.Error("a message was given meanwhile")
			}
		}
	}
	if got, err := r.UpdateThread(r.ctx, id, core.WorkspaceRebase); err != nil || !got.Changed {
		t.Errorf("%+v, %v", got, err)
	}
	r.until(id, "the message", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 2 })
}

// The agent of a role is given no work while its workspace is changed either.
func TestUpdateThreadOfRole(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	r.pattern("exec_1", true)
	a, err := r.SpawnRole(r.ctx, roleSpec(0), roleAgent())
	if err != nil {
		t.Fatal(err)
	}
	id := r.roleOf().ID
	r.untilStatus(id, core.ThreadReady)
	r.spaces.update = func() {
		impatient, cancel := context.WithCancel(r.ctx)
		cancel()
		if _, err := r.OpenWork(impatient, a.ID, "task_1", 0); !errors.Is(err, context.Canceled) || r.record(id).Work != nil {
			t.Errorf("work meanwhile: %v", err)
		}
	}
	if _, err := r.UpdateThread(r.ctx, id, core.WorkspaceMerge); err != nil {
		t.Fatal(err)
	}
	if _, err := r.OpenWork(r.ctx, a.ID, "task_1", 0); err != nil || r.record(id).Work == nil {
		t.Errorf("work after that: %v", err)
	}
	if _, err := r.UpdateThread(r.ctx, id, core.WorkspaceMerge); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("while it works: %v", err)
	}
}

// The files of a thread that is over are another thread's once that took up its workspace.
func TestFilesOfAnotherThread(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	id := r.spawn(shellSpec("")).ID
	r.untilStatus(id, core.ThreadReady)
	if err := r.StopThread(r.ctx, id, core.ThreadStop{}); err != nil {
		t.Fatal(err)
	}
	over := r.untilStatus(id, core.ThreadStopped)
	if _, err := r.UpdateThread(r.ctx, id, core.WorkspaceMerge); err != nil {
		t.Errorf("while it is its own: %v", err)
	}
	next := shellSpec("")
	next.Preparation.Workspace = &core.WorkspaceSpec{WorkspaceID: over.Workspace.ID}
	r.untilStatus(r.spawn(next).ID, core.ThreadReady)
	if _, err := r.UpdateThread(r.ctx, id, core.WorkspaceMerge); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("beside the agent of another thread: %v", err)
	}
	if _, err := r.DiffThread(r.ctx, id, 1<<10); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("the changes of another thread: %v", err)
	}
}

// Who waits for the turn of a continued thread receives that of the message, behind those that got no answer; also when the message
// equals the first objective.
func TestContinueAndWait(t *testing.T) {
	t.Parallel()
	r := newRig(t, core.SystemClock{}).open()
	first := shellSpec("make it")
	none := 0
	first.Policy.TurnRetries = &none
	begun := false
	r.agents.script = func(a *scripted, text string) {
		a.busy()
		if !begun {
			begun = true
			a.fail(wire.TurnModelError, false)
			return
		}
		a.turn("an answer to "+text, wire.TurnOutcome{})
	}
	old := r.spawn(first).ID
	r.untilStatus(old, core.ThreadFailed)
	next, err := r.ContinueThread(r.ctx, old, core.ThreadContinue{Message: "make it"})
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := r.AwaitThreadInput(r.ctx, next.ID, "", time.Minute)
	if err != nil || receipt.Response == nil || receipt.Response.Turn != 2 || receipt.Response.Text != "an answer to make it" {
		t.Errorf("the answer: %+v, %v", receipt, err)
	}
	r.reopen()
	if again, err := r.AwaitThreadInput(r.ctx, next.ID, "", time.Minute); err != nil || again.InputID != receipt.InputID || again.Response.Turn != 2 {
		t.Errorf("after a restart: %+v, %v", again, err)
	}
}
