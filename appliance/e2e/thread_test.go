package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
)

const memoryFile = ".wardroom/thread-memory.md"

// A thread of each real command line goes its whole way: prepared, spawned in a repository, a tool call that is
// allowed over REST, a turn, a summary, completion. What it came to is in the memory of the next thread.
func TestThreadOfRealCLIs(t *testing.T) {
	for _, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			s := staffed(t)
			_, repo := repository(t)
			first := wholeThread(t, s, tool, repo)
			nextThread(t, s, tool, repo, first)
		})
	}
}

// escalate is what makes a command line ask for leave to run a command.
func (tool tool) escalate(command string) string {
	words := "USE_TOOL[" + command + "]"
	if strings.Contains(tool.approve(""), "ESCALATE") {
		words = "ESCALATE " + words
	}
	return words
}

// threadBody asks for a thread in a repository.
func threadBody(tool tool, repo, objective string) map[string]any {
	return map[string]any{
		"executionId": "new", "agentType": tool.name, "role": "maker", "objective": objective,
		"preparation": map[string]any{"workspace": map[string]any{"repo": repo, "branch": "main"}},
	}
}

// memoryContext is what prepare says of the memory.
type memoryContext struct {
	SharedDecisionCount     int `json:"sharedDecisionCount"`
	EpisodicExperienceCount int `json:"episodicExperienceCount"`
}

// preparation asks what a spawn would begin with, and returns the memory file.
func (s *staff) preparation(body map[string]any) (memory string, known memoryContext) {
	s.t.Helper()
	var plan struct {
		Preparation struct {
			Workspace struct {
				WorkspaceID string `json:"workspaceId"`
				Path        string `json:"path"`
			} `json:"workspace"`
			ContextFiles []struct {
				Path    string `json:"path"`
				Content string `json:"content"`
			} `json:"contextFiles"`
		} `json:"preparation"`
		Metadata struct {
			MemoryContext memoryContext `json:"memoryContext"`
		} `json:"metadata"`
	}
	s.got(s.post(threadsPath+"/prepare", sent(s.t, body)), http.StatusOK, &plan)
	if w := plan.Preparation.Workspace; w.WorkspaceID == "" || !filepath.IsAbs(w.Path) || exists(w.Path) {
		s.t.Errorf("prepared the workspace %+v; it is there: %t", w, exists(w.Path))
	}
	for _, file := range plan.Preparation.ContextFiles {
		if file.Path == memoryFile {
			memory = file.Content
		}
	}
	if memory == "" {
		s.t.Fatalf("prepared without a memory file: %+v", plan)
	}
	return memory, plan.Metadata.MemoryContext
}

