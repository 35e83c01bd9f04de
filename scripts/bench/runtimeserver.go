package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// runtimeServer is the plugin of the local runtime, started by hand.
type runtimeServer struct {
	*server
}

func (b *bench) serveRuntime(ctx context.Context) (*runtimeServer, error) {
	data, err := os.MkdirTemp(b.dir, "runtime-")
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free a moment later as well
	if err != nil {
		return nil, err
	}
	host := listener.Addr().String()
	_, port, _ := net.SplitHostPort(host) // of a listener it can be split
	if err := listener.Close(); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(data, "runtime.log"))
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, b.localRuntime()), log: log}
	p.cmd.Env = append(os.Environ(), "PORT="+port, "STATE_DIR="+filepath.Join(data, "state"), "RUN_DIR="+filepath.Join(data, "run"))
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 10 * time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	s := &runtimeServer{&server{process: p, host: host, data: data}}
	err = until(ctx, 20*time.Second, "the runtime server answers", func() (bool, error) {
		return s.call(ctx, http.MethodGet, "/health", "", "", nil) == nil, nil
	})
	if err != nil {
		_ = p.stop()
		return nil, err
	}
	return s, nil
}

const shellBody = `{"id":"bench-%d","type":"shell","command":"bash","args":["--norc","--noprofile","--noediting"],"ready":{"pattern":"[$#] ?$"}}`

// spawnShell starts a shell and returns its id.
func (s *runtimeServer) spawnShell(ctx context.Context) (string, error) {
	id := fmt.Sprintf("bench-%d", s.pid())
	return id, s.call(ctx, http.MethodPost, "/agents", "application/json", fmt.Sprintf(shellBody, s.pid()), nil)
}

func (s *runtimeServer) terminal(id string) string {
	return "http://" + s.host + "/ws/agents/" + id + "/terminal"
}

// close kills the agent and stops the server.
func (s *runtimeServer) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_ = s.call(ctx, http.MethodDelete, fmt.Sprintf("/agents/bench-%d?force=true", s.pid()), "", "", nil)
	_ = s.stop()
}
