package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
)

// spawnThread spawns a thread, and tells of it when the test fails.
func (s *staff) spawnThread(spec client.ThreadSpec) *client.Thread {
	s.t.Helper()
	r, err := s.api.SpawnThread(s.t.Context(), spec)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.explainThread(r.ID)
		}
	})
	return r
}

// explainThread shows what a thread came to, for a failed test.
func (s *staff) explainThread(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if r, err := s.api.GetThread(ctx, id); err == nil {
		s.t.Logf("the thread: %s", r.Body)
	}
	if list, err := s.api.ListThreadEvents(ctx, id, client.ThreadEventFilter{Limit: 100}); err == nil {
		for _, e := range list.Events {
			s.t.Logf("%6d %-24s %.300s", e.Sequence, e.Type, e.Data)
		}
	}
	for _, a := range s.serving(ctx) {
		s.t.Logf("the agent: %s %s %s %s", a.ID, a.Name, a.Status, a.StatusReason)
	}
	s.t.Logf("the log:\n%s", tail(s.log.String(), 60))
}

// thread returns a thread as it is now.
func (s *staff) thread(id string) *client.Thread {
	s.t.Helper()
	r, err := s.api.GetThread(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// awaitThread waits until cond holds of a thread, which must not end before.
func (s *staff) awaitThread(id, what string, cond func(*client.Thread) bool) *client.Thread {
	s.t.Helper()
	var r *client.Thread
	slowly(s.t, what+" of the thread "+id, func() bool {
		r = s.thread(id)
		ok := cond(r)
		if !ok && r.Over() {
			s.t.Fatalf("the thread is over before %s: %s", what, r.Body)
		}
		return ok
	})
	return r
}

// threadIs waits for a status.
func (s *staff) threadIs(id, status string) *client.Thread {
	s.t.Helper()
	return s.awaitThread(id, "status "+status, func(r *client.Thread) bool { return r.Status == status })
}

// allow answers the prompt of a blocked thread, which must be for leave to do something with words in it.
func (s *staff) allow(id, words string) {
	s.t.Helper()
	r := s.threadIs(id, client.ThreadBlocked)
	if r.Prompt == nil || r.Prompt.Kind != "approval" || len(r.Prompt.Options) < 2 ||
		!strings.Contains(fmt.Sprint(r.Prompt.Text, r.Prompt.Input), words) {
		s.t.Fatalf("the thread asks %s", r.Body)
	}
	answer := client.ThreadAnswer{PromptID: r.Prompt.ID, Choice: "allow"}
	if _, err := s.api.AnswerThread(s.t.Context(), id, answer); err != nil {
		s.t.Fatalf("the answer was refused: %v", err)
	}
}

// tellThread sends a message.
func (s *staff) tellThread(id, message string) {
	s.t.Helper()
	if _, err := s.api.SendThread(s.t.Context(), id, client.ThreadInput{Message: message}); err != nil {
		s.t.Fatalf("the message was refused: %v", err)
	}
}

// threadEvents returns the persisted events of a thread, page by page.
func (s *staff) threadEvents(id string) []client.ThreadEvent {
	s.t.Helper()
	var all []client.ThreadEvent
	for since, more := uint64(0), true; more; {
		list, err := s.api.ListThreadEvents(s.t.Context(), id, client.ThreadEventFilter{Since: since, Limit: 7})
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, list.Events...)
		since, more = list.NextSince, list.HasMore
	}
	return all
}

// countEvents counts events by type.
func countEvents(events []client.ThreadEvent) map[string]int {
	count := map[string]int{}
	for _, e := range events {
		count[e.Type]++
	}
	return count
}

// inOrder wants that the types come in this order, whatever lies between.
func inOrder(t *testing.T, events []client.ThreadEvent, types ...string) {
	t.Helper()
	var all []string
	next := 0
	for _, e := range events {
		all = append(all, e.Type)
		if next < len(types) && e.Type == types[next] {
			next++
		}
	}
	if next < len(types) {
		t.Errorf("events %v; want %v in this order", all, types)
	}
}

// experiences asks for what is known of some words.
func (s *staff) experiences(words string) []client.Experience {
	s.t.Helper()
	list, err := s.api.ListExperiences(s.t.Context(), client.ExperienceFilter{Query: words})
	if err != nil {
		s.t.Fatal(err)
	}
	return list.Experiences
}

// repository makes a git repository with a commit, and returns its address.
func repository(t *testing.T) string {
	t.Helper()
	dir := shortDir(t)
	git(t, dir, "init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("# Widgets\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "README.md")
	git(t, dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "-q", "-m", "the beginning")
	return "file://" + dir
}

// git runs git in a folder and returns what it prints.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v in %s: %v\n%s", args, dir, err, out)
	}
	return strings.TrimSpace(string(out))
}
