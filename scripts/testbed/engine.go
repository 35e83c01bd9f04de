package testbed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// EngineSocket names the variable that tells rigs and tests which container engine to use; without it they start one.
const EngineSocket = "WARDROOM_DOCKER_SOCKET"

// EngineImage is the image that an engine of a rig has: busybox, and git where this machine has it.
const EngineImage = "wardroom/test:1"

// Engine is a container engine of this machine. Safe for concurrent use, but for Up, Down and Close.
type Engine struct {
	Socket string
	dir    string // of one that the rig started; else empty
	script string
	args   []string
	client *http.Client
}

// NewEngine returns the engine that EngineSocket names, or starts one of its own, which has EngineImage; args are dockerd's, at
// every start.
func NewEngine(ctx context.Context, args ...string) (*Engine, error) {
	at, err := moduleDir(ctx)
	if err != nil {
		return nil, err
	}
	e := &Engine{Socket: os.Getenv(EngineSocket), script: filepath.Join(at, "scripts", "engine", "engine.sh"), args: args}
	if e.Socket == "" {
		if os.Getuid() != 0 {
			return nil, errors.New(EngineSocket + " names no engine, and only root can start one")
		}
		if e.dir, err = os.MkdirTemp("", "engine-"); err != nil {
			return nil, err
		}
		e.Socket = filepath.Join(e.dir, "docker.sock")
	}
	e.client = engineClient(e.Socket)
	if e.dir == "" {
		return e, nil
	}
	if err = e.Up(ctx); err == nil {
		err = e.run(ctx, "image", EngineImage)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// defaultSocket is where an engine listens by default.
const defaultSocket = "/var/run/docker.sock"

// FindEngine returns the engine that answers on this machine: at EngineSocket, DOCKER_HOST, or where engines listen.
func FindEngine(ctx context.Context) (*Engine, error) {
	socket := os.Getenv(EngineSocket)
	if path, local := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://"); local && socket == "" {
		socket = path
	}
	if socket == "" {
		socket = defaultSocket
	}
	e := &Engine{Socket: socket, client: engineClient(socket)}
	var about struct{ Version string }
	if err := e.Call(ctx, http.MethodGet, "/version", nil, &about); err != nil {
		e.client.CloseIdleConnections()
		return nil, fmt.Errorf("no container engine answers at %s", socket)
	}
	return e, nil
}

func engineClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
}

// Own reports whether the rig started the engine, and may stop it.
func (e *Engine) Own() bool { return e.dir != "" }

// Up starts an engine of one's own that is down.
func (e *Engine) Up(ctx context.Context) error { return e.run(ctx, "up", e.args...) }

// Down stops an engine of one's own. Its containers end with it, unless dockerd has --live-restore.
func (e *Engine) Down(ctx context.Context) error { return e.run(ctx, "down") }

// Kill ends an engine of one's own as a crash does; its containers live on.
func (e *Engine) Kill(ctx context.Context) error { return e.run(ctx, "kill") }

// Close stops an engine of one's own for good, and removes what it has.
func (e *Engine) Close() error {
	e.client.CloseIdleConnections()
	if !e.Own() {
		return nil
	}
	return e.run(context.Background(), "remove")
}

func (e *Engine) run(ctx context.Context, action string, args ...string) error {
	if !e.Own() {
		return fmt.Errorf("engine.sh %s: %s names an engine that is not the rig's", action, EngineSocket)
	}
	out, err := exec.CommandContext(ctx, "bash", append([]string{e.script, action, e.dir}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("engine.sh %s: %w\n%s", action, err, out)
	}
	return nil
}

// EngineError is a refusal of the engine.
type EngineError struct {
	Call   string
	Status int
	Text   string
}

func (e *EngineError) Error() string { return fmt.Sprintf("%s: %d %s", e.Call, e.Status, e.Text) }

// Call asks the engine; body and answer may be nil.
func (e *Engine) Call(ctx context.Context, method, path string, body, answer any) error {
	var sent io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://engine"+path, sent)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := e.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode >= http.StatusBadRequest:
		return &EngineError{method + " " + path, response.StatusCode, strings.TrimSpace(string(text))}
	case answer == nil:
		return nil
	}
	return json.Unmarshal(text, answer)
}

// Containers returns the ids of the containers with a label, KEY or KEY=VALUE, whatever their state.
func (e *Engine) Containers(ctx context.Context, label string) (ids []string, err error) {
	filter, err := json.Marshal(map[string][]string{"label": {label}})
	if err != nil {
		return nil, err
	}
	var list []struct{ ID string }
	err = e.Call(ctx, http.MethodGet, "/containers/json?all=1&filters="+url.QueryEscape(string(filter)), nil, &list)
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids, err
}
