package appliance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

const echo = `name: echo
version: 1.0.0
agents:
  capabilities: [echo]
aggregation:
  strategy: first
output:
  said: $first.said
`

// log is a process log that tests read while it is written.
type log struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func devOptions(dir string) appliance.Options {
	return appliance.Options{Dev: true, Listen: "127.0.0.1:0", DataDir: dir, Version: "1.2.3"}
}

func open(t *testing.T, opts appliance.Options) *appliance.App {
	t.Helper()
	a, err := appliance.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// session is a client and an agent of an app; end leaves nothing of them.
func session(t *testing.T, a *appliance.App) (c *client.Client, end func()) {
	t.Helper()
	transport := &http.Transport{}
	c, err := client.New("http://"+a.Addr(), client.Options{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := agent.New(agent.Options{
		URL: "http://" + a.Addr(), Name: "echo", Capabilities: []string{"echo"},
		Handler: func(_ context.Context, task *agent.Task) (any, error) {
			return map[string]any{"said": string(task.Input)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	coretest.WaitFor(t, "the agent to connect", worker.Connected)
	return c, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	}
}

// The same data through several lives, in one process: each leaves nothing but its data.
func TestLives(t *testing.T) {
	dir := t.TempDir()
	before := goleak.IgnoreCurrent()
	var outcomes []string
	for life := range 3 {
		a := open(t, devOptions(dir))
		c, end := session(t, a)
		if life == 0 {
			if _, err := c.CreatePattern(t.Context(), client.PatternInput{Definition: echo, Name: "echo"}); err != nil {
				t.Fatal(err)
			}
		}
		e, err := c.Execute(t.Context(), client.ExecuteRequest{Pattern: "echo", Input: json.RawMessage(fmt.Sprintf(`{"life":%d}`, life))})
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`{"said":"{\"life\":%d}"}`, life); string(e.Result) != want {
			t.Errorf("life %d: %s, want %s", life, e.Result, want)
		}
		stored, err := c.GetExecution(t.Context(), e.ExecutionID)
		if err != nil {
			t.Fatal(err)
		}
		outcomes = append(outcomes, string(stored.Body))
		list, err := c.ListExecutions(t.Context(), client.ExecutionFilter{})
		if err != nil || list.Total != life+1 {
			t.Errorf("life %d: %d executions (%v)", life, list.Total, err)
		}
		for i, want := range outcomes {
			got, err := c.GetExecution(t.Context(), list.Executions[life-i].ExecutionID)
			if err != nil || string(got.Body) != want {
				t.Errorf("life %d: outcome %d reads %s (%v)", life, i, got.Body, err)
			}
		}
		health, err := c.HealthDetailed(t.Context())
		if err != nil || health.Version != "1.2.3" || health.Metrics.ExecutionsTotal != int64(life+1) {
			t.Errorf("life %d: health %+v (%v)", life, health, err)
		}
		end()
		a.Close()
		a.Close() // safe twice
		if err := goleak.Find(before); err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
	}
}

// An Open that fails leaves nothing: no goroutine, no lock, no listener.
func TestOpenFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	locked := t.TempDir()
	open(t, devOptions(locked))
	for name, tt := range map[string]struct {
		prepare func(dir string, o *appliance.Options)
		undo    func(dir string, o *appliance.Options)
		want    string
	}{
		"AddressTaken": {
			prepare: func(_ string, o *appliance.Options) { o.Listen = taken.Addr().String() },
			undo:    func(_ string, o *appliance.Options) { o.Listen = "127.0.0.1:0" },
			want:    "cannot listen on " + taken.Addr().String(),
		},
		"StoreLocked": {
			prepare: func(_ string, o *appliance.Options) { o.DataDir = locked },
			undo:    func(dir string, o *appliance.Options) { o.DataDir = dir },
			want:    "in use by process",
		},
		"StoreIsAFile": {
			prepare: func(dir string, _ *appliance.Options) { write(t, filepath.Join(dir, "store"), "x") },
			undo:    func(dir string, _ *appliance.Options) { remove(t, filepath.Join(dir, "store")) },
			want:    "store is no directory: name another one",
		},
		"StoreDamaged": {
			prepare: func(dir string, o *appliance.Options) {
				a, err := appliance.New(*o)
				if err != nil {
					t.Fatal(err)
				}
				if err := a.Open(t.Context()); err != nil {
					t.Fatal(err)
				}
				a.Close()
				write(t, filepath.Join(dir, "store", "MANIFEST"), "no manifest")
			},
			undo: func(dir string, _ *appliance.Options) { remove(t, filepath.Join(dir, "store")) },
			want: "open the store",
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			dir := t.TempDir()
			opts := devOptions(dir)
			tt.prepare(dir, &opts)
			a, err := appliance.New(opts)
			if err != nil {
				t.Fatal(err)
			}
			if err = a.Open(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			a.Close() // after a failed Open too
			if _, err := os.Stat(filepath.Join(dir, "store")); name == "AddressTaken" && err == nil {
				t.Error("a store was made before the address was found taken")
			}
			if err := goleak.Find(before); err != nil {
				t.Error(err)
			}
			tt.undo(dir, &opts)
			open(t, opts).Close()
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// New reads and checks; it makes nothing.
func TestNewHasNoSideEffects(t *testing.T) {
	dir := t.TempDir()
	if _, err := appliance.New(devOptions(dir)); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("New made %v (%v)", entries, err)
	}
	opts := devOptions(dir)
	opts.Listen = "0.0.0.0:0"
	if _, err := appliance.New(opts); core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), "--insecure") {
		t.Errorf("an open address: %v", err)
	}
	if _, err := appliance.New(appliance.Options{ConfigPath: filepath.Join(dir, "none.yaml")}); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("a missing file: %v", err)
	}
}

// Run ends in order with its context, before it is ready too.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	opts := devOptions(t.TempDir())
	opts.Ready = func(string) { cancel() }
	if err := appliance.Run(ctx, opts); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := appliance.Run(ended, devOptions(t.TempDir())); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The service manager hears of each turn in the life of the process.
func TestNotifications(t *testing.T) {
	dir, err := os.MkdirTemp("", "wr") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "n"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", filepath.Join(dir, "n"))
	expect := func(want string) {
		t.Helper()
		_ = socket.SetReadDeadline(time.Now().Add(10 * time.Second))
		text := make([]byte, 4096)
		n, err := socket.Read(text)
		if err != nil || !strings.Contains(string(text[:n]), want) {
			t.Fatalf("told %q (%v), want %q", text[:n], err, want)
		}
	}
	file := filepath.Join(dir, "wardroom.yaml")
	write(t, file, "server: {listen: '127.0.0.1:0', shutdownTimeout: 5m}\nstore: {path: "+filepath.Join(dir, "store")+"}\n")
	var stderr log
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- appliance.Run(ctx, appliance.Options{ConfigPath: file, Stderr: &stderr}) }()
	expect("READY=1")
	for _, reload := range []struct{ text, status string }{
		{"engine: {maxActive: none}\n", "STATUS=the last reload failed"},
		{"server: {listen: '127.0.0.1:0', shutdownTimeout: 5m}\nlog: {level: debug}\nstore: {path: " + filepath.Join(dir, "store") + "}\n", "STATUS=ready on"},
	} {
		write(t, file, reload.text)
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		expect("RELOADING=1\nMONOTONIC_USEC=")
		expect("READY=1\n" + reload.status)
	}
	cancel()
	expect("STOPPING=1\nEXTEND_TIMEOUT_USEC=360000000") // the time of a stop, and a minute
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, want := range []string{"not reloaded", "changed=log.level", "stopped"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, stderr.String())
		}
	}
}

func TestReloadOfDev(t *testing.T) {
	a := open(t, devOptions(t.TempDir()))
	if err := a.Reload(); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("reload: %v", err)
	}
}

