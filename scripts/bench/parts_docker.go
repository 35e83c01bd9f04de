package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	api "github.com/wardroom/wardroom/sdk/client"
)

// dockerConfig declares a shell that a container has as well as this machine. It has no line editor, so that its output is
// nothing but what its commands write.
const dockerConfig = `server: {listen: $LISTEN, environment: development}
store: {path: $DIR/store}
agentTypes:
  plain:
    command: busybox
    args: [sh, -c, 'while printf "$PS1" && read -r line; do eval "$line"; done']
    env: {PS1: '$ '}
    ready:
      pattern: '^\$ ?$'
`

// containers measures agents in containers: their start against what the engine takes for a bare one, their terminals against
// those of local agents, and how soon they are known again after core and plugin were killed.
func (b *bench) containers(ctx context.Context) (err error) {
	e, err := testbed.NewEngine(ctx)
	if err != nil {
		b.rows = append(b.rows, row{Part: "docker", Measure: "agents in containers", Value: "skipped", Ratio: strings.TrimSpace(err.Error())})
		return nil
	}
	defer func() {
		if failed := e.Close(); err == nil {
			err = failed
		}
	}()
	text, err := b.sharedText()
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(text.path))
	m, err := b.serveContainers(ctx, e, text)
	if err != nil {
		return err
	}
	defer func() { m.close() }() // another one by then
	if err := b.containerStarts(ctx, e, m); err != nil {
		return fmt.Errorf("starts: %w", err)
	}
	if err := b.containerTerminals(ctx, m, text); err != nil {
		return fmt.Errorf("terminals: %w", err)
	}
	if err := b.containerAdoption(ctx, m); err != nil {
		return fmt.Errorf("adoption: %w", err)
	}
	return nil
}

// sharedText is textFile in a folder of its own, which agents of any user may read.
func (b *bench) sharedText() (*flood, error) {
	text, err := b.textFile()
	if err != nil {
		return nil, err
	}
	shared := *text
	dir, err := os.MkdirTemp(filepath.Dir(b.dir), "wardroom-text-")
	if err != nil {
		return nil, err
	}
	shared.path = filepath.Join(dir, "text")
	return &shared, errors.Join(os.Chmod(dir, 0o755), os.Chmod(text.path, 0o644), os.Link(text.path, shared.path))
}

