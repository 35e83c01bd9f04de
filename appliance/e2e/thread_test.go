package e2e_test

import (
	"encoding/json"
	"fmt"
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
	t.Parallel()
	for _, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			s := staffed(t)
			repo := repository(t)
			wholeThread(t, s, tool, repo)
			nextThread(t, s, tool, repo)
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

// threadSpec asks for a thread in a repository.
func threadSpec(tool tool, repo, objective string) client.ThreadSpec {
	return client.ThreadSpec{
		ExecutionID: client.NewExecution, AgentType: tool.name, Role: "maker", Objective: objective,
		Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: repo, Branch: "main"}},
	}
}

// prepared asks what a spawn would begin with, and returns the memory file.
func (s *staff) prepared(spec client.ThreadSpec) (memory string, known client.MemoryContext) {
	s.t.Helper()
	plan, err := s.api.PrepareThread(s.t.Context(), spec)
	if err != nil {
		s.t.Fatal(err)
	}
	if w := plan.Preparation.Workspace; w == nil || w.WorkspaceID == "" || !filepath.IsAbs(w.Path) || exists(w.Path) {
		s.t.Errorf("prepared the workspace %+v", w)
	}
	for _, file := range plan.Preparation.ContextFiles {
		if file.Path == memoryFile {
			memory = file.Content
		}
	}
	known, err = plan.MemoryContext()
	if err != nil || memory == "" || known.Role != spec.Role || known.Objective != spec.Objective {
		s.t.Fatalf("prepared %s, %v", plan.Body, err)
	}
	return memory, known
}

func wholeThread(t *testing.T, s *staff, tool tool, repo string) {
	t.Helper()
	spec := threadSpec(tool, repo, "Make the widget. SAY[on it] "+tool.escalate(
		"echo made > widget.txt && git add widget.txt && git commit -q -m made-in-a-thread && echo more > left.txt"))
	spec.Policy = client.ThreadPolicy{SummarizeAfterTurns: 1, Finish: &client.ThreadFinish{Commit: true}}
	if _, known := s.prepared(spec); known.SharedDecisionCount+known.EpisodicExperienceCount != 0 {
		t.Errorf("before the first thread there is %+v", known)
	}
	r := s.spawnThread(spec)
	s.allow(r.ID, "made-in-a-thread")
	r = s.awaitThread(r.ID, "the end of the turn", func(r *client.Thread) bool { return r.TurnCount == 1 && r.Summary != "" })
	place := r.Workspace.Path
	if log := git(t, place, "log", "--format=%an: %s", r.Workspace.BaseCommit+".."); log != "Wardroom: made-in-a-thread" {
		t.Errorf("the agent's commits: %q", log)
	}
	if branch := git(t, place, "branch", "--show-current"); branch != r.Workspace.WorkBranch || !strings.HasPrefix(branch, "wardroom/") {
		t.Errorf("it works on %q, said %q", branch, r.Workspace.WorkBranch)
	}
	if left := git(t, place, "status", "--porcelain"); left != "?? left.txt" || !exists(filepath.Join(place, memoryFile)) {
		t.Errorf("git sees %q; the memory is there: %t", left, exists(filepath.Join(place, memoryFile)))
	}

	// The name of the author is no secret.
	s.tellThread(r.ID, `SAY[all of it is done] REPORT[{"state":"complete","summary":"The widget of Wardroom is made of tin.","tests":{"run":3,"passed":3}}]`)
	r = s.threadIs(r.ID, client.ThreadCompleted)
	c := r.Completion
	if c == nil || c.State != "complete" || c.Summary != "The widget of Wardroom is made of tin." || c.Tests == nil || c.Tests.Passed != 3 ||
		c.Changes == nil || c.Changes.CommitCount != 2 || c.Changes.Uncommitted != 0 {
		t.Fatalf("it came to %s", r.Body)
	}
	if left := git(t, place, "status", "--porcelain"); left != "" {
		t.Errorf("after the last commit git sees %q", left)
	}
	if head := git(t, place, "rev-parse", "HEAD"); !slices.Contains(c.Artifacts, client.Artifact{Type: "commit", Value: head}) {
		t.Errorf("artifacts %+v lack the commit %s", c.Artifacts, head)
	}
	events := s.threadEvents(r.ID)
	inOrder(t, events, client.EventThreadStarted, client.EventThreadReady, client.EventThreadBlocked, client.EventThreadTurnComplete,
		client.EventThreadSummaryUpdated, client.EventThreadTurnComplete, client.EventThreadCompleted)
	if n := countEvents(events); n[client.EventThreadStarted] != 1 || n[client.EventThreadTurnComplete] != 2 || n[client.EventThreadCompleted] != 1 {
		t.Errorf("events %v", n)
	}
	streamed(t, s, r)
	s.nobodyLeft(r.ManagedAgentID)
	s.over(r.ExecutionID, "completed")

	known := s.experiences("tin widget")
	if len(known) != 1 || known[0].ThreadID != r.ID || known[0].Outcome != "successful" || known[0].Role != "maker" || known[0].Repo != repo {
		t.Errorf("known of widgets: %+v", known)
	}
	if _, err := s.api.SendThread(t.Context(), r.ID, client.ThreadInput{Message: "more"}); client.CodeOf(err) != client.CodeConflict {
		t.Errorf("a message to a thread that is over: %v", err)
	}
}

