package roles_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

func TestTask(t *testing.T) {
	r := newRig(t)
	id := r.spawn(0)
	r.fake.send = func(_ context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		return r.fake.turn(id, "Answer to "+in.Message[:9]), nil
	}
	for i, name := range []string{"task_1", "task_2"} {
		if !r.roles.Dispatch(id, task(name)) {
			t.Fatal("an agent that serves refuses a task")
		}
		r.wait("the report", func() bool { return len(r.reports) == i+1 })
		report := r.reports[i]
		if report.Err != nil || string(report.Result) != `"Answer to Do `+name+`"` || report.AgentID != id || report.AgentName != "coder-0" ||
			report.TaskID != name || report.ExecutionID != "exec_1" || report.Attempt != 1 {
			t.Fatalf("reported %+v, result %s", report, report.Result)
		}
		r.roles.Keep(id, name, "")
	}
	in := r.fake.sentTo(id)
	if len(in) != 2 || in[0].Key != "task_1.1" || !in[0].ExpectResponse || !strings.HasPrefix(in[0].Message, "Do task_1") ||
		!strings.Contains(in[0].Message, "Your role is coder.") {
		t.Errorf("sent %+v", in)
	}
	if r.roles.Dispatch("magent_none", task("task_3")) || r.roles.Adopt("magent_none", task("task_3")) {
		t.Error("an agent that is not there takes a task")
	}
}

