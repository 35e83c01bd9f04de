package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

// vote is a pattern in which three agents vote; the verdict on a number is a pure function of it.
const vote = `name: %s
version: 1.0.0
description: three agents vote on a number
input:
  n:
    type: number
    required: true
agents:
  capabilities: [%s]
  min: 3
aggregation:
  strategy: voting
  method: majority
  field: kind
output:
  kind: $vote.result
  confidence: $vote.confidence
`

// single is a pattern of one agent.
const single = `name: %s
version: 1.0.0
agents:
  capabilities: [%s]
  min: 1
aggregation:
  strategy: first
output:
  answer: $first.answer
`

// voter answers as agent n would on any run: one of three dissents, which one depends on the number.
func voter(_ context.Context, n int, task *agent.Task) (any, error) {
	var in struct{ N int }
	if err := task.Bind(&in); err != nil {
		return nil, err
	}
	kind := kindOf(in.N)
	if in.N%3 == n {
		kind = "dissent"
	}
	return map[string]any{"kind": kind, "confidence": 0.75}, nil
}

func kindOf(n int) string {
	if n%2 == 0 {
		return "even"
	}
	return "odd"
}

// checkVote compares the outcome on n with what it must be.
func checkVote(t testing.TB, n int, e *client.Execution) {
	t.Helper()
	if e.Status != client.StatusCompleted {
		t.Fatalf("execution %s on %d is %s: %+v", e.ExecutionID, n, e.Status, e.Error)
	}
	checkKind(t, n, e.Result)
	if len(e.Agents) != 3 {
		t.Fatalf("execution %s on %d has %d agents", e.ExecutionID, n, len(e.Agents))
	}
}

func checkKind(t testing.TB, n int, result json.RawMessage) {
	t.Helper()
	var got struct {
		Kind       string
		Confidence float64
	}
	if err := json.Unmarshal(result, &got); err != nil {
		t.Fatalf("result on %d: %v in %s", n, err, result)
	}
	if got.Kind != kindOf(n) || got.Confidence < 0.49 || got.Confidence > 0.51 {
		t.Fatalf("result on %d: %s; want %s with confidence 0.5", n, result, kindOf(n))
	}
}

func number(n int) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)) }

// put stores a pattern made of a text above.
func (s *server) put(text, name, capability string) {
	s.t.Helper()
	if _, err := s.api.CreatePattern(s.t.Context(), client.PatternInput{
		Name: name, Definition: fmt.Sprintf(text, name, capability),
	}); err != nil {
		s.t.Fatal(err)
	}
}

// async starts an execution and returns its id.
func (s *server) async(pattern string, input json.RawMessage, opts ...client.ExecuteOptions) string {
	s.t.Helper()
	req := client.ExecuteRequest{Pattern: pattern, Input: input}
	if len(opts) > 0 {
		req.Options = opts[0]
	}
	e, err := s.api.ExecuteAsync(s.t.Context(), req)
	if err != nil {
		s.t.Fatal(err)
	}
	return e.ExecutionID
}

// get reads an execution.
func (s *server) get(id string) *client.Execution {
	s.t.Helper()
	e, err := s.api.GetExecution(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}

// settled waits for the end of an execution, over restarts of the server.
func (s *server) settled(id string) *client.Execution {
	s.t.Helper()
	var e *client.Execution
	eventually(s.t, "the end of "+id, func() bool {
		ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
		defer cancel()
		found, err := s.api.GetExecution(ctx, id)
		if err != nil {
			if client.Unreachable(err) {
				return false
			}
			s.t.Fatal(err)
		}
		e = found
		return client.Terminal(e.Status)
	})
	return e
}

// journal reads the whole journal of an execution.
func (s *server) journal(id string) []event {
	s.t.Helper()
	var list []event
	for since, more := uint64(0), true; more; {
		var page struct {
			Events    []event
			HasMore   bool
			NextSince uint64
		}
		a := s.read(fmt.Sprintf("/api/executions/%s/events?limit=100&since=%d", id, since))
		if err := json.Unmarshal(a.body, &page); err != nil || a.status != 200 {
			s.t.Fatalf("journal of %s: %s (%v)", id, a, err)
		}
		list = append(list, page.Events...)
		since, more = page.NextSince, page.HasMore
	}
	return list
}

// event is an entry of a journal.
type event struct {
	Sequence uint64
	Type     string
	Data     json.RawMessage
}

func (e event) String() string { return fmt.Sprintf("%d %s %s", e.Sequence, e.Type, e.Data) }
