package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is a child that tells on stdout when it is ready.
type process struct {
	cmd   *exec.Cmd
	ready string        // what followed "ready: "
	took  time.Duration // from the start to ready
	log   *os.File
}

// launch starts a command and waits for its ready line.
func launch(ctx context.Context, logPath string, args ...string) (*process, error) {
	log, err := os.Create(logPath)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, args[0], args[1:]...), log: log}
	p.cmd.Stderr = log
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 10 * time.Second
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "ready: "); ok {
			p.ready, p.took = rest, time.Since(started)
			break
		}
		if err != nil {
			_ = p.cmd.Wait()
			text, _ := os.ReadFile(logPath)
			return nil, fmt.Errorf("%s ended before it was ready: %w\n%s", args[0], err, text)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the child
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends the child with SIGTERM and waits for it.
func (p *process) stop() error {
	defer p.log.Close()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.cmd.Wait()
}

// kill ends the child with SIGKILL and waits for it.
func (p *process) kill() error {
	defer p.log.Close()
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = p.cmd.Wait() // says that it was killed
	return nil
}

// server is a core under measurement.
type server struct {
	*process
	host string
	data string
}

// serve starts the core on a data directory of the run; name "" takes a fresh one.
func (b *bench) serve(ctx context.Context, name string) (*server, error) {
	data := filepath.Join(b.dir, name)
	if name == "" {
		fresh, err := os.MkdirTemp(b.dir, "data-")
		if err != nil {
			return nil, err
		}
		data = fresh
	}
	return b.serveAt(ctx, data, "127.0.0.1:0")
}

// serveAt starts the core on a data directory at an address.
func (b *bench) serveAt(ctx context.Context, data, listen string) (*server, error) {
	p, err := launch(ctx, filepath.Join(b.dir, "server.log"), b.binary, "dev", "--listen", listen, "--data-dir", data)
	if err != nil {
		return nil, err
	}
	return &server{process: p, host: strings.TrimPrefix(p.ready, "http://"), data: data}, nil
}

// call sends a JSON request and decodes the answer.
func (s *server) call(ctx context.Context, method, path, contentType, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.host+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	if body != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, data)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
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

const echoBody = `{"input":{"text":"The quick brown fox jumps over the lazy dog."}}`

// withAgents stores the echo pattern and starts the agents' process.
func (b *bench) withAgents(ctx context.Context, s *server) (*process, error) {
	if err := s.storePattern(ctx); err != nil {
		return nil, err
	}
	return b.echoAgents(ctx, s)
}

func (s *server) storePattern(ctx context.Context) error {
	return s.call(ctx, http.MethodPost, "/api/patterns", "application/x-yaml", echoPattern, nil)
}

// echoAgents starts three agents in a process of their own.
func (b *bench) echoAgents(ctx context.Context, s *server) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return launch(ctx, filepath.Join(b.dir, "agents.log"), self, "agents", "-server", "http://"+s.host, "-n", "3")
}
