package threads_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// block is a report of an agent.
func block(state, summary string) string {
	return "I am done.\n\n```wardroom\n{\"state\": \"" + state + "\", \"summary\": \"" + summary +
		"\", \"decisions\": [\"The parser is generated\"], \"tests\": {\"run\": 3, \"passed\": 3, \"failed\": 0}}\n```\n"
}

func field(e core.Event, name string) string {
	var data map[string]any
	if json.Unmarshal(e.Data, &data) != nil {
		return ""
	}
	text, _ := data[name].(string)
	return text
}

func TestLife(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, text string) {
		switch {
		case strings.HasPrefix(text, "Fix the parser"):
			a.busy()
			a.say("Looking.")
			a.tell(core.EventManagedTool, core.AgentSignal{Tool: &core.AgentTool{Name: "Read", Input: map[string]any{"path": "x"}}})
			a.ask("p-1", "approval", "Bash", "Run make?")
		case text == "answer p-1 allow":
			a.end("It was built.")
		case text == "go on":
			a.busy()
			a.say(block("complete", "The parser is fixed"))
			a.end(block("complete", "The parser is fixed"))
		}
	}
	r.open()
	s := spec()
	s.Preparation.Env = map[string]string{"TOKEN": "secret-value"}
	s.Preparation.Workspace = &core.WorkspaceSpec{Repo: "app"}
	s.Policy.SummarizeAfterTurns = 1
	s.Policy.Finish = &core.ThreadFinish{Commit: true}
	th := r.spawn(s)
	if th.Status != core.ThreadPending || th.Name != "coder-fix-the-parser" || th.QueuedInputs != 1 {
		t.Errorf("spawned %+v", th)
	}
	r.untilStatus(th.ID, core.ThreadBlocked)
	raw, _ := json.Marshal(r.record(th.ID))
	if strings.Contains(string(raw), "secret-value") {
		t.Error("the environment is stored")
	}
	if got := r.agents.specs[0]; got.Env["TOKEN"] != "secret-value" || got.Env["GIT_AUTHOR_NAME"] == "" || got.Labels["wardroom.thread"] != th.ID {
		t.Errorf("the agent's spec is %+v", got)
	}
	if _, err := r.AnswerThread(r.ctx, th.ID, core.ThreadAnswer{Choice: "maybe"}); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("a choice that is not there: %v", err)
	}
	if got, err := r.AnswerThread(r.ctx, th.ID, core.ThreadAnswer{Choice: "allow"}); err != nil || got.Prompt != nil {
		t.Errorf("answer: %+v, %v", got, err)
	}
	r.untilStatus(th.ID, core.ThreadReady)
	if receipt, err := r.SendThread(r.ctx, th.ID, core.ThreadInput{Message: "go on"}); err != nil || receipt.Queued != 1 || receipt.InputID == "" {
		t.Errorf("send: %+v, %v", receipt, err)
	}
	rec := r.untilStatus(th.ID, core.ThreadCompleted)
	r.wantKinds(th.ID, "thread_status preparing", "thread_status starting", "thread_started", "thread_ready", "thread_status running",
		"thread_output", "thread_tool_running", "thread_blocked", "thread_status unblocked", "thread_output", "thread_turn_complete",
		"thread_summary_updated", "thread_ready", "thread_status running", "thread_output", "thread_turn_complete",
		"thread_summary_updated", "thread_ready", "thread_status finishing", "thread_completed")
	c := rec.Completion
	if c.State != core.CompletionComplete || c.Summary != "The parser is fixed" || c.Tests == nil || c.Changes == nil ||
		!slices.Contains(c.Artifacts, core.Artifact{Type: core.ArtifactCommit, Value: "abc"}) || len(c.Artifacts) != 1 {
		t.Errorf("completion %+v", c)
	}
	if rec.EventCount != 11 || rec.TurnCount != 2 || rec.QueuedInputs != 0 || rec.Ending != nil {
		t.Errorf("record %+v", rec)
	}
	if len(r.store.lessons()) != 1 || r.store.lessons()[0].Outcome != core.ExperienceSuccessful || r.store.lessons()[0].Repo != "app" {
		t.Errorf("experiences %+v", r.store.lessons())
	}
	var categories []string
	for _, d := range r.store.decisions(th.ExecutionID) {
		categories = append(categories, d.Category)
	}
	if want := []string{"thread_summary", "finding", "thread_summary", "completion_outcome"}; !slices.Equal(categories, want) {
		t.Errorf("decisions %q, want %q", categories, want)
	}
	e := r.store.execution(th.ExecutionID)
	if e.Status != core.ExecutionCompleted || !strings.Contains(string(e.Result), `"state":"complete"`) {
		t.Errorf("execution %+v %s", e, e.Result)
	}
	if r.agents.running() != 0 || r.spaces.workspace(rec.Workspace.ID).Status != core.WorkspaceReleased ||
		rec.Workspace.Status != core.WorkspaceReleased || r.spaces.finished != 1 {
		t.Error("something was left behind")
	}
	if files := r.spaces.files[rec.Workspace.ID]; len(files) != 1 || files[0].Path != core.ThreadMemoryPath {
		t.Errorf("files %+v", files)
	}
	if _, err := r.SendThread(r.ctx, th.ID, core.ThreadInput{Message: "more"}); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("sending to a terminal thread: %v", err)
	}
}

