package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// runtimeServer is the local runtime, started by hand: the same address and state over all its starts.
type runtimeServer struct {
	t       *testing.T
	dir     string
	host    string
	command testbed.Command
	process *testbed.Process
}

// runtimeByHand starts a runtime server. env is beside that of the test.
func runtimeByHand(t *testing.T, env ...string) *runtimeServer {
	t.Helper()
	host, err := testbed.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(host)
	dir := shortDir(t)
	r := &runtimeServer{t: t, dir: dir, host: host, command: testbed.Command{
		Args: []string{filepath.Join(plugins, "runtime-local")}, Log: filepath.Join(t.TempDir(), "log"),
		Env: append(env, "PORT="+port, "STATE_DIR="+filepath.Join(dir, "state"), "RUN_DIR="+filepath.Join(dir, "run")),
	}}
	t.Cleanup(r.cleanup)
	r.start()
	return r
}

func (r *runtimeServer) url() string { return "http://" + r.host }

func (r *runtimeServer) start() {
	r.t.Helper()
	var err error
	if r.process, err = r.command.Start(); err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, "the runtime server", func() bool {
		if err := r.process.Check(); err != nil {
			r.t.Fatal(err)
		}
		resp, err := http.Get(r.url() + "/health")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// kill ends the server as a crash does.
func (r *runtimeServer) kill() { r.process.Kill() }

// stop ends the server in order.
func (r *runtimeServer) stop() {
	r.t.Helper()
	if err := r.process.Stop(patience); err != nil {
		r.t.Error(err)
	}
}

func (r *runtimeServer) cleanup() {
	if r.process != nil {
		r.process.Kill()
	}
	http.DefaultClient.CloseIdleConnections()
	if r.t.Failed() {
		r.t.Logf("log of the runtime server:\n%s", tail(logFile(r.command.Log).String(), 6000))
	}
}

// managedByURL starts a server whose runtime is a server by hand.
func managedByURL(t *testing.T, yaml ...string) *crew {
	t.Helper()
	on := runtimeByHand(t)
	return crewed(t, on, append(yaml, fmt.Sprintf("runtimes.local: {url: %q}", on.url())))
}
