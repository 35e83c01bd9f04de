package server

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestFramesOfEachEvent(t *testing.T) {
	prompt := &runtime.Prompt{ID: "p", Kind: runtime.PromptApproval, Text: "run it?", Tool: "Bash", Input: map[string]any{"command": "ls"},
		Options: []runtime.Option{{ID: "allow", Label: "Yes"}}, URL: "https://u"}
	for _, test := range []struct {
		event        runtime.Event
		name         string // of the interface; empty: none
		data, thread string // parts of the JSON
	}{
		{runtime.Event{Type: runtime.EventStarted}, "agent_started", `"agent":{"id":"a"`, `"type":"thread_started"`},
		{runtime.Event{Type: runtime.EventReady}, "agent_ready", `"agent"`, `"type":"thread_ready"`},
		{runtime.Event{Type: runtime.EventBusy}, "", "", `"type":"thread_status"`},
		{runtime.Event{Type: runtime.EventBlocked, Prompt: prompt}, "question", `"question":"run it?","prompt":{"id":"p"`, `"prompt":{"id":"p","input":{"command":"ls"},"kind":"approval","options":[{"id":"allow","label":"Yes"}],"text":"run it?","tool":"Bash","url":"https://u"}`},
		{runtime.Event{Type: runtime.EventQuestion, Text: "why?"}, "question", `"question":"why?"`, `"kind":"question","options":[],"text":"why?"`},
		{runtime.Event{Type: runtime.EventUnblocked, Answered: "allow"}, "", "", `"answered":"allow"`},
		{runtime.Event{Type: runtime.EventLoginRequired, LoginURL: "https://l"}, "login_required", `"loginUrl":"https://l"`, `"url":"https://l"`},
		{runtime.Event{Type: runtime.EventToolRunning, Tool: &runtime.ToolCall{Name: "Bash", Input: map[string]any{"c": 1}}}, "", "", `"data":{"input":{"c":1},"tool":"Bash"}`},
		{runtime.Event{Type: runtime.EventToolRunning}, "", "", `"tool":""`},
		{runtime.Event{Type: runtime.EventTurnComplete, Text: "done", Turn: 2, DurationMs: 5}, "", "", `"data":{"durationMs":5,"interrupted":false,"output":"done","turn":2}`},
		{
			runtime.Event{Type: runtime.EventTurnComplete, Text: "never", Turn: 2, TurnOutcome: runtime.TurnOutcome{
				Error: &runtime.TurnError{Code: "MODEL_CUT", Message: "cut", Retryable: true},
			}},
			"", "", `"data":{"durationMs":0,"error":{"code":"MODEL_CUT","message":"cut","retryable":true},"interrupted":false,"turn":2}`,
		},
		{
			runtime.Event{Type: runtime.EventTurnComplete, Text: "no", Turn: 2, TurnOutcome: runtime.TurnOutcome{Refused: true, Usage: &runtime.Usage{InputTokens: 3}}},
			"", "", `"output":"no","refused":true,"turn":2,"usage":{"inputTokens":3,"outputTokens":0}`,
		},
		{runtime.Event{Type: runtime.EventMessage, Text: "said"}, "message", `"message":{"agentId":"a","text":"said"`, `"type":"thread_output"`},
		{runtime.Event{Type: runtime.EventStuck, Reason: "10m"}, "", "", `"status":"stuck"`},
		{runtime.Event{Type: runtime.EventError, Reason: "not_ready"}, "agent_error", `"error":"not_ready"`, `"type":"thread_failed"`},
		{runtime.Event{Type: runtime.EventStopped, Reason: "exited", Exit: &runtime.Exit{Code: 3}}, "agent_stopped", `"reason":"exited","exitCode":3`, `"data":{"reason":"exited"}`},
		{runtime.Event{Type: "later"}, "", "", `"status":"later"`},
	} {
		e := test.event
		e.Seq, e.AgentID = 7, "a"
		e.Agent = runtime.Agent{ID: "a", Type: "claude", Status: runtime.StatusBlocked, Handle: runtime.Handle{ID: "a", Data: []byte("secret")},
			Labels: map[string]string{LabelThread: "thread_1", LabelExecution: "exec_1"}}
		all := frames(&e, "local")
		if e.Type == runtime.EventLoginRequired { // it is asked as well
			if len(all) != 3 || all[1].Event != "question" {
				t.Errorf("a login has the frames %+v", all)
			}
			all = slices.Delete(all, 1, 2)
		}
		if (len(all) == 2) != (test.name != "") {
			t.Errorf("%s has %d frames", e.Type, len(all))
			continue
		}
		last, err := json.Marshal(all[len(all)-1])
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{test.thread, `"event":"thread_event"`, `"threadId":"thread_1"`, `"executionId":"exec_1"`, `"sequence":7`, `"seq":7`} {
			if !strings.Contains(string(last), want) {
				t.Errorf("%s is %s, want %s", e.Type, last, want)
			}
		}
		if test.name == "" {
			continue
		}
		first, err := json.Marshal(all[0])
		if err != nil {
			t.Fatal(err)
		}
		if all[0].Event != test.name || !strings.Contains(string(first), test.data) || strings.Contains(string(first), "handle") {
			t.Errorf("%s is %s, want %s with %s", e.Type, first, test.name, test.data)
		}
	}
}
