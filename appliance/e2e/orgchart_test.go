package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/clis"
	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/sdk/client"
)

// staff is a server whose runtime spawns the real command lines, all of which ask the fake model.
type staff struct {
	*crew
	model *fakemodel.Server
}

func staffed(t *testing.T, yaml ...string) *staff {
	t.Helper()
	bin, model := shortDir(t), startModel(t)
	env := map[string]string{}
	for _, tool := range tools {
		needs(t, tool.name)
		if path, ok := clis.Find(tool.name); ok {
			if err := os.Symlink(path, filepath.Join(bin, tool.name)); err != nil {
				t.Fatal(err)
			}
		}
		maps.Copy(env, fakemodel.Env(tool.name, model.URL()))
	}
	env["PATH"] = bin + string(os.PathListSeparator) + os.Getenv("PATH")
	quoted, err := json.Marshal(env) // a flow mapping in YAML as well
	if err != nil {
		t.Fatal(err)
	}
	return &staff{crewed(t, nil, append(yaml, "plugins.dir: "+plugins,
		fmt.Sprintf("runtimes.local: {plugin: runtime-local, config: {env: %s}}", quoted))), model}
}

// begin creates a pattern, if a definition is given, and starts an execution of it.
func (s *staff) begin(pattern, definition, input string) string {
	s.t.Helper()
	if definition != "" {
		if _, err := s.api.CreatePattern(s.t.Context(), client.PatternInput{Name: pattern, Version: "1.0.0", Definition: definition}); err != nil {
			s.t.Fatal(err)
		}
	}
	e, err := s.api.ExecuteAsync(s.t.Context(), client.ExecuteRequest{Pattern: pattern, Input: json.RawMessage(input)})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.explain(e.ExecutionID)
		}
	})
	return e.ExecutionID
}

// explain shows what an execution came to, for a failed test.
func (s *staff) explain(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if e, err := s.api.GetExecution(ctx, id); err == nil {
		s.t.Logf("the execution: %s", string(e.Body))
	}
	if line, err := s.api.GetTimeline(ctx, id); err == nil {
		for _, e := range line.Entries {
			s.t.Logf("%-10s %s step=%s role=%s agent=%s attempt=%d %s %s", e.Kind, e.ID, e.Step, e.Role, e.AgentID, e.Attempt, e.Status, e.Detail)
			if e.Kind != "role" {
				continue
			}
			log, err := s.api.ManagedAgentLogs(ctx, e.AgentID, client.LogOptions{Tail: 500})
			if err != nil {
				s.t.Logf("its log: %v", err)
				continue
			}
			for _, line := range log.Logs {
				if line.Stream != "terminal" {
					s.t.Logf("  %s %-7s %s", line.Timestamp.Format("15:04:05.000"), line.Stream, line.Line)
				}
			}
		}
	}
	for _, a := range s.serving(ctx) {
		s.t.Logf("the agent: %s %s %s %s", a.ID, a.Name, a.Status, a.StatusReason)
	}
	s.t.Logf("the log:\n%s", tail(s.log.String(), 60))
}

// serving lists the agents that run.
func (s *staff) serving(ctx context.Context) []client.ManagedAgent {
	list, err := s.api.ListManagedAgents(ctx, client.ManagedAgentFilter{})
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(list.Agents, func(a client.ManagedAgent) bool { return a.StoppedAt != nil })
}

// slowly is eventually for what three command lines on a busy machine take.
func slowly(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(6 * time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
		<-tick.C
	}
}

// over waits for the end of an execution.
func (s *staff) over(id, status string) *client.Execution {
	s.t.Helper()
	var e *client.Execution
	slowly(s.t, "the end of the execution", func() bool {
		var err error
		if e, err = s.api.GetExecution(s.t.Context(), id); err != nil {
			s.t.Fatal(err)
		}
		return e.Status != "pending" && e.Status != "running"
	})
	if string(e.Status) != status {
		s.t.Fatalf("the execution ended as %s, want %s: %s", e.Status, status, e.Body)
	}
	return e
}

// dismissed wants that nothing of the spawned agents is left.
func (s *staff) dismissed(ids []string) {
	s.t.Helper()
	slowly(s.t, "the end of the agents", func() bool { return len(s.serving(s.t.Context())) == 0 })
	for _, id := range ids {
		s.nobodyLeft(id)
	}
}

