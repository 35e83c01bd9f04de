package appliance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

// randomWorkflow makes steps of a workflow, whose results say by which step they were made.
func randomWorkflow(rnd *rand.Rand, n, depth int) []any {
	steps := make([]any, n)
	for i := range steps {
		kinds := 3
		if depth > 0 {
			kinds = 6
		}
		role := []string{"a", "b"}[rnd.Intn(2)]
		switch rnd.Intn(kinds) {
		case 3:
			steps[i] = map[string]any{"type": "parallel", "steps": randomWorkflow(rnd, 1+rnd.Intn(4), depth-1)}
		case 4:
			steps[i] = map[string]any{"type": "sequential", "steps": randomWorkflow(rnd, 1+rnd.Intn(3), depth-1)}
		case 5:
			branches := randomWorkflow(rnd, 2, depth-1)
			steps[i] = map[string]any{"type": "condition", "check": fmt.Sprintf("${input.n} > %d", rnd.Intn(10)), "then": branches[0], "else": branches[1]}
		default:
			steps[i] = map[string]any{"type": "assign", "role": role, "task": "work"}
		}
	}
	return steps
}

// Random org charts, over the real store and real connections, end through many restarts as without any.
func TestChartsThroughRestarts(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	opts := appliance.Options{Dev: true, Listen: address, DataDir: t.TempDir(), Version: "1.2.3"}
	a := open(t, opts)

	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c, err := client.New("http://"+address, client.Options{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	var handled atomic.Int64
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 8)
	const agents = 4
	for i := range agents {
		worker, err := agent.New(agent.Options{
			URL: "http://" + address, Name: fmt.Sprint("worker", i), Capabilities: []string{"work"},
			Handler: func(_ context.Context, task *agent.Task) (any, error) {
				handled.Add(1)
				var in struct{ Step string }
				err := json.Unmarshal(task.Input, &in)
				return in.Step, err
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		go func() { done <- worker.Run(ctx) }()
		coretest.WaitFor(t, "the agent to connect", worker.Connected)
	}
	defer func() {
		cancel()
		for range agents {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}()

	rnd := rand.New(rand.NewSource(7))
	for n := range 4 {
		name := fmt.Sprint("random", n)
		definition, err := json.Marshal(map[string]any{
			"name": name, "version": "1.0.0",
			"structure": map[string]any{"name": "team", "roles": map[string]any{
				"a": map[string]any{"capabilities": []string{"work"}, "maxInstances": 2},
				"b": map[string]any{"capabilities": []string{"work"}, "reportsTo": "a"},
			}},
			"workflow": map[string]any{
				"name": "work", "input": map[string]any{"n": map[string]any{"type": "number"}},
				"steps": []any{map[string]any{"type": "sequential", "steps": append(randomWorkflow(rnd, 6, 2),
					map[string]any{"type": "assign", "role": "a", "task": "last"}, map[string]any{"type": "assign", "role": "b", "task": "last"})}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.CreatePattern(t.Context(), client.PatternInput{Definition: string(definition), Name: name}); err != nil {
			t.Fatalf("%v\n%s", err, definition)
		}
		req := client.ExecuteRequest{Pattern: name, Input: json.RawMessage(`{"n":5}`)}
		before := handled.Load()
		calm, err := c.Execute(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		tasks := handled.Load() - before
		exec, err := c.ExecuteAsync(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		begun := handled.Load()
		for at := int64(1); at < tasks; at += 1 + rnd.Int63n(4) {
			coretest.WaitFor(t, "some tasks", func() bool {
				e, err := c.GetExecution(t.Context(), exec.ExecutionID)
				return handled.Load() >= begun+at || err == nil && e.Status == "completed"
			})
			a.Close()
			a = open(t, opts)
		}
		var got *client.Execution
		coretest.WaitFor(t, "the end", func() bool {
			got, err = c.GetExecution(t.Context(), exec.ExecutionID)
			return err == nil && (got.Status == "completed" || got.Status == "failed")
		})
		if string(got.Result) != string(calm.Result) || got.Status != "completed" {
			t.Errorf("got  %s %s\nwant %s", got.Status, got.Result, calm.Result)
		}
		t.Logf("%d tasks, %d with restarts: %s", tasks, handled.Load()-begun, calm.Result)
	}
}