// streamed wants the whole life of a thread on the stream of its execution.
func streamed(t *testing.T, s *staff, r *client.Thread) {
	t.Helper()
	stream, err := s.api.WatchThreads(t.Context(), r.ExecutionID, nil, "0")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var kinds []string
	for len(kinds) == 0 || kinds[len(kinds)-1] != client.EventThreadCompleted {
		ev, err := stream.Next()
		if err != nil {
			t.Fatalf("the stream ended after %v: %v", kinds, err)
		}
		kinds = append(kinds, ev.Type)
		if ev.Type == client.EventConnected {
			continue
		}
		e, err := ev.Thread()
		if err != nil || e.ExecutionID != r.ExecutionID || e.ThreadID != r.ID || e.Data.ThreadID != r.ID || fmt.Sprint(e.Data.Sequence) != ev.ID {
			t.Errorf("event %s %s, %v", ev.Type, ev.Data, err)
		}
	}
	for _, want := range []string{
		client.EventThreadStarted, client.EventThreadBlocked, client.EventThreadOutput, client.EventThreadTurnComplete, client.EventThreadStatus,
	} {
		if kinds[0] != client.EventConnected || !slices.Contains(kinds, want) {
			t.Errorf("the stream has no %s: %v", want, kinds)
		}
	}
}

func nextThread(t *testing.T, s *staff, tool tool, repo string) {
	t.Helper()
	spec := threadSpec(tool, repo, "Paint the widget. READ["+memoryFile+"] QUOTE[made of tin] SAY[I know] "+
		`REPORT[{"state":"partial","summary":"The paint is missing."}]`)
	memory, known := s.prepared(spec)
	if known.EpisodicExperienceCount != 1 || !strings.Contains(memory, "The widget of Wardroom is made of tin.") {
		t.Errorf("the memory of the next thread has %+v:\n%s", known, memory)
	}
	r := s.threadIs(s.spawnThread(spec).ID, client.ThreadCompleted)
	if r.Completion == nil || r.Completion.State != "partial" || r.Completion.Summary != "The paint is missing." {
		t.Errorf("it came to %s", r.Body)
	}
	said := ""
	for _, e := range s.threadEvents(r.ID) {
		d, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		said += d.Output
	}
	if !strings.Contains(said, "I know QUOTED[") || !strings.Contains(said, "The widget of Wardroom is made of tin.") {
		t.Errorf("the agent read its memory, and said %s", said)
	}
	if n := s.prompts("Paint the widget."); n != 1 {
		t.Errorf("the objective was answered %d times", n)
	}
}