// open waits for so many open questions of an execution.
func (s *staff) open(id string, n int) []client.Question {
	s.t.Helper()
	var list *client.QuestionList
	slowly(s.t, "questions", func() bool {
		var err error
		list, err = s.api.ListQuestions(s.t.Context(), client.QuestionFilter{ExecutionID: id, Status: client.QuestionOpen})
		if err != nil {
			s.t.Fatal(err)
		}
		if e, err := s.api.GetExecution(s.t.Context(), id); err != nil || e.Status == "failed" {
			s.t.Fatalf("the execution: %+v, %v", e, err)
		}
		return len(list.Questions) >= n
	})
	return list.Questions
}

// prompts counts how often the model was asked for an answer to a text that holds words.
func (s *staff) prompts(words string) int { return len(s.asked(words)) }

// asked are the requests of those prompts: for people who read why there are more, or fewer.
func (s *staff) asked(words string) (list []fakemodel.Request) {
	for _, q := range s.model.Requests() {
		if q.Kind == "text" && strings.Contains(q.User, words) {
			list = append(list, q)
		}
	}
	return list
}

// crewDefinition has one role for each of the three command lines.
const crewDefinition = `
structure:
  name: crew
  roles:
    lead: {managed: true, agentType: claude}
    coder: {managed: true, agentType: codex, reportsTo: lead}
    tester: {managed: true, agentType: gemini, reportsTo: lead}
`

// A chart whose roles are the three real command lines runs to its end: each asks for leave, a person gives it over
// REST, one asks a question, and one judges the work of another.
func TestOrgChartOfRealCLIs(t *testing.T) {
	t.Parallel()
	s := staffed(t)
	verdict := `SAY[{"verdict": "approve", "confidence": 0.9, "feedback": "well made"}]`
	id := s.begin("crew", "name: crew"+crewDefinition+`
workflow:
  steps:
    - type: parallel
      steps:
        - {type: assign, role: lead, task: "SAY[led] USE_TOOL[touch made-with-leave] please"}
        - {type: assign, role: coder, task: "SAY[coded] ESCALATE USE_TOOL[touch made-with-leave] please"}
        - {type: assign, role: tester, task: "SAY[tested] USE_TOOL[touch made-with-leave] please"}
    - {type: assign, role: lead, task: 'SAY[the plan `+verdict+`]'}
    - {type: review, reviewer: tester, subject: "${step_1_result}", output: review}
    - {type: assign, role: coder, task: 'SAY[{"parts": 2}]'}
  output: {plan: "${step_1_result}", review: "${review}", parts: "${step_3_result.parts}"}
`, `{}`)
	var agents []string
	for _, q := range s.open(id, 3) {
		agents = append(agents, q.AgentID)
		a := s.agent(q.AgentID)
		file := filepath.Join(a.Workdir, "made-with-leave")
		if q.Kind != client.QuestionApproval || q.Role == "" || !strings.Contains(q.Text+string(q.Content), "made-with-leave") || exists(file) {
			t.Errorf("asks %s; the file is there: %t", q.Body, exists(file))
		}
		if a.Name != q.Role+"-0" {
			t.Errorf("the agent of %s is called %s", q.Role, a.Name)
		}
		if _, err := s.api.AnswerQuestion(t.Context(), id, q.ID, json.RawMessage(`"allow"`)); err != nil {
			t.Fatalf("%s: %v", q.Role, err)
		}
		slowly(t, "what "+q.Role+" had leave for", func() bool { return exists(file) })
	}
	e := s.over(id, "completed")
	var out struct {
		Plan   string
		Parts  int
		Review struct {
			Approved   bool
			Confidence float64
			Feedback   string
		}
	}
	if err := json.Unmarshal(e.Output, &out); err != nil || out.Parts != 2 || !out.Review.Approved || out.Review.Confidence != 0.9 ||
		out.Review.Feedback != "well made" || !strings.HasPrefix(out.Plan, "the plan") {
		t.Errorf("output %s, %v", e.Output, err)
	}
	if e.Metrics == nil || e.Metrics.AgentsUsed != 3 || e.Metrics.StepsExecuted != 4 || e.Partial {
		t.Errorf("the execution: %s", e.Body)
	}
	s.dismissed(agents)
}

