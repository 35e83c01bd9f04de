package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
)

// threadRecord is a thread as the API tells of it.
type threadRecord struct {
	ID             string `json:"id"`
	ExecutionID    string `json:"executionId"`
	AgentType      string `json:"agentType"`
	Role           string `json:"role"`
	Objective      string `json:"objective"`
	Status         string `json:"status"`
	StatusReason   string `json:"statusReason"`
	ManagedAgentID string `json:"managedAgentId"`
	SessionID      string `json:"sessionId"`
	Summary        string `json:"summary"`
	TurnCount      int    `json:"turnCount"`
	Restarts       int    `json:"restarts"`
	Workspace      *struct {
		WorkspaceID string `json:"workspaceId"`
		Path        string `json:"path"`
		WorkBranch  string `json:"workBranch"`
		BaseCommit  string `json:"baseCommit"`
	} `json:"workspace"`
	Prompt *struct {
		ID      string                  `json:"id"`
		Kind    string                  `json:"kind"`
		Text    string                  `json:"text"`
		Input   json.RawMessage         `json:"input"`
		Options []client.QuestionOption `json:"options"`
	} `json:"prompt"`
	Completion *struct {
		State     string           `json:"state"`
		Summary   string           `json:"summary"`
		Artifacts []threadArtifact `json:"artifacts"`
		Changes   *struct {
			CommitCount int `json:"commitCount"`
			Uncommitted int `json:"uncommitted"`
		} `json:"changes"`
		Tests *struct {
			Run    int `json:"run"`
			Passed int `json:"passed"`
		} `json:"tests"`
	} `json:"completion"`

	body []byte
}

// threadArtifact is something that a thread made.
type threadArtifact struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// over tells whether nothing can happen to the thread any more.
func (r *threadRecord) over() bool {
	return slices.Contains([]string{"completed", "failed", "stopped"}, r.Status)
}

// threadEvent is a persisted event of a thread.
type threadEvent struct {
	Sequence uint64          `json:"sequence"`
	Type     string          `json:"type"`
	Data     json.RawMessage `json:"data"`
}

const threadsPath = "/api/managed-threads"

// got decodes an answer that must have a status.
func (s *server) got(a answer, status int, into any) {
	s.t.Helper()
	if a.status != status {
		s.t.Fatalf("answer %s; want %d", a, status)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		s.t.Fatalf("no JSON: %v in %s", err, a)
	}
}

