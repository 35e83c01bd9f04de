package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// runtimeServer is the local runtime, started by hand: the same address and state over all its starts.
type runtimeServer struct {
	t    *testing.T
	dir  string
	port string
	env  []string
	log  *buffer
	cmd  *exec.Cmd
	done chan struct{}
}

// runtimeByHand starts a runtime server. env is beside that of the test.
func runtimeByHand(t *testing.T, env ...string) *runtimeServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	r := &runtimeServer{t: t, dir: shortDir(t), port: port, env: env, log: &buffer{}}
	t.Cleanup(r.cleanup)
	r.start()
	return r
}

func (r *runtimeServer) url() string { return "http://127.0.0.1:" + r.port }

func (r *runtimeServer) start() {
	r.t.Helper()
	r.cmd = exec.Command(filepath.Join(plugins, "runtime-local"))
	r.cmd.Env = append(append(os.Environ(), "PORT="+r.port, "STATE_DIR="+filepath.Join(r.dir, "state"), "RUN_DIR="+filepath.Join(r.dir, "run")), r.env...)
	r.cmd.Stdout, r.cmd.Stderr = r.log, r.log
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait()
		close(done)
	}(r.cmd, r.done)
	eventually(r.t, "the runtime server", func() bool {
		select {
		case <-r.done:
			r.t.Fatalf("the runtime server ended:\n%s", r.log)
		default:
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
func (r *runtimeServer) kill() {
	r.t.Helper()
	if err := r.cmd.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	<-r.done
}

// stop ends the server in order.
func (r *runtimeServer) stop() {
	r.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, "the end of the runtime server", func() bool {
		select {
		case <-r.done:
			return true
		default:
			return false
		}
	})
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		r.t.Errorf("the runtime server ended with %d after SIGTERM:\n%s", code, r.log)
	}
}

func (r *runtimeServer) cleanup() {
	select {
	case <-r.done:
	default:
		_ = r.cmd.Process.Kill()
		<-r.done
	}
	http.DefaultClient.CloseIdleConnections()
	if r.t.Failed() {
		r.t.Logf("log of the runtime server:\n%s", tail(r.log.String(), 6000))
	}
}

// managedByURL starts a server whose runtime is a server by hand.
func managedByURL(t *testing.T, yaml ...string) *crew {
	t.Helper()
	on := runtimeByHand(t)
	return crewed(t, on, append(yaml, fmt.Sprintf("runtimes.local: {url: %q}", on.url())))
}