// What the runtime says of a send decides how the task goes on.
func TestTaskFailures(t *testing.T) {
	type outcome struct {
		code      string // of the error, "" for a result
		retryable bool
		sends     int
		keys      int
	}
	fails := func(err error, times int) func(f *fake, n int, id string) (core.ManagedAgentReply, error) {
		return func(f *fake, n int, id string) (core.ManagedAgentReply, error) {
			if n <= times {
				return core.ManagedAgentReply{}, err
			}
			return f.turn(id, "done"), nil
		}
	}
	ended := func(how wire.TurnOutcome, text string) func(f *fake, n int, id string) (core.ManagedAgentReply, error) {
		return func(f *fake, _ int, id string) (core.ManagedAgentReply, error) {
			f.tell(id, core.EventManagedTurnComplete, map[string]any{"turn": 1})
			f.tell(id, core.EventManagedReady, nil)
			return core.ManagedAgentReply{Sent: true, Response: &core.ManagedAgentResponse{Text: text, Turn: 1, TurnOutcome: how}}, nil
		}
	}
	for _, tt := range []struct {
		name string
		send func(f *fake, n int, id string) (core.ManagedAgentReply, error)
		want outcome
	}{
		{"Away", fails(failure(core.CodeInternal, "UNAVAILABLE", true), 3), outcome{"", false, 4, 1}},
		{"Broken", fails(failure(core.CodeInternal, "INTERNAL", false), 100), outcome{"INTERNAL_ERROR", true, 6, 1}},
		{"NotDelivered", fails(failure(core.CodeConflict, "NOT_DELIVERED", false), 2), outcome{"", false, 3, 1}},
		{"NeverDelivered", fails(failure(core.CodeConflict, "NOT_DELIVERED", false), 100), outcome{"AGENT_ERROR", true, 4, 1}},
		{"Unsure", fails(failure(core.CodeConflict, "DELIVERY_UNKNOWN", false), 1), outcome{"", false, 2, 1}},
		{"LongUnsure", fails(failure(core.CodeConflict, "DELIVERY_UNKNOWN", false), 4), outcome{"", false, 5, 2}},
		{"AlwaysUnsure", fails(failure(core.CodeConflict, "DELIVERY_UNKNOWN", false), 100), outcome{"AGENT_ERROR", true, 16, 4}},
		{"Long", fails(failure(core.CodeTimeout, "TIMEOUT", false), 2), outcome{"", false, 3, 1}},
		{"Refused", fails(failure(core.CodeValidation, "INVALID_ARGUMENT", false), 100), outcome{"VALIDATION_ERROR", false, 1, 1}},
		{"Blocked", fails(failure(core.CodeConflict, "BLOCKED", false), 1), outcome{"", false, 2, 1}},
		{
			"UnsureAndTaken",
			func(f *fake, _ int, id string) (core.ManagedAgentReply, error) {
				f.turn(id, "done")
				return core.ManagedAgentReply{}, failure(core.CodeConflict, "DELIVERY_UNKNOWN", false)
			},
			outcome{"", false, 1, 1},
		},
		{
			"AnsweredBefore",
			func(f *fake, _ int, id string) (core.ManagedAgentReply, error) {
				f.turn(id, "done")
				return core.ManagedAgentReply{Sent: true}, nil
			},
			outcome{"", false, 1, 1},
		},
		{
			"OtherWords",
			func(f *fake, _ int, id string) (core.ManagedAgentReply, error) {
				f.turn(id, "done")
				err := failure(core.CodeValidation, "INVALID_ARGUMENT", false)
				core.AsError(err).Details["field"] = "id"
				return core.ManagedAgentReply{}, err
			},
			outcome{"", false, 1, 1},
		},
		{
			"Interrupted",
			func(f *fake, _ int, id string) (core.ManagedAgentReply, error) {
				f.tell(id, core.EventManagedTurnComplete, map[string]any{"turn": 1, "interrupted": true})
				f.tell(id, core.EventManagedReady, nil)
				return core.ManagedAgentReply{Sent: true, Response: &core.ManagedAgentResponse{Turn: 1}}, nil
			},
			outcome{"AGENT_ERROR", true, 1, 1},
		},
		{"InterruptedResponse", ended(wire.TurnOutcome{Interrupted: true}, ""), outcome{"AGENT_ERROR", true, 1, 1}},
		{
			"ModelError", ended(wire.TurnOutcome{Error: &wire.TurnError{Code: wire.TurnModelError, Message: "API Error: 400"}}, ""),
			outcome{"AGENT_ERROR", false, 1, 1},
		},
		{
			"RateLimited", ended(wire.TurnOutcome{Error: &wire.TurnError{Code: wire.TurnModelRateLimited, Message: "slow down", Retryable: true}}, ""),
			outcome{"AGENT_ERROR", true, 1, 1},
		},
		{
			"NeverLoggedIn", ended(wire.TurnOutcome{Error: &wire.TurnError{Code: wire.TurnLoginRequired, Message: "log in"}}, ""),
			outcome{"AGENT_ERROR", false, 1, 1},
		},
		{"RefusedApproval", ended(wire.TurnOutcome{Refused: true}, " \n"), outcome{"AGENT_ERROR", false, 1, 1}},
		{"RefusedAndWentOn", ended(wire.TurnOutcome{Refused: true}, "done"), outcome{"", false, 1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			id := r.spawn(0)
			n := 0
			r.fake.send = func(_ context.Context, id string, _ core.ManagedAgentInput) (core.ManagedAgentReply, error) {
				n++ // of one goroutine
				return tt.send(r.fake, n, id)
			}
			r.roles.Dispatch(id, task("task_1"))
			r.pass("the report", func() bool { return len(r.reports) == 1 })
			report := r.reports[0]
			var keys []string
			for _, in := range r.fake.sentTo(id) {
				if !slices.Contains(keys, in.Key) {
					keys = append(keys, in.Key)
				}
			}
			got := outcome{sends: len(r.fake.sentTo(id)), keys: len(keys)}
			if report.Err != nil {
				got.code, got.retryable = report.Err.Code, report.Err.Retryable
			} else if string(report.Result) != `"done"` {
				t.Errorf("result %s", report.Result)
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestTaskLost(t *testing.T) {
	r := newRig(t)
	id, idle := r.spawn(0), r.spawn(1)
	r.fake.send = func(ctx context.Context, id string, _ core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		return r.fake.begun(ctx, id, nil)
	}
	r.roles.Dispatch(id, task("task_1"))
	r.sends(id, 1)
	r.fake.tell(id, core.EventManagedStopped, map[string]any{"reason": "exited"})
	r.wait("the loss", func() bool { return len(r.lost) == 1 })
	if l := r.lost[0]; l.id != id || !slices.Equal(l.tasks, []string{"task_1"}) {
		t.Errorf("lost %+v", l)
	}
	if r.roles.Dispatch(id, task("task_2")) {
		t.Error("an agent that is gone takes a task")
	}
	// An end that no event tells of is seen by the record.
	r.fake.do(func() {
		now := r.clock.Now()
		r.fake.record(idle).StoppedAt = &now
	})
	r.pass("the loss", func() bool { return len(r.lost) == 2 })
	if l := r.lost[1]; l.id != idle || len(l.tasks) != 0 || len(r.reports) != 0 {
		t.Errorf("lost %+v, reports %+v", l, r.reports)
	}
}

func TestTaskCancelled(t *testing.T) {
	r := newRig(t)
	id := r.spawn(0)
	end := make(chan string)
	r.fake.send = func(ctx context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		switch {
		case in.Interrupt:
			if slices.ContainsFunc(r.fake.sentTo(id)[:2], func(in core.ManagedAgentInput) bool { return in.Interrupt }) &&
				len(r.fake.sentTo(id)) == 3 { // the first press is lost
				r.fake.tell(id, core.EventManagedTurnComplete, map[string]any{"turn": 1, "interrupted": true})
				r.fake.tell(id, core.EventManagedReady, nil)
			}
			return core.ManagedAgentReply{Sent: true}, nil
		case strings.HasPrefix(in.Message, "Do task_1"):
			return r.fake.begun(ctx, id, end)
		}
		return r.fake.turn(id, "done"), nil
	}
	r.roles.Dispatch(id, task("task_1"))
	r.sends(id, 1)
	r.roles.Release(id, "task_none", "not mine")
	r.roles.Keep(id, "task_1", "the execution was cancelled")
	if !r.roles.Dispatch(id, task("task_2")) {
		t.Fatal("the agent refuses the next task")
	}
	r.pass("the report", func() bool { return len(r.reports) == 1 })
	if report := r.reports[0]; report.TaskID != "task_2" || report.Err != nil {
		t.Errorf("reported %+v", report)
	}
	in := r.fake.sentTo(id)
	if len(in) != 4 || !in[1].Interrupt || !in[2].Interrupt {
		t.Errorf("sent %+v", in)
	}
}

// A turn that failed because the credential ended is had again once there is another, and its error goes nowhere.
func TestTaskAfterLogin(t *testing.T) {
	r := newRig(t)
	id := r.spawn(0)
	r.fake.send = func(_ context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		if in.Key != "task_1.1" {
			return r.fake.turn(id, "done"), nil
		}
		failed := wire.TurnOutcome{Error: &wire.TurnError{Code: wire.TurnLoginRequired, Message: "Invalid API key"}}
		r.fake.tell(id, core.EventManagedTurnComplete, map[string]any{"turn": 1, "error": failed.Error})
		r.fake.tell(id, core.EventManagedLogin, map[string]any{"loginUrl": "https://login.example", "reason": "login_required"})
		return core.ManagedAgentReply{Sent: true, Response: &core.ManagedAgentResponse{Turn: 1, TurnOutcome: failed}}, nil
	}
	r.roles.Dispatch(id, task("task_1"))
	r.wait("the question of the login", func() bool { return len(r.messages) == 1 })
	if n := len(r.reports); n != 0 {
		t.Fatalf("reported %+v", r.reports[0])
	}
	r.fake.tell(id, core.EventManagedReady, nil)
	r.wait("the report", func() bool { return len(r.reports) == 1 })
	if report := r.reports[0]; report.Err != nil || string(report.Result) != `"done"` {
		t.Errorf("reported %+v", report)
	}
}

// Tasks after ones that failed for a reason that passes wait longer each time, until one is done; what a turn used is
// reported in either case.
func TestTaskBacksOff(t *testing.T) {
	r := newRig(t)
	id := r.spawn(0)
	limited := wire.TurnOutcome{
		Error: &wire.TurnError{Code: wire.TurnModelRateLimited, Message: "slow down", Retryable: true}, Usage: &wire.Usage{InputTokens: 7},
	}
	r.fake.send = func(_ context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		if in.Key == "task_1.3" {
			return r.fake.turn(id, "done"), nil
		}
		reply := r.fake.turn(id, "")
		reply.Response.TurnOutcome = limited
		return reply, nil
	}
	began := r.clock.Now()
	for attempt := 1; attempt <= 3; attempt++ {
		next := task("task_1")
		next.Attempt = attempt
		r.roles.Dispatch(id, next)
		r.pass("the report", func() bool { return len(r.reports) == attempt })
	}
	if took := r.clock.Now().Sub(began); took < 3*time.Second {
		t.Errorf("three attempts took %s, want pauses of 1 s and 2 s between them", took)
	}
	if first := r.reports[0]; first.Err == nil || !first.Err.Retryable || first.Err.Details["turnCode"] != wire.TurnModelRateLimited ||
		first.Usage == nil || first.Usage.InputTokens != 7 || first.Result != nil {
		t.Errorf("reported %+v, %+v", first, first.Err)
	}
	if last := r.reports[2]; last.Err != nil || string(last.Result) != `"done"` {
		t.Errorf("reported %+v", last)
	}
}

// After a restart the task is sent with the same key and text; the agent knows it.
func TestAdopt(t *testing.T) {
	r := newRig(t)
	id := r.spawn(0)
	end := make(chan string)
	r.fake.send = func(ctx context.Context, id string, _ core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		return r.fake.begun(ctx, id, end)
	}
	r.roles.Dispatch(id, task("task_1"))
	first := r.sends(id, 1)[0]
	r.again()
	if !r.roles.Hold(id) || !r.roles.Adopt(id, task("task_1")) || !r.roles.Adopt(id, task("task_1")) {
		t.Fatal("the agent is not found again")
	}
	second := r.sends(id, 2)[1]
	if first.Key != second.Key || first.Message != second.Message {
		t.Errorf("sent %+v, then %+v", first, second)
	}
	end <- "done"
	r.wait("the report", func() bool { return len(r.reports) == 1 })
	if report := r.reports[0]; string(report.Result) != `"done"` || report.TaskID != "task_1" {
		t.Errorf("reported %+v", report)
	}
	r.fake.tell(id, core.EventManagedStopped, nil)
	r.again()
	if r.roles.Hold(id) {
		t.Error("an agent that is gone is held")
	}
}

// A report that could not be stored is made again.
func TestReportAgain(t *testing.T) {
	r := newRig(t)
	id := r.spawn(0)
	r.unsettled = true
	r.roles.Dispatch(id, task("task_1"))
	r.wait("the report", func() bool { return len(r.reports) == 1 })
	r.step *= 20
	r.pass("a second report", func() bool { return len(r.reports) == 2 })
	r.reports[1].Settled()
	r.reports[1].Settled()
	for range 100 {
		r.clock.Advance(r.step)
	}
	if len(r.reports) != 2 {
		t.Errorf("%d reports", len(r.reports))
	}
}

func TestProgress(t *testing.T) {
	r := newRig(t)
	id := r.spawn(0)
	end := make(chan string)
	r.fake.send = func(ctx context.Context, id string, _ core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		return r.fake.begun(ctx, id, end)
	}
	tell := func(kind core.EventType, data map[string]any) { r.fake.tell(id, kind, data) }
	r.roles.Dispatch(id, task("task_1"))
	r.sends(id, 1)
	tell(core.EventManagedMessage, map[string]any{"text": strings.Repeat("ä", 4000)})
	r.wait("progress", func() bool { return len(r.progress) == 1 })
	for range 1000 {
		tell(core.EventManagedMessage, map[string]any{"text": "at the same time"})
	}
	coretest.WaitFor(t, "the flood to pass", func() bool {
		r.clock.Advance(300e6)
		tell(core.EventManagedTool, map[string]any{"tool": map[string]any{"name": "Bash", "input": map[string]any{"command": "make"}}})
		found := false
		r.sink.do(func() { found = slices.Contains(r.progress, `{"data":{"input":{"command":"make"},"tool":"Bash"}}`) })
		return found
	})
	end <- "done"
	r.wait("the report", func() bool { return len(r.reports) == 1 })
	var first struct{ Text string }
	if err := json.Unmarshal([]byte(r.progress[0]), &first); err != nil || len(first.Text) != 4096 {
		t.Errorf("progress %.100s: %v, %d bytes", r.progress[0], err, len(first.Text))
	}
	if len(r.progress) > 200 {
		t.Errorf("%d progresses of one flood", len(r.progress))
	}
}
