package cmd_test

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

var timelineEpoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// entry is a timeline entry from and to milliseconds after the beginning; to 0: it runs, so far until 20 s.
func entry(from, to int, e client.TimelineEntry) client.TimelineEntry {
	e.StartedAt = timelineEpoch.Add(time.Duration(from) * time.Millisecond)
	if to == 0 {
		e.Duration = client.Millis(20000 - from)
		if e.Status == "" {
			e.Status = "running"
		}
		return e
	}
	ended := timelineEpoch.Add(time.Duration(to) * time.Millisecond)
	e.EndedAt, e.Duration = &ended, client.Millis(to-from)
	if e.Status == "" {
		e.Status = "completed"
	}
	return e
}

// runningTimeline is of a workflow in the middle of its work, with one of everything.
func runningTimeline() *client.Timeline {
	started := timelineEpoch
	return &client.Timeline{Timeline: wire.Timeline{
		ExecutionID: "exec_chart", Pattern: client.PatternRef{Name: "startup-team", Version: "1.0.0"}, Status: "running",
		StartedAt: &started, Duration: 20000, LastSequence: 40,
		Entries: []client.TimelineEntry{
			entry(0, 0, client.TimelineEntry{Kind: "role", ID: "agent_1", Role: "cto", AgentID: "agent_1", Name: "ada", Type: "claude"}),
			entry(0, 0, client.TimelineEntry{Kind: "role", ID: "magent_2", Role: "engineer", AgentID: "magent_2"}),
			entry(10, 4010, client.TimelineEntry{Kind: "step", ID: "0", Type: "assign", Name: "Design", Role: "cto"}),
			entry(11, 4000, client.TimelineEntry{Kind: "task", ID: "task_1", Step: "0", Role: "cto", AgentID: "agent_1", Attempt: 1}),
			entry(4010, 0, client.TimelineEntry{Kind: "step", ID: "1", Type: "parallel"}),
			entry(4010, 9000, client.TimelineEntry{Kind: "step", ID: "1.0", Step: "1", Type: "assign", Role: "engineer"}),
			entry(4010, 0, client.TimelineEntry{Kind: "step", ID: "1.1", Step: "1", Type: "assign", Name: "技術 and 'quotes' \x1b[31m", Role: "engineer"}),
			entry(4011, 5000, client.TimelineEntry{Kind: "task", ID: "task_2", Step: "1.0", Role: "engineer", AgentID: "magent_2", Attempt: 1, Status: "lost", Detail: "the agent left"}),
			entry(5000, 9000, client.TimelineEntry{Kind: "task", ID: "task_2", Step: "1.0", Role: "engineer", AgentID: "agent_1", Attempt: 2}),
			entry(4012, 0, client.TimelineEntry{Kind: "task", ID: "task_3", Step: "1.1", Role: "engineer", AgentID: "magent_2", Attempt: 1}),
			entry(6000, 8000, client.TimelineEntry{Kind: "message", ID: "msg_1", Step: "1.0", Type: "question", Role: "engineer", To: "cto", Status: "answered", Detail: "architecture"}),
			entry(7000, 8000, client.TimelineEntry{Kind: "escalation", ID: "msg_1", Step: "1.0", To: "ceo", Attempt: 1, Status: "answered"}),
			entry(9000, 9001, client.TimelineEntry{Kind: "step", ID: "1.2", Step: "1", Type: "condition", Detail: "then"}),
			entry(9000, 9001, client.TimelineEntry{Kind: "step", ID: "1.2.0", Step: "1.2", Type: "approve", Role: "cto", Status: "failed", Detail: "needs work"}),
			entry(9000, 9001, client.TimelineEntry{Kind: "step", ID: "1.2.0", Step: "1.2", Type: "approve", Role: "cto", Attempt: 2, Status: "skipped"}),
			entry(12000, 0, client.TimelineEntry{Kind: "question", ID: "q_1", Step: "1.1", Type: "approval", Role: "engineer", Status: "open", Detail: "May I run make?"}),
		},
	}}
}

// chartEvents is the stream of a workflow with one event of each type.
const chartEvents = "id: 4\nevent: started\ndata: {\"executionId\":\"exec_chart\",\"status\":\"running\"}\n\n" +
	"id: 5\nevent: role_bound\ndata: {\"role\":\"cto\",\"agentId\":\"agent_1\",\"agentName\":\"ada\",\"agentType\":\"claude\"}\n\n" +
	"id: 6\nevent: role_bound\ndata: {\"role\":\"engineer\",\"agentId\":\"magent_2\",\"managed\":true}\n\n" +
	"id: 7\nevent: step_started\ndata: {\"step\":\"0\",\"type\":\"assign\",\"name\":\"Design\",\"role\":\"cto\"}\n\n" +
	"id: 8\nevent: message_sent\ndata: {\"messageId\":\"msg_1\",\"role\":\"engineer\",\"to\":\"cto\",\"messageType\":\"question\",\"topic\":\"architecture\",\"content\":{\"q\":\"why?\"}}\n\n" +
	"id: 9\nevent: message_escalated\ndata: {\"messageId\":\"msg_1\",\"to\":\"ceo\",\"depth\":1,\"reason\":\"nobody answered\"}\n\n" +
	"id: 10\nevent: question_asked\ndata: {\"id\":\"q_1\",\"role\":\"engineer\",\"text\":\"May I\\u001b run make?\",\"options\":[{\"id\":\"allow\",\"label\":\"Yes\"},{\"id\":\"deny\",\"label\":\"No\"}]}\n\n" +
	"id: 11\nevent: question_answered\ndata: {\"questionId\":\"q_1\",\"answer\":\"allow\",\"answeredBy\":\"mira\"}\n\n" +
	"id: 12\nevent: message_replied\ndata: {\"messageId\":\"msg_1\",\"from\":\"user\",\"content\":\"because\"}\n\n" +
	"id: 13\nevent: question_expired\ndata: {\"questionId\":\"q_2\"}\n\n" +
	"id: 14\nevent: step_completed\ndata: {\"step\":\"0\",\"result\":\"done\",\"confidence\":1,\"type\":\"condition\",\"branch\":\"then\"}\n\n" +
	"id: 15\nevent: step_started\ndata: {\"step\":\"0\",\"type\":\"approve\",\"role\":\"cto\",\"round\":1}\n\n" +
	"id: 16\nevent: role_released\ndata: {\"role\":\"cto\",\"agentId\":\"agent_1\",\"reason\":\"lost\"}\n\n" +
	"id: 17\nevent: completed\ndata: {\"executionId\":\"exec_chart\",\"status\":\"completed\",\"result\":{\"a\":1}}\n\n"