// A turn that the model refused is no result of a role of a real command line: the step fails with AGENT_ERROR, and the next
// role does not get the error's words. One that is to be done again fails as often as the pattern says.
func TestFailedTurnOfOrgChart(t *testing.T) {
	t.Parallel()
	for role, tool := range map[string]string{"lead": "claude", "coder": "codex", "tester": "gemini"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			s := staffed(t)
			id := s.begin("crew", "name: crew"+crewDefinition+fmt.Sprintf(`
workflow:
  steps:
    - {type: assign, role: %s, task: "refused-words FAIL[400]", output: made}
    - {type: assign, role: lead, task: "next-words ${made}"}
`, role), `{}`)
			e := s.over(id, "failed")
			if e.Error == nil || e.Error.Code != "AGENT_ERROR" || len(e.Output) > 0 && string(e.Output) != "null" {
				t.Errorf("the execution: %s", e.Body)
			}
			if n := s.prompts("next-words"); n != 0 {
				t.Errorf("the next step was asked %d times", n)
			}
		})
	}
}

// The end of the core in the middle of a step, by force or in good order: the agents go on, and what was done is not
// done again.
func TestOrgChartOverKill(t *testing.T) {
	t.Parallel()
	t.Run("Kill", func(t *testing.T) { orgChartOver(t, (*server).kill) })
	t.Run("Stop", func(t *testing.T) { orgChartOver(t, (*server).stop) })
}

func orgChartOver(t *testing.T, end func(*server)) {
	t.Helper()
	t.Parallel()
	s := staffed(t)
	id := s.begin("crew", "name: crew"+crewDefinition+`
workflow:
  steps:
    - {type: assign, role: lead, task: "SAY[led] first-words"}
    - type: parallel
      steps:
        - {type: assign, role: coder, task: "HOLD[second] SAY[coded] second-words"}
        - {type: assign, role: tester, task: "HOLD[third] SAY[tested] third-words"}
        - {type: assign, role: lead, task: "USE_TOOL[touch fourth] SAY[asked] fourth-words"}
  output: "${step_1_result}"
`, `{}`)
	before := s.open(id, 1)[0]
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, door := range []string{"second", "third"} {
		if err := s.model.AwaitHeld(ctx, door); err != nil {
			t.Fatal(err)
		}
	}
	agents := s.serving(t.Context())
	if len(agents) != 3 {
		t.Fatalf("%d agents serve", len(agents))
	}
	end(s.server)
	s.start()
	for _, door := range []string{"second", "third"} {
		if _, err := s.model.Release(door); err != nil {
			t.Fatal(err)
		}
	}
	s.runtimeReady()
	after := s.open(id, 1)
	if len(after) != 1 || after[0].ID != before.ID || after[0].PromptID != before.PromptID {
		t.Errorf("asks %+v after the kill, %+v before", after, before)
	}
	if _, err := s.api.AnswerQuestion(t.Context(), id, before.ID, json.RawMessage(`"allow"`)); err != nil {
		t.Fatal(err)
	}
	e := s.over(id, "completed")
	var out struct{ Value []string }
	if err := json.Unmarshal(e.Output, &out); err != nil || len(out.Value) != 3 || out.Value[0] != "coded" || out.Value[1] != "tested" || !strings.HasPrefix(out.Value[2], "asked") {
		t.Errorf("output %s, %v", e.Output, err)
	}
	for words, want := range map[string]int{"first-words": 1, "second-words": 1, "third-words": 1} {
		if asked := s.asked(words); len(asked) != want {
			t.Errorf("%q was answered %d times, want %d: %+v", words, len(asked), want, asked)
		}
	}
	var ids []string
	for _, a := range agents {
		ids = append(ids, a.ID)
	}
	if len(e.Agents) != 4 {
		t.Errorf("the agents: %+v", e.Agents)
	}
	s.dismissed(ids)
}

