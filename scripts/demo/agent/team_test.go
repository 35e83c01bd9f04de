package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/agenttest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// A team's agent asks while it works, goes on with the answer, and answers others.
func TestTeamAgent(t *testing.T) {
	srv := agenttest.NewServer(agenttest.Options{})
	defer srv.Close()
	var tasks bytes.Buffer // written by one handler after the other, read after the agent has ended
	a, err := newTeamAgent(options{server: srv.URL, name: "kim", capability: "coding,review", tasks: 1, think: time.Millisecond},
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
	if len(c.Register.Capabilities) != 2 || c.Register.Metadata["model"] != "rules, no model" {
		t.Errorf("registered as %+v", c.Register)
	}
	if err := c.Task(protocol.Task{
		TaskID: "t1", ExecutionID: "e1", Attempt: 1,
		Input: json.RawMessage(`{"type":"assign","task":"The work:\n\ncount lines\n\nDo it."}`),
	}); err != nil {
		t.Fatal(err)
	}
	var asked protocol.Message
	f, err := c.Next(ctx, protocol.TypeMessage, &asked)
	if err != nil || !strings.Contains(string(asked.Content), "last newline") {
		t.Fatalf("asked %+v, %v", asked, err)
	}
	if err := c.Send(protocol.TypeMessageReply, f.ID, protocol.MessageReply{
		MessageID: "m1", TaskID: "t1", From: "lead", Content: json.RawMessage(`"always"`),
	}); err != nil {
		t.Fatal(err)
	}
	var r protocol.TaskResult
	if _, err := c.Next(ctx, protocol.TypeTaskResult, &r); err != nil || !strings.Contains(string(r.Result), "The answer: always") {
		t.Errorf("result %s, %v", r.Result, err)
	}
	if err := c.Send(protocol.TypeMessage, "m2", protocol.MessageDelivery{
		MessageID: "m2", From: "engineer", Content: asked.Content, WantsReply: true,
	}); err != nil {
		t.Fatal(err)
	}
	var reply protocol.MessageReply
	if _, err := c.Next(ctx, protocol.TypeMessageReply, &reply); err != nil || !strings.Contains(string(reply.Content), "unless it is empty") {
		t.Errorf("reply %s, %v", reply.Content, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := strings.Count(tasks.String(), "\n"); got != 4 {
		t.Errorf("task log:\n%s", tasks.String())
	}
}
