package e2e_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/api/apitest"
	"github.com/wardroom/wardroom/sdk/client"
)

// server is a wardroom process, with the same data and address over all its starts.
type server struct {
	t    *testing.T
	dir  string
	args []string
	bin  string // empty: the binary under test, where it lies
	addr string // host:port; taken at the first start
	url  string

	cmd  *exec.Cmd
	done chan struct{} // closed when the process ended
	log  *buffer

	transport *http.Transport
	http      *http.Client   // checks every answer against the document
	api       *client.Client // over http
}

// buffer collects what a process writes.
type buffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// dev starts a development server in a folder of its own.
func dev(t *testing.T) *server {
	t.Helper()
	dir := t.TempDir()
	s := &server{t: t, dir: dir, args: []string{"dev", "--data-dir", dir, "--listen"}}
	s.start()
	return s
}

// serve starts a server with a configuration file. yaml is what it holds beside server.listen and store.path.
func serve(t *testing.T, yaml string) *server {
	t.Helper()
	dir := t.TempDir()
	s := configured(t, dir, filepath.Join(dir, "store"), yaml)
	s.start()
	return s
}

// configured prepares a server with a configuration file and does not start it.
func configured(t *testing.T, dir, store, yaml string) *server {
	t.Helper()
	s := &server{t: t, dir: dir, args: []string{"serve", "--config", filepath.Join(dir, "wardroom.yaml")}}
	s.configure("store.path: "+store, yaml)
	return s
}

// configure writes the configuration file. A line "section.key: value" is put into its section.
func (s *server) configure(lines ...string) {
	s.t.Helper()
	sections := map[string][]string{"server": {"  listen: ${E2E_LISTEN}"}}
	order := []string{"server"}
	for _, line := range strings.Split(strings.Join(lines, "\n"), "\n") {
		section, rest, ok := strings.Cut(strings.TrimSpace(line), ".")
		if !ok {
			continue
		}
		if _, known := sections[section]; !known {
			order = append(order, section)
		}
		sections[section] = append(sections[section], "  "+rest)
	}
	var text strings.Builder
	for _, section := range order {
		fmt.Fprintf(&text, "%s:\n%s\n", section, strings.Join(sections[section], "\n"))
	}
	if err := os.WriteFile(filepath.Join(s.dir, "wardroom.yaml"), []byte(text.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// start runs the process and returns when it is ready.
func (s *server) start() {
	s.t.Helper()
	s.launch(false)
}

// startFull runs the process on a disk without room, and reports whether it serves.
func (s *server) startFull() bool {
	s.t.Helper()
	return s.launch(true)
}

// launch runs the process, and reports whether it got ready; one that may not fail does, or the test is over.
func (s *server) launch(mayFail bool) bool {
	s.t.Helper()
	listen := s.addr
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	args := s.args
	if args[0] == "dev" {
		args = append(append([]string(nil), args...), listen)
	}
	bin := s.bin
	if bin == "" {
		bin = binary
	}
	s.cmd = exec.Command(bin, args...)
	s.cmd.Env = append(os.Environ(), "E2E_LISTEN="+listen, "GOTRACEBACK=all")
	s.log = &buffer{}
	s.cmd.Stderr = s.log
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.done = make(chan struct{})
	ready := make(chan string, 1)
	go func(cmd *exec.Cmd, done chan struct{}) {
		defer close(done)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if url, ok := strings.CutPrefix(lines.Text(), "ready: "); ok {
				ready <- url
			}
		}
		_ = cmd.Wait()
	}(s.cmd, s.done)
	if s.transport == nil {
		s.t.Cleanup(s.cleanup)
	}
	select {
	case s.url = <-ready:
	case <-s.done:
		if mayFail {
			return false
		}
		s.t.Fatalf("the server did not start:\n%s", s.log)
	case <-time.After(patience):
		s.t.Fatalf("the server is not ready:\n%s", s.log)
	}
	s.addr = strings.TrimPrefix(s.url, "http://")
	if s.transport == nil {
		s.connect()
	}
	return true
}

// connect makes the clients.
func (s *server) connect() {
	s.t.Helper()
	s.transport = &http.Transport{MaxIdleConnsPerHost: 128}
	s.http = &http.Client{Transport: apitest.Wrap(s.t, s.transport, s.url)}
	s.api = s.client(client.Options{})
}

func (s *server) client(opts client.Options) *client.Client {
	s.t.Helper()
	opts.HTTPClient = s.http
	c, err := client.New(s.url, opts)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// kill ends the process with no chance to say good-bye.
func (s *server) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	<-s.done
}

func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// wait waits for the end of the process and returns its exit code, -1 after a signal.
func (s *server) wait() int {
	s.t.Helper()
	select {
	case <-s.done:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(2 * patience):
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		<-s.done
		s.t.Fatalf("the server did not end:\n%s", s.log)
		return 0
	}
}

// stop ends the process in order.
func (s *server) stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	if code := s.wait(); code != 0 {
		s.t.Fatalf("exit code %d after SIGTERM:\n%s", code, s.log)
	}
}

func (s *server) restart() {
	s.t.Helper()
	s.kill()
	s.start()
}

// cleanup ends what is left, and shows the log of a failed test.
func (s *server) cleanup() {
	select {
	case <-s.done:
	default:
		if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			s.t.Error(err)
		}
		<-s.done
	}
	if s.transport != nil {
		s.transport.CloseIdleConnections()
	}
	if log := s.log.String(); strings.Contains(log, "panic") || strings.Contains(log, "DATA RACE") {
		s.t.Errorf("the server panicked")
	}
	if s.t.Failed() {
		s.t.Logf("log of the server:\n%s", tail(s.log.String(), 8000))
	}
}

func tail(text string, n int) string {
	if len(text) > n {
		return "[...]" + text[len(text)-n:]
	}
	return text
}
