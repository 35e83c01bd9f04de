package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/appliance/cmd"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent"
)

// The search library starts workers with the process, which live as long as it does.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}

// console is one command line at work: what it wrote so far.
type console struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.Write(p)
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.String()
}

// product is the real appliance, started by its own command line in this process.
type product struct {
	t       *testing.T
	address string
	stop    func() int // ends it and returns its exit code
}

func startProduct(t *testing.T, dir string) *product {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var out, log console
	code := make(chan int, 1)
	go func() {
		code <- cmd.Execute(ctx, cmd.Deps{
			Run: func(ctx context.Context, opts cmd.RunOptions) error {
				return appliance.Run(ctx, appliance.Options(opts))
			},
			Stdout: &out, Stderr: &log,
		}, []string{"dev", "--listen", "127.0.0.1:0", "--data-dir", dir})
	}()
	var address []string
	ready := regexp.MustCompile(`ready: (http://\S+)`)
	coretest.WaitFor(t, "the server", func() bool {
		address = ready.FindStringSubmatch(out.String())
		return address != nil
	})
	return &product{t: t, address: address[1], stop: func() int { cancel(); return <-code }}
}

// command runs a command line against the product and returns its stdout.
func (p *product) command(code int, args ...string) string {
	p.t.Helper()
	var stdout, stderr console
	got := cmd.Execute(p.t.Context(), cmd.Deps{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(key string) string { return map[string]string{"WARDROOM_SERVER": p.address}[key] },
	}, args)
	if got != code {
		p.t.Fatalf("%v ended with %d, want %d\n%s%s", args, got, code, &stdout, &stderr)
	}
	return stdout.String()
}

// connect joins an agent that answers with the length of the text, and returns how to take it away.
func (p *product) connect(name string) (leave func()) {
	p.t.Helper()
	a, err := agent.New(agent.Options{
		URL: p.address, Name: name, Capabilities: []string{"measure"}, MaxConcurrentTasks: 4,
		Handler: func(_ context.Context, task *agent.Task) (any, error) {
			var in struct{ Text string }
			if err := task.Bind(&in); err != nil {
				return nil, err
			}
			if in.Text == "" {
				return nil, fmt.Errorf("there is no text")
			}
			return map[string]any{"length": len(in.Text), "confidence": 1}, nil
		},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	return func() { cancel(); <-done }
}

const measure = `name: measure
version: 1.0.0
input:
  text: {type: string, required: true}
agents:
  capabilities: [measure]
  min: 2
aggregation:
  strategy: voting
  method: majority
  field: length
output:
  length: $vote.result
  confidence: $vote.confidence
`

// TestProduct drives the real server with the real command line: the shapes that the client believes in are
// those that the API sends.
func TestProduct(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "measure.yaml")
	if err := os.WriteFile(file, []byte(measure), 0o600); err != nil {
		t.Fatal(err)
	}
	items := filepath.Join(dir, "items.csv")
	if err := os.WriteFile(items, []byte("text\none\nthree\n\"a longer, quoted one\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startProduct(t, filepath.Join(dir, "data"))

	p.command(0, "pattern", "validate", file)
	p.command(0, "pattern", "put", file)
	p.command(0, "pattern", "put", file)
	p.command(4, "pattern", "put", "--create", file)
	p.command(0, "pattern", "get", "measure", "--version", "1.x")
	p.command(0, "pattern", "versions", "measure")
	p.command(3, "pattern", "get", "nosuch")
	p.command(7, "run", "measure", "--input", `{"text":"x"}`) // nobody is connected

	leave1, leave2 := p.connect("a"), p.connect("b")
	coretest.WaitFor(t, "two agents", func() bool {
		return strings.Count(p.command(0, "agent", "list", "--status", "connected"), "measure") == 2
	})

	var outcome struct {
		ExecutionID string
		Result      struct{ Length int }
		Agents      []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(p.command(0, "run", "measure", "--input", `{"text":"four"}`, "-o", "json")), &outcome); err != nil {
		t.Fatal(err)
	}
	if outcome.Result.Length != 4 || len(outcome.Agents) != 2 {
		t.Errorf("outcome = %+v", outcome)
	}
	p.command(2, "run", "measure", "--input", `{"txt":"four"}`)
	p.command(1, "run", "measure", "--input", `{"text":""}`)
	if got := p.command(0, "run", "measure", "--input", `{"text":"four"}`, "--stream"); !strings.Contains(got, `{"length":4`) {
		t.Errorf("stream = %s", got)
	}
	p.command(0, "execution", "get", outcome.ExecutionID)
	p.command(0, "execution", "watch", outcome.ExecutionID)
	p.command(4, "execution", "cancel", outcome.ExecutionID)
	p.command(0, "execution", "retry", outcome.ExecutionID)
	p.command(2, "execution", "rerun", outcome.ExecutionID) // there is no unfinished step
	if got := p.command(0, "execution", "list", "--all", "--since", "1h"); strings.Count(got, "measure") < 4 {
		t.Errorf("executions:\n%s", got)
	}
	p.command(0, "agent", "get", outcome.Agents[0].ID)
	if got := p.command(0, "batch", "run", items, "--pattern", "measure", "--concurrency", "2", "--rows", "-1"); !strings.Contains(got, `{"length":20`) {
		t.Errorf("batch:\n%s", got)
	}
	p.command(0, "status")
	p.command(0, "version")
	p.command(0, "openapi")
	p.command(0, "agent", "disconnect", outcome.Agents[0].ID, "--reason", "test")
	leave1()
	leave2()

	if code := p.stop(); code != 0 {
		t.Fatalf("the server ended with %d", code)
	}
	dump := filepath.Join(dir, "dump")
	p.command(0, "store", "dump", dump, "--data-dir", filepath.Join(dir, "data"))
	p.command(0, "store", "restore", dump, "--data-dir", filepath.Join(dir, "moved", "store"))

	again := startProduct(t, filepath.Join(dir, "moved"))
	if got := again.command(0, "execution", "get", outcome.ExecutionID, "-o", "yaml"); !strings.Contains(got, "length: 4") {
		t.Errorf("after the restore:\n%s", got)
	}
	again.command(0, "pattern", "delete", "measure")
	if code := again.stop(); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
}
