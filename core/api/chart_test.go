package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/sdk/wire"
)

// chartExecution is someExecution of an org chart.
func chartExecution(status core.ExecutionStatus, report *core.WorkflowReport) *core.Execution {
	e := someExecution(execID, status)
	e.Chart, e.Workflow = true, report
	return e
}

var someReport = &core.WorkflowReport{
	Steps:         []core.StepReport{{Step: 0, Type: string(core.KindAssign), Duration: 30}, {Step: 1, Type: string(core.KindReview), Duration: 12}},
	StepsExecuted: 2, AgentsUsed: 1,
}

func TestExecuteChart(t *testing.T) {
	r := newRig(t)
	answer := func(e *core.Execution) {
		r.executions.wait = func(context.Context, string) (*core.Execution, error) { return e, nil }
	}
	answer(chartExecution(core.ExecutionCompleted, someReport))
	p := r.do("POST", "/api/patterns/classify/execute", `{}`)
	p.wants(t, 200, "")
	want := `{"id":"` + execID + `","executionId":"` + execID + `","pattern":{"name":"classify","version":"1.0.0"},"status":"completed",` +
		`"result":{"label":"good"},"duration":42,"patternName":"classify","output":{"label":"good"},` +
		`"metrics":{"durationMs":42,"stepsExecuted":2,"agentsUsed":1},` +
		`"steps":[{"step":0,"type":"assign","durationMs":30},{"step":1,"type":"review","durationMs":12}],` +
		`"agents":[{"id":"agent_1","status":"completed","result":{"label":"good"}}]}`
	if p.text != want {
		t.Errorf("body\n%s\nwant\n%s", p.text, want)
	}

	partial := *someReport
	partial.Partial = true
	answer(chartExecution(core.ExecutionCompleted, &partial))
	if p := r.do("POST", "/api/patterns/classify/execute", `{}`); p.at("partial") != true {
		t.Errorf("body %s", p.text)
	}

	// One that failed before its first step has the same members.
	answer(chartExecution(core.ExecutionFailed, nil))
	p = r.do("POST", "/api/patterns/classify/execute", `{}`)
	p.wants(t, 200, "")
	if p.at("output") != nil || p.at("metrics", "stepsExecuted") != 0.0 || fmt.Sprint(p.at("steps")) != "[]" || p.at("error", "code") != "AGENT_ERROR" {
		t.Errorf("body %s", p.text)
	}
}

// An ad-hoc execution sums up its threads, and what only waits says for what.
func TestGetAdHocAndWaiting(t *testing.T) {
	r := newRig(t)
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e := &core.Execution{
		ID: execID, Pattern: core.AdHocPattern, AdHoc: true, Status: core.ExecutionRunning, StartedAt: &since, CreatedAt: since,
		Waiting: &core.ExecutionWait{For: core.WaitForPeople, Since: since},
	}
	r.executions.find = func(string) (*core.Execution, error) { return e, nil }
	r.executions.timeline = func(string) (*core.Timeline, error) {
		return &core.Timeline{Entries: []core.TimelineEntry{
			{Kind: core.TimelineThread, AgentID: "magent_1", Usage: &wire.Usage{InputTokens: 3, Requests: 1}},
			{Kind: core.TimelineThread, AgentID: "magent_2", Usage: &wire.Usage{InputTokens: 4, Requests: 1}},
			{Kind: core.TimelineThread},
		}}, nil
	}
	p := r.do("GET", "/api/executions/"+execID, "")
	p.wants(t, 200, "")
	if p.at("metrics", "usage", "inputTokens") != 7.0 || p.at("metrics", "agentsUsed") != 2.0 || p.at("steps") != nil {
		t.Errorf("body %s", p.text)
	}
	if p.at("waiting", "for") != "people" || p.at("waiting", "since") != "2026-01-02T03:04:05.000Z" {
		t.Errorf("body %s", p.text)
	}
}

