package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// containerImages are images with a shell that the demo starts an agent from; the first that the engine has.
var containerImages = []string{"wardroom/base", testbed.EngineImage}

// boxConfig is a server whose one runtime is the one for containers.
const boxConfig = `server: {listen: $LISTEN}
store: {path: $DIR/store}
agentTypes: {shell: {command: sh, env: {PS1: "ready> "}, ready: {pattern: "^ready> $"}, exit: exit}}
`

// contain drives an agent in a container, where an engine answers, at a server of its own and through a kill -9 of that.
func (d *demo) contain(ctx context.Context) (err error) {
	engine, err := testbed.FindEngine(ctx)
	if err != nil {
		d.say("\nno agent in a container: %v", err)
		return nil
	}
	defer func() { err = errors.Join(err, engine.Close()) }() // it is not the demo's, and goes on
	image := ""
	for _, name := range containerImages {
		if engine.Call(ctx, http.MethodGet, "/images/"+name+"/json", nil, nil) == nil {
			image = name
			break
		}
	}
	if image == "" {
		d.say("\nno agent in a container: the engine has no image %s; packaging/images/build.sh makes it", containerImages[0])
		return nil
	}
	d.title("An agent in a container of %s", image)
	own, err := d.box(engine.Socket, image)
	if err != nil {
		return err
	}
	defer own.server.Client.Close()
	defer func() { err = errors.Join(err, own.stop()) }()
	if err := own.startServer(ctx); err != nil {
		return err
	}
	defer own.dismiss()
	a, err := own.contained(ctx, "")
	if err != nil {
		return err
	}
	if err := own.wardroom(ctx, "agent", "list", "--managed"); err != nil {
		return err
	}
	pid, err := own.kill()
	if err != nil {
		return err
	}
	d.say("\n-- kill -9 %d: the server is gone, the container is not", pid)
	if err := own.startServer(ctx); err != nil {
		return err
	}
	again, err := own.contained(ctx, a.ID)
	if err != nil {
		return err
	}
	if again.ContainerID != a.ContainerID {
		return fmt.Errorf("the agent had the container %s and has %s", a.ContainerID, again.ContainerID)
	}
	if err := own.server.Client.StopManagedAgent(ctx, a.ID, false, 0); err != nil {
		return err
	}
	return d.until(ctx, "the container is gone", func(ctx context.Context) (bool, error) {
		left, err := engine.Containers(ctx, "io.wardroom.agent="+a.ID)
		return len(left) == 0, err
	})
}

// box is a server with the runtime for containers.
func (d *demo) box(socket, image string) (*demo, error) {
	runtimes, err := testbed.Runtimes(d.opts.wardroom, map[string]string{"docker": fmt.Sprintf(", config: {socket: %q, image: %q}", socket, image)})
	if err != nil {
		return nil, err
	}
	dir := d.path("box")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	own := &demo{opts: d.opts, out: d.out}
	own.opts.keep = false // it ends with its part of the demo
	own.server, err = testbed.NewServer(d.opts.wardroom, dir, boxConfig+runtimes)
	return own, err
}

// contained spawns an agent, or finds the one with that id, and has it say where it is.
func (d *demo) contained(ctx context.Context, id string) (a *client.ManagedAgent, err error) {
	err = d.until(ctx, "the agent takes messages", func(ctx context.Context) (bool, error) {
		switch {
		case id != "":
			a, err = d.server.Client.GetManagedAgent(ctx, id)
		default:
			if a, err = d.server.Client.SpawnManagedAgent(ctx, client.ManagedAgentSpec{Type: "shell", Name: "boxed"}); err == nil {
				id = a.ID
			} else if refused := new(client.Error); errors.As(err, &refused) && refused.Status == http.StatusServiceUnavailable {
				return false, nil // its runtime is not up yet
			}
		}
		return err == nil && a.Status == client.ManagedReady && a.StatusReason == "", err
	})
	if err != nil {
		return nil, err
	}
	const question = `echo "I am process $$ on $(hostname), and see $(ls / | wc -l) entries of /."`
	reply, err := d.server.Client.SendManagedAgent(ctx, id, client.ManagedAgentInput{Message: question, ExpectResponse: true})
	if err != nil {
		return nil, err
	}
	if reply.Response == nil || !strings.Contains(reply.Response.Text, "on boxed") {
		return nil, fmt.Errorf("the agent in its container says %+v", reply.Response)
	}
	d.say("boxed, in container %s: %s", filepath.Base(a.ContainerID)[:12], reply.Response.Text)
	return a, nil
}
