package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/scripts/demo/classifier"
	"github.com/wardroom/wardroom/sdk/agent/agenttest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAgent(t *testing.T) {
	srv := agenttest.NewServer(agenttest.Options{})
	defer srv.Close()
	var tasks bytes.Buffer // written by one task after the other, read after the agent has ended
	a, err := newAgent(options{server: srv.URL, method: "rules", capability: "c", tasks: 1, think: time.Millisecond},
		slog.New(slog.DiscardHandler), slog.New(slog.NewJSONHandler(&tasks, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	c, err := srv.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if c.Register.Name != "rules" || c.Register.Metadata["model"] != "rules" {
		t.Errorf("registered as %+v", c.Register)
	}
	if err := c.Task(protocol.Task{
		TaskID: "t1", ExecutionID: "e1", Input: json.RawMessage(`{"text":"I was charged twice"}`), Attempt: 1,
	}); err != nil {
		t.Fatal(err)
	}
	var r protocol.TaskResult
	if _, err := c.Next(ctx, protocol.TypeTaskResult, &r); err != nil {
		t.Fatal(err)
	}
	var v classifier.Verdict
	if err := json.Unmarshal(r.Result, &v); err != nil || v.Category != classifier.Billing || v.Confidence < 0.5 {
		t.Errorf("verdict %s: %v", r.Result, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var kinds []string
	for line := range strings.Lines(tasks.String()) {
		var entry struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, entry.Msg)
	}
	if got := strings.Join(kinds, " "); got != "registered began finished" {
		t.Errorf("task log: %s", got)
	}
}

func TestAgent_BadMethod(t *testing.T) {
	if err := run(options{method: "oracle"}, ""); err == nil {
		t.Error("it ran")
	}
}
