package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// runtimeServer is the plugin of the local runtime, started by hand.
type runtimeServer struct {
	*testbed.Process
	url string
}

func (b *bench) serveRuntime(ctx context.Context) (*runtimeServer, error) {
	dir, err := os.MkdirTemp(b.dir, "runtime-")
	if err != nil {
		return nil, err
	}
	host, err := testbed.FreeAddress()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(host) // an address can be split
	command := testbed.Command{
		Args: []string{b.localRuntime()}, Log: filepath.Join(dir, "runtime.log"),
		Env: []string{"PORT=" + port, "STATE_DIR=" + filepath.Join(dir, "state"), "RUN_DIR=" + filepath.Join(dir, "run")},
	}
	p, err := command.Start()
	if err != nil {
		return nil, err
	}
	s := &runtimeServer{Process: p, url: "http://" + host}
	err = testbed.Until(ctx, 20*time.Second, "the runtime server answers", func(ctx context.Context) (bool, error) {
		_, err := get(ctx, s.url+"/health")
		return err == nil, p.Check()
	})
	if err != nil {
		stop(p)
		return nil, err
	}
	return s, nil
}

const shellBody = `{"id":"bench-%d","type":"shell","command":"bash","args":["--norc","--noprofile","--noediting"],"ready":{"pattern":"[$#] ?$"}}`

// spawnShell starts a shell and returns its id.
func (s *runtimeServer) spawnShell(ctx context.Context) (string, error) {
	id := fmt.Sprintf("bench-%d", s.PID())
	return id, s.call(ctx, http.MethodPost, "/agents", fmt.Sprintf(shellBody, s.PID()))
}

func (s *runtimeServer) terminal(id string) string {
	return s.url + "/ws/agents/" + id + "/terminal"
}

// close kills the agent and stops the server.
func (s *runtimeServer) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_ = s.call(ctx, http.MethodDelete, fmt.Sprintf("/agents/bench-%d?force=true", s.PID()), "")
	stop(s.Process)
}

// call sends a request whose answer has nothing to read.
func (s *runtimeServer) call(ctx context.Context, method, path, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		text, _ := io.ReadAll(res.Body) // for the message only
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, text)
	}
	return nil
}