// The deaths of core and plugin, by force, in each state of a thread's life: the agent is one and the same, what was
// said is said once, and the end is what it would have been.
func TestThreadOverKills(t *testing.T) {
	t.Parallel()
	s := staffed(t)
	repo := repository(t)
	defer func() { s.t = t }()
	i := 0
	for _, state := range []string{
		client.ThreadPending, client.ThreadStarting, client.ThreadReady, client.ThreadRunning, client.ThreadBlocked, client.ThreadIdle,
	} {
		for _, victim := range []string{"core", "plugin"} {
			i++
			t.Run(state+"/"+victim, func(t *testing.T) {
				s.t = t
				threadOver(s, repo, state, fmt.Sprintf("strike-%d", i), func() {
					if victim == "core" {
						s.kill()
						s.start()
					} else {
						s.killRuntime()
					}
					s.runtimeReady()
				})
			})
		}
	}
}

func threadOver(s *staff, repo, state, words string, strike func()) {
	s.t.Helper()
	t, tool := s.t, tools[0]
	last := ` SAY[done] REPORT[{"state":"complete","summary":"` + words + ` was survived"}] `
	spec, turns := threadSpec(tool, repo, words+last), 1
	switch state {
	case client.ThreadRunning:
		spec.Objective += "HOLD[" + words + "]"
	case client.ThreadBlocked:
		spec.Objective += tool.escalate("touch " + words)
	case client.ThreadReady, client.ThreadIdle:
		spec.Objective, turns = words+" SAY[so far]", 2
	}
	if state == client.ThreadIdle {
		spec.Policy.IdleTimeoutMs = 8000 // three times that ends it
	}
	r := s.spawnThread(spec)
	before := s.awaitThread(r.ID, "status "+state, func(r *client.Thread) bool {
		switch state {
		case client.ThreadPending:
			return true // whatever it came to meanwhile
		case client.ThreadStarting: // which may be short
			return r.Status != client.ThreadPending && r.Status != client.ThreadPreparing
		case client.ThreadReady:
			return r.Status == state && r.TurnCount == 1
		}
		return r.Status == state
	})
	if state == client.ThreadRunning {
		if err := s.model.AwaitHeld(t.Context(), words); err != nil {
			t.Fatal(err)
		}
	}
	strike()
	switch state {
	case client.ThreadRunning:
		if _, err := s.model.Release(words); err != nil {
			t.Fatal(err)
		}
	case client.ThreadBlocked:
		now := s.threadIs(r.ID, client.ThreadBlocked)
		if now.Prompt == nil || before.Prompt == nil || now.Prompt.ID != before.Prompt.ID {
			t.Errorf("asks %s, asked %s", now.Body, before.Body)
		}
		s.allow(r.ID, words)
	case client.ThreadReady, client.ThreadIdle:
		s.tellThread(r.ID, "and now"+last)
	}
	r = s.threadIs(r.ID, client.ThreadCompleted)
	if r.Completion == nil || r.Completion.Summary != words+" was survived" || r.Restarts != 0 {
		t.Errorf("it came to %s", r.Body)
	}
	if before.ManagedAgentID != "" && r.ManagedAgentID != before.ManagedAgentID {
		t.Errorf("its agent is %s, was %s", r.ManagedAgentID, before.ManagedAgentID)
	}
	n := countEvents(s.threadEvents(r.ID))
	if n[client.EventThreadStarted] != 1 || n[client.EventThreadCompleted] != 1 || n[client.EventThreadFailed]+n[client.EventThreadStopped] != 0 ||
		n[client.EventThreadTurnComplete] != turns || state == client.ThreadBlocked && n[client.EventThreadBlocked] != 1 {
		t.Errorf("events %v", n)
	}
	if n := s.prompts(words); n != turns {
		t.Errorf("it was answered %d times, want %d", n, turns)
	}
	if state == client.ThreadBlocked && !exists(filepath.Join(r.Workspace.Path, words)) {
		t.Error("what was allowed was not done")
	}
	s.dismissed([]string{r.ManagedAgentID})
	s.over(r.ExecutionID, "completed")
}