func wholeThread(t *testing.T, s *staff, tool tool, repo string) *threadRecord {
	t.Helper()
	body := threadBody(tool, repo, "Make the widget. SAY[on it] "+
		tool.escalate("echo made > widget.txt && git add widget.txt && git commit -q -m made-in-a-thread && echo more > left.txt"))
	body["policy"] = map[string]any{"summarizeAfterTurns": 1, "finish": map[string]any{"commit": true}}
	if _, known := s.preparation(body); known != (memoryContext{}) {
		t.Errorf("before the first thread there is %+v", known)
	}
	r := s.spawnThread(body)
	stream := s.openThreads(r.ExecutionID)
	s.allow(r.ID, "made-in-a-thread")
	r = s.awaitThread(r.ID, "the end of the turn", func(r *threadRecord) bool { return r.TurnCount == 1 && r.Summary != "" })
	place := r.Workspace.Path
	if log := git(t, place, "log", "--format=%s", r.Workspace.BaseCommit+".."); log != "made-in-a-thread" {
		t.Errorf("the agent's commits: %q", log)
	}
	if branch := git(t, place, "branch", "--show-current"); branch != r.Workspace.WorkBranch || !strings.HasPrefix(branch, "wardroom/") {
		t.Errorf("it works on %q, said %q", branch, r.Workspace.WorkBranch)
	}
	if left := git(t, place, "status", "--porcelain"); left != "?? left.txt" || !exists(filepath.Join(place, memoryFile)) {
		t.Errorf("git sees %q; the memory is there: %t", left, exists(filepath.Join(place, memoryFile)))
	}

	s.tellThread(r.ID, `SAY[all of it is done] REPORT[{"state":"complete","summary":"The widget is made of tin.","tests":{"run":3,"passed":3}}]`)
	r = s.threadIs(r.ID, "completed")
	c := r.Completion
	if c == nil || c.State != "complete" || c.Summary != "The widget is made of tin." || c.Tests == nil || c.Tests.Passed != 3 ||
		c.Changes == nil || c.Changes.CommitCount != 2 || c.Changes.Uncommitted != 0 {
		t.Fatalf("it came to %s", r.body)
	}
	if left := git(t, place, "status", "--porcelain"); left != "" {
		t.Errorf("after the last commit git sees %q", left)
	}
	head := git(t, place, "rev-parse", "HEAD")
	if !slices.ContainsFunc(c.Artifacts, func(a threadArtifact) bool { return a == (threadArtifact{"commit", head}) }) {
		t.Errorf("artifacts %+v lack the commit %s", c.Artifacts, head)
	}
	events := s.threadEvents(r.ID)
	inOrder(t, events, "started", "ready", "blocked", "turn_complete", "summary_updated", "turn_complete", "completed")
	if n := kindsOf(events); n["started"] != 1 || n["turn_complete"] != 2 || n["completed"] != 1 {
		t.Errorf("events %v", n)
	}
	streamed(t, stream, r)
	s.nobodyLeft(r.ManagedAgentID)
	s.over(r.ExecutionID, "completed")

	known := s.experiences("tin widget")
	if len(known) != 1 || known[0].ThreadID != r.ID || known[0].Outcome != "successful" || known[0].Role != "maker" || known[0].Repo != repo {
		t.Errorf("known of widgets: %+v", known)
	}
	if a := s.post(threadsPath+"/"+r.ID+"/send", `{"message":"more"}`); a.status != http.StatusConflict {
		t.Errorf("a message to a thread that is over: %s", a)
	}
	return r
}

// streamed wants the whole life of a thread on the stream of its execution.
func streamed(t *testing.T, v *viewer, r *threadRecord) {
	t.Helper()
	var names []string
	for len(names) == 0 || names[len(names)-1] != "thread_completed" {
		ev, err := v.Next()
		if err != nil {
			t.Fatalf("the stream ended after %v: %v", names, err)
		}
		names = append(names, ev.Type)
		var data struct {
			ExecutionID string `json:"executionId"`
			ThreadID    string `json:"threadId"`
		}
		if err := json.Unmarshal(ev.Data, &data); err != nil || data.ExecutionID != r.ExecutionID || data.ThreadID != r.ID && ev.Type != "connected" {
			t.Errorf("event %s %s, %v", ev.Type, ev.Data, err)
		}
	}
	if names[0] != "connected" {
		t.Errorf("the stream begins with %s", names[0])
	}
	for _, want := range []string{"thread_started", "thread_blocked", "thread_output", "thread_turn_complete"} {
		if !slices.Contains(names, want) {
			t.Errorf("the stream has no %s: %v", want, names)
		}
	}
}

func nextThread(t *testing.T, s *staff, tool tool, repo string, first *threadRecord) {
	t.Helper()
	body := threadBody(tool, repo, "Paint the widget. READ["+memoryFile+"] QUOTE[made of tin] SAY[I know] "+
		`REPORT[{"state":"partial","summary":"The paint is missing."}]`)
	memory, known := s.preparation(body)
	if known.EpisodicExperienceCount != 1 || !strings.Contains(memory, "The widget is made of tin.") {
		t.Errorf("the memory of the next thread has %+v:\n%s", known, memory)
	}
	r := s.spawnThread(body)
	if r.ExecutionID == first.ExecutionID {
		t.Errorf("both threads are of %s", r.ExecutionID)
	}
	r = s.threadIs(r.ID, "completed")
	if r.Completion == nil || r.Completion.State != "partial" {
		t.Errorf("it came to %s", r.body)
	}
	said := ""
	for _, e := range s.threadEvents(r.ID) {
		said += string(e.Data)
	}
	if !strings.Contains(said, "QUOTED[") || !strings.Contains(said, "The widget is made of tin.") {
		t.Errorf("the agent read its memory, and said %s", said)
	}
	if n := s.prompts("Paint the widget."); n != 1 {
		t.Errorf("the objective was answered %d times", n)
	}
}