// Reloads and requests at once: each request sees one whole configuration.
func TestReloadUnderLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "wardroom.yaml")
	text := "server: {listen: '127.0.0.1:0'}\nstore: {path: store}\nmetrics: {public: true}\nengine: {maxActive: %d}\n"
	write(t, file, fmt.Sprintf(text, 1))
	a := open(t, appliance.Options{ConfigPath: file})
	c, end := session(t, a)
	defer end()
	if _, err := c.CreatePattern(t.Context(), client.PatternInput{Name: "echo", Definition: echo}); err != nil {
		t.Fatal(err)
	}
	var load sync.WaitGroup
	for range 4 {
		load.Add(1)
		go func() {
			defer load.Done()
			for range 25 {
				if e, err := c.Execute(t.Context(), client.ExecuteRequest{Pattern: "echo"}); err != nil || e.Status != client.StatusCompleted {
					t.Errorf("%+v, %v", e, err)
				}
			}
		}()
	}
	for i := range 20 {
		write(t, file, fmt.Sprintf(text, 1+i%5))
		if err := a.Reload(); err != nil {
			t.Error(err)
		}
	}
	load.Wait()
}

// A connection is not used again after a chunked request.
func TestChunksEndTheConnection(t *testing.T) {
	a := open(t, devOptions(t.TempDir()))
	for head, closes := range map[string]bool{"Content-Length: 2\r\n\r\n{}": false, "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n": true} {
		conn, err := net.Dial("tcp", a.Addr())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		request := "POST /api/patterns/none/execute HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n" + head
		if _, err := io.WriteString(conn, request+"GET /api/health/live HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(conn)
		_ = conn.Close()
		if answers := bytes.Count(all, []byte("HTTP/1.1 ")); err != nil && !errors.Is(err, syscall.ECONNRESET) || (answers == 1) != closes {
			t.Errorf("%q: %d answers (%v)", head, answers, err)
		}
	}
}
