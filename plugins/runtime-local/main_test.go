package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/conformance"
	"github.com/wardroom/wardroom/sdk/plugintest"
	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeclient "github.com/wardroom/wardroom/sdk/runtime/client"
)

// binary is the plugin with the holder beside it, as the build lays them out; made once for all tests.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "runtime-local")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "runtime-local")
	for path, pkg := range map[string]string{
		binary: ".", filepath.Join(dir, "holder"): "github.com/wardroom/wardroom/plugins/holder",
	} {
		build := exec.Command("go", "build", "-o", path, pkg)
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// bash is a shell that the suite can talk to: its prompt ends a turn.
func bash(id string) runtime.Spec {
	return runtime.Spec{ID: id, Type: "bash", Declared: &runtime.DeclaredType{
		Command: "bash", Args: []string{"--norc", "--noprofile"}, Env: map[string]string{"PS1": "$ "}, Exit: "exit",
		Ready: runtime.ReadyRule{Pattern: `^\$ ?$`}, Idle: runtime.Duration(time.Second),
	}}
}

// TestPlugin checks the binary as the appliance runs it, agents in real holders, kill -9 included.
func TestPlugin(t *testing.T) {
	p := plugintest.Start(t, plugintest.Options{Path: binary})
	conformance.Runtime(t.Context(), t, p.RuntimeOptions(bash))
}

// TestVerify makes the checks of a plugin that are the same for every kind.
func TestVerify(t *testing.T) {
	p := plugintest.Start(t, plugintest.Options{Path: binary})
	for _, result := range conformance.Quick(t.Context(), p.Conn(), json.RawMessage(`{"maxAgents": 5}`)) {
		if !result.Passed() {
			t.Errorf("%s: %s: %v", result.Name, result.About, result.Err)
		}
	}
}

// TestServer checks the binary started by hand, over its URL, with a token, kill -9 included.
func TestServer(t *testing.T) {
	s := &server{state: t.TempDir()}
	t.Cleanup(func() {
		if err := s.end(syscall.SIGTERM); err != nil {
			t.Errorf("after SIGTERM the server ended with %v", err)
		}
	})
	first, err := s.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conformance.Runtime(t.Context(), t, conformance.RuntimeOptions{
		Runtime: first, Spec: bash,
		Kill: func(ctx context.Context) (runtime.Runtime, error) {
			_ = s.end(syscall.SIGKILL) // it says that it was killed
			return s.start(ctx)
		},
	})
}

const token = "a-token-of-the-tests"

// server is the binary started by hand; each process uses the same state.
type server struct {
	state  string
	cmd    *exec.Cmd
	client *runtimeclient.Client
	output chan struct{} // closed when the process closed its log
}

// start starts it on a free port, which it logs.
func (s *server) start(ctx context.Context) (runtime.Runtime, error) {
	s.cmd = exec.Command(binary)
	s.cmd.Env = append(s.cmd.Environ(), "PORT=0", "TOKEN="+token, "STATE_DIR="+s.state, "LOG_LEVEL=info")
	log, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	address := make(chan string, 1)
	s.output = make(chan struct{})
	go func() { // end waits for it
		defer close(s.output)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if _, after, ok := strings.Cut(lines.Text(), "address="); ok {
				address <- strings.Fields(after)[0]
			}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	select {
	case at := <-address:
		s.client, err = runtimeclient.New(runtimeclient.Options{URL: "http://" + at, Token: token})
		return s.client, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// end ends the process that runs.
func (s *server) end(with syscall.Signal) error {
	if s.client != nil {
		s.client.CloseIdle()
	}
	if err := s.cmd.Process.Signal(with); err != nil {
		return err
	}
	<-s.output
	return s.cmd.Wait()
}
