package docker_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// TestStartCutShort is the death of runtime and engine between the start of a container and the moment when its holder is handed the
// command: the holder waits for it, and the next runtime finds no agent and leaves no container.
func TestStartCutShort(t *testing.T) {
	for name, begun := range map[string]bool{"Waits": true, "NotStarted": false} {
		t.Run(name, func(t *testing.T) {
			e, ctx := need(t), within(t)
			state, spec := t.TempDir(), shell(id(t))
			l := e.open(t, state, nil)
			room, err := l.Prepare(ctx, &spec)
			if err != nil {
				t.Fatal(err)
			}
			p, err := l.Launch(ctx, agentcli.Command{Spec: &spec, Room: room, Path: "/bin/sh", Args: []string{"sh"}, Env: room.Env, Cols: 80, Rows: 24})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Remove(ctx, spec.ID) })
			c, first := e.client(t), p.Info().ContainerID
			made, err := c.ContainerInspect(ctx, first)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(p.Kill(ctx), p.Close(), l.Close()); err != nil {
				t.Fatal(err)
			}
			made.Config.StdinOnce = false // as after the death of an engine, which would have ended the input
			again, err := c.ContainerCreate(ctx, made.Config, made.HostConfig, nil, nil, made.Name)
			if err != nil {
				t.Fatal(err)
			}
			base := filepath.Join(filepath.Dir(room.Home), "life.json")
			forgetStart(t, base, again.ID)
			run, err := filepath.Glob(filepath.Join(filepath.Dir(room.Home), "run", "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range run {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			if begun {
				if err := c.ContainerStart(ctx, again.ID, container.StartOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			next := e.open(t, state, nil)
			handle, err := next.Latest(ctx, spec.ID, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			if found, err := next.Find(ctx, handle); !errors.Is(err, agentcli.ErrGone) {
				t.Errorf("found: %v, %v", found, err)
			}
			if left := e.containers(ctx, t, spec.ID); len(left) > 0 {
				t.Errorf("%d containers are left, the first is %s", len(left), left[0].State)
			}
		})
	}
}

// forgetStart makes the record of a life what it is before its container has started.
func forgetStart(t *testing.T, path, container string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]any
	if err := json.Unmarshal(data, &record); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"boot", "holder", "command"} {
		delete(record, name)
	}
	record["container"] = container
	if data, err = json.Marshal(record); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
