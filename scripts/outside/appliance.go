package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// appliance is a server that runs.
type appliance struct{ *testbed.Server }

const settings = `server: {listen: $LISTEN}
store: {path: $DIR/data}
plugins: {dir: $DIR/plugins}
runtimes:
`

// serve starts a server whose configuration names runtimes, each a plugin that is not installed.
func serve(ctx context.Context, wardroom, dir string, runtimes ...string) (*appliance, error) {
	if err := os.MkdirAll(filepath.Join(dir, "plugins"), 0o755); err != nil {
		return nil, err
	}
	text := settings
	for _, name := range runtimes {
		text += fmt.Sprintf("  %s: {plugin: runtime-%s, config: {maxAgents: 10}}\n", name, name)
	}
	s, err := testbed.NewServer(wardroom, dir, text)
	if err != nil {
		return nil, err
	}
	return &appliance{s}, s.Start(ctx)
}

// lacks waits until the server reports that none of the runtimes can be used yet, and why. A server is ready before
// it has looked for its plugins.
func (a *appliance) lacks(ctx context.Context, runtimes ...string) error {
	for _, name := range runtimes {
		var p *client.Plugin
		err := testbed.Until(ctx, testbed.ReadyLimit, "the missing plugin of "+name+" has failed", func(ctx context.Context) (_ bool, err error) {
			p, err = a.Client.GetPlugin(ctx, "runtime-"+name)
			return err == nil && p.State == "failed", err
		})
		if err != nil {
			return err
		}
		if p.Reason == "" || p.Hint == "" {
			return fmt.Errorf("the missing plugin %s has failed with reason %q and hint %q", p.Name, p.Reason, p.Hint)
		}
	}
	return nil
}

// stop ends the server as a service manager does; it must end with 0.
func (a *appliance) stop() error {
	defer a.Close()
	return a.Stop(testbed.ReadyLimit)
}

// talk spawns a shell on a runtime over the API, asks it something, and stops it.
func (a *appliance) talk(ctx context.Context, runtime string) error {
	agent, err := a.Client.SpawnManagedAgent(ctx, client.ManagedAgentSpec{Type: "sh", Runtime: runtime, IdempotencyKey: client.NewIdempotencyKey()})
	if err != nil {
		return fmt.Errorf("spawn: %w", err)
	}
	reply, err := a.Client.SendManagedAgent(ctx, agent.ID, client.ManagedAgentInput{
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
	if err := a.Client.StopManagedAgent(ctx, agent.ID, false, 5*time.Second); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	stopped, err := a.Client.GetManagedAgent(ctx, agent.ID)
	if err == nil && stopped.Status != client.ManagedStopped {
		err = fmt.Errorf("after stop the agent is %s", stopped.Status)
	}
	return err
}
