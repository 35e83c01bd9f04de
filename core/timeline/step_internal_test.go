package timeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// journalStore has one execution with its journal.
type journalStore struct {
	exec   core.Execution
	events []core.Event
}

func (s *journalStore) FindExecution(_ context.Context, id string) (*core.Execution, error) {
	if id != s.exec.ID {
		return nil, core.NotFound("execution", id)
	}
	return &s.exec, nil
}

func (*journalStore) FindThreads(context.Context, core.ThreadFilter) ([]*core.ThreadRecord, core.PageInfo, error) {
	return nil, core.PageInfo{}, nil
}

func (s *journalStore) Events(_ context.Context, _ string, after uint64, limit int) ([]core.Event, bool, error) {
	page := s.events[min(int(after), len(s.events)):]
	return page[:min(limit, len(page))], len(page) > limit, nil
}

// stepService reads a journal of lines as those of journalOf, an hour after it began.
func stepService(tb testing.TB, lines ...string) *Service {
	tb.Helper()
	store := &journalStore{exec: core.Execution{ID: "e", Chart: true}, events: journalOf(tb, lines...)}
	clock := coretest.NewClock()
	clock.Advance(timelineStart.Add(time.Hour).Sub(clock.Now()))
	return &Service{Store: store, Clock: clock}
}

func TestFindStep(t *testing.T) {
	s := stepService(t,
		`step.started {"step":"0","type":"parallel"}`,
		`step.started {"step":"0.0","type":"assign","name":"build","role":"dev"}`,
		`step.started {"step":"0.1","type":"review","role":"lead"}`,
		`task.assigned {"step":"0.0","role":"dev","tasks":[{"taskId":"t1","agentId":"a1","attempt":1}],"input":{"task":"build"},"kept":true}`,
		`task.failed {"taskId":"t1","step":"0.0","agentId":"a1","attempt":1,"status":"failed","retry":true,"error":{"code":"AGENT_ERROR","message":"no"}}`,
		`task.assigned {"step":"0.0","role":"dev","tasks":[{"taskId":"t1","agentId":"a2","attempt":2}],"input":{"task":"build"},"kept":true}`,
		`task.completed {"taskId":"t1","step":"0.0","agentId":"a2","agentName":"ann","attempt":2,"result":"built"}`,
		`step.completed {"step":"0.0","result":"built","confidence":1,"kind":"assign"}`,
		`task.assigned {"step":"0.1","role":"lead","tasks":[{"taskId":"t2","agentId":"a3","attempt":1}],"input":1,"kept":true}`,
		`task.completed {"taskId":"t2","step":"0.1","agentId":"a3","attempt":1,"result":{"verdict":"revise"}}`,
		`step.completed {"step":"0.1","result":{"verdict":"revise","feedback":"again"},"confidence":0.5,"kind":"review"}`,
		`step.started {"step":"0.1","type":"review","role":"lead","round":1}`,
		`task.assigned {"step":"0.1","role":"lead","round":1,"tasks":[{"taskId":"t3","agentId":"a3","attempt":1}],"input":2,"kept":true}`,
		`task.failed {"taskId":"t3","step":"0.1","agentId":"a3","attempt":1,"status":"failed","error":{"code":"AGENT_ERROR","message":"gave up"}}`,
		`execution.failed {"error":{"code":"AGENT_ERROR","message":"step 0.1 failed"}}`,
	)
	find := func(path string) *core.StepDetail {
		t.Helper()
		step, err := s.FindStep(t.Context(), "e", path)
		if err != nil {
			t.Fatal(err)
		}
		return step
	}
	built := find("0.0")
	if built.Step != "0" || built.Type != "assign" || built.Name != "build" || built.Role != "dev" || built.Status != "completed" ||
		built.Duration != 6000 || string(built.Result) != `"built"` || built.Confidence != 1 || built.Error != nil || len(built.Runs) != 1 || built.TotalTasks != 1 {
		t.Errorf("got %+v", built)
	}
	if task := built.Tasks[0]; task.TaskID != "t1" || task.Status != "completed" || string(task.Asked.Input) != `{"task":"build"}` || string(task.Result) != `"built"` ||
		len(task.Attempts) != 2 || task.Attempts[0].Error == nil || !task.Attempts[0].Retry || task.Attempts[1].AgentName != "ann" {
		t.Errorf("got %+v", task)
	}
	alone, err := s.FindTask(t.Context(), "e", "t1")
	if err != nil || fmt.Sprintf("%+v", alone.Attempts) != fmt.Sprintf("%+v", built.Tasks[0].Attempts) {
		t.Errorf("by itself it is %+v, %v", alone, err)
	}
	// The last run counts: it has no result, and failed with its task.
	reviewed := find("0.1")
	if reviewed.Status != "failed" || reviewed.Result != nil || reviewed.Confidence != 0 || reviewed.Verdict != "" ||
		reviewed.Error == nil || reviewed.Error.Message != "gave up" || len(reviewed.Tasks) != 2 {
		t.Errorf("got %+v", reviewed)
	}
	if first, second := reviewed.Runs[0], reviewed.Runs[1]; first.Run != 1 || first.Verdict != "revise" || first.Detail != "again" || second.Run != 2 || second.Status != "failed" {
		t.Errorf("runs %+v", reviewed.Runs)
	}
	around := find("0")
	if got := strings.Join(around.Steps, " ") + ", " + strings.Join(around.Roles, " "); got != "0.0 0.1, dev lead" {
		t.Errorf("inside are %s", got)
	}
	if around.Error == nil || around.Error.Message != "step 0.1 failed" || len(around.Tasks) != 0 || around.Tasks == nil {
		t.Errorf("got %+v", around)
	}
	for path, near := range map[string]string{"0.7": "0.0 0.1", "0.7.1": "0.0 0.1", "5": "0", "draft": "0"} {
		_, err := s.FindStep(t.Context(), "e", path)
		e := core.AsError(err)
		if e.Code != core.CodeNotFound || strings.Join(e.Details["near"].([]string), " ") != near {
			t.Errorf("%q: %v with %v, want %s", path, err, e.Details, near)
		}
	}
	if _, err := s.FindStep(t.Context(), "other", "0"); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("got %v for an unknown execution", err)
	}
}

