package appliance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

// stallSite is an app with things to read that are larger than what systems buffer.
type stallSite struct {
	app       *appliance.App
	execution string // its body and its stream have 12 MiB
}

// bigResult is what each of bigAgents gives.
const (
	bigAgents = 14
	bigResult = 900 << 10
)

// newStallSite starts an app whose clients may take nothing for stall.
func newStallSite(t *testing.T, stall string) *stallSite {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "wardroom.yaml")
	write(t, file, fmt.Sprintf(`server:
  listen: 127.0.0.1:0
  stallTimeout: %[1]s
  bodyTimeout: 1h
  readHeaderTimeout: 5m
  shutdownTimeout: 5m
streams:
  writeTimeout: %[1]s
  heartbeat: 10m
store:
  path: %[2]s
metrics:
  public: true
`, stall, filepath.Join(dir, "store")))
	s := &stallSite{app: open(t, appliance.Options{ConfigPath: file, Version: "1.2.3"})}
	c, err := client.New("http://"+s.app.Addr(), client.Options{HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, bigAgents)
	text := strings.Repeat("x", bigResult)
	for i := range bigAgents {
		worker, err := agent.New(agent.Options{
			URL: "http://" + s.app.Addr(), Name: fmt.Sprint("big", i), Capabilities: []string{"big"},
			Handler: func(context.Context, *agent.Task) (any, error) { return map[string]any{"text": text, "n": i}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- worker.Run(ctx) }()
		coretest.WaitFor(t, "the agent to connect", worker.Connected)
	}
	definition := fmt.Sprintf("name: big\nversion: 1.0.0\nagents:\n  capabilities: [big]\n  min: %d\naggregation:\n  strategy: merge\n", bigAgents)
	if _, err := c.CreatePattern(ctx, client.PatternInput{Definition: definition, Name: "big"}); err != nil {
		t.Fatal(err)
	}
	e, err := c.Execute(ctx, client.ExecuteRequest{Pattern: "big", Input: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	s.execution = e.ExecutionID
	cancel()
	for range bigAgents {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	return s
}

// dial opens a connection that takes little of what is sent to it, and sends text.
func (s *stallSite) dial(t *testing.T, text string) net.Conn {
	t.Helper()
	dialer := net.Dialer{Timeout: time.Minute}
	conn, err := dialer.Dial("tcp", s.app.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, strings.ReplaceAll(text, "EXECUTION", s.execution)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// stalled are requests whose clients then do nothing.
var stalled = map[string]string{
	"Answer":    "GET /api/executions/EXECUTION HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"Pipelined": strings.Repeat("GET /api/executions/EXECUTION HTTP/1.1\r\nHost: localhost\r\n\r\n", 3),
	"Stream":    "GET /api/executions/EXECUTION/stream HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"Body":      "POST /api/patterns/big/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
	"Chunks":    "POST /api/patterns HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{ \r\n",
}

// count returns a series of the app.
func (s *stallSite) count(t *testing.T, series string) string {
	t.Helper()
	for line := range strings.Lines(scrape(t, s.app)) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Clients that read nothing, or stop sending, do not keep their connections.
func TestStalledClients(t *testing.T) {
	s := newStallSite(t, "1s")
	conns := map[string]net.Conn{}
	for name, text := range stalled {
		conns[name] = s.dial(t, text)
	}
	coretest.WaitFor(t, "the connections to end", func() bool {
		return s.count(t, "service_connections_open") == "1" // the one that asks
	})
	if got := s.count(t, "service_connections_stalled_total"); got != "3" {
		t.Errorf("%s connections took nothing", got)
	}
	for _, name := range []string{"Body", "Chunks"} {
		answer, err := io.ReadAll(conns[name])
		if err != nil || !bytes.Contains(answer, []byte(`"timeoutMs":1000`)) {
			t.Errorf("%s: %s (%v)", name, answer, err)
		}
	}
}

// A client that is slow, but goes on, is served on, and so is one of a stream.
func TestSlowClients(t *testing.T) {
	s := newStallSite(t, "2s")
	defer http.DefaultClient.CloseIdleConnections()
	for name, text := range map[string]string{"Answer": stalled["Answer"], "Stream": stalled["Stream"]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := s.dial(t, text)
			got := 0
			buf := make([]byte, 64<<10)
			for began := time.Now(); time.Since(began) < 6*time.Second; {
				n, err := conn.Read(buf)
				if err != nil {
					t.Fatalf("after %d bytes and %s: %v", got, time.Since(began), err)
				}
				got += n
				<-time.After(100 * time.Millisecond)
			}
			if got >= bigAgents*bigResult {
				t.Error("the client was not slow: it had all within that time")
			}
		})
	}
}

// None of them holds up the end of the server, which would wait five minutes for requests in flight.
func TestStalledClientsAtTheEnd(t *testing.T) {
	s := newStallSite(t, "5m")
	for _, text := range stalled {
		s.dial(t, text)
	}
	s.dial(t, "GET /api/health HTTP/1.1\r\nHos") // in the middle of the header
	s.dial(t, "")
	s.dial(t, "GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n") // and then idle
	want := fmt.Sprint(len(stalled) + 4)
	coretest.WaitFor(t, "the connections", func() bool { return s.count(t, "service_connections_open") == want })
	began := time.Now()
	s.app.Close()
	t.Logf("the end took %s", time.Since(began))
	if took := time.Since(began); took > 2*time.Minute { // a busy machine takes most of one
		t.Errorf("the end took %s", took)
	}
}