// The death of the plugin costs nothing; the death of an agent costs its task one more attempt, at another agent.
func TestOrgChartOverLosses(t *testing.T) {
	t.Parallel()
	s := staffed(t)
	id := s.begin("crew", "name: crew"+crewDefinition+`
workflow:
  steps:
    - {type: assign, role: lead, task: "HOLD[first] SAY[led] first-words"}
    - {type: assign, role: coder, task: "HOLD[second] SAY[coded] second-words"}
`, `{}`)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := s.model.AwaitHeld(ctx, "first"); err != nil {
		t.Fatal(err)
	}
	s.killRuntime()
	if _, err := s.model.Release("first"); err != nil {
		t.Fatal(err)
	}
	if err := s.model.AwaitHeld(ctx, "second"); err != nil {
		t.Fatal(err)
	}
	var coder client.ManagedAgent
	for _, a := range s.serving(t.Context()) {
		if strings.HasPrefix(a.Name, "coder-") {
			coder = a
		}
	}
	killed(t, coder.PID)
	if _, err := s.model.Release("second"); err != nil {
		t.Fatal(err)
	}
	e := s.over(id, "completed")
	if string(e.Output) != `{"text":"coded"}` {
		t.Errorf("output %s", e.Output)
	}
	if n := s.prompts("first-words"); n != 1 {
		t.Errorf("the first step was answered %d times", n)
	}
	if last := e.Agents[len(e.Agents)-1]; last.ID == coder.ID {
		t.Errorf("the agent that was killed did the step: %+v", last)
	}
	s.dismissed([]string{coder.ID})
}

// What one agent asks, another role answers, and nobody else is asked.
func TestOrgChartTalk(t *testing.T) {
	t.Parallel()
	s := staffed(t)
	id := s.begin("crew", "name: crew"+crewDefinition+`  escalation: {timeoutMs: 120000}
workflow:
  steps:
    - {type: assign, role: tester, task: "ASK[which SAY[beta] one?] please"}
`, `{}`)
	e := s.over(id, "completed")
	if !strings.Contains(string(e.Output), "TOOL_RESULT") || !strings.Contains(string(e.Output), "beta") {
		t.Errorf("output %s", e.Output)
	}
	list, err := s.api.ListQuestions(t.Context(), client.QuestionFilter{ExecutionID: id})
	if err != nil || len(list.Questions) != 0 {
		t.Errorf("people were asked %+v, %v", list, err)
	}
	line, err := s.api.GetTimeline(t.Context(), id)
	if err != nil || !slices.ContainsFunc(line.Entries, func(e client.TimelineEntry) bool {
		return e.Kind == client.TimelineMessage && e.Role == "tester" && e.To == "lead"
	}) {
		t.Errorf("the timeline has no message: %+v, %v", line, err)
	}
	s.dismissed(nil)
}

// A cancel ends what the agents do, and the agents.
func TestOrgChartCancelled(t *testing.T) {
	t.Parallel()
	s := staffed(t)
	id := s.begin("crew", "name: crew"+crewDefinition+`  escalation: {timeoutMs: 500}
workflow:
  steps:
    - type: parallel
      steps:
        - {type: assign, role: lead, task: "HOLD[never] lead"}
        - {type: assign, role: coder, task: "HOLD[never] code"}
        - {type: assign, role: tester, task: "ASK[which one?] please"}
`, `{}`)
	q := s.open(id, 1)[0]
	if q.Kind != client.QuestionDialog && q.Kind != client.QuestionMessage || !strings.Contains(q.Text, "which one?") {
		t.Errorf("asks %s", q.Body)
	}
	var ids []string
	for _, a := range s.serving(t.Context()) {
		ids = append(ids, a.ID)
	}
	if _, err := s.api.CancelExecution(t.Context(), id, "enough"); err != nil {
		t.Fatal(err)
	}
	s.over(id, "cancelled")
	s.dismissed(ids)
	if q, err := s.api.GetQuestion(t.Context(), q.ID); err != nil || q.Status != client.QuestionCancelled {
		t.Errorf("the question: %+v, %v", q, err)
	}
}

// A pattern that is shipped runs on agents that are spawned for it.
func TestStartupTeamOfRealCLIs(t *testing.T) {
	t.Parallel()
	s := staffed(t, "engine.roleBinding: managed")
	id := s.begin("startup-team", "", `{"task": "a clock without hands"}`)
	e := s.over(id, "completed")
	if e.Metrics == nil || e.Metrics.AgentsUsed != 3 || !strings.Contains(string(e.Output), "ANSWER[") {
		t.Errorf("the execution: %s", e.Body)
	}
	s.dismissed(nil)
}