// sent is v as the body of a request.
func sent(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// spawnThread spawns a thread and tells of it when the test fails.
func (s *staff) spawnThread(body map[string]any) *threadRecord {
	s.t.Helper()
	r := &threadRecord{}
	a := s.post(threadsPath, sent(s.t, body))
	s.got(a, http.StatusCreated, r)
	r.body = a.body
	if r.ID == "" || r.ExecutionID == "" || a.header.Get("Location") != threadsPath+"/"+r.ID {
		s.t.Fatalf("spawned %s, at %q", a, a.header.Get("Location"))
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
	for _, path := range []string{"", "/events"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+threadsPath+"/"+id+path, nil)
		if err != nil {
			return
		}
		resp, err := s.http.Do(req)
		if err != nil {
			s.t.Logf("%s of the thread %s: %v", path, id, err)
			continue
		}
		var body json.RawMessage
		_ = json.NewDecoder(resp.Body).Decode(&body) // what cannot be read is not shown
		resp.Body.Close()
		s.t.Logf("%s of the thread %s: %.4000s", path, id, body)
	}
	s.t.Logf("the log:\n%s", tail(s.log.String(), 60))
}

// thread returns a thread as it is now.
func (s *staff) thread(id string) *threadRecord {
	s.t.Helper()
	r := &threadRecord{}
	a := s.read(threadsPath + "/" + id)
	s.got(a, http.StatusOK, r)
	r.body = a.body
	return r
}

// awaitThread waits until cond holds of a thread, which must not end before.
func (s *staff) awaitThread(id, what string, cond func(*threadRecord) bool) *threadRecord {
	s.t.Helper()
	var r *threadRecord
	slowly(s.t, what+" of the thread "+id, func() bool {
		r = s.thread(id)
		if !cond(r) && r.over() {
			s.t.Fatalf("the thread is over before %s: %s", what, r.body)
		}
		return cond(r)
	})
	return r
}

// threadIs waits for a status.
func (s *staff) threadIs(id, status string) *threadRecord {
	s.t.Helper()
	return s.awaitThread(id, "status "+status, func(r *threadRecord) bool { return r.Status == status })
}

// allow answers the prompt of a blocked thread, which must be for leave to do something with words in it.
func (s *staff) allow(id, words string) {
	s.t.Helper()
	r := s.threadIs(id, "blocked")
	if r.Prompt == nil || r.Prompt.Kind != "approval" || len(r.Prompt.Options) < 2 ||
		!strings.Contains(r.Prompt.Text+string(r.Prompt.Input), words) {
		s.t.Fatalf("the thread asks %s", r.body)
	}
	a := s.post(threadsPath+"/"+id+"/answer", sent(s.t, map[string]any{"promptId": r.Prompt.ID, "choice": "allow"}))
	if a.status != http.StatusOK {
		s.t.Fatalf("the answer was refused: %s", a)
	}
}

// tellThread sends a message.
func (s *staff) tellThread(id, message string) {
	s.t.Helper()
	if a := s.post(threadsPath+"/"+id+"/send", sent(s.t, map[string]any{"message": message})); a.status != http.StatusOK {
		s.t.Fatalf("the message was refused: %s", a)
	}
}

// threadEvents returns the persisted events of a thread, page by page.
func (s *staff) threadEvents(id string) []threadEvent {
	s.t.Helper()
	var all []threadEvent
	for since, more := uint64(0), true; more; {
		var page struct {
			Events    []threadEvent `json:"events"`
			HasMore   bool          `json:"hasMore"`
			NextSince uint64        `json:"nextSince"`
		}
		s.got(s.read(fmt.Sprintf("%s/%s/events?limit=7&since=%d", threadsPath, id, since)), http.StatusOK, &page)
		all = append(all, page.Events...)
		since, more = page.NextSince, page.HasMore
	}
	return all
}

// kindsOf counts the events by type.
func kindsOf(events []threadEvent) map[string]int {
	count := map[string]int{}
	for _, e := range events {
		count[strings.TrimPrefix(e.Type, "thread_")]++
	}
	return count
}

// inOrder wants that the types come in this order, whatever lies between.
func inOrder(t *testing.T, events []threadEvent, types ...string) {
	t.Helper()
	var all []string
	next := 0
	for _, e := range events {
		kind := strings.TrimPrefix(e.Type, "thread_")
		all = append(all, kind)
		if next < len(types) && kind == types[next] {
			next++
		}
	}
	if next < len(types) {
		t.Errorf("events %v; want %v in this order", all, types)
	}
}

// experiences asks for what is known of some words.
func (s *staff) experiences(words string) (list []struct {
	ThreadID string `json:"threadId"`
	Role     string `json:"role"`
	Repo     string `json:"repo"`
	Summary  string `json:"summary"`
	Outcome  string `json:"outcome"`
}) {
	s.t.Helper()
	body := struct{ Experiences any }{&list}
	s.got(s.read(threadsPath+"/experiences?q="+url.QueryEscape(words)), http.StatusOK, &body)
	return list
}

// repository makes a git repository with a commit, and returns its address.
func repository(t *testing.T) (dir, address string) {
	t.Helper()
	dir = shortDir(t)
	git(t, dir, "init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("# Widgets\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "README.md")
	git(t, dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "-q", "-m", "the beginning")
	return dir, "file://" + dir
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

// openThreads attaches to the thread stream of an execution, from its beginning.
func (s *staff) openThreads(execution string) *viewer {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/executions/"+execution+"/threads/stream", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Last-Event-ID", "0")
	resp, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cancel(); resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		s.t.Fatalf("the stream: %d %v", resp.StatusCode, resp.Header)
	}
	return &viewer{EventReader: client.NewEventReader(resp.Body, 0), resp: resp}
}
