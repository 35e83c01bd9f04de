package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

func TestManagedAgentRequests(t *testing.T) {
	s := newServer(t, answer(200, `{}`))
	c := newClient(t, s.URL, client.Options{Token: "wr_t"})
	since := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	for _, tt := range []struct {
		name string
		call func(ctx context.Context) error
		want string // method, URI and body
	}{
		{"Spawn", func(ctx context.Context) error {
			_, err := c.SpawnManagedAgent(ctx, client.ManagedAgentSpec{
				Name: "n", Type: "claude", Env: map[string]string{"K": "v"}, ApprovalPreset: "readonly", Memory: "1g", CPU: 0.5, IdempotencyKey: "k",
			})
			return err
		}, `POST /api/managed-agents {"name":"n","type":"claude","env":{"K":"v"},"approvalPreset":"readonly","memory":"1g","cpu":0.5}`},
		{"SpawnPlain", func(ctx context.Context) error {
			_, err := c.SpawnManagedAgent(ctx, client.ManagedAgentSpec{Type: "codex"})
			return err
		}, `POST /api/managed-agents {"type":"codex"}`},
		{"List", func(ctx context.Context) error {
			_, err := c.ListManagedAgents(ctx, client.ManagedAgentFilter{Status: "ready", Type: "claude", Runtime: "local", Page: client.Page{Limit: 2}})
			return err
		}, `GET /api/managed-agents?limit=2&runtime=local&status=ready&type=claude `},
		{"ListByLabels", func(ctx context.Context) error {
			_, err := c.ListManagedAgents(ctx, client.ManagedAgentFilter{Labels: map[string]string{"team": "core", "k": "a b"}})
			return err
		}, `GET /api/managed-agents?label=k%3Da+b&label=team%3Dcore `},
		{"Get", func(ctx context.Context) error { _, err := c.GetManagedAgent(ctx, "a/b"); return err }, `GET /api/managed-agents/a%2Fb `},
		{"Stop", func(ctx context.Context) error { return c.StopManagedAgent(ctx, "m", false, 0) }, `DELETE /api/managed-agents/m `},
		{"StopForce", func(ctx context.Context) error { return c.StopManagedAgent(ctx, "m", true, 1500*time.Millisecond) },
			`DELETE /api/managed-agents/m?force=true&timeout=1500 `},
		{"Restart", func(ctx context.Context) error {
			_, err := c.RestartManagedAgent(ctx, "m", client.ManagedAgentRestart{})
			return err
		}, `POST /api/managed-agents/m/restart {}`},
		{"Send", func(ctx context.Context) error {
			_, err := c.SendManagedAgent(ctx, "m", client.ManagedAgentInput{Message: "hi", ExpectResponse: true, Timeout: time.Second})
			return err
		}, `POST /api/managed-agents/m/send {"message":"hi","expectResponse":true,"timeout":1000}`},
		{"Keys", func(ctx context.Context) error {
			_, err := c.SendManagedAgent(ctx, "m", client.ManagedAgentInput{Keys: []string{"ESC"}})
			return err
		}, `POST /api/managed-agents/m/send {"keys":["ESC"]}`},
		{"Interrupt", func(ctx context.Context) error {
			_, err := c.SendManagedAgent(ctx, "m", client.ManagedAgentInput{Interrupt: true})
			return err
		}, `POST /api/managed-agents/m/send {"interrupt":true}`},
		{"Fresh", func(ctx context.Context) error {
			_, err := c.RestartManagedAgent(ctx, "m", client.ManagedAgentRestart{Fresh: true})
			return err
		}, `POST /api/managed-agents/m/restart {"fresh":true}`},
		{"Answer", func(ctx context.Context) error {
			_, err := c.AnswerManagedAgent(ctx, "m", client.ManagedAgentAnswer{PromptID: "p", Choice: "allow"})
			return err
		}, `POST /api/managed-agents/m/answer {"promptId":"p","choice":"allow"}`},
		{"Logs", func(ctx context.Context) error {
			_, err := c.ManagedAgentLogs(ctx, "m", client.LogOptions{Tail: 5, Since: since})
			return err
		}, `GET /api/managed-agents/m/logs?since=2026-01-02T03%3A04%3A05.006Z&tail=5 `},
		{"Metrics", func(ctx context.Context) error { _, err := c.ManagedAgentMetrics(ctx, "m"); return err }, `GET /api/managed-agents/m/metrics `},
		{"Screen", func(ctx context.Context) error { _, err := c.ManagedAgentScreen(ctx, "m"); return err }, `GET /api/managed-agents/m/screen `},
		{"Events", func(ctx context.Context) error { _, err := c.ListManagedAgentEvents(ctx, "m", 3, 10); return err },
			`GET /api/managed-agents/m/events?limit=10&since=3 `},
		{"Runtimes", func(ctx context.Context) error { _, err := c.ListRuntimes(ctx); return err }, `GET /api/runtimes `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.call(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := s.last(t)
			if got := r.Method + " " + r.URI + " " + r.Body; got != tt.want {
				t.Errorf("sent %s\nwant %s", got, tt.want)
			}
			if tt.name == "Spawn" && r.Header.Get("Idempotency-Key") != "k" {
				t.Error("the key was not sent")
			}
		})
	}
	address, header := c.TerminalRequest("a/b")
	if address != s.URL+"/api/managed-agents/a%2Fb/terminal" || header.Get("Authorization") != "Bearer wr_t" {
		t.Errorf("terminal at %s with %v", address, header)
	}
}