// An agent that is lost comes back with its session; one that ends by itself with an error fails its thread.
func TestThreadOverLoss(t *testing.T) {
	t.Parallel()
	s := staffed(t)
	repo, tool := repository(t), tools[0]
	r := s.spawnThread(threadSpec(tool, repo, "SAY[first words]"))
	r = s.awaitThread(r.ID, "the first turn", func(r *client.Thread) bool { return r.TurnCount == 1 && r.SessionID != "" })
	// claude writes its conversation a little late, and without it there is nothing to go on with.
	slowly(t, "the conversation of "+r.SessionID, func() bool {
		files, err := filepath.Glob(filepath.Join(s.dir, "store/plugins/data/runtime-local/agents", r.ManagedAgentID,
			"home/.claude/projects/*", r.SessionID+".jsonl"))
		if err != nil || len(files) != 1 {
			return false
		}
		text, err := os.ReadFile(files[0])
		return err == nil && strings.Contains(string(text), `"type":"user"`)
	})
	killed(t, parent(t, s.agent(r.ManagedAgentID).PID))
	now := s.awaitThread(r.ID, "its return", func(r *client.Thread) bool { return r.Restarts == 1 && r.Status == client.ThreadReady })
	if now.SessionID != r.SessionID {
		t.Errorf("it came back with the session %s, had %s", now.SessionID, r.SessionID)
	}
	s.tellThread(r.ID, `SAY[and last] REPORT[{"state":"complete","summary":"it came back"}]`)
	s.threadIs(r.ID, client.ThreadCompleted)

	r = s.spawnThread(threadSpec(tool, repo, "SAY[words before a crash]"))
	r = s.awaitThread(r.ID, "the first turn", func(r *client.Thread) bool { return r.TurnCount == 1 })
	killed(t, s.agent(r.ManagedAgentID).PID)
	now = s.awaitThread(r.ID, "its end", (*client.Thread).Over)
	if now.Status != client.ThreadFailed || now.StatusReason != "crashed" || now.Completion == nil || now.Completion.State != "failed" {
		t.Errorf("it crashed and is %s", now.Body)
	}
	if known := s.experiences("words before a crash"); len(known) == 0 || known[0].ThreadID != r.ID || known[0].Outcome != "failed" {
		t.Errorf("known of the crash: %+v", known)
	}
	s.over(r.ExecutionID, "failed")
}

// A role of an org chart is a thread of the execution, in the repository that the input names.
func TestThreadOfRole(t *testing.T) {
	t.Parallel()
	s := staffed(t)
	repo := repository(t)
	input, err := json.Marshal(map[string]string{"task": "fix the widget", "repo": repo})
	if err != nil {
		t.Fatal(err)
	}
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
`, string(input))
	q := s.open(id, 1)[0]
	list, err := s.api.ListThreads(t.Context(), client.ThreadFilter{ExecutionID: id})
	if err != nil {
		t.Fatal(err)
	}
	byRole := map[string]client.Thread{}
	for _, r := range list.Threads {
		byRole[r.Role] = r
	}
	coder := byRole["coder"]
	if len(byRole) != 2 || coder.ManagedAgentID != q.AgentID || coder.Objective != "fix the widget" || coder.Workspace == nil {
		t.Fatalf("threads %s", list.Body)
	}
	s.threadIs(coder.ID, client.ThreadBlocked)
	a := s.agent(q.AgentID)
	if a.Workdir != coder.Workspace.Path {
		t.Errorf("the coder works in %s, its thread in %s", a.Workdir, coder.Workspace.Path)
	}
	if text, err := os.ReadFile(filepath.Join(a.Workdir, "README.md")); err != nil || string(text) != "# Widgets\n" {
		t.Errorf("the repository is not there: %q, %v", text, err)
	}
	if _, err := s.api.AnswerQuestion(t.Context(), id, q.ID, json.RawMessage(`"allow"`)); err != nil {
		t.Fatal(err)
	}
	s.over(id, "completed")
	for role, r := range byRole {
		if now := s.awaitThread(r.ID, "its end", (*client.Thread).Over); now.Status != client.ThreadCompleted {
			t.Errorf("the thread of %s: %s", role, now.Body)
		}
	}
	s.dismissed(nil)
}