func TestGetChart(t *testing.T) {
	r := newRig(t)
	status, report := core.ExecutionCompleted, someReport
	r.executions.find = func(string) (*core.Execution, error) { return chartExecution(status, report), nil }
	path := "/api/executions/" + execID
	p := r.do("GET", path, "")
	p.wants(t, 200, "")
	if p.at("patternName") != "classify" || p.at("output", "label") != "good" || p.at("result", "label") != "good" ||
		p.at("metrics", "durationMs") != 42.0 || p.at("metrics", "agentsUsed") != 1.0 || len(p.at("steps").([]any)) != 2 {
		t.Errorf("body %s", p.text)
	}

	// Before its first task there is nothing to tell, and nothing is looked for.
	status, report = core.ExecutionPending, nil
	r.executions.timeline = func(string) (*core.Timeline, error) { return nil, core.Errorf(core.CodeInternal, "not asked for") }
	p = r.do("GET", path, "")
	p.wants(t, 200, "")
	if p.at("metrics", "stepsExecuted") != 0.0 || fmt.Sprint(p.at("steps")) != "[]" || p.at("output") != nil {
		t.Errorf("pending: %s", p.text)
	}

	status = core.ExecutionRunning
	r.executions.timeline = func(string) (*core.Timeline, error) { return someTimeline(), nil }
	p = r.do("GET", path, "")
	p.wants(t, 200, "")
	want := `[map[durationMs:50 step:0 type:parallel] map[durationMs:7 step:1 type:approve] map[durationMs:9 step:2 type:assign]]`
	if got := fmt.Sprint(p.at("steps")); got != want {
		t.Errorf("running: steps %s, want %s", got, want)
	}
	if p.at("metrics", "stepsExecuted") != 1.0 || p.at("metrics", "agentsUsed") != 1.0 {
		t.Errorf("running: %s", p.text)
	}
}

// someTimeline is of a workflow whose second step is run again while its third runs.
func someTimeline() *core.Timeline {
	at := func(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }
	end := func(ms int) *time.Time { t := at(ms); return &t }
	return &core.Timeline{
		ExecutionID: execID, Pattern: core.PatternRef{Name: "classify", Version: "1.0.0"}, Status: core.ExecutionRunning,
		StartedAt: end(1), Duration: 60, LastSequence: 77,
		Entries: []core.TimelineEntry{
			{Kind: core.TimelineRole, ID: "agent_1", Role: "engineer", AgentID: "agent_1", Type: "claude", Name: "lex", ThreadID: "thread_1", Status: "running", StartedAt: at(0), Duration: 61},
			{Kind: core.TimelineThread, ID: "thread_2", Role: "writer", AgentID: "magent_1", Type: "codex", Name: "docs", Status: "blocked", StartedAt: at(0), Duration: 61},
			{Kind: core.TimelineStep, ID: "0", Type: "parallel", Name: "build \"it\"", Status: "completed", StartedAt: at(1), EndedAt: end(51), Duration: 50},
			{Kind: core.TimelineStep, ID: "0.0", Step: "0", Type: "assign", Role: "engineer", Status: "completed", StartedAt: at(1), EndedAt: end(51), Duration: 50},
			{Kind: core.TimelineTask, ID: "task_1", Step: "0.0", Role: "engineer", AgentID: "agent_1", Attempt: 1, Status: "lost", Detail: "the agent left", StartedAt: at(1), EndedAt: end(5), Duration: 4},
			{Kind: core.TimelineTask, ID: "task_1", Step: "0.0", Role: "engineer", AgentID: "agent_2", Attempt: 2, Status: "completed", StartedAt: at(5), EndedAt: end(51), Duration: 46},
			{Kind: core.TimelineMessage, ID: "msg_1", Step: "0.0", Type: "question", Role: "engineer", To: "lead", Status: "answered", Detail: "architecture", StartedAt: at(6), EndedAt: end(9), Duration: 3},
			{Kind: core.TimelineEscalation, ID: "msg_1", Step: "0.0", To: "cto", Attempt: 1, Status: "answered", StartedAt: at(7), EndedAt: end(9), Duration: 2},
			{Kind: core.TimelineStep, ID: "1", Type: "approve", Role: "lead", Status: "completed", StartedAt: at(51), EndedAt: end(54), Duration: 3},
			{Kind: core.TimelineStep, ID: "1", Type: "approve", Role: "lead", Attempt: 2, Status: "running", StartedAt: at(57), Duration: 4},
			{Kind: core.TimelineStep, ID: "2", Type: "assign", Role: "engineer", Status: "running", StartedAt: at(52), Duration: 9},
			{Kind: core.TimelineQuestion, ID: questionID, Step: "2", Role: "engineer", Status: "open", Detail: "which one?", StartedAt: at(53), Duration: 8},
		},
	}
}