// serveContainers starts a core with both runtimes; containers may mount the text.
func (b *bench) serveContainers(ctx context.Context, e *testbed.Engine, text *flood) (*managed, error) {
	dir, err := privateDir()
	if err != nil {
		return nil, err
	}
	runtimes, err := testbed.Runtimes(b.binary, map[string]string{
		"local": "",
		"docker": fmt.Sprintf(", config: {socket: %q, image: %q, volumes: {%q: ro}, limits: {memory: 128m}}",
			e.Socket, testbed.EngineImage, filepath.Dir(text.path)),
	})
	if err != nil {
		return nil, err
	}
	s, err := started(ctx, func() (*testbed.Server, error) { return testbed.NewServer(b.binary, dir, dockerConfig+runtimes) })
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	m := &managed{s}
	err = testbed.Until(ctx, 30*time.Second, "both runtimes are ready", func(ctx context.Context) (bool, error) {
		list, err := m.Client.ListRuntimes(ctx)
		return err == nil && len(list.Runtimes) == 2 && list.Runtimes[0].Ready && list.Runtimes[1].Ready, err
	})
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// contained asks for an agent in a container.
func contained(spec api.ManagedAgentSpec) api.ManagedAgentSpec {
	spec.Type, spec.Runtime = "plain", "docker"
	return spec
}

// containerStarts starts bare containers and agents in turns, in one network.
func (b *bench) containerStarts(ctx context.Context, e *testbed.Engine, m *managed) error {
	n := 25
	if b.quick {
		n = 5
	}
	warm, err := m.spawn(ctx, contained(api.ManagedAgentSpec{})) // the network is made, the image is looked into
	if err != nil {
		return err
	}
	var bare, running, ready []float64
	for range n {
		took, err := bareContainer(ctx, e)
		if err != nil {
			return err
		}
		bare = append(bare, took)
		from := time.Now()
		a, err := m.Client.SpawnManagedAgent(ctx, contained(api.ManagedAgentSpec{}))
		if err != nil {
			return err
		}
		running = append(running, milliseconds(time.Since(from)))
		err = testbed.Until(ctx, time.Minute, "the agent is ready", func(ctx context.Context) (bool, error) {
			a, err = m.Client.GetManagedAgent(ctx, a.ID)
			return err == nil && a.Status == api.ManagedReady, err
		})
		if err != nil {
			return err
		}
		ready = append(ready, milliseconds(time.Since(from)))
		if err := m.Client.StopManagedAgent(ctx, a.ID, true, 0); err != nil {
			return err
		}
	}
	engine := median(bare)
	b.add("docker", "bare container, created and started, p50", engine, "%.0f ms", 0, true, "the baseline")
	b.add("docker", "spawn to running beyond that, p50", median(running)-engine, "%.0f ms", 100, true,
		fmt.Sprintf("%.2f of the bare one", median(running)/engine))
	b.add("docker", "spawn to ready beyond that, p50", median(ready)-engine, "%.0f ms", 0, true, "")
	return m.Client.StopManagedAgent(ctx, warm.ID, true, 0)
}

// bareContainer does what docker run -d does, and returns the milliseconds that it took.
func bareContainer(ctx context.Context, e *testbed.Engine) (took float64, err error) {
	var made struct{ ID string }
	from := time.Now()
	err = e.Call(ctx, http.MethodPost, "/containers/create", map[string]any{
		"Image": testbed.EngineImage, "Cmd": []string{"sleep", "60"}, "HostConfig": map[string]any{"NetworkMode": "wardroom-agents"},
	}, &made)
	if err == nil {
		err = e.Call(ctx, http.MethodPost, "/containers/"+made.ID+"/start", nil, nil)
	}
	took = milliseconds(time.Since(from))
	if err != nil {
		return took, err
	}
	return took, e.Call(ctx, http.MethodDelete, "/containers/"+made.ID+"?force=1", nil, nil)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(values []float64) float64 {
	slices.Sort(values)
	return testbed.Quantile(values, .5)
}

// containerTerminals compares one viewer of a shell in a container with one of the same shell beside it, in turns.
func (b *bench) containerTerminals(ctx context.Context, m *managed, text *flood) error {
	dir := filepath.Dir(text.path)
	var rates [2]float64
	var views [2]*viewer
	var ends []func()
	defer func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}()
	for i, spec := range []api.ManagedAgentSpec{
		{Type: "plain", Runtime: "local"},
		contained(api.ManagedAgentSpec{CPU: 2, Memory: "512m", Volumes: []string{dir + ":" + dir + ":ro"}}),
	} {
		a, err := m.spawn(ctx, spec)
		if err != nil {
			return err
		}
		address, header := m.Client.TerminalRequest(a.ID)
		if views[i], err = view(ctx, address, header); err != nil {
			return err
		}
		ends = append(ends, func() { _ = views[i].Close() }, func() { _ = m.Client.StopManagedAgent(ctx, a.ID, true, 0) })
	}
	for range 3 {
		for i, v := range views {
			d, err := v.cat(text)
			if err != nil {
				return err
			}
			rates[i] = max(rates[i], d.rate())
		}
	}
	b.add("docker", "terminal of a local shell to one viewer", rates[0], "%.1f MB/s", 0, false, "the baseline")
	b.add("docker", "the same in a container, of that", rates[1]/rates[0], "%.2f", 0.7, false, fmt.Sprintf("%.1f MB/s", rates[1]))
	return nil
}

// containerAdoption kills core and plugin over many agents, and measures the time from the start of the next core until all of
// them are listed and can be used.
func (b *bench) containerAdoption(ctx context.Context, m *managed) error {
	n := 100
	if b.quick {
		n = 20
	}
	containers := map[string]string{} // by agent
	for range n {
		a, err := m.spawn(ctx, contained(api.ManagedAgentSpec{Memory: "32m", CPU: 0.1}))
		if err != nil {
			return fmt.Errorf("agent %d: %w", len(containers)+1, err)
		}
		containers[a.ID] = a.ContainerID
	}
	plugin, err := m.Client.GetPlugin(ctx, "runtime-docker")
	if err != nil {
		return err
	}
	m.Kill()
	if err := syscall.Kill(plugin.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return os.NewSyscallError("kill the plugin", err)
	}
	from := time.Now()
	if err := m.Start(ctx); err != nil {
		return err
	}
	ready := time.Since(from)
	err = testbed.Until(ctx, time.Minute, "all agents are known again", func(ctx context.Context) (bool, error) {
		found := 0
		for a, err := range m.Client.ManagedAgents(ctx, api.ManagedAgentFilter{Runtime: "docker", Page: api.Page{Limit: 100}}) {
			switch {
			case err != nil:
				return false, err
			case containers[a.ID] == "":
			case a.ContainerID != containers[a.ID] || a.Gone():
				return false, fmt.Errorf("agent %s had the container %s, and is %s in %q", a.ID, containers[a.ID], a.Status, a.ContainerID)
			case a.Status == api.ManagedReady:
				found++
			}
		}
		return found == n, nil
	})
	if err != nil {
		return err
	}
	took := time.Since(from)
	if plugin, err = m.Client.GetPlugin(ctx, "runtime-docker"); err != nil {
		return err
	}
	b.add("docker", fmt.Sprintf("core and plugin kill -9: %d agents are listed and adopted", n), took.Seconds(), "%.2f s", 3, true,
		fmt.Sprintf("the core was ready after %.2f s; CPU: core %.2f s, plugin %.2f s", ready.Seconds(),
			testbed.CPUTime(m.PID()).Seconds(), testbed.CPUTime(plugin.PID).Seconds()))
	return nil
}
