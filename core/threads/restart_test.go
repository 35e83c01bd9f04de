package threads_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

func TestAgentEnds(t *testing.T) {
	for _, tt := range []struct {
		name, reason string
		code         int
		report       string
		status       core.ThreadStatus
		because      string
		outcome      core.ExperienceOutcome
	}{
		{"by itself", "exited", 0, "", core.ThreadStopped, "exited", core.ExperiencePartial},
		{"by itself, with a report", "exited", 0, block("partial", "Half of it"), core.ThreadCompleted, "", core.ExperiencePartial},
		{"with a code", "exited", 3, "", core.ThreadFailed, core.ThreadReasonCrashed, core.ExperienceFailed},
		{"out of memory", "out_of_memory", 137, "", core.ThreadFailed, core.ThreadReasonCrashed, core.ExperienceFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, core.SystemClock{})
			r.agents.script = func(a *scripted, _ string) {
				a.busy()
				a.tell(core.EventManagedTurnComplete, core.AgentSignal{Text: "Something. " + tt.report})
				a.exit(tt.reason, tt.code)
			}
			r.open()
			id := r.spawn(spec()).ID
			rec := r.untilStatus(id, tt.status)
			if rec.StatusReason != tt.because || (rec.Error != nil) != (tt.status == core.ThreadFailed) || rec.Completion == nil {
				t.Errorf("%q %+v %+v", rec.StatusReason, rec.Error, rec.Completion)
			}
			if rec.Error != nil && !strings.Contains(rec.Error.Message, fmt.Sprintf("the agent ended by itself with exit code %d", tt.code)) {
				t.Errorf("the error is %q", rec.Error.Message)
			}
			if len(r.store.lessons()) != 1 || r.store.lessons()[0].Outcome != tt.outcome {
				t.Errorf("experiences %+v", r.store.lessons())
			}
			want := core.ExecutionCompleted
			if tt.status == core.ThreadFailed {
				want = core.ExecutionFailed
			}
			if got := r.store.execution(rec.ExecutionID); got.Status != want {
				t.Errorf("execution %+v", got)
			}
		})
	}
}

// TestLateSession: some tools tell their session only once a turn runs. It is in the record before the end is.
func TestLateSession(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.begin = func(a *scripted) {
		a.r.SessionID = ""
		a.tell(core.EventManagedReady, core.AgentSignal{})
	}
	r.agents.script = func(a *scripted, _ string) {
		a.busy()
		a.r.SessionID = "session-of-the-turn"
		a.end(block("complete", "Done"))
	}
	r.open()
	if rec := r.untilStatus(r.spawn(spec()).ID, core.ThreadCompleted); rec.SessionID != "session-of-the-turn" {
		t.Errorf("the session is %q", rec.SessionID)
	}
}

func TestLostTooOften(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, text string) {
		a.busy()
		a.lose()
	}
	r.open()
	s := spec()
	n := 2
	s.Policy.MaxRestarts = &n
	id := r.spawn(s).ID
	rec := r.untilStatus(id, core.ThreadFailed)
	if rec.StatusReason != core.ThreadReasonLost || rec.Restarts != 2 {
		t.Errorf("%q after %d restarts", rec.StatusReason, rec.Restarts)
	}
	// Lost within a turn, it is told to go on.
	if got := r.agents.messages(); len(got) != 3 || !strings.Contains(got[1], "Go on") {
		t.Errorf("messages %q", got)
	}
	recoveries := 0
	for _, d := range r.store.decisions(rec.ExecutionID) {
		if d.Category == core.DecisionFailureRecovery {
			recoveries++
		}
	}
	if recoveries != 2 {
		t.Errorf("%d decisions tell of a recovery", recoveries)
	}
}

// TestLostInACopy loses the agent of a thread whose workspace is not here, as in a copy of a data folder: nothing is started.
func TestLostInACopy(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, _ string) {
		a.busy()
		r.spaces.provision = func(context.Context) error {
			return core.Conflict("workspace", "ws_1", "ready", "it belongs to another threads.root")
		}
		a.lose()
	}
	r.open()
	rec := r.untilStatus(r.spawn(spec()).ID, core.ThreadFailed)
	if rec.StatusReason != core.ThreadReasonLost || rec.Restarts != 0 || !strings.Contains(rec.Error.Message, "another threads.root") {
		t.Errorf("%q after %d restarts: %+v", rec.StatusReason, rec.Restarts, rec.Error)
	}
	if got := r.agents.messages(); len(got) != 1 {
		t.Errorf("messages %q", got)
	}
}

