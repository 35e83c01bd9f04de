package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wardroom/wardroom/scripts/clis"
	api "github.com/wardroom/wardroom/sdk/client"
)

// managed is a core with the local runtime, and a few agent types to measure with.
type managed struct {
	*server
	api *api.Client
}

// managedConfig declares a shell without a line editor, whose output is nothing but what its commands write.
const managedConfig = `server:
  listen: "127.0.0.1:0"
  environment: development
store:
  path: %s
plugins:
  dir: %s
  runtime-local:
    sha256: %s
    config:
      env:
        PATH: %q
runtimes:
  local:
    plugin: runtime-local
threads:
  maxThreads: 1000
agentTypes:
  shell:
    command: bash
    args: [--norc, --noprofile, --noediting]
    ready:
      pattern: '[$#] ?$'
`

// serveManaged starts a core with the local runtime and waits until that is ready.
func (b *bench) serveManaged(ctx context.Context) (*managed, error) {
	data, err := privateDir()
	if err != nil {
		return nil, err
	}
	p, err := b.launchManaged(ctx, data)
	if err != nil {
		_ = os.RemoveAll(data)
		return nil, err
	}
	m := &managed{server: &server{process: p, host: strings.TrimPrefix(p.ready, "http://"), data: data}}
	if m.api, err = api.New(p.ready, api.Options{}); err == nil {
		err = until(ctx, 30*time.Second, "the local runtime is ready", func() (bool, error) {
			list, err := m.api.ListRuntimes(ctx)
			return err == nil && len(list.Runtimes) == 1 && list.Runtimes[0].Ready, err
		})
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (b *bench) launchManaged(ctx context.Context, data string) (*process, error) {
	sum, err := checksum(b.localRuntime())
	if err != nil {
		return nil, fmt.Errorf("%w; run `make build` first", err)
	}
	config := filepath.Join(data, "wardroom.yaml")
	text := fmt.Sprintf(managedConfig, storePath(data), filepath.Dir(b.localRuntime()), sum, agentPath())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return launch(ctx, filepath.Join(data, "server.log"), b.binary, "serve", "--config", config)
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
	return filepath.Join(filepath.Dir(b.binary), "plugins", "runtime-local")
}

func checksum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// close kills the agents, which would outlive the core otherwise, and stops the core.
func (m *managed) close() {
	// The run may have been interrupted: what it left is cleaned up all the same.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for a, err := range m.api.ManagedAgents(ctx, api.ManagedAgentFilter{Page: api.Page{Limit: 100}}) {
		if err != nil {
			break
		}
		if a.Status == api.ManagedStopped {
			continue
		}
		if err := m.api.StopManagedAgent(ctx, a.ID, true, 0); err != nil {
			fmt.Fprintf(os.Stderr, "bench: agent %s is left: %v\n", a.ID, err)
		}
	}
	_ = m.stop()
	_ = os.RemoveAll(m.data)
}

// plugin returns the process of the local runtime.
func (m *managed) plugin() (int, error) {
	for _, pid := range children(m.pid()) {
		if strings.HasSuffix(executable(pid), "/runtime-local") {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("the core has no process of the local runtime")
}

// spawn starts an agent and waits until it is ready.
func (m *managed) spawn(ctx context.Context, spec api.ManagedAgentSpec) (*api.ManagedAgent, error) {
	a, err := m.api.SpawnManagedAgent(ctx, spec)
	if err != nil {
		return nil, err
	}
	err = until(ctx, 60*time.Second, "agent "+a.ID+" is ready", func() (bool, error) {
		if a, err = m.api.GetManagedAgent(ctx, a.ID); err != nil {
			return false, err
		}
		if a.Status == api.ManagedError || a.Status == api.ManagedStopped {
			return false, fmt.Errorf("agent %s of type %s is %s (%s)", a.ID, a.Type, a.Status, a.StatusReason)
		}
		return a.Status == api.ManagedReady, nil
	})
	return a, err
}

// until looks every few milliseconds whether something is so, for a limited time.
func until(ctx context.Context, limit time.Duration, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		ok, err := so()
		if ok || err != nil && ctx.Err() == nil {
			return err
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("it did not come true within %s that %s", limit, what)
		}
	}
}