// timelines registers the fake's timelines: of the chart above, of a flat pattern, and one in which nothing happened.
func (f *fake) timelines(handle func(string, func(http.ResponseWriter, *http.Request, string))) {
	handle("GET /api/executions/{id}/timeline", func(w http.ResponseWriter, r *http.Request, _ string) {
		t := runningTimeline()
		switch r.PathValue("id") {
		case "exec_none":
			missing(w, "execution", "exec_none")
			return
		case "exec_chart":
		case "exec_new":
			t = &client.Timeline{Timeline: wire.Timeline{ExecutionID: "exec_new", Pattern: t.Pattern, Status: "pending", Entries: []client.TimelineEntry{}}}
		default:
			ended := timelineEpoch.Add(1500 * time.Millisecond)
			t = &client.Timeline{Timeline: wire.Timeline{
				ExecutionID: "exec_1", Pattern: client.PatternRef{Name: "triage", Version: "1.1.0"}, Status: "completed",
				StartedAt: &timelineEpoch, CompletedAt: &ended, Duration: 1500,
				Entries: []client.TimelineEntry{
					entry(0, 700, client.TimelineEntry{Kind: "task", ID: "task_1", AgentID: "agent_1", Attempt: 1, Name: "lexicon"}),
					entry(0, 1500, client.TimelineEntry{Kind: "task", ID: "task_2", AgentID: "agent_2", Attempt: 1, Status: "timeout", Detail: "ran over its time"}),
				},
			}}
		}
		body, err := json.Marshal(t)
		if err != nil {
			panic(err)
		}
		say(w, 200, string(body))
	})
	handle("GET /api/executions/{id}/steps/{path}", func(w http.ResponseWriter, r *http.Request, _ string) {
		step := reviewStep()
		switch r.PathValue("path") {
		case "1.0":
		case "2": // with one task
			step.Path, step.Step, step.Runs = "2", "", step.Runs[1:]
			step.Tasks, step.TotalTasks = step.Tasks[1:], 1
			step.Tasks[0].Asked = &wire.TaskAsked{Input: json.RawMessage(`{"task":"look"}`), Context: json.RawMessage(`{"metadata":{}}`)}
		default:
			say(w, 404, `{"error":{"code":"NOT_FOUND","message":"step \"1.9\" does not exist or has not begun; near it are 1.0, 1.1","details":{"resource":"step","id":"1.9","near":["1.0","1.1"]}},"requestId":"req_1"}`)
			return
		}
		body, err := json.Marshal(step)
		if err != nil {
			panic(err)
		}
		say(w, 200, string(body))
	})
}

// reviewStep is a step that was run twice, whose task was handed out twice the last time.
func reviewStep() *client.ExecutionStep {
	at := func(ms int) *time.Time { t := timelineEpoch.Add(time.Duration(ms) * time.Millisecond); return &t }
	lost := &client.ExecutionError{Code: "AGENT_ERROR", Message: "the agent left before it had answered, and nothing is known of what it did until then"}
	first := wire.Task{
		TaskID: "task_01JGFJJZ8N4Q1W0000000000AA", Step: "1.0", Role: "engineer", Status: "completed", Result: json.RawMessage(`{"verdict":"revise"}`),
		Attempts: []wire.TaskAttempt{{Attempt: 1, AgentID: "agent_1", AgentName: "ada", Status: "completed", StartedAt: *at(0), EndedAt: at(2000), Duration: 2000}},
	}
	second := first
	second.TaskID, second.Status, second.Result, second.Error = "task_01JGFJJZ8N4Q1W0000000000AB", "lost", nil, lost
	second.Attempts = []wire.TaskAttempt{
		{Attempt: 1, AgentID: "magent_2", Status: "lost", StartedAt: *at(2000), EndedAt: at(3000), Duration: 1000, Error: lost, Retry: true},
		{Attempt: 2, AgentID: "agent_1", AgentName: "ada", Status: "lost", StartedAt: *at(3000), EndedAt: at(4000), Duration: 1000, Error: lost},
	}
	return &client.ExecutionStep{ExecutionStep: wire.ExecutionStep{
		ExecutionID: "exec_chart", Path: "1.0", Step: "1", Type: "review", Role: "engineer", Roles: []string{"engineer"}, Status: "failed",
		StartedAt: *at(2000), EndedAt: at(4000), Duration: 2000, Error: lost,
		Runs: []wire.StepRun{
			{Run: 1, Status: "completed", Verdict: "revise", Detail: "needs \x1b[31mtests", StartedAt: *at(0), EndedAt: at(2000), Duration: 2000},
			{Run: 2, Status: "failed", StartedAt: *at(2000), EndedAt: at(4000), Duration: 2000},
		},
		Tasks: []wire.Task{first, second}, TotalTasks: 3,
	}}
}
