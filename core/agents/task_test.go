package agents_test

import (
	"encoding/json"
	"fmt"
	"strings"
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
		Error: protocol.ErrorDetail{Code: "BUSY", Message: "try later", Details: map[string]any{"n": json.Number("1.0")}},
	})
	p.expect(protocol.TypeTaskAck, nil)
	report := r.sink.all()[0]
	if report.Err == nil || report.Err.Code != "BUSY" || report.Err.Message != "try later" || !report.Err.Retryable ||
		report.Err.Details["n"] != json.Number("1.0") || report.Result != nil {
		t.Fatalf("report: %+v %+v", report, report.Err)
	}
	if s := r.agent(reg.AgentID).Statistics; s.TasksCompleted != 1 || s.TasksFailed != 1 || s.TasksSucceeded != 0 {
		t.Fatalf("statistics: %+v", s)
	}
}

var _ core.TaskSink = (*sink)(nil)

// An agent's tasks are those that it has and the last that it was done with, each with what became of it.
func TestAgentTasks(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 3, "echo")
	for i := range 25 {
		id := fmt.Sprintf("task_%d", i)
		r.give(reg.AgentID, task(id))
		r.clock.Advance(time.Millisecond)
		if i < 23 {
			p.send(protocol.TypeTaskResult, "m", result(id, 1))
			coretest.WaitFor(t, "the report", func() bool { return len(r.sink.all()) == i+1 })
			r.svc.Release(reg.AgentID, id, "")
		}
	}
	r.svc.Release(reg.AgentID, "task_23", "cancelled")
	tasks := func() string {
		list, err := r.svc.AgentTasks(t.Context(), reg.AgentID)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, one := range list {
			if (one.EndedAt == nil) != (one.Status == "running") {
				t.Errorf("%+v", one)
			}
			all = append(all, one.TaskID+" "+one.Status)
		}
		return strings.Join(all, ", ")
	}
	if got := tasks(); !strings.HasPrefix(got, "task_24 running, task_23 cancelled, task_22 completed, ") || strings.Count(got, ",") != 20 {
		t.Errorf("tasks %s", got)
	}
	if _, err := r.svc.DisconnectAgent(t.Context(), reg.AgentID, ""); err != nil {
		t.Fatal(err)
	}
	if got := tasks(); !strings.HasPrefix(got, "task_24 lost, ") {
		t.Errorf("tasks of one that left: %s", got)
	}
	if _, err := r.svc.AgentTasks(t.Context(), "agent_none"); core.AsError(err).Code != core.CodeNotFound {
		t.Error(err)
	}
}
