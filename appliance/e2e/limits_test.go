package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

// worker records in which order tasks come and how many are at work at once; each waits for a token.
type worker struct {
	tokens chan struct{}

	mu    sync.Mutex // guards all below
	order []string   // executions
	now   map[string]int
	most  map[string]int // by pattern; "" is all
}

func newWorker(s *server, capability string) *worker {
	w := &worker{tokens: make(chan struct{}, 1000), now: map[string]int{}, most: map[string]int{}}
	s.join(1, capability, func(ctx context.Context, _ int, task *agent.Task) (any, error) {
		w.count(task, 1)
		defer w.count(task, -1)
		select {
		case <-w.tokens:
			return map[string]any{"answer": "done"}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	return w
}

func (w *worker) count(task *agent.Task, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if by > 0 {
		w.order = append(w.order, task.ExecutionID)
	}
	for _, key := range []string{"", task.PatternName} {
		w.now[key] += by
		w.most[key] = max(w.most[key], w.now[key])
	}
}

func (w *worker) started() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.order)
}

func (w *worker) atMost(pattern string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most[pattern]
}

// Limits are kept, waiting executions are served by priority and then age, and a full queue says so.
func TestLimitsAndPriorities(t *testing.T) {
	t.Parallel()
	s := serve(t, "engine.maxActive: 1\nengine.maxQueued: 8\nengine.priorityAging: 1h\nmetrics.public: true")
	w := newWorker(s, "work")
	s.put(single, "work", "work")
	first := s.async("work", nil)
	eventually(t, "the first to be at work", func() bool { return len(w.started()) == 1 })
	var want []string
	byPriority := map[string][]string{}
	for _, priority := range []string{"low", "", "critical", "high", "low", "critical", "normal", "high"} {
		id := s.async("work", nil, client.ExecuteOptions{Priority: priority})
		if priority == "" {
			priority = "normal"
		}
		byPriority[priority] = append(byPriority[priority], id)
	}
	for _, priority := range []string{"critical", "high", "normal", "low"} {
		want = append(want, byPriority[priority]...)
	}

	full := s.post("/api/patterns/work/execute?async=true", `{}`)
	refusal := s.failed(full, http.StatusTooManyRequests, client.CodeRateLimited)
	if full.header.Get("Retry-After") == "" || refusal.Error.Details["limit"] == nil || refusal.Error.Details["retryAfter"] == nil {
		t.Errorf("a full queue: %s, Retry-After %q", full, full.header.Get("Retry-After"))
	}
	s.failed(s.post("/api/patterns/work/execute", `{}`), http.StatusTooManyRequests, client.CodeRateLimited)
	s.failed(s.post("/api/patterns/work/execute/stream", `{}`), http.StatusTooManyRequests, client.CodeRateLimited)
	if got := s.metric("service_engine_queue_length"); got != 8 {
		t.Errorf("queue length %v", got)
	}
	health := s.read("/api/health")
	if health.status != 200 || !strings.Contains(string(health.body), `"degraded"`) {
		t.Errorf("health with a full queue: %s", health)
	}
	if s.get(want[0]).Status != client.StatusPending {
		t.Error("a waiting execution is not pending")
	}

	for range 9 {
		w.tokens <- struct{}{}
	}
	for _, id := range append(want, first) {
		if e := s.settled(id); e.Status != client.StatusCompleted {
			t.Errorf("%s is %s", id, e.Status)
		}
	}
	if got := w.started()[1:]; !slices.Equal(got, want) {
		t.Errorf("served in the order\n%v, want\n%v", got, want)
	}
	if most := w.atMost(""); most != 1 {
		t.Errorf("%d were at work at once", most)
	}
	if got := s.post("/api/patterns/work/execute?async=true", `{}`); got.status != 202 {
		t.Errorf("with room again: %s", got)
	}
	w.tokens <- struct{}{}
}

// A pattern at its limit waits and lets others pass; the limits hold over a restart too.
func TestLimitsPerPattern(t *testing.T) {
	t.Parallel()
	s := serve(t, "engine.maxActivePerPattern: 2")
	w := newWorker(s, "work")
	s.put(single, "busy", "work")
	s.put(single, "other", "work")
	var ids []string
	for range 6 {
		ids = append(ids, s.async("busy", nil))
	}
	eventually(t, "two to be at work", func() bool { return len(w.started()) == 2 })
	other := s.async("other", nil)
	eventually(t, "the other pattern to pass", func() bool { return slices.Contains(w.started(), other) })
	s.restart()
	for range 7 {
		w.tokens <- struct{}{}
	}
	for _, id := range append(ids, other) {
		if e := s.settled(id); e.Status != client.StatusCompleted {
			t.Errorf("%s is %s %+v", id, e.Status, e.Error)
		}
	}
	if most := w.atMost("busy"); most > 2 {
		t.Errorf("%d of one pattern were at work at once", most)
	}
}

// A batch keeps to its concurrency, and one of its items that fails does not stop the others.
func TestBatchConcurrency(t *testing.T) {
	t.Parallel()
	s := dev(t)
	w := newWorker(s, "work")
	s.put(single, "work", "work")
	const size = 12
	inputs := strings.TrimSuffix(strings.Repeat("{},", size), ",")
	a := s.post("/api/batch/execute", fmt.Sprintf(`{"pattern":"work","inputs":[%s],"options":{"concurrency":3}}`, inputs))
	if a.status != 202 {
		t.Fatal(a)
	}
	eventually(t, "three to be at work", func() bool { return len(w.started()) == 3 })
	for range size {
		w.tokens <- struct{}{}
	}
	id := strings.TrimPrefix(a.header.Get("Location"), "/api/batch/")
	s.batchDone(id, size)
	if most := w.atMost(""); most != 3 {
		t.Errorf("%d were at work at once, want 3", most)
	}
	s.failed(s.post("/api/batch/execute", `{"pattern":"work","inputs":[{}],"options":{"concurrency":51}}`), 400, client.CodeValidation)
	s.failed(s.post("/api/batch/execute", `{"pattern":"none","inputs":[{}]}`), 404, client.CodeNotFound)
	many := strings.TrimSuffix(strings.Repeat("{},", 1001), ",")
	s.failed(s.post("/api/batch/execute", `{"pattern":"work","inputs":[`+many+`]}`), 400, client.CodeValidation)
}
