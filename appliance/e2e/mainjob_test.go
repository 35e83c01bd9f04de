package e2e_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
)

// command runs the binary as a person would and returns what it prints.
func (s *server) command(args ...string) (stdout string, code int) {
	s.t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "WARDROOM_SERVER="+s.url)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		s.t.Logf("wardroom %v: exit code %d: %s", args, exit.ExitCode(), exit.Stderr)
		return string(out), exit.ExitCode()
	}
	if err != nil { // no Fatal: some tests have commands run beside them
		s.t.Error(err)
		return "", -1
	}
	return string(out), 0
}

// The one job: store a pattern, run it in each way, read the outcome back, also from the next process.
func TestMainJob(t *testing.T) {
	s := dev(t)
	s.join(3, "vote", voter)

	// By the command line.
	file := filepath.Join(t.TempDir(), "vote.yaml")
	text := strings.ReplaceAll(strings.Replace(vote, "%s", "by-cli", 1), "%s", "vote")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, code := s.command("pattern", "put", file); code != 0 {
		t.Fatalf("pattern put: exit code %d", code)
	}
	out, code := s.command("run", "by-cli", "--input", `{"n":4}`, "-o", "json")
	if code != 0 || !strings.Contains(out, `"even"`) {
		t.Fatalf("run: exit code %d: %s", code, out)
	}
	// By REST: as JSON, and as YAML text.
	s.put(vote, "by-rest", "vote")
	answer := s.do("POST", "/api/patterns", "application/x-yaml", strings.NewReader(strings.Replace(text, "by-cli", "by-yaml", 1)))
	if answer.status != 201 || answer.header.Get("Location") != "/api/patterns/by-yaml" {
		t.Fatalf("YAML text: %s, Location %q", answer, answer.header.Get("Location"))
	}

	outcomes := map[string]json.RawMessage{} // by execution id
	keep := func(n int, id string) {
		t.Helper()
		e := s.settled(id)
		checkVote(t, n, e)
		outcomes[id] = e.Body
	}
	e, err := s.api.Execute(t.Context(), client.ExecuteRequest{Pattern: "by-rest", Input: number(1)})
	if err != nil {
		t.Fatal(err)
	}
	checkVote(t, 1, e)
	keep(1, e.ExecutionID)
	keep(2, s.async("by-rest", number(2)))
	keep(3, s.streamed(t, "by-yaml", 3))

	batch := s.batch("by-cli", 10, 8)
	for i, item := range batch.Results {
		if item.Index != i {
			t.Fatalf("item %d has index %d", i, item.Index)
		}
		checkKind(t, i, item.Result)
		keep(i, item.ExecutionID)
	}

	s.stop()
	s.start()
	for id, before := range outcomes {
		if after := s.get(id).Body; string(after) != string(before) {
			t.Errorf("after a restart %s reads\n%s\nbefore\n%s", id, after, before)
		}
	}
	again, err := s.api.GetBatch(t.Context(), batch.BatchID)
	if err != nil || string(again.Body) != string(batch.Body) {
		t.Errorf("after a restart the batch reads %s (%v)", again.Body, err)
	}
}

// streamed runs a pattern as a stream and checks its events; it returns the execution's id.
func (s *server) streamed(t *testing.T, pattern string, n int) string {
	t.Helper()
	stream, err := s.api.ExecuteStream(t.Context(), client.ExecuteRequest{Pattern: pattern, Input: number(n)})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var types []string
	for {
		ev, err := stream.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, ev.Type)
		if ev.Last() {
			data, err := ev.Decode()
			if err != nil {
				t.Fatal(err)
			}
			checkKind(t, n, data.Result)
		}
	}
	want := []string{"started", "agent_result", "agent_result", "agent_result", "completed"}
	if !slices.Equal(types, want) {
		t.Fatalf("events %v, want %v", types, want)
	}
	return stream.ExecutionID()
}

// batch runs a pattern over the numbers from 0 and returns the finished batch.
func (s *server) batch(pattern string, size, concurrency int) *client.Batch {
	s.t.Helper()
	inputs := make([]json.RawMessage, size)
	for i := range inputs {
		inputs[i] = number(i)
	}
	b, err := s.api.StartBatch(s.t.Context(), client.BatchRequest{Pattern: pattern, Inputs: inputs, Concurrency: concurrency})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.batchDone(b.BatchID, size)
}

func (s *server) batchDone(id string, size int) *client.Batch {
	s.t.Helper()
	var b *client.Batch
	eventually(s.t, "the batch", func() bool {
		found, err := s.api.GetBatch(s.t.Context(), id)
		if err != nil {
			s.t.Fatal(err)
		}
		b = found
		return b.Status != client.StatusRunning
	})
	if b.Status != client.StatusCompleted || b.Completed != size || b.Failed != 0 || len(b.Results) != size {
		s.t.Fatalf("batch: %s, %d of %d completed, %d failed, %d results", b.Status, b.Completed, size, b.Failed, len(b.Results))
	}
	return b
}
