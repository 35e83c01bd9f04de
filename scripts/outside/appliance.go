package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

// appliance is a server that runs.
type appliance struct {
	dir     string
	address string
	cmd     *exec.Cmd
	drained sync.WaitGroup
}

const settings = `server: {listen: "127.0.0.1:0"}
store: {path: data}
plugins: {dir: plugins}
runtimes:
`

// serve starts a server whose configuration names runtimes, each a plugin that is not installed.
func serve(ctx context.Context, wardroom, dir string, runtimes ...string) (*appliance, error) {
	if err := os.MkdirAll(filepath.Join(dir, "plugins"), 0o755); err != nil {
		return nil, err
	}
	text := strings.NewReplacer("path: data", "path: "+filepath.Join(dir, "data"), "dir: plugins", "dir: "+filepath.Join(dir, "plugins")).Replace(settings)
	for _, name := range runtimes {
		text += fmt.Sprintf("  %s: {plugin: runtime-%s, config: {maxAgents: 10}}\n", name, name)
	}
	if err := os.WriteFile(filepath.Join(dir, "wardroom.yaml"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "wardroom.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	a := &appliance{dir: dir, cmd: exec.CommandContext(ctx, wardroom, "serve", "--config", "wardroom.yaml")}
	a.cmd.Dir, a.cmd.Stderr = dir, log
	a.cmd.Cancel = func() error { return a.cmd.Process.Signal(syscall.SIGTERM) }
	a.cmd.WaitDelay = 10 * time.Second
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	for a.address == "" {
		line, err := lines.ReadString('\n')
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "ready: "); ok {
			a.address = rest
		} else if err != nil {
			said, _ := os.ReadFile(log.Name())
			return nil, fmt.Errorf("the server ended before it was ready: %w\n%s", a.cmd.Wait(), said)
		}
	}
	a.drained.Go(func() { _, _ = io.Copy(io.Discard, lines) }) // ends with the child
	return a, nil
}

// lacks makes sure that none of the runtimes can be used yet, and that the server says so and why.
func (a *appliance) lacks(ctx context.Context, runtimes ...string) error {
	api, err := client.New(a.address, client.Options{})
	if err != nil {
		return err
	}
	defer api.Close()
	for _, name := range runtimes {
		p, err := api.GetPlugin(ctx, "runtime-"+name)
		if err != nil {
			return err
		}
		if p.State != "failed" || p.Reason == "" || p.Hint == "" {
			return fmt.Errorf("the missing plugin %s is %s, with reason %q and hint %q", p.Name, p.State, p.Reason, p.Hint)
		}
	}
	return nil
}

// stop ends the server as a service manager does; it must end with 0.
func (a *appliance) stop() error {
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	a.drained.Wait()
	if err := a.cmd.Wait(); err != nil {
		return fmt.Errorf("the server ended with %w; its log is %s", err, filepath.Join(a.dir, "wardroom.log"))
	}
	return nil
}

// talk spawns a shell on a runtime over the API, asks it something, and stops it.
func (a *appliance) talk(ctx context.Context, runtime string) error {
	api, err := client.New(a.address, client.Options{})
	if err != nil {
		return err
	}
	defer api.Close()
	agent, err := api.SpawnManagedAgent(ctx, client.ManagedAgentSpec{Type: "sh", Runtime: runtime, IdempotencyKey: client.NewIdempotencyKey()})
	if err != nil {
		return fmt.Errorf("spawn: %w", err)
	}
	reply, err := api.SendManagedAgent(ctx, agent.ID, client.ManagedAgentInput{
		Message: "echo answer-$((6*7))", ExpectResponse: true, Timeout: 30 * time.Second,
	})
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if !reply.Sent || reply.Response == nil || strings.TrimSpace(reply.Response.Text) != "answer-42" {
		return fmt.Errorf("the agent was asked for answer-42 and said %+v", reply.Response)
	}
	if agent.Runtime != runtime {
		return fmt.Errorf("the agent runs on %q", agent.Runtime)
	}
	if err := api.StopManagedAgent(ctx, agent.ID, false, 5*time.Second); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	stopped, err := api.GetManagedAgent(ctx, agent.ID)
	if err == nil && stopped.Status != client.ManagedStopped {
		err = fmt.Errorf("after stop the agent is %s", stopped.Status)
	}
	return err
}
