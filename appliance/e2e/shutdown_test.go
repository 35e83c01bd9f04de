package e2e_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

// SIGTERM while an execution runs: whoever waits is answered, streams end in order, the process is gone
// within its time with exit code 0, and the next one finishes the work.
func TestTerminateDrains(t *testing.T) {
	s := serve(t, "server.shutdownTimeout: 4s")
	hold := newGate()
	t.Cleanup(hold.release)
	f := s.join(1, "slow", func(ctx context.Context, n int, task *agent.Task) (any, error) {
		return map[string]any{"answer": 42}, hold.wait(ctx)
	})
	s.put(single, "slow", "slow")

	waiting := s.postBeside("/api/patterns/slow/execute", `{}`)
	eventually(t, "the task to be at the agent", func() bool { return f.handled.Load() == 1 })
	list, err := s.api.ListExecutions(t.Context(), client.ExecutionFilter{})
	if err != nil || len(list.Executions) != 1 {
		t.Fatalf("executions: %+v, %v", list, err)
	}
	id := list.Executions[0].ExecutionID
	viewer, first := s.watch(t, id, "")
	if name := first.Type; name != "started" {
		t.Fatalf("first event %s", name)
	}

	begin := time.Now()
	s.signal(syscall.SIGTERM)
	var rest []client.Event
	for {
		ev, err := viewer.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the stream did not end in order: %v", err)
		}
		rest = append(rest, ev)
	}
	if len(rest) > 0 {
		t.Errorf("events at the end of the stream: %+v", rest)
	}
	got := <-waiting
	failed := s.failed(got, http.StatusServiceUnavailable, client.CodeInternal)
	if failed.Error.Details["executionId"] != id || got.header.Get("Retry-After") == "" {
		t.Errorf("the answer does not tell how to go on: %s, Retry-After %q", got, got.header.Get("Retry-After"))
	}
	if code := s.wait(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, s.log)
	}
	if took := time.Since(begin); took > 6*time.Second {
		t.Errorf("the end took %s of 4 s", took)
	}

	s.start()
	f.wait(t)
	hold.release()
	if e := s.settled(id); e.Status != client.StatusCompleted || string(e.Result) != `{"answer":42}` {
		t.Fatalf("after the restart: %s %s %+v", e.Status, e.Result, e.Error)
	}
	if n := f.handled.Load(); n != 1 {
		t.Errorf("the agent worked %d times", n)
	}
}

// An execution that ends while the server drains is answered with its outcome; new work is refused.
func TestTerminateLetsFinish(t *testing.T) {
	s := serve(t, "server.shutdownTimeout: 30s")
	hold := newGate()
	t.Cleanup(hold.release)
	f := s.join(1, "slow", func(ctx context.Context, n int, task *agent.Task) (any, error) {
		return map[string]any{"answer": 42}, hold.wait(ctx)
	})
	s.put(single, "slow", "slow")
	waiting := s.postBeside("/api/patterns/slow/execute", `{}`)
	eventually(t, "the task to be at the agent", func() bool { return f.handled.Load() == 1 })
	s.signal(syscall.SIGTERM)
	eventually(t, "readiness to end", func() bool { return s.read("/api/health/ready").status == 503 })
	eventually(t, "new work to be refused", func() bool {
		got := s.post("/api/patterns/slow/execute?async=true", `{}`)
		if got.status == http.StatusAccepted {
			return false
		}
		s.failed(got, http.StatusServiceUnavailable, client.CodeInternal)
		return true
	})
	hold.release()
	if got := <-waiting; got.status != 200 || !strings.Contains(string(got.body), `{"answer":42}`) {
		t.Errorf("answer %s", got)
	}
	if code := s.wait(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, s.log)
	}
}

// What waits in the queue does not hold up a stop: it is there at the next start, and whoever waits for it
// or watches it is told.
func TestTerminateWithAQueue(t *testing.T) {
	s := serve(t, "server.shutdownTimeout: 2m\nengine.maxActive: 1")
	hold := newGate()
	t.Cleanup(hold.release)
	f := s.join(1, "slow", func(ctx context.Context, n int, task *agent.Task) (any, error) {
		return map[string]any{"answer": 42}, hold.wait(ctx)
	})
	s.put(single, "slow", "slow")
	first := s.async("slow", nil)
	eventually(t, "the task to be at the agent", func() bool { return f.handled.Load() == 1 })
	waiting := s.postBeside("/api/patterns/slow/execute", `{}`)
	var queued string
	eventually(t, "the second to be stored", func() bool {
		list, err := s.api.ListExecutions(t.Context(), client.ExecutionFilter{Status: client.StatusPending})
		if err != nil || list.Total != 1 {
			return false
		}
		queued = list.Executions[0].ExecutionID
		return true
	})
	viewer := s.open(t, queued, "")
	s.signal(syscall.SIGTERM)
	eventually(t, "the drain to begin", func() bool { return s.read("/api/health/ready").status == 503 })
	begin := time.Now()
	hold.release()
	if code := s.wait(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, s.log)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("the end took %s after the last one that ran", took)
	}
	if events, err := viewer.all(); !errors.Is(err, io.EOF) || len(events) > 0 {
		t.Errorf("the stream of the one in the queue: %v, %v", events, err)
	}
	if told := s.failed(<-waiting, http.StatusServiceUnavailable, client.CodeInternal); told.Error.Details["executionId"] != queued {
		t.Errorf("the client that waits: %+v", told)
	}
	s.start()
	for _, id := range []string{first, queued} {
		if e := s.settled(id); e.Status != client.StatusCompleted {
			t.Errorf("%s is %s", id, e.Status)
		}
	}
}

// A second signal ends the process at once, and costs nothing that was accepted.
func TestSecondSignalKills(t *testing.T) {
	s := serve(t, "server.shutdownTimeout: 2m")
	hold := newGate()
	t.Cleanup(hold.release)
	f := s.join(1, "slow", func(ctx context.Context, n int, task *agent.Task) (any, error) {
		return map[string]any{"answer": n}, hold.wait(ctx)
	})
	s.put(single, "slow", "slow")
	id := s.async("slow", nil)
	eventually(t, "the task to be at the agent", func() bool { return f.handled.Load() == 1 })
	s.signal(syscall.SIGTERM)
	eventually(t, "the drain to begin", func() bool { return s.read("/api/health/ready").status == 503 })
	begin := time.Now()
	s.signal(syscall.SIGTERM)
	s.wait()
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("the second signal took %s", took)
	}
	s.start()
	f.wait(t)
	hold.release()
	if e := s.settled(id); e.Status != client.StatusCompleted {
		t.Fatalf("after the restart: %s %+v", e.Status, e.Error)
	}
}
