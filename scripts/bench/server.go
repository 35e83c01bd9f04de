package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/wardroom/wardroom/scripts/testbed"
	api "github.com/wardroom/wardroom/sdk/client"
)

// server is a core under measurement. Its store lies below its folder.
type server struct{ *testbed.Server }

// serve starts a development server on a folder of the run; name "" takes a fresh one.
func (b *bench) serve(ctx context.Context, name string) (*server, error) {
	dir := filepath.Join(b.dir, name)
	if name == "" {
		fresh, err := os.MkdirTemp(b.dir, "data-")
		if err != nil {
			return nil, err
		}
		dir = fresh
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return started(ctx, func() (*testbed.Server, error) { return testbed.NewDevServer(b.binary, dir) })
}

// started starts a server that make prepares.
func started(ctx context.Context, make func() (*testbed.Server, error)) (*server, error) {
	s, err := make()
	if err != nil {
		return nil, err
	}
	if err := s.Start(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return &server{s}, nil
}

// stop ends the core in order. How it ended is no figure.
func (s *server) stop() {
	_ = s.Stop(testbed.ReadyLimit)
	s.Client.Close()
}

// play starts this program once more, in a part, and waits until it is ready.
func (b *bench) play(ctx context.Context, part string, args ...string) (*testbed.Process, error) {
	command, err := testbed.Self(filepath.Join(b.dir, part+".log"), append([]string{part}, args...)...)
	if err != nil {
		return nil, err
	}
	return command.Run(ctx)
}

// stop ends a child.
func stop(p *testbed.Process) { _ = p.Stop(testbed.ReadyLimit) }

// get returns the body of an answer.
func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("GET %s: %s: %s", url, res.Status, body)
	}
	return body, err
}

// echoPattern asks three agents and votes.
const echoPattern = `name: bench-echo
version: 1.0.0
input:
  text: {type: string, required: true}
agents:
  capabilities: [echo]
  min: 3
aggregation: {strategy: voting, method: majority, field: label}
output:
  label: $vote.result
  confidence: $vote.confidence
`

const (
	echoInput = `{"text":"The quick brown fox jumps over the lazy dog."}`
	echoBody  = `{"input":` + echoInput + `}`
)

// echo asks for an execution of the pattern.
var echo = api.ExecuteRequest{Pattern: "bench-echo", Input: json.RawMessage(echoInput)}

// withAgents stores the echo pattern and starts the agents' process.
func (b *bench) withAgents(ctx context.Context, s *server) (*testbed.Process, error) {
	if err := s.storePattern(ctx, echoPattern); err != nil {
		return nil, err
	}
	return b.echoAgents(ctx, s)
}

func (s *server) storePattern(ctx context.Context, definition string) error {
	_, err := s.Client.CreatePattern(ctx, api.PatternInput{Definition: definition})
	return err
}

// echoAgents starts three agents in a process of their own.
func (b *bench) echoAgents(ctx context.Context, s *server) (*testbed.Process, error) {
	return b.play(ctx, "agents", "-server", s.URL, "-n", "3")
}