func TestTimeline(t *testing.T) {
	r := newRig(t)
	r.executions.timeline = func(id string) (*core.Timeline, error) {
		if id != execID {
			return nil, core.NotFound("execution", id)
		}
		return someTimeline(), nil
	}
	p := r.do("GET", "/api/executions/"+execID+"/timeline", "")
	p.wants(t, 200, "")
	for _, want := range []string{
		`{"executionId":"` + execID + `","pattern":{"name":"classify","version":"1.0.0"},"status":"running",` +
			`"startedAt":"2026-01-02T03:04:05.679Z","duration":60,"entries":[{"kind":"role","id":"agent_1"`,
		`"agentId":"agent_1","threadId":"thread_1","status":"running"`,
		`{"kind":"thread","id":"thread_2","type":"codex","name":"docs","role":"writer","agentId":"magent_1","status":"blocked"`,
		`{"kind":"step","id":"0","type":"parallel","name":"build \"it\"","status":"completed",` +
			`"startedAt":"2026-01-02T03:04:05.679Z","endedAt":"2026-01-02T03:04:05.729Z","duration":50}`,
		`{"kind":"task","id":"task_1","step":"0.0","role":"engineer","agentId":"agent_1","attempt":1,"status":"lost",` +
			`"detail":"the agent left","startedAt":"2026-01-02T03:04:05.679Z","endedAt":"2026-01-02T03:04:05.683Z","duration":4}`,
		`{"kind":"message","id":"msg_1","step":"0.0","type":"question","role":"engineer","to":"lead","status":"answered",` +
			`"detail":"architecture",`,
		`,"duration":8}],"lastSequence":77}`,
	} {
		if !strings.Contains(p.text, want) {
			t.Errorf("the timeline has no\n%s\n%s", want, p.text)
		}
	}
	// What runs at an agent whose connection is lost says how long it is waited for; what is over does not.
	r.agents.find = func(id string) (*core.Agent, error) {
		a, until := someAgent(id), r.clock.Now().Add(21500*time.Millisecond)
		a.Healthy, a.HeldUntil = false, &until
		return a, nil
	}
	p = r.do("GET", "/api/executions/"+execID+"/timeline", "")
	if n := strings.Count(p.text, `"status":"running","detail":"agent lost, waits 22 s"`); n == 0 || strings.Count(p.text, "agent lost") != n {
		t.Errorf("%d entries of a lost agent:\n%s", n, p.text)
	}
	r.agents.find = nil
	r.do("GET", "/api/executions/exec_x/timeline", "").wants(t, 404, core.CodeNotFound)
	r.executions.timeline = nil // of nothing that happened
	if p := r.do("GET", "/api/executions/"+execID+"/timeline", ""); !strings.Contains(p.text, `"entries":[],`) {
		t.Errorf("body %s", p.text)
	}
}

// A step goes by its path, which may have a slash.
func TestStep(t *testing.T) {
	r := newRig(t)
	r.executions.step = func(id, path string) (*core.StepDetail, error) {
		if path != "outer/inner" {
			err := core.NotFound("step", path)
			err.Details["near"] = []string{"outer"}
			return nil, err
		}
		return &core.StepDetail{
			ExecutionID: id, Path: path, Step: "outer", Status: "completed", StartedAt: epoch, Result: json.RawMessage(`null`), Runs: []wire.StepRun{},
			Tasks: []wire.Task{{TaskID: "task_1", Status: "completed", Attempts: []wire.TaskAttempt{}, Omitted: 7}}, TotalTasks: 101,
		}, nil
	}
	p := r.do("GET", "/api/executions/"+execID+"/steps/outer%2Finner", "")
	p.wants(t, 200, "")
	for _, want := range []string{`"path":"outer/inner","step":"outer","status":"completed"`, `"result":null`, `"attempts":[],"omittedBytes":7}],"totalTasks":101}`} {
		if !strings.Contains(p.text, want) {
			t.Errorf("the step has no %s: %s", want, p.text)
		}
	}
	p = r.do("GET", "/api/executions/"+execID+"/steps/2.0", "")
	p.wants(t, 404, core.CodeNotFound)
	if !strings.Contains(p.text, `"near":["outer"]`) {
		t.Errorf("body %s", p.text)
	}
}