// A step of a composed flat pattern goes on until it has a result, and is asked again in another run.
func TestFindStepFlat(t *testing.T) {
	s := stepService(t,
		`task.assigned {"step":"b/x","tasks":[{"taskId":"t1","agentId":"a1","attempt":1}],"kept":true,"input":1}`,
		`task.completed {"taskId":"t1","step":"b/x","agentId":"a1","attempt":1,"result":1}`,
		`task.assigned {"step":"b/x","round":1,"tasks":[{"taskId":"t2","agentId":"a1","attempt":1}],"kept":true,"input":1}`,
	)
	step, err := s.FindStep(t.Context(), "e", "b/x")
	if err != nil || step.Step != "b" || step.Status != "running" || len(step.Runs) != 2 || step.Runs[0].Status != "failed" || len(step.Tasks) != 2 || step.Result != nil ||
		step.Duration != 3598000 || step.EndedAt != nil || step.Error != nil {
		t.Errorf("got %+v, %v", step, err)
	}
	if step, err = s.FindStep(t.Context(), "e", "b"); err != nil || !slices.Equal(step.Steps, []string{"b/x"}) {
		t.Errorf("got %+v, %v", step, err)
	}
}

// Of many tasks the answer has the last ones, and of what they were asked and answered the newest.
func TestFindStepBounds(t *testing.T) {
	lines := []string{`step.started {"step":"0","type":"assign"}`}
	const n = maxStepTasks + 20
	for i := range n {
		lines = append(lines,
			fmt.Sprintf(`task.assigned {"step":"0","tasks":[{"taskId":"t%d","agentId":"a","attempt":1}],"kept":true,"input":%d}`, i, i),
			fmt.Sprintf(`task.completed {"taskId":"t%d","step":"0","agentId":"a","attempt":1,"result":"%s"}`, i, strings.Repeat("x", maxStepBytes/10)))
	}
	s := stepService(t, lines...)
	step, err := s.FindStep(t.Context(), "e", "0")
	if err != nil || step.TotalTasks != n || len(step.Tasks) != maxStepTasks || step.Tasks[0].TaskID != "t20" {
		t.Fatalf("got %d of %d tasks, %v", len(step.Tasks), step.TotalTasks, err)
	}
	for i := range step.Tasks {
		task := &step.Tasks[i]
		whole := i >= maxStepTasks-9
		if (task.Asked != nil) != whole || (task.Result != nil) != whole || (task.Omitted == 0) != whole || task.Status != "completed" || len(task.Attempts) != 1 {
			t.Errorf("%s omits %d bytes", task.TaskID, task.Omitted)
		}
	}
}

// The error of a task is that of its last attempt: while the next one goes on, and once it succeeded, there is none.
func TestTaskError(t *testing.T) {
	journal := []string{
		`step.started {"step":"0","type":"assign","role":"dev"}`,
		`task.assigned {"step":"0","tasks":[{"taskId":"t1","agentId":"a1","attempt":1}],"input":1,"kept":true}`,
		`task.failed {"taskId":"t1","step":"0","agentId":"a1","attempt":1,"status":"failed","retry":true,"error":{"code":"AGENT_ERROR","message":"no"}}`,
		`task.assigned {"step":"0","tasks":[{"taskId":"t1","agentId":"a2","attempt":2}],"input":1,"kept":true}`,
		`task.completed {"taskId":"t1","step":"0","agentId":"a2","attempt":2,"result":"built"}`,
	}
	for _, c := range []struct {
		lines  int
		status string
		failed bool
	}{{2, "running", false}, {3, "failed", true}, {4, "running", false}, {5, "completed", false}} {
		task, err := stepService(t, journal[:c.lines]...).FindTask(t.Context(), "e", "t1")
		if err != nil {
			t.Fatal(err)
		}
		if task.Status != c.status || (task.Error != nil) != c.failed {
			t.Errorf("after %d events: status %s, error %v", c.lines, task.Status, task.Error)
		}
		if len(task.Attempts) > 1 && task.Attempts[0].Error == nil {
			t.Error("the first attempt has lost its error")
		}
	}
}