// The deaths of core and plugin, by force, in each state of a thread's life: the agent is one and the same, what was
// said is said once, and the end is what it would have been.
func TestThreadOverKills(t *testing.T) {
	s := staffed(t)
	_, repo := repository(t)
	core := func() {
		s.kill()
		s.start()
		s.runtimeReady()
	}
	plugin := func() {
		s.killRuntime()
		s.runtimeReady()
	}
	for i, tt := range []struct {
		state  string
		victim string
		strike func()
	}{
		{"starting", "core", core}, {"starting", "plugin", plugin},
		{"running", "core", core}, {"running", "plugin", plugin},
		{"blocked", "core", core}, {"blocked", "plugin", plugin},
	} {
		t.Run(tt.state+" "+tt.victim, func(t *testing.T) {
			s.t = t
			threadOver(s, tools[0], repo, tt.state, fmt.Sprintf("strike-%d", i), tt.strike)
		})
	}
	s.t = t
}

func threadOver(s *staff, tool tool, repo, state, words string, strike func()) {
	t := s.t
	objective := words + ` SAY[done] REPORT[{"state":"complete","summary":"` + words + ` was survived"}] `
	switch state {
	case "running":
		objective += "HOLD[" + words + "]"
	case "blocked":
		objective += tool.escalate("touch " + words)
	}
	r := s.spawnThread(threadBody(tool, repo, objective))
	switch state {
	case "starting":
		s.awaitThread(r.ID, "the start", func(r *threadRecord) bool { return r.Status != "pending" && r.Status != "preparing" })
	case "running":
		s.threadIs(r.ID, "running")
		if err := s.model.AwaitHeld(t.Context(), words); err != nil {
			t.Fatal(err)
		}
	case "blocked":
		s.threadIs(r.ID, "blocked")
	}
	before := s.thread(r.ID)
	strike()
	switch state {
	case "running":
		if _, err := s.model.Release(words); err != nil {
			t.Fatal(err)
		}
	case "blocked":
		now := s.threadIs(r.ID, "blocked")
		if now.Prompt == nil || before.Prompt == nil || now.Prompt.ID != before.Prompt.ID {
			t.Errorf("asks %s, asked %s", now.body, before.body)
		}
		s.allow(r.ID, words)
	}
	r = s.threadIs(r.ID, "completed")
	if r.Completion == nil || r.Completion.Summary != words+" was survived" || r.Restarts != 0 && state != "starting" {
		t.Errorf("it came to %s", r.body)
	}
	if before.ManagedAgentID != "" && r.ManagedAgentID != before.ManagedAgentID {
		t.Errorf("its agent is %s, was %s", r.ManagedAgentID, before.ManagedAgentID)
	}
	n := kindsOf(s.threadEvents(r.ID))
	if n["completed"] != 1 || n["failed"]+n["stopped"] != 0 || n["turn_complete"] != 1 || state == "blocked" && n["blocked"] != 1 {
		t.Errorf("events %v", n)
	}
	if n := s.prompts(words); n != 1 {
		t.Errorf("the objective was answered %d times", n)
	}
	if state == "blocked" && !exists(filepath.Join(r.Workspace.Path, words)) {
		t.Error("what was allowed was not done")
	}
	s.dismissed([]string{r.ManagedAgentID})
	s.over(r.ExecutionID, "completed")
}

