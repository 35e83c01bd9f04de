package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wardroom/wardroom/scripts/clis"
	"github.com/wardroom/wardroom/scripts/testbed"
	api "github.com/wardroom/wardroom/sdk/client"
)

// managed is a core with the local runtime, and a few agent types to measure with.
type managed struct{ *server }

// managedConfig declares a shell without a line editor, whose output is nothing but what its commands write.
const managedConfig = `server: {listen: $LISTEN, environment: development}
store: {path: $DIR/store}
threads: {maxThreads: 1000}
agentTypes:
  shell:
    command: bash
    args: [--norc, --noprofile, --noediting]
    ready:
      pattern: '[$#] ?$'
`

// serveManaged starts a core with the local runtime and waits until that is ready.
func (b *bench) serveManaged(ctx context.Context) (*managed, error) {
	dir, err := privateDir()
	if err != nil {
		return nil, err
	}
	runtime, err := testbed.LocalRuntime(b.binary, fmt.Sprintf(", config: {env: {PATH: %q}}", agentPath()))
	if err != nil {
		return nil, err
	}
	s, err := started(ctx, func() (*testbed.Server, error) { return testbed.NewServer(b.binary, dir, managedConfig+runtime) })
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	m := &managed{s}
	err = testbed.Until(ctx, 30*time.Second, "the local runtime is ready", func(ctx context.Context) (bool, error) {
		list, err := m.Client.ListRuntimes(ctx)
		return err == nil && len(list.Runtimes) == 1 && list.Runtimes[0].Ready, err
	})
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// privateDir makes a folder with no parent that others may write to, as /tmp is: gemini mistrusts settings there.
func privateDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(base, "wardroom-bench-")
}

// agentPath is the PATH of agents: that of this process, with the command lines that are installed before it.
func agentPath() string {
	var dirs []string
	for _, name := range clis.Names() {
		if path, ok := clis.Find(name); ok {
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	return strings.Join(append(dirs, os.Getenv("PATH")), string(os.PathListSeparator))
}

// localRuntime is the plugin beside the binary.
func (b *bench) localRuntime() string {
	return filepath.Join(testbed.Plugins(b.binary), testbed.RuntimePlugin)
}

// close kills the agents, which would outlive the core otherwise, and stops the core.
func (m *managed) close() {
	// The run may have been interrupted: what it left is cleaned up all the same.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for a, err := range m.Client.ManagedAgents(ctx, api.ManagedAgentFilter{Page: api.Page{Limit: 100}}) {
		if err != nil {
			break
		}
		if a.Status == api.ManagedStopped {
			continue
		}
		if err := m.Client.StopManagedAgent(ctx, a.ID, true, 0); err != nil {
			fmt.Fprintf(os.Stderr, "bench: agent %s is left: %v\n", a.ID, err)
		}
	}
	m.stop()
	_ = os.RemoveAll(m.Dir)
}

// plugin returns the process of the local runtime.
func (m *managed) plugin(ctx context.Context) (int, error) {
	p, err := m.Client.GetPlugin(ctx, testbed.RuntimePlugin)
	if err == nil && p.PID == 0 {
		err = errors.New("the local runtime has no process")
	}
	if err != nil {
		return 0, err
	}
	return p.PID, nil
}

// spawn starts an agent and waits until it is ready.
func (m *managed) spawn(ctx context.Context, spec api.ManagedAgentSpec) (*api.ManagedAgent, error) {
	a, err := m.Client.SpawnManagedAgent(ctx, spec)
	if err != nil {
		return nil, err
	}
	err = testbed.Until(ctx, 60*time.Second, "agent "+a.ID+" is ready", func(ctx context.Context) (bool, error) {
		if a, err = m.Client.GetManagedAgent(ctx, a.ID); err != nil {
			return false, err
		}
		if a.Status == api.ManagedError || a.Status == api.ManagedStopped {
			return false, fmt.Errorf("agent %s of type %s is %s (%s)", a.ID, a.Type, a.Status, a.StatusReason)
		}
		return a.Status == api.ManagedReady, nil
	})
	return a, err
}
