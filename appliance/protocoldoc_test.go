package appliance_test

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

// documented is a frame of docs/agent-protocol.md.
type documented struct {
	Type    string
	Payload struct {
		TaskID, Role, Step, Capability string
		Input, Result                  json.RawMessage
	}
}

var agentIDs = regexp.MustCompile(`agent_[0-9A-Z]{26}`)

// TestDocumentedChart runs the org chart of docs/agent-protocol.md on agents that answer as the page has it: every task
// must be the one that the page tells of, so that who reads it alone can write a reviewer.
func TestDocumentedChart(t *testing.T) {
	page, err := os.ReadFile("../docs/agent-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Tasks of org charts")
	_, rest, _ := strings.Cut(section, "```yaml\n")
	definition, rest, _ := strings.Cut(rest, "```")
	_, rest, _ = strings.Cut(rest, "```frames\n")
	text, _, closed := strings.Cut(rest, "```")
	if !closed {
		t.Fatal("the page has no frames")
	}
	var tasks, answers []documented
	for line := range strings.Lines(text) {
		who, frame, _ := strings.Cut(line, " ")
		var f documented
		if who != "--" {
			if err := json.Unmarshal([]byte(frame), &f); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
		}
		switch who {
		case "server>":
			tasks = append(tasks, f)
		case "agent>":
			answers = append(answers, f)
		}
	}
	if len(tasks) != 6 || len(answers) != len(tasks) {
		t.Fatalf("%d tasks and %d answers", len(tasks), len(answers))
	}

	a := open(t, appliance.Options{Dev: true, Listen: "127.0.0.1:0", DataDir: t.TempDir(), Version: "1.2.3"})
	server := "http://" + a.Addr()
	type seen struct {
		role, step, capability string
		input                  json.RawMessage
	}
	got := make(chan seen, len(tasks))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	next := make(chan int, 1) // the number of the task that is due: there is one at a time
	next <- 0
	for _, capability := range []string{"write", "edit"} {
		worker, err := agent.New(agent.Options{
			URL: server, Name: capability, Capabilities: []string{capability},
			Handler: func(_ context.Context, task *agent.Task) (any, error) {
				n := <-next
				next <- n + 1
				got <- seen{task.Role, task.Step, task.Capability, slices.Clone(task.Input)}
				if n >= len(answers) {
					return nil, &agent.Error{Code: "TOO_MANY", Message: "the page has no such task"}
				}
				return answers[n].Payload.Result, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- worker.Run(ctx) }()
		coretest.WaitFor(t, "the agent to connect", worker.Connected)
	}
	defer func() {
		cancel()
		for range 2 {
			<-ended
		}
	}()
	c, err := client.New(server, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.CreatePattern(t.Context(), client.PatternInput{Definition: definition}); err != nil {
		t.Fatal(err)
	}
	e, err := c.Execute(t.Context(), client.ExecuteRequest{Pattern: "release-note", Input: json.RawMessage(`{"task":"what is new"}`)})
	if err != nil || e.Status != client.StatusCompleted {
		t.Fatalf("%+v, %v", e, err)
	}
	for i, want := range tasks {
		task := <-got
		input := agentIDs.ReplaceAllString(string(task.input), "agent")
		var have, says any
		if json.Unmarshal([]byte(input), &have) != nil ||
			json.Unmarshal([]byte(agentIDs.ReplaceAllString(string(want.Payload.Input), "agent")), &says) != nil {
			t.Fatalf("task %d: %s", i, input)
		}
		if !reflect.DeepEqual(have, says) || task.role != want.Payload.Role || task.step != want.Payload.Step || task.capability != want.Payload.Capability {
			t.Errorf("task %d of role %s, step %s, is\n%s\nthe page says\n%s", i, task.role, task.step, task.input, want.Payload.Input)
		}
	}
}