// TestSessionBehind has an agent resume a session that lacks the message which it worked on: it is given the message again, and
// no word to go on.
func TestSessionBehind(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.notice = "session_behind: resumed as of turn 0 of 1"
	lost := false
	r.agents.script = func(a *scripted, text string) {
		a.busy()
		if !lost {
			lost = true
			a.lose()
			return
		}
		a.end("did " + text)
	}
	r.open()
	id := r.spawn(shellSpec("one")).ID
	r.until(id, "the turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 1 })
	if got := r.agents.messages(); !slices.Equal(got, []string{"one", "one"}) {
		t.Errorf("the agent got %q", got)
	}
	if kinds := r.kinds(id); !slices.Contains(kinds, "thread_status session_behind") || !slices.Contains(kinds, "thread_status input_repeated") {
		t.Errorf("events %q", kinds)
	}
}

func TestStoppedByHand(t *testing.T) {
	clock := coretest.NewClock()
	r := newRig(t, clock).open()
	id := r.readied(spec())
	// A restart by hand stops the agent first: the thread goes on.
	r.agents.do("", func(a *scripted) {
		a.tell(core.EventManagedStopped, core.AgentSignal{Reason: "stopped"})
		a.tell(core.EventManagedStarted, core.AgentSignal{})
		a.tell(core.EventManagedReady, core.AgentSignal{})
	})
	r.until(id, "the agent to be back", func(rec *core.ThreadRecord) bool {
		kinds := r.kinds(id)
		return kinds[len(kinds)-2] == "thread_status starting" && kinds[len(kinds)-1] == "thread_ready"
	})
	r.agents.do("", func(a *scripted) {
		a.tell(core.EventManagedStopped, core.AgentSignal{Reason: "killed"})
		a.r.StatusReason = "killed"
	})
	rec := r.advanceUntil(clock, id, core.ThreadStopped, 1e9)
	if rec.StatusReason != core.ThreadReasonRequested {
		t.Errorf("reason %q", rec.StatusReason)
	}
}

func TestStartFails(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.spawn = func(core.ManagedAgentSpec) error {
		e := core.Invalid("type", "claude is not installed")
		e.Details["runtimeCode"] = "CLI_NOT_FOUND"
		return e
	}
	r.open()
	rec := r.untilStatus(r.spawn(spec()).ID, core.ThreadFailed)
	if rec.Error.Code != core.CodeValidation || rec.Error.Message != "the agent cannot be started: claude is not installed" || len(r.store.lessons()) != 1 {
		t.Errorf("%+v", rec.Error)
	}
}

// The code of a login is an answer to it, at a runtime that takes no such answers a message.
func TestLogin(t *testing.T) {
	for name, old := range map[string]bool{"Answer": false, "Message": true} {
		t.Run(name, func(t *testing.T) { testLogin(t, old) })
	}
}

func testLogin(t *testing.T, old bool) {
	r := newRig(t, core.SystemClock{})
	login := func(text string) {
		if text != "code-1" {
			t.Errorf("the login got %q", text)
		}
		a := &scripted{f: r.agents, r: r.agents.records[0]}
		a.r.LoginURL = ""
		a.tell(core.EventManagedReady, core.AgentSignal{})
	}
	if !old {
		r.agents.login = login
	}
	r.agents.send = func(in core.ManagedAgentInput) error {
		if old && in.Message == "code-1" {
			login(in.Message)
			return nil
		}
		if r.agents.records[0].LoginURL != "" {
			return runtimeError(core.CodeConflict, "AUTH_REQUIRED")
		}
		return nil
	}
	r.agents.spawn = func(core.ManagedAgentSpec) error { return nil }
	r.agents.script = func(a *scripted, text string) {
		if text == "code-1" {
			return
		}
		a.busy()
		a.end("done")
	}
	r.open()
	s := spec()
	s.Objective = ""
	id := r.spawn(s).ID
	r.untilStatus(id, core.ThreadReady)
	r.agents.do("", func(a *scripted) {
		a.r.LoginURL = "https://login.example"
		a.tell(core.EventManagedLogin, core.AgentSignal{LoginURL: a.r.LoginURL})
	})
	rec := r.untilStatus(id, core.ThreadBlocked)
	if rec.StatusReason != core.ThreadReasonLogin || rec.LoginURL == "" || !strings.Contains(string(rec.Prompt), `"kind":"login"`) {
		t.Errorf("%q %q %s", rec.StatusReason, rec.LoginURL, rec.Prompt)
	}
	if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "work"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.AnswerThread(r.ctx, id, core.ThreadAnswer{Choice: "allow"}); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("a choice for a login: %v", err)
	}
	if _, err := r.AnswerThread(r.ctx, id, core.ThreadAnswer{Text: "code-1"}); err != nil {
		t.Fatal(err)
	}
	r.until(id, "the work", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 1 && rec.LoginURL == "" })
}

