package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
	"github.com/wardroom/wardroom/sdk/runtimetest"
)

func dial(t *testing.T, url string) *websocket.Conn {
	t.Helper()
	conn, response, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http"), nil)
	if err != nil {
		t.Fatalf("%s: %v %v", url, err, response)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	return conn
}

// frame is a message of /ws/events as a stranger sees it.
type frame struct {
	Event     string
	Data      map[string]any
	Timestamp time.Time
	Seq       uint64
}

func TestEventSocketTellsWhatHappens(t *testing.T) {
	r := newRig(t, runtimeserver.Options{})
	all, other := dial(t, r.URL+"/ws/events"), dial(t, r.URL+"/api/ws/events?agentId=b")
	r.expect(t, 201, http.MethodPost, "/agents", `{"id":"a","type":"shell","env":{"K":"hunter2"}}`)
	for _, message := range []string{"echo said", "login https://login.example/x", "ask may I?"} {
		r.expect(t, 200, http.MethodPost, "/agents/a/send", `{"message":"`+message+`"}`)
	}
	r.until(t, "a", "busy", "blocked")
	r.expect(t, 204, http.MethodDelete, "/agents/a", "")
	r.spawn(t, "b")

	want := []string{"agent_started", "agent_ready", "message", "login_required", "question", "question", "agent_stopped"}
	threads := map[string]bool{}
	var seq uint64
	for len(want) > 0 || !threads["thread_stopped"] {
		_, data, err := all.ReadMessage()
		if err != nil {
			t.Fatalf("waiting for %v: %v", want, err)
		}
		if strings.Contains(string(data), "hunter2") || strings.Contains(string(data), "handle") {
			t.Errorf("a frame tells too much: %s", data)
		}
		var f frame
		if err := json.Unmarshal(data, &f); err != nil || f.Timestamp.IsZero() || f.Seq < seq {
			t.Fatalf("a frame is %s: %v", data, err)
		}
		seq = f.Seq
		if f.Event == "thread_event" {
			event, _ := f.Data["event"].(map[string]any)
			thread, _ := f.Data["thread"].(map[string]any)
			if event["threadId"] != thread["id"] || thread["managedAgentId"] != "a" || event["data"] == nil {
				t.Errorf("a thread event is %s", data)
			}
			threads[event["type"].(string)] = true
			continue
		}
		if len(want) == 0 || f.Event != want[0] {
			t.Fatalf("came %s, want %s", data, want[0])
		}
		want = want[1:]
		checkFrame(t, f)
	}
	for _, kind := range []string{"thread_started", "thread_ready", "thread_status", "thread_output", "thread_turn_complete", "thread_blocked", "thread_stopped"} {
		if !threads[kind] {
			t.Errorf("no %s among %v", kind, threads)
		}
	}
	_, data, err := other.ReadMessage()
	if err != nil || !strings.Contains(string(data), `"id":"b"`) {
		t.Errorf("the first frame about b is %s, %v", data, err)
	}
	// after=SEQ goes on behind what was seen.
	_, data, err = dial(t, r.URL+"/ws/events?after=1").ReadMessage()
	if err != nil || !strings.Contains(string(data), "agent_ready") {
		t.Errorf("after the first event comes %s, %v", data, err)
	}
}

func checkFrame(t *testing.T, f frame) {
	t.Helper()
	if agent, _ := f.Data["agent"].(map[string]any); agent["id"] != "a" || agent["runtime"] != "memory" || agent["status"] == "blocked" {
		t.Errorf("%s is about %v", f.Event, f.Data["agent"])
	}
	switch f.Event {
	case "message":
		if message, _ := f.Data["message"].(map[string]any); message["text"] != "said" || message["agentId"] != "a" {
			t.Errorf("the message is %v", f.Data)
		}
	case "login_required":
		if f.Data["loginUrl"] != "https://login.example/x" {
			t.Errorf("the login is %v", f.Data)
		}
	case "question":
		text, _ := f.Data["question"].(string)
		if login := f.Data["loginUrl"] != nil; login && !strings.Contains(text, "https://login.example/x") ||
			!login && (text != "may I?" || f.Data["prompt"] == nil) {
			t.Errorf("the question is %v", f.Data)
		}
	case "agent_stopped":
		if f.Data["reason"] != "stopped" {
			t.Errorf("the end is %v", f.Data)
		}
	}
}

func TestEventSocketRefuses(t *testing.T) {
	r := newRig(t, runtimeserver.Options{})
	if a := r.expect(t, 400, http.MethodGet, "/ws/events", ""); a.field("error", "code") != "VALIDATION_ERROR" || a.field("error", "details", "code") != "INVALID_ARGUMENT" {
		t.Errorf("a request that is no WebSocket: %s", a.text)
	}
	r.expect(t, 400, http.MethodGet, "/ws/events?after=x", "")
	r.expect(t, 400, http.MethodGet, "/ws/agents/a/terminal", "")
	conn := dial(t, r.URL+"/ws/events")
	r.rt.Kill()
	_, _, err := conn.ReadMessage()
	if !websocket.IsCloseError(err, 4503) {
		t.Errorf("without a runtime the socket ends with %v", err)
	}
}

func TestTerminalSocket(t *testing.T) {
	r := newRig(t, runtimeserver.Options{})
	r.spawn(t, "a")
	for _, prefix := range []string{"", "/api"} {
		_, _, err := dial(t, r.URL+prefix+"/ws/agents/nobody/terminal").ReadMessage()
		if !websocket.IsCloseError(err, 4404) {
			t.Errorf("an unknown agent: %v", err)
		}
		conn := dial(t, r.URL+prefix+"/ws/agents/a/terminal")
		_ = conn.WriteMessage(websocket.TextMessage, []byte("echo shown-$((5))\r"))
		for seen := ""; !strings.Contains(seen, "shown-5"); {
			kind, data, err := conn.ReadMessage()
			if err != nil || kind != websocket.TextMessage {
				t.Fatalf("after %q: %d %v", seen, kind, err)
			}
			seen += string(data)
		}
	}
}

func TestRunServesUntilItsContextEnds(t *testing.T) {
	world := runtimetest.NewWorld()
	defer world.Close()
	rt := world.Runtime()
	server, err := runtimeserver.New(runtimeserver.Options{Runtime: rt, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if server.Addr() != "" {
		t.Errorf("before Open the address is %q", server.Addr())
	}
	if err := server.Open(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	if _, err := rt.Spawn(t.Context(), runtime.Spec{ID: "a", Type: runtimetest.Type}); err != nil {
		t.Fatal(err)
	}
	url := "http://" + server.Addr()
	events, terminal := dial(t, url+"/ws/events"), dial(t, url+"/ws/agents/a/terminal")
	response, err := http.Get(url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	busy, err := runtimeserver.New(runtimeserver.Options{Runtime: rt, Listen: server.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	var op *net.OpError
	if err := busy.Run(t.Context()); !errors.As(err, &op) {
		t.Errorf("a second server on the same address: %v", err)
	}
	cancel()
	for name, conn := range map[string]*websocket.Conn{"events": events, "terminal": terminal} {
		for err = nil; err == nil; {
			_, _, err = conn.ReadMessage()
		}
		if !websocket.IsCloseError(err, websocket.CloseGoingAway) {
			t.Errorf("the socket of %s ends with %v", name, err)
		}
	}
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Run does not end")
	}
	if a, err := rt.Inspect(t.Context(), "a"); err != nil || a.Status == runtime.StatusStopped {
		t.Errorf("the agent ended with the server: %+v, %v", a, err)
	}
}
