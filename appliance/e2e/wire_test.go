package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// wire is an agent without manners: a bare WebSocket that sends what a test wants.
type wire struct {
	t  *testing.T
	ws *websocket.Conn
}

func (s *server) dialHeader(header http.Header) (*websocket.Conn, *http.Response, error) {
	d := websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}, HandshakeTimeout: patience}
	return d.DialContext(context.Background(), "ws"+strings.TrimPrefix(s.url, "http")+protocol.Path, header)
}

func (s *server) dial() *wire {
	s.t.Helper()
	ws, resp, err := s.dialHeader(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = resp.Body.Close()
	s.t.Cleanup(func() { _ = ws.Close() })
	return &wire{s.t, ws}
}

func (w *wire) raw(kind int, data string) {
	w.t.Helper()
	if err := w.ws.WriteMessage(kind, []byte(data)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) send(kind protocol.Type, id string, payload any) {
	w.t.Helper()
	raw, err := json.Marshal(payload)
	if err != nil {
		w.t.Fatal(err)
	}
	frame, err := json.Marshal(protocol.Envelope{Type: kind, ID: id, Timestamp: time.Now(), Payload: raw})
	if err != nil {
		w.t.Fatal(err)
	}
	w.raw(websocket.TextMessage, string(frame))
}

// expect reads until a frame of that type comes, and decodes its payload.
func (w *wire) expect(kind protocol.Type, payload any) protocol.Envelope {
	w.t.Helper()
	_ = w.ws.SetReadDeadline(time.Now().Add(patience))
	for {
		var e protocol.Envelope
		if err := w.ws.ReadJSON(&e); err != nil {
			w.t.Fatalf("instead of %s: %v", kind, err)
		}
		if e.Type != kind {
			continue
		}
		if err := json.Unmarshal(e.Payload, payload); err != nil {
			w.t.Fatal(err)
		}
		return e
	}
}

// expectClose reads until the server closes.
func (w *wire) expectClose(code int) {
	w.t.Helper()
	_ = w.ws.SetReadDeadline(time.Now().Add(patience))
	for {
		_, _, err := w.ws.ReadMessage()
		if err == nil {
			continue
		}
		var closed *websocket.CloseError
		if !errors.As(err, &closed) || closed.Code != code {
			w.t.Fatalf("the connection ended with %v, want %d", err, code)
		}
		return
	}
}

// refused expects a frame with that id to be refused, and the session to go on.
func (w *wire) refused(id, code string) {
	w.t.Helper()
	var p protocol.Error
	e := w.expect(protocol.TypeError, &p)
	if e.ID != id || p.Code != code || p.Message == "" || p.Fatal {
		w.t.Fatalf("refusal of %q: %s %s", id, e.ID, e.Payload)
	}
}

func (w *wire) register(name, capability string, resume *protocol.Resume) protocol.Registered {
	w.t.Helper()
	w.send(protocol.TypeRegister, "r", protocol.Register{
		Name: name, Capabilities: []string{capability}, Resume: resume,
		Config: protocol.RegisterConfig{MaxConcurrentTasks: 4},
	})
	var p protocol.Registered
	w.expect(protocol.TypeRegistered, &p)
	return p
}

func (w *wire) task() protocol.Task {
	w.t.Helper()
	var p protocol.Task
	w.expect(protocol.TypeTask, &p)
	return p
}

// result is the plain answer to a task.
func result(task protocol.Task, text string) protocol.TaskResult {
	return protocol.TaskResult{
		TaskID: task.TaskID, ExecutionID: task.ExecutionID, Status: protocol.TaskCompleted, Attempt: task.Attempt,
		Result: json.RawMessage(`{"answer":"` + text + `"}`),
	}
}

// report sends an answer and waits for its acknowledgement.
func (w *wire) report(r protocol.TaskResult) {
	w.t.Helper()
	w.send(protocol.TypeTaskResult, "result", r)
	w.acked(r.TaskID)
}

func (w *wire) acked(taskID string) {
	w.t.Helper()
	var p protocol.TaskAck
	for p.TaskID != taskID {
		w.expect(protocol.TypeTaskAck, &p)
	}
}

func resumeOf(reg protocol.Registered) *protocol.Resume {
	return &protocol.Resume{AgentID: reg.AgentID, Token: reg.ResumeToken}
}