func TestManagedAgentAnswers(t *testing.T) {
	const row = `{"id":"m","type":"claude","status":"busy","statusReason":"blocked","runtime":"local","capabilities":[],` +
		`"prompt":{"id":"p","kind":"approval","text":"ok?","tool":"Bash","input":{"command":"ls"},"options":[{"id":"allow","label":"Yes"}]},` +
		`"createdAt":"2026-01-02T03:04:05.006Z","lastActivityAt":"2026-01-02T03:04:05.006Z"}`
	s := newServer(t, answer(200, row), answer(200, `{"sent":true,"response":{"text":"yes","turn":2,"durationMs":12}}`),
		answer(200, `{"agents":[`+row+`],"hasMore":true,"nextCursor":"c"}`), answer(200, `{"agents":[`+row+`],"hasMore":false}`),
		answer(204, ``))
	c := newClient(t, s.URL, client.Options{})
	a, err := c.GetManagedAgent(t.Context(), "m")
	if err != nil || a.Prompt == nil || a.Prompt.Options[0].ID != "allow" || a.Prompt.Input["command"] != "ls" {
		t.Errorf("%+v %v", a, err)
	}
	reply, err := c.SendManagedAgent(t.Context(), "m", client.ManagedAgentInput{Message: "x"})
	if err != nil || !reply.Sent || reply.Response.Text != "yes" || time.Duration(reply.Response.DurationMs)*time.Millisecond != 12*time.Millisecond {
		t.Errorf("%+v %v", reply, err)
	}
	n := 0
	for _, err := range c.ManagedAgents(t.Context(), client.ManagedAgentFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d agents", n)
	}
	if err := c.StopManagedAgent(t.Context(), "m", false, 0); err != nil {
		t.Error(err)
	}
}

// A followed log comes back after a lost connection, behind the line it saw, and ends with the log.
func TestFollowManagedAgentLogs(t *testing.T) {
	const one = "id: 2026-01-02T03:04:05.678Z\nevent: log\ndata: {\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"stream\":\"input\",\"line\":\"one\"}\n\n"
	const two = "id: 2026-01-02T03:04:06Z\nevent: log\ndata: {\"timestamp\":\"2026-01-02T03:04:06Z\",\"stream\":\"output\",\"line\":\"two\"}\n\n"
	s := newServer(t, cut("retry: 1\n\n: hello\n\n"+one), events(two+"event: later\ndata: {}\n\nevent: end\ndata: {}\n\n"))
	opts, _ := noWait(client.Options{})
	stream, err := newClient(t, s.URL, opts).FollowManagedAgentLogs(t.Context(), "m", client.LogOptions{Tail: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for _, want := range []string{"one", "two"} {
		line, event, err := stream.Next()
		if err != nil || line.Line != want || event.Type != "log" {
			t.Fatalf("%+v %v", line, err)
		}
	}
	for range 2 {
		if _, _, err := stream.Next(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	seen := s.seen()
	if len(seen) != 2 || seen[0].URI != "/api/managed-agents/m/logs?follow=true&tail=3" ||
		seen[1].Header.Get("Last-Event-ID") != "2026-01-02T03:04:05.678Z" || seen[0].Header.Get("Accept") != "text/event-stream" {
		t.Errorf("%+v", seen)
	}

	s = newServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	over, err := newClient(t, s.URL, opts).FollowManagedAgentLogs(t.Context(), "m", client.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := over.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	s = newServer(t, events("event: log\ndata: 3\n\n"))
	bad, err := newClient(t, s.URL, opts).FollowManagedAgentLogs(t.Context(), "m", client.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	if _, _, err := bad.Next(); err == nil || errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestWatchManagedAgent(t *testing.T) {
	const row = `{"agentId":"m","sequence":24,"type":"managed_agent.stopped","timestamp":"2026-01-02T03:04:05.678Z",` +
		`"data":{"status":"stopped","reason":"exited","exitCode":3,"tool":{"name":"Bash"}}}`
	s := newServer(t, cut("id: 24\nevent: managed_agent.stopped\ndata: "+row+"\n\n"), answer(404, `{"error":{"code":"NOT_FOUND","message":"gone"}}`))
	opts, _ := noWait(client.Options{})
	stream, err := newClient(t, s.URL, opts).WatchManagedAgent(t.Context(), "m", "20")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	event, err := stream.Next()
	if err != nil {
		t.Fatal(err)
	}
	var e client.ManagedAgentEvent
	if err := json.Unmarshal(event.Data, &e); err != nil {
		t.Fatal(err)
	}
	d, err := e.Decode()
	if err != nil || e.Sequence != 24 || d.Reason != "exited" || *d.ExitCode != 3 || d.Tool.Name != "Bash" {
		t.Errorf("%+v %+v %v", e, d, err)
	}
	if _, err := stream.Next(); client.CodeOf(err) != client.CodeNotFound {
		t.Error(err)
	}
	seen := s.seen()
	if seen[0].Header.Get("Last-Event-ID") != "20" || seen[1].Header.Get("Last-Event-ID") != "24" {
		t.Errorf("%+v", seen)
	}
}
