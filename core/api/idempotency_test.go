package api_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// creations is a rig whose services claim keys as the real ones do, and count what they create.
func creations(t *testing.T) (*rig, *atomic.Int32) {
	r := newRig(t)
	made := new(atomic.Int32)
	start := func(ctx context.Context) (*core.Execution, error) {
		made.Add(1)
		r.keys.claim(ctx, execID2)
		return someExecution(execID2, core.ExecutionPending), nil
	}
	r.executions.start = func(ctx context.Context, _ core.ExecuteRequest) (*core.Execution, error) { return start(ctx) }
	r.executions.retry = func(ctx context.Context, _ string) (*core.Execution, error) { return start(ctx) }
	r.executions.rerun = func(ctx context.Context, _, _ string) (*core.Execution, error) { return start(ctx) }
	r.batches.start = func(ctx context.Context, _ core.BatchRequest) (*core.Batch, error) {
		made.Add(1)
		r.keys.claim(ctx, batchID)
		return someBatch(core.BatchRunning), nil
	}
	r.patterns.create = func(ctx context.Context, _ core.PatternInput) (*core.Pattern, error) {
		made.Add(1)
		r.keys.claim(ctx, "name@with@1.0.0")
		return somePattern("name@with", "1.0.0"), nil
	}
	return r, made
}

var creating = []struct{ name, path, body string }{
	{"execute", "/api/patterns/a/execute", `{"input":{"a":1}}`},
	{"async", "/api/patterns/a/execute?async=true", `{"input":{"a":1}}`},
	{"batch", "/api/batch/execute", `{"pattern":"a","inputs":[{}]}`},
	{"retry", "/api/executions/x/retry", ""},
	{"rerun", "/api/executions/x/rerun", `{"fromStep":"s"}`},
	{"pattern", "/api/patterns", `{"definition":"x"}`},
}

func TestIdempotentReplay(t *testing.T) {
	for _, c := range creating {
		t.Run(c.name, func(t *testing.T) {
			r, made := creations(t)
			first := r.do("POST", c.path, c.body, "Idempotency-Key: k 1")
			again := r.do("POST", c.path, c.body, "Idempotency-Key: k 1")
			if first.status >= 300 || made.Load() != 1 {
				t.Fatalf("%d %s, created %d", first.status, first.text, made.Load())
			}
			if again.status != first.status || again.text != first.text || again.header.Get("Location") != first.header.Get("Location") {
				t.Errorf("replay %d %s %q\nfirst  %d %s %q", again.status, again.text, again.header.Get("Location"),
					first.status, first.text, first.header.Get("Location"))
			}
			if first.header.Get("Idempotent-Replayed") != "" || again.header.Get("Idempotent-Replayed") != "true" {
				t.Error("Idempotent-Replayed must be on the second answer alone")
			}
			r.do("POST", c.path, strings.Replace(c.body, "}", " }", 1)+" ", "Idempotency-Key: k 1").wants(t, 409, core.CodeConflict)
			r.do("POST", c.path, c.body, "Idempotency-Key: k 2")
			r.do("POST", c.path, c.body)
			if made.Load() != 3 {
				t.Errorf("created %d, want 3", made.Load())
			}
		})
	}
}

// The process died after the creation and before the answer: the key knows what was made.
func TestIdempotentRecovery(t *testing.T) {
	for _, c := range creating {
		t.Run(c.name, func(t *testing.T) {
			r, made := creations(t)
			first := r.keys.dying(0, func() reply { return r.do("POST", c.path, c.body, "Idempotency-Key: k") })
			r.patterns.find = func(name, version string) (*core.Pattern, error) { return somePattern(name, version), nil }
			again := r.do("POST", c.path, c.body, "Idempotency-Key: k")
			if again.status != first.status || made.Load() != 1 || again.header.Get("Idempotent-Replayed") != "true" {
				t.Fatalf("%d %s, created %d", again.status, again.text, made.Load())
			}
			if c.name != "batch" && again.text != first.text { // a batch tells how far it is now
				t.Errorf("answer %s\nfirst  %s", again.text, first.text)
			}
			for _, rec := range r.keys.records() {
				if rec.Status != first.status {
					t.Errorf("the answer is not kept: %+v", rec)
				}
			}
		})
	}
}

// A client that comes back while its first request still runs waits for the one answer.
func TestIdempotentWaits(t *testing.T) {
	r, made := creations(t)
	release, waiting := make(chan struct{}), make(chan struct{})
	r.executions.wait = func(_ context.Context, id string) (*core.Execution, error) {
		close(waiting) // a second wait would panic
		<-release
		return someExecution(id, core.ExecutionCompleted), nil
	}
	const path, body = "/api/patterns/a/execute", `{"input":{}}`
	replies := make(chan reply, 8)
	r.doBeside(replies, "POST", path, body, "Idempotency-Key: k")
	select {
	case <-waiting:
	case p := <-replies:
		t.Fatalf("answered at once: %d %s", p.status, p.text)
	}
	for range cap(replies) - 1 {
		r.doBeside(replies, "POST", path, body, "Idempotency-Key: k")
	}
	r.do("POST", path, `{"input":{"b":1}}`, "Idempotency-Key: k").wants(t, 409, core.CodeConflict)
	close(release)
	first := <-replies
	for range cap(replies) - 1 {
		if p := <-replies; p.status != 200 || p.text != first.text {
			t.Errorf("%d %s", p.status, p.text)
		}
	}
	if made.Load() != 1 {
		t.Errorf("created %d", made.Load())
	}
}

