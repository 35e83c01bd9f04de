package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/api/apitest"
	"github.com/wardroom/wardroom/scripts/testbed"
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

	process *testbed.Process // the one that was started last
	env     []string         // beside what every server gets
	logs    string           // folder of the logs of all
	starts  int
	log     logFile // of the one that was started last

	transport *http.Transport
	http      *http.Client   // checks every answer against the document
	api       *client.Client // over http
}

// logFile is the path of the log of a process; String returns what is in it.
type logFile string

func (f logFile) String() string {
	text, err := os.ReadFile(string(f))
	if err != nil {
		return err.Error()
	}
	return string(text)
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
	s.begin()
	p := s.process
	if err := p.Await(context.Background(), patience); err != nil {
		if mayFail && p.Ended() {
			return false
		}
		s.t.Fatalf("%v\n%s", err, s.log)
	}
	s.url = p.Address
	if s.transport == nil {
		s.connect()
	}
	return true
}

// begin runs the process and does not wait for it.
func (s *server) begin() {
	s.t.Helper()
	if s.addr == "" {
		var err error
		if s.addr, err = testbed.FreeAddress(); err != nil {
			s.t.Fatal(err)
		}
	}
	if s.logs == "" {
		s.logs = s.t.TempDir()
	}
	args := append([]string{cmp.Or(s.bin, binary)}, s.args...)
	if s.args[0] == "dev" {
		args = append(args, s.addr)
	}
	s.starts++
	s.log = logFile(filepath.Join(s.logs, fmt.Sprintf("%d.log", s.starts)))
	p, err := testbed.Command{Args: args, Env: append([]string{"E2E_LISTEN=" + s.addr, "GOTRACEBACK=all"}, s.env...), Log: string(s.log)}.Start()
	if err != nil {
		s.t.Fatal(err)
	}
	s.process = p
	if s.starts == 1 {
		s.t.Cleanup(s.cleanup)
	}
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
	if err := s.process.Check(); err != nil {
		s.t.Fatal(err)
	}
	s.process.Kill()
}

func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.process.Cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// wait waits for the end of the process and returns its exit code, -1 after a signal.
func (s *server) wait() int {
	s.t.Helper()
	select {
	case <-s.process.Done:
		return s.process.Cmd.ProcessState.ExitCode()
	case <-time.After(2 * patience):
		_ = s.process.Cmd.Process.Signal(syscall.SIGQUIT)
		<-s.process.Done
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
	s.process.Kill()
	if s.transport != nil {
		s.transport.CloseIdleConnections()
	}
	inFiles(s.t, s.logs, canary)
	inFiles(s.t, s.dir, canary)
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
