package e2e_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
)

// A cancel of an ad-hoc execution stops all its threads, whatever they do; it cannot be run again.
func TestThreadsCancelled(t *testing.T) {
	t.Parallel()
	s := staffed(t)
	repo, tool := repository(t), tools[0]
	held := s.spawnThread(threadSpec(tool, repo, "HOLD[never] SAY[never]"))
	spec := threadSpec(tool, repo, tool.escalate("touch never"))
	spec.ExecutionID = held.ExecutionID
	asks := s.spawnThread(spec)
	s.threadIs(held.ID, client.ThreadRunning)
	s.threadIs(asks.ID, client.ThreadBlocked)
	if e, err := s.api.GetExecution(t.Context(), held.ExecutionID); err != nil || e.Pattern.Name != "managed-thread" || e.Status != "running" {
		t.Errorf("the execution: %+v, %v", e, err)
	}
	if _, err := s.api.CancelExecution(t.Context(), held.ExecutionID, "enough"); err != nil {
		t.Fatal(err)
	}
	var agents []string
	for _, id := range []string{held.ID, asks.ID} {
		r := s.awaitThread(id, "its end", (*client.Thread).Over)
		if r.Status != client.ThreadStopped || r.StatusReason != "execution" {
			t.Errorf("after the cancel it is %s", r.Body)
		}
		agents = append(agents, r.ManagedAgentID)
	}
	s.over(held.ExecutionID, "cancelled")
	s.dismissed(agents)
	s.failed(s.post("/api/executions/"+held.ExecutionID+"/retry", "{}"), 409, "CONFLICT")
	spec.Objective = "SAY[too late]"
	if _, err := s.api.SpawnThread(t.Context(), spec); client.CodeOf(err) != client.CodeConflict {
		t.Errorf("a thread of a cancelled execution: %v", err)
	}
}

// The threads of roles end as their execution does, and an agent that is lost fails its own.
func TestThreadsOfRolesEnd(t *testing.T) {
	t.Parallel()
	s := staffed(t)
	repo := repository(t)
	const definition = `
name: placed
structure:
  roles:
    coder: {managed: true, agentType: claude, workspace: {repo: "${input.repo}"}}
workflow:
  steps:
    - {type: assign, role: coder, task: "HOLD[never] SAY[coded]"}
`
	input, err := json.Marshal(map[string]string{"repo": repo})
	if err != nil {
		t.Fatal(err)
	}
	id := s.begin("placed", definition, string(input))
	threads := func() []client.Thread {
		list, err := s.api.ListThreads(t.Context(), client.ThreadFilter{ExecutionID: id})
		if err != nil {
			t.Fatal(err)
		}
		return list.Threads
	}
	working := func(n int) (r *client.Thread) {
		slowly(t, "the agent at work", func() bool {
			for _, one := range threads() {
				if one.Status == client.ThreadRunning && len(threads()) == n {
					r = &one
				}
			}
			return r != nil
		})
		return r
	}
	first := working(1)
	killed(t, s.agent(first.ManagedAgentID).PID)
	if r := s.awaitThread(first.ID, "its end", (*client.Thread).Over); r.Status != client.ThreadFailed {
		t.Errorf("the thread of the agent that was killed: %s", r.Body)
	}
	second := working(2)
	if second.ID == first.ID || second.Workspace.Path == first.Workspace.Path {
		t.Errorf("the next agent has the thread %s in %s", second.ID, second.Workspace.Path)
	}
	if _, err := s.api.CancelExecution(t.Context(), id, "enough"); err != nil {
		t.Fatal(err)
	}
	if r := s.awaitThread(second.ID, "its end", (*client.Thread).Over); r.Status != client.ThreadStopped {
		t.Errorf("the thread of a cancelled execution: %s", r.Body)
	}
	s.dismissed([]string{first.ManagedAgentID, second.ManagedAgentID})
	_, err = s.api.RestartManagedAgent(t.Context(), second.ManagedAgentID, client.ManagedAgentRestart{})
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != "CONFLICT" || !strings.Contains(refused.Message, "is over; ") {
		t.Errorf("the agent of a thread that is over was started again: %v", err)
	}

	e := s.over(s.begin("placed", "", `{}`), "failed")
	if !strings.Contains(string(e.Body), "VALIDATION_ERROR") || !strings.Contains(string(e.Body), "role coder, workspace.repo") {
		t.Errorf("without a repository: %s", e.Body)
	}
	e = s.over(s.begin("placed", "", `{"repo":"file:///no/such/repository"}`), "failed")
	if !strings.Contains(string(e.Body), "repo") || len(s.serving(t.Context())) != 0 {
		t.Errorf("with a repository that is not there: %s", e.Body)
	}
}