// A failed creation leaves the key free.
func TestIdempotentFailure(t *testing.T) {
	r, made := creations(t)
	good := r.executions.start
	r.executions.start = func(context.Context, core.ExecuteRequest) (*core.Execution, error) {
		return nil, core.Invalid("text", "is required")
	}
	r.do("POST", "/api/patterns/a/execute", "{}", "Idempotency-Key: k").wants(t, 400, core.CodeValidation)
	r.executions.start = good
	r.do("POST", "/api/patterns/a/execute", "{}", "Idempotency-Key: k").wants(t, 200, "")
	if made.Load() != 1 {
		t.Errorf("created %d", made.Load())
	}
}

// An execution that ran over its time is an answer like any other; a passing failure is not kept.
func TestIdempotentOutcomes(t *testing.T) {
	r, made := creations(t)
	r.executions.wait = func(_ context.Context, id string) (*core.Execution, error) {
		return nil, core.Unavailable("shutting_down", "the service is stopping")
	}
	r.do("POST", "/api/patterns/a/execute", "{}", "Idempotency-Key: k").wants(t, 503, core.CodeInternal)
	r.executions.wait = func(_ context.Context, id string) (*core.Execution, error) {
		e := someExecution(id, core.ExecutionFailed)
		e.Error = &core.ExecutionError{Code: core.CodeTimeout, Message: "ran over"}
		return e, nil
	}
	first := r.do("POST", "/api/patterns/a/execute", "{}", "Idempotency-Key: k")
	first.wants(t, 408, core.CodeTimeout)
	r.executions.wait = nil
	again := r.do("POST", "/api/patterns/a/execute", "{}", "Idempotency-Key: k")
	again.wants(t, 408, core.CodeTimeout)
	if again.text != first.text || made.Load() != 1 {
		t.Errorf("%s, created %d", again.text, made.Load())
	}
}

// The answer is given though it cannot be kept.
func TestIdempotentStoreFails(t *testing.T) {
	r, _ := creations(t)
	r.keys.dying(0, func() reply { return r.do("POST", "/api/patterns/a/execute", "{}", "Idempotency-Key: k") }).wants(t, 200, "")
}

func TestIdempotencyKeyForm(t *testing.T) {
	r := newRig(t)
	for key, status := range map[string]int{
		"x": 200, strings.Repeat("k", 255): 200, strings.Repeat("k", 256): 400, "é": 400, "a\tb": 400,
	} {
		if p := r.do("POST", "/api/patterns/a/execute", "", "Idempotency-Key: "+key); p.status != status {
			t.Errorf("%q: %d %s", key, p.status, p.text)
		}
	}
}

// Keys of different patterns never meet.
func TestIdempotencyScope(t *testing.T) {
	r, made := creations(t)
	r.do("POST", "/api/patterns/a/execute", "{}", "Idempotency-Key: k").wants(t, 200, "")
	r.do("POST", "/api/patterns/b/execute", "{}", "Idempotency-Key: k").wants(t, 200, "")
	if made.Load() != 2 {
		t.Errorf("created %d", made.Load())
	}
}

func TestIdempotentStream(t *testing.T) {
	r, made := creations(t)
	const path = "/api/patterns/a/execute/stream"
	first := r.do("POST", path, "{}", "Idempotency-Key: k")
	again := r.do("POST", path, "{}", "Idempotency-Key: k")
	strip := func(s string) string { _, rest, _ := strings.Cut(s, "\n\n"); return rest } // retry differs
	if made.Load() != 1 || strip(first.text) != strip(again.text) || !strings.Contains(again.text, execID2) {
		t.Errorf("created %d: %s", made.Load(), again.text)
	}
	if again.header.Get("Idempotent-Replayed") != "true" {
		t.Error("the second stream does not say that it is one")
	}
	tail := r.do("POST", path, "{}", "Idempotency-Key: k", "Last-Event-ID: 15")
	if strings.Contains(tail.text, "agent_result") || !strings.Contains(tail.text, "event: completed") {
		t.Errorf("resumed: %s", tail.text)
	}
	if end := r.do("POST", path, "{}", "Idempotency-Key: k", "Last-Event-ID: 18"); end.status != 204 {
		t.Errorf("after the last event: %d %s", end.status, end.text)
	}
	if fresh := r.do("POST", path, "{}", "Last-Event-ID: 15"); !strings.Contains(fresh.text, "agent_result") {
		t.Errorf("a new execution is streamed from its beginning, whatever was seen of others: %s", fresh.text)
	}
	r.do("POST", path, `{"input":{}}`, "Idempotency-Key: k").wants(t, 409, core.CodeConflict)
	coretest.WaitFor(t, "the key to be free", func() bool {
		return r.do("POST", path, "{}", "Idempotency-Key: k").status == 200
	})
}
