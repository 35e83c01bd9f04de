package agents_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

func result(taskID string, attempt int) protocol.TaskResult {
	return protocol.TaskResult{
		TaskID: taskID, ExecutionID: "exec_" + taskID, Status: protocol.TaskCompleted,
		Result: json.RawMessage(`{"label":"a","confidence":0.5}`), Duration: 12, Attempt: attempt,
	}
}

func TestTaskRoundTrip(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 2, "echo")
	if reg.AgentID == "" || reg.ResumeToken == "" || reg.Resumed {
		t.Fatalf("registered: %+v", reg)
	}
	want := task("task_1")
	want.Config = json.RawMessage(`{"k":1}`)
	want.Context = json.RawMessage(`{"x":[1]}`)
	r.give(reg.AgentID, want)
	var got protocol.Task
	p.expect(protocol.TypeTask, &got)
	if got.TaskID != "task_1" || got.ExecutionID != "exec_task_1" || got.Attempt != 1 || got.Timeout != 30000 ||
		got.Priority != "normal" || string(got.Input) != `{"text":"hello"}` || string(got.Config) != `{"k":1}` ||
		string(got.Context) != `{"x":[1]}` || got.PatternVersion != "1.0.0" || got.Capability != "echo" {
		t.Fatalf("task: %+v", got)
	}

	r.sink.hold()
	r.clock.Advance(100 * time.Millisecond)
	p.send(protocol.TypeTaskResult, "m7", result("task_1", 1))
	coretest.WaitFor(t, "the report", func() bool { return len(r.sink.all()) == 1 })
	p.quiet() // no acknowledgement before it is settled
	report := r.sink.all()[0]
	if report.AgentID != reg.AgentID || report.AgentName != "one" || report.TaskID != "task_1" || report.ExecutionID != "exec_task_1" || report.Attempt != 1 ||
		string(report.Result) != `{"label":"a","confidence":0.5}` || report.Err != nil || report.Duration != 12*time.Millisecond {
		t.Fatalf("report: %+v", report)
	}
	report.Settled()
	var ack protocol.TaskAck
	if e := p.expect(protocol.TypeTaskAck, &ack); e.ID != "m7" || ack.TaskID != "task_1" {
		t.Fatalf("ack: %+v %+v", e, ack)
	}
	if got := r.agent(reg.AgentID); got.ActiveTasks != 1 {
		t.Fatalf("the slot is the engine's to free, got %d active", got.ActiveTasks)
	}
	r.svc.Release(reg.AgentID, "task_1", "")
	a := r.agent(reg.AgentID)
	if a.ActiveTasks != 0 || a.Statistics.TasksCompleted != 1 || a.Statistics.TasksSucceeded != 1 ||
		a.Statistics.AverageLatency() != 100*time.Millisecond {
		t.Fatalf("agent: %+v", a)
	}
	p.quiet()
}

func TestTaskErrorIsReported(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 1, "echo")
	r.give(reg.AgentID, task("task_1"))
	p.expect(protocol.TypeTask, nil)
	p.send(protocol.TypeTaskError, "e1", protocol.TaskError{
		TaskID: "task_1", Attempt: 1, Retryable: true,
		Error: protocol.ErrorDetail{Code: "BUSY", Message: "try later", Details: map[string]any{"n": 1.0}},
	})
	p.expect(protocol.TypeTaskAck, nil)
	report := r.sink.all()[0]
	if report.Err == nil || report.Err.Code != "BUSY" || report.Err.Message != "try later" || !report.Err.Retryable ||
		report.Err.Details["n"] != 1.0 || report.Result != nil {
		t.Fatalf("report: %+v %+v", report, report.Err)
	}
	if s := r.agent(reg.AgentID).Statistics; s.TasksCompleted != 1 || s.TasksFailed != 1 || s.TasksSucceeded != 0 {
		t.Fatalf("statistics: %+v", s)
	}
}

var _ core.TaskSink = (*sink)(nil)