// A runtime that keeps to the bare contract tells with the end of a turn that its agent is ready, and not once more.
func TestReadyWithTheTurn(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, text string) {
		a.busy()
		a.r.Status = core.ManagedReady
		a.tell(core.EventManagedTurnComplete, core.AgentSignal{Text: "Did " + text, DurationMs: 5})
	}
	r.open()
	s := spec()
	s.AgentType, s.Objective, s.Policy.CompleteAfterTurns = "shell", "one", 3
	id := r.spawn(s).ID
	for _, text := range []string{"two", "three"} {
		if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: text}); err != nil {
			t.Fatal(err)
		}
	}
	r.untilStatus(id, core.ThreadCompleted)
	if got := r.agents.messages(); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("the agent took %q", got)
	}
	ready := 0
	for _, kind := range r.kinds(id) {
		if kind == string(core.EventThreadReady) {
			ready++
		}
	}
	if ready != 4 { // at the start, and behind each turn
		t.Errorf("it was ready %d times: %q", ready, r.kinds(id))
	}
}

// Of several reports the last word on each thing counts, what is left out stays, and what was made adds up.
func TestReportsAddUp(t *testing.T) {
	said := func(body string) string { return "Look.\n\n```wardroom\n" + body + "\n```\n" }
	const (
		done    = `{"state": "complete", "summary": "The parser is fixed", "tests": {"run": 3, "passed": 3, "failed": 0}, "artifacts": [{"type": "file", "value": "a.go"}]}`
		working = `{"state": "working", "artifacts": [{"type": "file", "value": "b.go"}, {"type": "file", "value": "a.go"}]}`
		partial = `{"state": "partial", "summary": "The tests are missing"}`
	)
	for _, tt := range []struct {
		name    string
		said    []string
		state   core.CompletionState // "": it goes on
		summary string
		files   int
	}{
		{"WorkingBehindComplete", []string{done, working}, "", "The parser is fixed", 2},
		{"CompleteBehindWorking", []string{working, done}, core.CompletionComplete, "The parser is fixed", 2},
		{"CompleteAgain", []string{done, working, partial}, core.CompletionPartial, "The tests are missing", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, core.SystemClock{})
			r.agents.script = func(a *scripted, _ string) {
				a.busy()
				for _, body := range tt.said {
					a.say(said(body))
				}
				a.end(said(tt.said[len(tt.said)-1]))
			}
			r.open()
			id := r.spawn(spec()).ID
			if tt.state == "" {
				r.until(id, "the turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 1 && rec.Status == core.ThreadReady })
				if _, err := r.CloseThread(r.ctx, id, core.ThreadClose{}); err != nil {
					t.Fatal(err)
				}
				tt.state = core.CompletionComplete // by hand
			}
			got := r.untilStatus(id, core.ThreadCompleted).Completion
			files := 0
			for _, a := range got.Artifacts {
				if a.Type == core.ArtifactFile {
					files++
				}
			}
			if got.State != tt.state || got.Summary != tt.summary || files != tt.files || got.Tests == nil || got.Tests.Passed != 3 {
				t.Errorf("completion %+v", got)
			}
		})
	}
}

// What a thread has of a tool's input has the numbers that its agent wrote.
func TestThreadKeepsNumbersOfTools(t *testing.T) {
	const input = `{"far":[1e400,0.1000000000000000055],"id":9007199254740993}`
	var tool core.AgentTool
	if err := json.Unmarshal([]byte(`{"name":"pay","input":`+input+`}`), &tool); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, text string) {
		if strings.HasPrefix(text, "Fix the parser") {
			a.busy()
			a.tell(core.EventManagedTool, core.AgentSignal{Tool: &tool})
			a.tell(core.EventManagedBlocked, core.AgentSignal{Prompt: json.RawMessage(`{"id":"p-1","kind":"approval","tool":"pay","text":"pay?","input":` + input + `}`)})
		}
	}
	r.open()
	th := r.spawn(spec())
	rec := r.untilStatus(th.ID, core.ThreadBlocked)
	if !strings.Contains(string(rec.Prompt), `"input":`+input) {
		t.Errorf("its prompt is %s", rec.Prompt)
	}
	r.store.Put(func(core.Tx) error { return nil }) // events are read a moment after what they follow from
	page, _, err := r.store.Events(r.ctx, th.ID, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range page {
		if e.Type != core.EventThreadToolRunning && e.Type != core.EventThreadBlocked {
			continue
		}
		if found++; !strings.Contains(string(e.Data), `"input":`+input) {
			t.Errorf("%s has %s", e.Type, e.Data)
		}
	}
	if found != 2 {
		t.Errorf("%d events have the input", found)
	}
}
