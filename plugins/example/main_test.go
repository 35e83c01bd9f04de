package main

import (
	"bufio"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/launchertest"
	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/agentcli/stream"
	"github.com/wardroom/wardroom/sdk/conformance"
	"github.com/wardroom/wardroom/sdk/plugintest"
	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeclient "github.com/wardroom/wardroom/sdk/runtime/client"
)

// spec is an agent that the suite can talk to: one that behaves as a shell.
func spec(id string) runtime.Spec { return runtime.Spec{ID: id, Type: "sh"} }

// TestLauncher checks the launcher alone.
func TestLauncher(t *testing.T) {
	var processes stream.Table
	launchertest.Run(t, launchertest.Options{New: func(_ *testing.T, dir string) agentcli.Launcher {
		return &launcher{local.Rooms{Dir: dir}, &processes}
	}})
	if err := processes.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestBinary checks what users get, which is built once.
func TestBinary(t *testing.T) {
	binary := plugintest.Build(t, ".")
	t.Run("Plugin", func(t *testing.T) { testPlugin(t, binary) })
	t.Run("Crash", func(t *testing.T) { testCrash(t, binary) })
	t.Run("Server", func(t *testing.T) { testServer(t, binary) })
}

// testPlugin checks the binary as the appliance runs it.
func testPlugin(t *testing.T, binary string) {
	p := plugintest.Start(t, plugintest.Options{Path: binary, Config: []byte(`{"maxAgents": 50}`)})
	for _, result := range conformance.Quick(t.Context(), p.Conn(), nil) { // what every kind of plugin promises
		if !result.Passed() {
			t.Errorf("%s: %s: %v", result.Name, result.About, result.Err)
		}
	}
	conformance.Runtime(t.Context(), t, p.RuntimeOptions(spec))
}

// testCrash kills the plugin: its agents are lost, and nothing that they started is left running.
func testCrash(t *testing.T, binary string) {
	state := t.TempDir()
	p := plugintest.Start(t, plugintest.Options{Path: binary, StateDir: state})
	rt := p.Conn().Runtime()
	if _, err := rt.Spawn(t.Context(), spec("one")); err != nil {
		t.Fatal(err)
	}
	const stubborn = `setsid sh -c 'trap "" HUP TERM; while :; do sleep 1; done' & echo started`
	if _, err := rt.Send(t.Context(), "one", runtime.Input{Message: stubborn, ExpectResponse: true}); err != nil {
		t.Fatal(err)
	}
	conn, err := p.Restart(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost, err := conn.Runtime().Inspect(t.Context(), "one")
	if err != nil || lost.Status != runtime.StatusStopped || lost.Reason != runtime.ReasonLost {
		t.Errorf("after the crash the agent is %+v, error %v", lost, err)
	}
	rooms := local.Rooms{Dir: filepath.Join(state, "rooms")}
	if usage, err := rooms.Usage("one"); !errors.Is(err, agentcli.ErrGone) {
		t.Errorf("after the crash it still runs: %+v, error %v", usage, err)
	}
}

// testServer checks the binary started by hand, as a runtime server.
func testServer(t *testing.T, binary string) {
	client, err := runtimeclient.New(runtimeclient.Options{URL: serve(t, binary)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdle)
	conformance.Runtime(t.Context(), t, conformance.RuntimeOptions{Runtime: client, Spec: spec})
}

// serve starts the binary on a free port and returns its address, which it logs.
func serve(t *testing.T, binary string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = append(cmd.Environ(), "PORT=0", "STATE_DIR="+t.TempDir(), "LOG_LEVEL=info")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if _, after, ok := strings.Cut(lines.Text(), "address="); ok {
				address <- strings.Fields(after)[0]
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-drained
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	select {
	case a := <-address:
		return "http://" + a
	case <-time.After(30 * time.Second):
		t.Fatal("the server does not listen")
		return ""
	}
}