// After a sequence there is what changed, and what changes without an event of the execution.
func TestTimelineSince(t *testing.T) {
	r := newRig(t)
	r.executions.timeline = func(string) (*core.Timeline, error) {
		t, over := someTimeline(), epoch
		task := core.TimelineEntry{Kind: core.TimelineTask, AgentID: "agent_1", Attempt: 1, StartedAt: epoch}
		for _, add := range []struct {
			id       string
			ended    *time.Time
			sequence uint64
		}{{"task_old", &over, 7}, {"task_runs", nil, 7}, {"task_new", &over, 8}} {
			task.ID, task.EndedAt, task.Sequence = add.id, add.ended, add.sequence
			t.Entries = append(t.Entries, task)
		}
		return t, nil
	}
	p := r.do("GET", "/api/executions/"+execID+"/timeline?since=7", "")
	ids := []string{}
	for _, e := range p.at("entries").([]any) {
		ids = append(ids, e.(map[string]any)["id"].(string))
	}
	if got, want := strings.Join(ids, " "), "agent_1 thread_2 task_runs task_new"; got != want {
		t.Errorf("after 7: %s, want %s", got, want)
	}
}

// chartJournal is an event of each type that streams show of org charts, and some they do not.
func chartJournal() []core.Event {
	question, err := json.Marshal(someQuestion(questionID, core.QuestionOpen))
	if err != nil {
		panic(err)
	}
	return []core.Event{
		event(20, core.EventRoleBound, `{"role":"lead","instance":1,"agentId":"agent_1","agentName":"lex","agentType":"claude","managed":true,"token":"t"}`),
		event(21, core.EventStepStarted, `{"step":"0","type":"parallel","name":"build","round":1,"inner":{}}`),
		event(22, core.EventMessageSent, `{"messageId":"msg_1","askId":"a","taskId":"task_1","step":"0","role":"lead","agentId":"agent_1","kind":"message","messageType":"question","topic":"t","content":{"q":1},"to":"cto","depth":0,"reason":"rule 1","wantsReply":true,"at":"x"}`),
		event(23, core.EventMessageEscalated, `{"messageId":"msg_1","to":"ceo","toAgentId":"agent_2","depth":1,"reason":"nobody answered"}`),
		event(24, core.EventMessageReplied, `{"messageId":"msg_1","from":"ceo","agentId":"agent_2","content":"yes"}`),
		event(25, core.EventQuestionAsked, `{"question":`+string(question)+`}`),
		event(26, core.EventQuestionAnswered, `{"questionId":"q_1","messageId":"msg_1","answer":{"x":1},"by":"mira"}`),
		event(27, core.EventQuestionExpired, `{"questionId":"q_1"}`),
		event(28, core.EventStepCompleted, `{"step":"0","result":[1],"confidence":1,"kind":"condition","round":1,"branch":"then","startedAt":"x"}`),
		event(29, "message.closed", `{"messageId":"msg_1","questionId":"q_1","reason":"its task is over","askId":"a"}`),
		event(30, core.EventRoleReleased, `{"agentId":"agent_1","role":"lead","reason":"completed"}`),
		event(31, core.EventExecutionCompleted, `{"result":1,"duration":12,"partial":true}`),
	}
}

