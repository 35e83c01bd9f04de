package appliance_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
)

// A thread goes its whole way over the real store and a real repository, through restarts in the middle, and what it
// came to is in the memory of the next one.
func TestThreadThroughRestarts(t *testing.T) {
	s := newSite(t, "{finish: {commit: true}}")
	const secret = "hunter2-of-the-thread"
	first := s.spawn("ask shall we make it?", func(spec *client.ThreadSpec) {
		spec.Preparation.Env = map[string]string{"TOKEN": secret}
		spec.Policy.Finish = &client.ThreadFinish{Commit: true, Message: "what was left"}
	})
	id := first.ID
	blocked := func(thread *client.Thread) bool { return thread.Status == client.ThreadBlocked && thread.Prompt != nil }
	s.await(id, "the question", blocked)
	s.restart()
	asked := s.await(id, "the question after a restart", blocked)
	if asked.Prompt.Text != "shall we make it?" || len(asked.Prompt.Options) != 2 {
		t.Errorf("it asks %+v", asked.Prompt)
	}
	if _, err := s.api.AnswerThread(t.Context(), id, client.ThreadAnswer{Choice: "yes"}); err != nil {
		t.Fatal(err)
	}
	s.await(id, "the first turn", func(thread *client.Thread) bool { return thread.TurnCount == 1 })

	s.send(id, `test "$TOKEN" = `+secret+` && echo made > widget.txt && git add widget.txt && git commit -q -m made && echo more > left.txt`)
	s.restart()
	s.await(id, "the second turn", func(thread *client.Thread) bool { return thread.TurnCount == 2 })
	s.send(id, `printf '\140\140\140wardroom\n{"state":"complete","summary":"The widget is made of wood.","tests":{"run":2,"passed":2,"failed":0},`+
		`"decisions":["Wood is better than tin"]}\n\140\140\140\n'`)
	done := s.await(id, "the end", func(thread *client.Thread) bool { return thread.Status == client.ThreadCompleted })
	checkCompletion(t, done)
	s.restart()
	s.checkRecord(done, secret)
	s.checkNextThread()
}

// checkCompletion checks what came of the first thread.
func checkCompletion(t *testing.T, done *client.Thread) {
	t.Helper()
	c := done.Completion
	if c == nil || c.State != "complete" || c.Summary != "The widget is made of wood." || c.Tests == nil || c.Tests.Passed != 2 {
		t.Fatalf("completion %s", done.Body)
	}
	if c.Changes == nil || c.Changes.CommitCount != 2 || c.Changes.FileCount != 2 {
		t.Errorf("changes %+v, want two commits of two files", c.Changes)
	}
	commits := 0
	for _, a := range c.Artifacts {
		if a.Type == core.ArtifactCommit {
			commits++
		}
	}
	if commits == 0 {
		t.Errorf("artifacts %+v, want a commit among them", c.Artifacts)
	}
}

// checkRecord checks what is stored of a thread that is over.
func (s *site) checkRecord(done *client.Thread, secret string) {
	t := s.t
	t.Helper()
	list, err := s.api.ListThreadEvents(t.Context(), done.ID, client.ThreadEventFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range list.Events {
		kinds = append(kinds, e.Type)
	}
	for _, kind := range []string{client.EventThreadStarted, client.EventThreadReady, client.EventThreadBlocked, client.EventThreadTurnComplete} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("events %v have no %s", kinds, kind)
		}
	}
	if last := kinds[len(kinds)-1]; last != client.EventThreadCompleted {
		t.Errorf("the last event is %s", last)
	}
	if bytes.Contains(list.Body, []byte(secret)) || bytes.Contains(done.Body, []byte(secret)) && !strings.Contains(done.Summary, secret) {
		t.Error("the record shows a value of the environment")
	}
	if exec, err := s.api.GetExecution(t.Context(), done.ExecutionID); err != nil || exec.Status != "completed" {
		t.Errorf("the execution of the thread: %+v, %v", exec, err)
	}
	place, err := s.api.GetWorkspace(t.Context(), done.Workspace.ID)
	if err != nil || place.Status != client.WorkspaceReleased || place.ThreadID != done.ID {
		t.Errorf("its workspace: %+v, %v", place, err)
	}
	if text := git(t, place.Path, "log", "--format=%s", "-2"); text != "what was left\nmade\n" {
		t.Errorf("commits of the workspace: %q", text)
	}
	decisions, err := s.api.ListDecisions(t.Context(), client.DecisionFilter{ExecutionID: done.ExecutionID, Category: core.DecisionFinding})
	if err != nil || decisions.Total != 1 || decisions.Decisions[0].Summary != "Wood is better than tin" {
		t.Errorf("decisions %+v, %v", decisions, err)
	}
	found, err := s.api.ListExperiences(t.Context(), client.ExperienceFilter{Query: "wood widget"})
	if err != nil || found.Total != 1 || found.Experiences[0].Outcome != core.ExperienceSuccessful {
		t.Errorf("experiences %+v, %v", found, err)
	}
	pruned, err := s.api.PruneWorkspaces(t.Context(), client.WorkspacePrune{IDs: []string{place.ID}})
	if err != nil || pruned.Removed != 0 || len(pruned.Pruned) != 1 {
		t.Errorf("a workspace with commits that are nowhere else: %+v, %v", pruned, err)
	}
}

