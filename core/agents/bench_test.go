package agents_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// loop answers each report by releasing the slot, settling, and giving the next task.
type loop struct {
	sink
	svc  *agents.Service
	left chan struct{} // one token for each task still to be given
	done sync.WaitGroup
	task core.Task
}

func (l *loop) TaskReported(r core.TaskReport) {
	l.svc.Release(r.AgentID, r.TaskID, "")
	r.Settled()
	l.done.Done()
	l.next()
}

func (l *loop) next() {
	select {
	case <-l.left:
	default:
		return
	}
	t := l.task
	for _, id := range l.svc.Reserve(core.TaskNeed{Capabilities: []string{"echo"}}, 1) {
		t.ID = "task_" + strconv.Itoa(len(l.left))
		l.svc.Dispatch(id, t)
	}
}

// BenchmarkRoundTrip is one task to one of three agents, its result and its acknowledgement, over loopback,
// 64 at a time. The agents' side (gorilla, a prepared answer) is part of the cost.
func BenchmarkRoundTrip(b *testing.B) {
	l := &loop{left: make(chan struct{}, b.N), task: task("")}
	l.svc = agents.New(agents.Options{Store: newMemory(b), Sink: l})
	if err := l.svc.Open(context.Background()); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(l.svc.ServeWS))
	var clients sync.WaitGroup
	for i := range 3 {
		conn := benchAgent(b, server.URL, fmt.Sprint("bench", i), 100)
		clients.Add(1)
		go func() {
			defer clients.Done()
			defer conn.Close()
			echo(conn)
		}()
	}
	for range b.N {
		l.left <- struct{}{}
	}
	l.done.Add(b.N)
	b.ReportAllocs()
	b.ResetTimer()
	for range 64 {
		l.next()
	}
	l.done.Wait()
	b.StopTimer()
	if err := l.svc.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	clients.Wait()
	server.Close()
}

func benchAgent(tb testing.TB, url, name string, tasks int) *websocket.Conn {
	tb.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}, ReadBufferSize: 512, WriteBufferSize: 512}
	conn, _, err := dialer.Dial("ws"+strings.TrimPrefix(url, "http"), nil)
	if err != nil {
		tb.Fatal(err)
	}
	register := fmt.Sprintf(`{"type":"register","payload":{"name":%q,"capabilities":["echo"],"config":{"maxConcurrentTasks":%d}}}`, name, tasks)
	if err := conn.WriteMessage(websocket.TextMessage, []byte(register)); err != nil {
		tb.Fatal(err)
	}
	if _, _, err := conn.ReadMessage(); err != nil {
		tb.Fatal(err)
	}
	return conn
}

// echo answers tasks until the connection ends, finding the id by hand to stay cheap.
func echo(conn *websocket.Conn) {
	for {
		_, data, err := conn.ReadMessage()
		if err != nil {
			return
		}
		text := string(data)
		if !strings.HasPrefix(text, `{"type":"task",`) {
			continue
		}
		_, rest, _ := strings.Cut(text, `"taskId":"`)
		id, _, _ := strings.Cut(rest, `"`)
		answer := `{"type":"task_result","id":"m","timestamp":"2026-01-02T03:04:05Z","payload":{"taskId":"` + id +
			`","executionId":"e","status":"completed","result":{"label":"a","confidence":0.9},"duration":1,"attempt":1}}`
		if conn.WriteMessage(websocket.TextMessage, []byte(answer)) != nil {
			return
		}
	}
}

// BenchmarkReserve5000 is one reservation of three among 5,000 agents, and their release.
func BenchmarkReserve5000(b *testing.B) {
	store := newMemory(b)
	svc := agents.New(agents.Options{Store: store, Sink: newSink()})
	if err := svc.Open(context.Background()); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(svc.ServeWS))
	var conns []*websocket.Conn
	for i := range 5000 {
		conns = append(conns, benchAgent(b, server.URL, fmt.Sprint("a", i), 4))
	}
	want := core.TaskNeed{Capabilities: []string{"echo"}}
	all := svc.Reserve(want, 5001)
	if len(all) != 5000 {
		b.Fatalf("%d agents are there", len(all))
	}
	for _, id := range all {
		svc.Release(id, "", "")
	}
	b.ReportAllocs()
	for b.Loop() { // unlike b.N, it lets the agents connect once
		for _, id := range svc.Reserve(want, 3) {
			svc.Release(id, "", "")
		}
	}
	for _, c := range conns {
		_ = c.Close()
	}
	if err := svc.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	server.Close()
}

// TestIdleAgentsAreCheap measures what an idle session costs in this process, both ends together, and
// checks that the server's end leaves one goroutine.
func TestIdleAgentsAreCheap(t *testing.T) {
	n := 300
	if s := os.Getenv("WARDROOM_IDLE_AGENTS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	svc := agents.New(agents.Options{Store: newMemory(t), Sink: newSink()})
	if err := svc.Open(context.Background()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(svc.ServeWS))
	defer server.Close()
	memory := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before, goroutines := memory(), runtime.NumGoroutine()
	conns := make([]*websocket.Conn, n)
	for i := range conns {
		conns[i] = benchAgent(t, server.URL, fmt.Sprint("a", i), 1)
	}
	beat := []byte(`{"type":"heartbeat","payload":{"status":"healthy"}}`)
	for _, c := range conns {
		if err := c.WriteMessage(websocket.TextMessage, beat); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.ReadMessage(); err != nil {
			t.Fatal(err)
		}
	}
	each := (memory() - before) / uint64(n)
	t.Logf("%d idle agents: %d bytes each, both ends", n, each)
	if each > 40<<10 {
		t.Errorf("an idle agent costs %d bytes", each)
	}
	if more := runtime.NumGoroutine() - goroutines; more > n+n/10+20 {
		t.Errorf("%d goroutines for %d agents", more, n)
	}
	for _, c := range conns {
		_ = c.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := svc.Close(ctx); err != nil {
		t.Fatal(err)
	}
}