func TestChartFrames(t *testing.T) {
	want := []string{
		"event: role_bound\nid: 20\ndata: {\"executionId\":\"" + execID + "\",\"role\":\"lead\",\"instance\":1,\"agentId\":\"agent_1\",\"agentName\":\"lex\",\"agentType\":\"claude\",\"managed\":true}\n\n",
		"event: step_started\nid: 21\ndata: {\"executionId\":\"" + execID + "\",\"step\":\"0\",\"type\":\"parallel\",\"name\":\"build\",\"round\":1}\n\n",
		"event: message_sent\nid: 22\ndata: {\"executionId\":\"" + execID + "\",\"messageId\":\"msg_1\",\"taskId\":\"task_1\",\"step\":\"0\",\"role\":\"lead\",\"agentId\":\"agent_1\",\"kind\":\"message\",\"messageType\":\"question\",\"topic\":\"t\",\"to\":\"cto\",\"depth\":0,\"reason\":\"rule 1\",\"wantsReply\":true,\"content\":{\"q\":1}}\n\n",
		"event: message_escalated\nid: 23\ndata: {\"executionId\":\"" + execID + "\",\"messageId\":\"msg_1\",\"to\":\"ceo\",\"toAgentId\":\"agent_2\",\"depth\":1,\"reason\":\"nobody answered\"}\n\n",
		"event: message_replied\nid: 24\ndata: {\"executionId\":\"" + execID + "\",\"messageId\":\"msg_1\",\"from\":\"ceo\",\"agentId\":\"agent_2\",\"content\":\"yes\"}\n\n",
		"", // below
		"event: question_answered\nid: 26\ndata: {\"executionId\":\"" + execID + "\",\"questionId\":\"q_1\",\"messageId\":\"msg_1\",\"answer\":{\"x\":1},\"answeredBy\":\"mira\"}\n\n",
		"event: question_expired\nid: 27\ndata: {\"executionId\":\"" + execID + "\",\"questionId\":\"q_1\"}\n\n",
		"event: step_completed\nid: 28\ndata: {\"step\":\"0\",\"result\":[1],\"confidence\":1,\"type\":\"condition\",\"round\":1,\"branch\":\"then\"}\n\n",
		"event: message_closed\nid: 29\ndata: {\"executionId\":\"" + execID + "\",\"messageId\":\"msg_1\",\"questionId\":\"q_1\",\"reason\":\"its task is over\"}\n\n",
		"event: role_released\nid: 30\ndata: {\"executionId\":\"" + execID + "\",\"role\":\"lead\",\"agentId\":\"agent_1\",\"reason\":\"completed\"}\n\n",
		"event: completed\nid: 31\ndata: {\"executionId\":\"" + execID + "\",\"status\":\"completed\",\"result\":{\"value\":1},\"partial\":true,\"duration\":12}\n\n",
	}
	r := newRig(t)
	asked := r.do("GET", "/api/questions/"+questionID, "").text
	want[5] = "event: question_asked\nid: 25\ndata: " + asked + "\n\n"
	for i, ev := range chartJournal() {
		if got := string(api.EncodeFrame(ev)); got != want[i] {
			t.Errorf("%s: got\n%s\nwant\n%s", ev.Type, got, want[i])
		}
	}
	// Data that says nothing is shown as nothing known.
	for _, data := range []string{``, `null`, `[]`, `{`, `{}`} {
		if got, want := string(api.EncodeFrame(event(1, core.EventQuestionExpired, data))), "event: question_expired\nid: 1\ndata: {\"executionId\":\""+execID+"\"}\n\n"; got != want {
			t.Errorf("data %q: %q", data, got)
		}
		if got := api.EncodeFrame(event(1, core.EventQuestionAsked, data)); got != nil {
			t.Errorf("a question without itself: %q", got)
		}
	}
}

func TestChartStreamResumes(t *testing.T) {
	r := newRig(t)
	j := newJournal(chartJournal()...)
	j.over = true
	r.stream(j)
	for after, want := range map[string]string{
		"": "20 21 22 23 24 25 26 27 28 29 30 31", "22": "23 24 25 26 27 28 29 30 31", "30": "31",
	} {
		var headers []string
		if after != "" {
			headers = []string{"Last-Event-ID: " + after}
		}
		var ids []string
		for line := range r.openStream(streamPath, headers...) {
			if id, ok := strings.CutPrefix(line, "id: "); ok {
				ids = append(ids, id)
			}
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("after %q: ids %s, want %s", after, got, want)
		}
	}
}