// checkNextThread checks that a second thread starts with what the first one found.
func (s *site) checkNextThread() {
	t := s.t
	t.Helper()
	plan, err := s.api.PrepareThread(t.Context(), client.ThreadSpec{
		ExecutionID: client.NewExecution, Role: "maker", Objective: "Make another widget",
		Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: s.repo}},
	})
	if err != nil {
		t.Fatal(err)
	}
	memoryFile := ""
	for _, f := range plan.Preparation.ContextFiles {
		if f.Path == core.ThreadMemoryPath {
			memoryFile = f.Content
		}
	}
	if known, err := plan.MemoryContext(); err != nil || known.EpisodicExperienceCount != 1 || !strings.Contains(memoryFile, "made of wood") {
		t.Errorf("the next thread is told of %+v (%v) and\n%s", known, err, memoryFile)
	}
	next := s.spawn("cat "+core.ThreadMemoryPath+"; git status --porcelain", func(spec *client.ThreadSpec) { spec.Policy.CompleteAfterTurns = 1 })
	s.await(next.ID, "the end of the next thread", func(thread *client.Thread) bool { return thread.Status == client.ThreadCompleted })
	said, err := s.api.ListThreadEvents(t.Context(), next.ID, client.ThreadEventFilter{Types: []string{client.EventThreadTurnComplete}})
	if err != nil || len(said.Events) != 1 {
		t.Fatalf("events %+v, %v", said, err)
	}
	data, err := said.Events[0].Decode()
	if err != nil || !strings.Contains(data.Output, "made of wood") || strings.Contains(data.Output, "??") {
		t.Errorf("it read %q (%v)", data.Output, err)
	}
}

// Repositories and what may be done with them follow a reload; a password file that cannot be used leaves all as it was.
func TestThreadsFollowAReload(t *testing.T) {
	s := newSite(t, "{}")
	prepare := func() error {
		_, err := s.api.PrepareThread(t.Context(), client.ThreadSpec{
			ExecutionID: client.NewExecution, Objective: "x",
			Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: "app"}},
		})
		return err
	}
	if err := prepare(); client.CodeOf(err) != client.CodeValidation {
		t.Fatalf("a name that nobody declared: %v", err)
	}
	text, err := os.ReadFile(s.file())
	if err != nil {
		t.Fatal(err)
	}
	change := func(threads string) error {
		write(t, s.file(), strings.Replace(string(text), "threads: {}", "threads: "+threads, 1))
		return s.app.Reload()
	}
	if err := change(fmt.Sprintf("{repositories: {app: {url: %q}}}", s.repo)); err != nil {
		t.Fatal(err)
	}
	if err := prepare(); err != nil {
		t.Errorf("after the reload: %v", err)
	}
	password := filepath.Join(s.dir, "password")
	if err := os.WriteFile(password, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for why, threads := range map[string]string{
		"may be read by others": fmt.Sprintf("{repositories: {app: {url: 'https://localhost/x', passwordFile: %q}}}", password),
		"cannot be read":        "{repositories: {app: {url: 'https://localhost/x', passwordFile: nosuch}}}",
	} {
		if err := change(threads); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("a reload with a bad password file: %v, want one that says %q", err, why)
		}
	}
	if err := prepare(); err != nil {
		t.Errorf("after a reload that failed: %v", err)
	}
}

// What operators see of threads: series, and a check that names git.
func TestThreadsAreObserved(t *testing.T) {
	s := newSite(t, "{}")
	thread := s.spawn("echo done", func(spec *client.ThreadSpec) { spec.Policy.CompleteAfterTurns = 1 })
	s.await(thread.ID, "the end", func(thread *client.Thread) bool { return thread.Status == client.ThreadCompleted })
	defer http.DefaultClient.CloseIdleConnections()
	read := func() string {
		answer, err := http.Get("http://" + s.app.Addr() + "/api/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err := closeAfter(answer.Body, err); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var text string
	coretest.WaitFor(t, "the end to be counted, which follows from it", func() bool {
		text = read()
		return strings.Contains(text, `service_threads_ended_total{outcome="complete",status="completed"} 1`) && strings.Contains(text, "service_executions_active 0\n")
	})
	for _, want := range []string{
		`service_threads_ended_total{outcome="complete",status="completed"} 1`, `service_threads_spawned_total{type="shell"} 1`,
		`service_threads_active{status="running"} 0`, `service_workspaces{status="released"} 1`, "service_memory_experiences 1",
		"service_thread_turn_duration_seconds_count 1", "service_executions_active 0",
		`service_executions_total{pattern="managed-thread",status="completed"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("metrics have no %s", want)
		}
	}
	health, err := s.api.HealthDetailed(t.Context())
	if err != nil || !strings.Contains(string(health.Body), `"git"`) {
		t.Errorf("health %s, %v", health.Body, err)
	}
}

func closeAfter(c io.Closer, err error) error {
	if err != nil {
		_ = c.Close()
		return err
	}
	return c.Close()
}