// TestLoginCutsTurn has a credential end within a turn: the message is given again once there is another.
func TestLoginCutsTurn(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	expired := true
	r.agents.script = func(a *scripted, text string) {
		a.busy()
		if expired {
			expired = false
			a.tell(core.EventManagedTurnComplete, core.AgentSignal{TurnOutcome: wire.TurnOutcome{Interrupted: true}})
			a.r.LoginURL = "https://login.example"
			a.tell(core.EventManagedLogin, core.AgentSignal{LoginURL: a.r.LoginURL})
			return
		}
		a.end(text)
	}
	r.open()
	s := spec()
	s.AgentType = "shell"
	id := r.spawn(s).ID
	if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "second"}); err != nil {
		t.Fatal(err)
	}
	r.untilStatus(id, core.ThreadBlocked)
	r.until(id, "the message to be back in the queue", func(rec *core.ThreadRecord) bool { return rec.QueuedInputs == 2 })
	r.agents.do("", func(a *scripted) {
		a.r.LoginURL = ""
		a.tell(core.EventManagedReady, core.AgentSignal{})
	})
	r.until(id, "the turns", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 3 && rec.QueuedInputs == 0 })
	if got := strings.Join(r.agents.messages(), "|"); got != "Fix the parser|Fix the parser|second" {
		t.Errorf("messages %s", got)
	}
}

func TestNotReadyInTime(t *testing.T) {
	for _, late := range []bool{true, false} {
		clock := coretest.NewClock()
		r := newRig(t, clock).open()
		r.agents.spawn = func(core.ManagedAgentSpec) error { return nil }
		r.agents.begin = func(*scripted) {}
		id := r.spawn(spec()).ID
		r.until(id, "its agent", func(rec *core.ThreadRecord) bool { return rec.StartedAt != nil })
		r.agents.do("", func(a *scripted) {
			a.tell(core.EventManagedError, core.AgentSignal{Status: core.ManagedError, Reason: "not_ready"})
		})
		r.until(id, "the reason", func(rec *core.ThreadRecord) bool { return rec.StatusReason == "not_ready" })
		if late {
			r.agents.do("", func(a *scripted) { a.tell(core.EventManagedReady, core.AgentSignal{}) })
			r.until(id, "a turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 1 && rec.StatusReason == "" })
		} else if rec := r.advanceUntil(clock, id, core.ThreadFailed, 10e9); rec.StatusReason != core.ThreadReasonCrashed {
			t.Errorf("reason %q", rec.StatusReason)
		}
		r.Close()
	}
}

// TestEndsAtStart has agents end before they are ready: they are started again, and not for ever.
func TestEndsAtStart(t *testing.T) {
	for _, ends := range []int{1, 9} {
		r := newRig(t, core.SystemClock{}).open()
		left := ends
		r.agents.begin = func(a *scripted) {
			if left--; left >= 0 {
				a.exit("exited_at_start: no key", 1)
				return
			}
			a.tell(core.EventManagedReady, core.AgentSignal{})
		}
		id := r.spawn(spec()).ID
		if ends == 1 {
			r.until(id, "a turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 1 })
			if rec := r.record(id); rec.Restarts != 0 || strings.Count(strings.Join(r.kinds(id), " "), "thread_started") != 1 {
				t.Errorf("%d restarts, %q", rec.Restarts, r.kinds(id))
			}
		} else if rec := r.untilStatus(id, core.ThreadFailed); !strings.Contains(rec.Error.Message, "no key") || rec.StatusReason != core.ThreadReasonCrashed {
			t.Errorf("%q %+v", rec.StatusReason, rec.Error)
		}
		r.Close()
	}
}
