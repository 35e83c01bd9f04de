package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
)

// A thread of a real command line that is over goes on: another has its workspace, with the files in it.
func TestContinueThread(t *testing.T) {
	t.Parallel()
	for _, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			s := staffed(t)
			spec := threadSpec(tool, repository(t), "SAY[half of it is made]")
			spec.Policy.CompleteAfterTurns = 1
			r := s.spawnThread(spec)
			r = s.awaitThread(r.ID, "its end", func(r *client.Thread) bool { return r.Over() })
			if err := os.WriteFile(filepath.Join(r.Workspace.Path, "half.txt"), []byte("half\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			on, err := s.api.ContinueThread(t.Context(), r.ID, client.ThreadContinue{
				Message: "SAY[all of it is made]", ExpectResponse: true, Timeout: (3 * patience).Milliseconds(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if on.Response == nil || on.Response.Text != "all of it is made" {
				t.Errorf("the answer: %s", on.Body)
			}
			next := s.awaitThread(on.ID, "its answer", func(r *client.Thread) bool { return r.Over() })
			if next.Status != client.ThreadCompleted || next.Continues != r.ID || next.Workspace.Path != r.Workspace.Path || next.TurnCount != 1 {
				t.Fatalf("it went on as %s", next.Body)
			}
			if r.SessionID == "" || next.SessionID != r.SessionID || next.ManagedAgentID == r.ManagedAgentID {
				t.Errorf("it went on in the session %q of %s, was %q of %s", next.SessionID, next.ManagedAgentID, r.SessionID, r.ManagedAgentID)
			}
			diff, err := s.api.DiffThread(t.Context(), next.ID, 0)
			if err != nil || !strings.Contains(diff.Patch, "+half") {
				t.Errorf("diff %+v, %v", diff, err)
			}
		})
	}
}

// A command that goes on with a thread and waits prints the answer, tells of the new thread, and survives a restart of the server.
func TestContinueAndWait(t *testing.T) {
	t.Parallel()
	c := managed(t)
	th, err := c.api.SpawnThread(t.Context(), client.ThreadSpec{
		ExecutionID: client.NewExecution, AgentType: "shell", Objective: "echo begun", Policy: client.ThreadPolicy{CompleteAfterTurns: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	crew := &staff{crew: c}
	crew.awaitThread(th.ID, "its end", (*client.Thread).Over)
	w := c.waiting("thread", "continue", th.ID)
	next := ""
	eventually(t, "the next thread", func() bool {
		old, err := c.api.GetThread(t.Context(), th.ID)
		if err != nil {
			t.Fatal(err)
		}
		next = old.ContinuedBy
		return next != ""
	})
	crew.awaitThread(next, "its turn", func(th *client.Thread) bool { return th.Status == client.ThreadRunning })
	c.restart()
	c.runtimeReady()
	if err := w.finish(); err != nil || strings.TrimSpace(w.said.String()) != "opened" || !strings.Contains(w.told.String(), "thread "+next+" goes on with it") {
		t.Errorf("the wait ended with %v:\n%s\n%s", err, &w.said, &w.told)
	}
	crew.awaitThread(next, "its end", (*client.Thread).Over) // it is over behind the turn, not with it
	if out, code := c.command("thread", "continue", next, "exit 3", "--wait"); code != 1 {
		t.Errorf("a thread whose agent ends: exit code %d: %s", code, out)
	}
}

// A thread takes in what is new on its branch, by a rebase and by a merge; what both sides changed is a conflict that names
// the files and changes nothing. The messages that wait are listed, and one of them is withdrawn.
func TestUpdateThreadOfRealCLI(t *testing.T) {
	t.Parallel()
	s := staffed(t)
	repo := repository(t)
	upstream := strings.TrimPrefix(repo, "file://")
	commit := func(dir, file, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		git(t, dir, "add", file)
		git(t, dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "-q", "-m", file)
	}
	r := s.spawnThread(threadSpec(tools[1], repo, "SAY[begun]"))
	r = s.awaitThread(r.ID, "its first turn", func(r *client.Thread) bool { return r.TurnCount == 1 && r.Status == client.ThreadReady })
	commit(r.Workspace.Path, "mine.txt", "mine\n")
	commit(upstream, "theirs.txt", "theirs\n")
	if u, err := s.api.RebaseThread(t.Context(), r.ID); err != nil || !u.Changed || !exists(filepath.Join(r.Workspace.Path, "theirs.txt")) {
		t.Fatalf("rebased to %+v, %v", u, err)
	}
	commit(upstream, "more.txt", "more\n")
	if u, err := s.api.MergeThread(t.Context(), r.ID); err != nil || !u.Changed || !exists(filepath.Join(r.Workspace.Path, "more.txt")) {
		t.Fatalf("merged to %+v, %v", u, err)
	}
	commit(upstream, "mine.txt", "not yours\n")
	head := git(t, r.Workspace.Path, "rev-parse", "HEAD")
	for _, update := range []func(context.Context, string) (*client.WorkspaceUpdate, error){s.api.RebaseThread, s.api.MergeThread} {
		var e *client.Error
		if _, err := update(t.Context(), r.ID); !errors.As(err, &e) || e.Status != 409 || !strings.Contains(fmt.Sprint(e.Details["conflicts"]), "mine.txt") {
			t.Errorf("a conflict is told as %v", err)
		}
	}
	if now := git(t, r.Workspace.Path, "rev-parse", "HEAD"); now != head || git(t, r.Workspace.Path, "status", "--porcelain", "--untracked-files=no") != "" {
		t.Errorf("a conflict changed the work: %s, was %s", now, head)
	}

	for _, message := range []string{"SLOW[6] SAY[first]", "SAY[second]", "SAY[third]"} {
		if _, err := s.api.SendThread(t.Context(), r.ID, client.ThreadInput{Message: message}); err != nil {
			t.Fatal(err)
		}
	}
	q, err := s.api.ListThreadQueue(t.Context(), r.ID, 0, 0)
	if err != nil || len(q.Inputs) != 3 || q.Inputs[1].Message != "SAY[second]" {
		t.Fatalf("the queue is %+v, %v", q, err)
	}
	if err := s.api.WithdrawThreadInput(t.Context(), r.ID, q.Inputs[1].InputID); err != nil {
		t.Fatal(err)
	}
	s.awaitThread(r.ID, "the turns", func(r *client.Thread) bool { return r.TurnCount == 3 && r.QueuedInputs == 0 })
	events, err := s.api.ListThreadEvents(t.Context(), r.ID, client.ThreadEventFilter{Types: []string{client.EventThreadTurnComplete}})
	if err != nil || len(events.Events) != 3 {
		t.Fatalf("turns %+v, %v", events, err)
	}
	for i, want := range []string{"begun", "first", "third"} {
		if !strings.Contains(string(events.Events[i].Data), want) {
			t.Errorf("turn %d is %s, want %s", i+1, events.Events[i].Data, want)
		}
	}
}
