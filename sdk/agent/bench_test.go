package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// BenchmarkAgent measures tasks from the server's write to the agent's answer, with a window of tasks in flight
// and every answer acknowledged. The server side is as lean as can be: it counts answers without decoding them.
// cpu-ns/task is of both sides together; run with -benchtime 200000x to level out the start.
func BenchmarkAgent(b *testing.B) {
	for _, inline := range []bool{true, false} {
		for _, window := range []int{1, 64} {
			b.Run(fmt.Sprintf("inline=%t/window=%d", inline, window), func(b *testing.B) {
				benchmarkAgent(b, inline, window)
			})
		}
	}
}

func benchmarkAgent(b *testing.B, inline bool, window int) {
	done := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		serveTasks(b, w, r, window)
	}))
	defer srv.Close()
	a, err := agent.New(agent.Options{
		URL: srv.URL, Name: "bench", Capabilities: []string{"bench"}, MaxConcurrentTasks: window, Inline: inline,
		Handler: func(_ context.Context, t *agent.Task) (any, error) { return t.Input, nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	<-done
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}

// serveTasks hands out b.N tasks, with up to window of them in flight.
func serveTasks(b *testing.B, w http.ResponseWriter, r *http.Request, window int) {
	up := websocket.Upgrader{Subprotocols: []string{protocol.Subprotocol}, ReadBufferSize: 32 << 10}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		b.Error(err)
		return
	}
	defer ws.Close()
	if _, _, err := ws.ReadMessage(); err != nil {
		b.Error(err)
		return
	}
	out := bufio.NewWriterSize(ws.NetConn(), 64<<10)
	send := func(frame []byte) { writeFrame(b, out, frame) }
	send([]byte(`{"type":"registered","payload":{"agentId":"agent_1","resumeToken":"x","resumed":false}}`))
	ids := make([]string, 0, window)
	task, at := benchTask()
	sent, got := 0, 0
	hand := func() {
		id := fmt.Sprintf("task_01K%023d", sent)
		ids = append(ids, id)
		copy(task[at:], id)
		send(task)
		sent++
	}
	start, cpu := time.Now(), cpuTime()
	b.ResetTimer()
	for range min(window, b.N) {
		hand()
	}
	for got < b.N {
		// One flush for a good part of the window: what was answered together is acknowledged together.
		if got%max(window/4, 1) == 0 {
			if err := out.Flush(); err != nil {
				b.Error(err)
				return
			}
		}
		_, r, err := ws.NextReader()
		if err != nil {
			b.Error(err)
			return
		}
		_ = r // the next NextReader skips the message
		got++
		send([]byte(`{"type":"task_ack","timestamp":"2026-01-01T00:00:00.000Z","payload":{"taskId":"` + ids[0] + `"}}`))
		ids = ids[1:]
		if sent < b.N {
			hand()
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "tasks/s")
	b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N), "cpu-ns/task")
	_ = out.Flush()
}

// benchTask is a task as the product sends it for a short text, and where in it the task's id is.
func benchTask() (frame []byte, at int) {
	id := fmt.Sprintf("task_01K%023d", 0)
	payload, _ := json.Marshal(protocol.Task{
		TaskID: id, ExecutionID: "exec_01K0000000000000000000000", PatternName: "triage", PatternVersion: "1.0.0",
		Capability: "support-triage", Timeout: 30000, Priority: "normal", Attempt: 1,
		Input: json.RawMessage(`{"id":"c001","text":"The export hangs at 80 percent and then says \"something went wrong\"."}`),
	})
	frame, _ = json.Marshal(protocol.Envelope{Type: protocol.TypeTask, ID: "f1", Timestamp: time.Unix(0, 0).UTC(), Payload: payload})
	return frame, bytes.Index(frame, []byte(id))
}

// writeFrame writes a text message without a mask, as a server does.
func writeFrame(b *testing.B, out *bufio.Writer, payload []byte) {
	head := []byte{0x81, byte(len(payload))}
	if len(payload) > 125 {
		head = []byte{0x81, 126, byte(len(payload) >> 8), byte(len(payload))}
	}
	_, _ = out.Write(head) // the error stays with the writer
	if _, err := out.Write(payload); err != nil {
		b.Error(err)
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for the process itself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