// An agent that is lost comes back with its session; one that ends by itself with an error fails its thread.
func TestThreadOverLoss(t *testing.T) {
	s := staffed(t)
	_, repo := repository(t)
	tool := tools[0]
	r := s.spawnThread(threadBody(tool, repo, "SAY[first words]"))
	r = s.awaitThread(r.ID, "the first turn", func(r *threadRecord) bool { return r.TurnCount == 1 && r.SessionID != "" })
	a := s.agent(r.ManagedAgentID)
	killed(t, parent(t, a.PID))
	now := s.awaitThread(r.ID, "its return", func(r *threadRecord) bool { return r.Restarts == 1 && r.Status == "ready" })
	if now.SessionID != r.SessionID {
		t.Errorf("it came back as %s", now.body)
	}
	s.tellThread(r.ID, `SAY[and last] REPORT[{"state":"complete","summary":"it came back"}]`)
	s.threadIs(r.ID, "completed")

	r = s.spawnThread(threadBody(tool, repo, "SAY[words before a crash]"))
	r = s.awaitThread(r.ID, "the first turn", func(r *threadRecord) bool { return r.TurnCount == 1 })
	killed(t, s.agent(r.ManagedAgentID).PID)
	slowly(t, "the end", func() bool { return s.thread(r.ID).over() })
	if now := s.thread(r.ID); now.Status != "failed" || now.StatusReason != "crashed" || now.Completion == nil || now.Completion.State != "failed" {
		t.Errorf("it crashed and is %s", now.body)
	}
	if known := s.experiences("words before a crash"); len(known) != 1 || known[0].Outcome != "failed" {
		t.Errorf("known of the crash: %+v", known)
	}
	s.over(r.ExecutionID, "failed")
}

// A role of an org chart is a thread of the execution, in the repository that the input names.
func TestThreadOfRole(t *testing.T) {
	s := staffed(t)
	_, repo := repository(t)
	id := s.begin("placed", `
name: placed
structure:
  roles:
    lead: {managed: true, agentType: gemini}
    coder: {managed: true, agentType: claude, reportsTo: lead, workspace: {repo: "${input.repo}", branch: main}}
workflow:
  steps:
    - {type: assign, role: coder, task: "SAY[coded] USE_TOOL[touch made-with-leave] please"}
    - {type: assign, role: lead, task: "SAY[led]"}
`, sent(t, map[string]string{"task": "fix the widget", "repo": repo}))
	q := s.open(id, 1)[0]
	var list struct {
		Threads []threadRecord `json:"threads"`
	}
	s.got(s.read(threadsPath+"/executions/"+id), http.StatusOK, &list)
	byRole := map[string]threadRecord{}
	for _, r := range list.Threads {
		byRole[r.Role] = r
	}
	coder := byRole["coder"]
	if len(list.Threads) != 2 || coder.ManagedAgentID != q.AgentID || coder.Objective != "fix the widget" || coder.Status != "blocked" {
		t.Errorf("threads %+v", list.Threads)
	}
	a := s.agent(q.AgentID)
	if coder.Workspace == nil || a.Workdir != coder.Workspace.Path {
		t.Fatalf("the coder works in %s, its thread in %+v", a.Workdir, coder.Workspace)
	}
	if text, err := os.ReadFile(filepath.Join(a.Workdir, "README.md")); err != nil || string(text) != "# Widgets\n" {
		t.Errorf("the repository is not there: %q, %v", text, err)
	}
	if _, err := s.api.AnswerQuestion(t.Context(), id, q.ID, json.RawMessage(`"allow"`)); err != nil {
		t.Fatal(err)
	}
	s.over(id, "completed")
	for role, r := range byRole {
		if r := s.awaitThread(r.ID, "its end", (*threadRecord).over); r.Status != "completed" {
			t.Errorf("the thread of %s: %s", role, r.body)
		}
	}
	var line struct {
		Entries []struct{ Kind, Role, ThreadID string }
	}
	s.got(s.read("/api/executions/"+id+"/timeline"), http.StatusOK, &line)
	for _, e := range line.Entries {
		if want := byRole[e.Role].ID; e.Kind == client.TimelineRole && e.ThreadID != want {
			t.Errorf("the timeline has the thread %q for %s, want %s", e.ThreadID, e.Role, want)
		}
	}
	s.dismissed(nil)
}
