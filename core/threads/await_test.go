package threads_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// TestSendAndWait wants the response of the very turn of each message, however its turn ends.
func TestSendAndWait(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.config.TurnRetries, r.config.TurnRetryDelay = 1, time.Millisecond
	failures := 0
	r.agents.script = func(a *scripted, text string) {
		a.busy()
		switch {
		case strings.HasPrefix(text, "stop"):
			a.tell(core.EventManagedTurnComplete, core.AgentSignal{TurnOutcome: wire.TurnOutcome{Interrupted: true}})
			a.tell(core.EventManagedReady, core.AgentSignal{})
		case strings.HasPrefix(text, "again") && failures == 0:
			failures++
			a.fail(wire.TurnModelUnavailable, true)
		case strings.HasPrefix(text, "fail"):
			a.fail(wire.TurnModelError, false)
		default:
			a.end("answer to " + text)
		}
	}
	r.open()
	s := shellSpec("")
	s.Objective = ""
	id := r.spawn(s).ID
	send := func(text string) (core.ThreadReceipt, error) {
		return r.SendThread(r.ctx, id, core.ThreadInput{Message: text, ExpectResponse: true, Timeout: time.Minute})
	}
	turn := 0
	for _, text := range []string{"one", "stop", "two", "again", "three"} {
		got, err := send(text)
		turn++
		if text == "again" {
			turn++ // the first one failed
		}
		if err != nil || got.Response == nil || got.Response.Turn != turn || got.Response.Error != nil ||
			got.Response.Interrupted != (text == "stop") || text != "stop" && got.Response.Text != "answer to "+text {
			t.Fatalf("%s: %+v %+v, %v", text, got, got.Response, err)
		}
		if again, err := r.AwaitThreadInput(r.ctx, id, got.InputID, time.Minute); err != nil || again.Response.Turn != turn {
			t.Errorf("%s, asked for again: %+v, %v", text, again.Response, err)
		}
	}
	if got, err := send("fail"); err != nil || got.Response.Error == nil || got.Response.Error.Code != wire.TurnModelError || got.Response.Text != "" {
		t.Errorf("a failed turn: %+v, %v", got.Response, err)
	}
}

// sendAndWait opens the service, and sends a new thread a message whose turn does not end by itself. It returns the ids of both, and
// what the sender gets, who waits as long as ctx.
func (r *rig) sendAndWait(ctx context.Context) (id, input string, got <-chan error) {
	r.t.Helper()
	r.agents.script = func(a *scripted, _ string) { a.busy() }
	r.open()
	s := shellSpec("")
	s.Objective = ""
	id = r.spawn(s).ID
	sent := make(chan error, 1)
	go func() {
		_, err := r.SendThread(ctx, id, core.ThreadInput{Message: "one", ExpectResponse: true})
		sent <- err
	}()
	coretest.WaitFor(r.t, "the message", func() bool { return r.agents.count() == 1 })
	q, err := r.QueuedThreadInputs(r.ctx, id, 0, 1)
	if err != nil || len(q.Inputs) != 1 {
		r.t.Fatalf("%+v, %v", q, err)
	}
	return id, q.Inputs[0].InputID, sent
}

// TestSendAndWaitOverKills kills the service between the message and its turn's end: who waits then gets that turn.
func TestSendAndWaitOverKills(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	ctx, cancel := context.WithCancel(r.ctx)
	id, input, gone := r.sendAndWait(ctx)
	cancel()
	if err := <-gone; err == nil {
		t.Error("a client that left has an answer")
	}
	r.Close()
	r.open()
	r.agents.do(r.record(id).ManagedAgentID, func(a *scripted) { a.end("answer to one") })
	got, err := r.AwaitThreadInput(r.ctx, id, input, time.Minute)
	if err != nil || got.Response == nil || got.Response.Text != "answer to one" || got.Response.Turn != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSendAndWaitOverShutdown: who waits while the service ends learns that the message is stored, and under which id.
func TestSendAndWaitOverShutdown(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	id, input, left := r.sendAndWait(r.ctx)
	shutdown := core.Unavailable("shutting_down", "the server is shutting down")
	r.store.end(shutdown)
	e := core.AsError(<-left)
	if !e.Unavailable || e.Details["reason"] != "shutting_down" || e.Details["threadId"] != id || e.Details["inputId"] != input {
		t.Errorf("%v, details %v", e, e.Details)
	}
	if len(shutdown.Details) != 1 {
		t.Errorf("the error that all share has details of one: %v", shutdown.Details)
	}
}

// TestSendAndWaitInVain: a message that never gets a turn, or not in time, is no answer.
func TestSendAndWaitInVain(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, _ string) { a.busy() }
	r.open()
	id := r.spawn(shellSpec("for ever")).ID
	_, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "late", ExpectResponse: true, Timeout: time.Millisecond})
	if core.ErrorCode(err) != core.CodeTimeout {
		t.Errorf("%v", err)
	}
	left := make(chan error, 2)
	for _, text := range []string{"withdrawn", "ended"} {
		go func() {
			_, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: text, ExpectResponse: true, Timeout: time.Minute})
			left <- err
		}()
	}
	var q *core.ThreadQueue
	coretest.WaitFor(t, "the messages", func() bool {
		q, err = r.QueuedThreadInputs(r.ctx, id, 0, 10)
		return err == nil && len(q.Inputs) == 4
	})
	for _, in := range q.Inputs {
		if in.Message == "withdrawn" {
			if err := r.WithdrawThreadInput(r.ctx, id, in.InputID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := <-left; core.ErrorCode(err) != core.CodeConflict || !strings.Contains(err.Error(), "withdrawn") {
		t.Errorf("%v", err)
	}
	if err := r.StopThread(r.ctx, id, core.ThreadStop{Force: true}); err != nil {
		t.Fatal(err)
	}
	if err := <-left; core.ErrorCode(err) != core.CodeConflict || !strings.Contains(err.Error(), "before the agent was known to have taken") {
		t.Errorf("%v", err)
	}
	for _, in := range []core.ThreadInput{{Raw: "x", ExpectResponse: true}, {Keys: []string{"ESC"}, ExpectResponse: true}} {
		if _, err := r.SendThread(r.ctx, id, in); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%+v: %v", in, err)
		}
	}
}

// TestEndedWhileHandedOver: an agent that ends within the turn of a message before it is known that it took the message is no
// thread that never gave the message its turn.
func TestEndedWhileHandedOver(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.open()
	s := shellSpec("")
	s.Objective = ""
	id := r.spawn(s).ID
	r.agents.send = func(in core.ManagedAgentInput) error {
		a := &scripted{f: r.agents, r: r.agents.records[0]}
		a.busy()
		a.tell(core.EventManagedTurnComplete, core.AgentSignal{TurnOutcome: agentEnded})
		a.exit("exited", 3)
		return runtimeError(core.CodeConflict, "DELIVERY_UNKNOWN")
	}
	got, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "leave", ExpectResponse: true, Timeout: time.Minute})
	if err != nil || got.Response == nil || got.Response.Error == nil || got.Response.Error.Code != wire.TurnAgentEnded {
		t.Errorf("%+v, %v", got.Response, err)
	}
}
