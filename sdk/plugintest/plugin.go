package plugintest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/wardroom/wardroom/sdk/conformance"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const startTimeout = 20 * time.Second

// Options say what to start. Path is needed.
type Options struct {
	Path     string          // of the binary
	Config   json.RawMessage // nil: {}
	Env      []string        // beside PATH, HOME and what the contract of plugins sets
	StateDir string          // empty: a temporary one
	LogLevel hclog.Level     // 0: debug
	Host     plugin.HostServices
}

// Plugin is a plugin that runs. Its process ends with the test.
type Plugin struct {
	o        Options
	runDir   string
	log      *Log
	sum      []byte
	mu       sync.Mutex // guards all below
	launched *launched
}

// launched is one process of a plugin.
type launched struct {
	client *goplugin.Client
	cmd    *exec.Cmd
	conn   *plugin.Conn
	parent io.Closer // its end ends the plugin
}

// Start starts a plugin and configures it. The test fails if that does.
func Start(t testing.TB, o Options) *Plugin {
	t.Helper()
	p := &Plugin{o: o, log: &Log{}}
	if p.o.Config == nil {
		p.o.Config = json.RawMessage("{}")
	}
	p.o.LogLevel = cmp.Or(p.o.LogLevel, hclog.Debug)
	if p.o.StateDir == "" {
		p.o.StateDir = t.TempDir()
	}
	var err error
	// The address of a socket holds 108 bytes, and a test's own directory may be longer by itself.
	if p.runDir, err = os.MkdirTemp("", "plugin"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		_ = os.RemoveAll(p.runDir)
		if t.Failed() {
			t.Logf("the plugin logged:\n%s", p.log)
		}
	})
	binary, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(binary)
	p.sum = sum[:]
	if err := p.launch(t.Context()); err != nil {
		t.Fatalf("starting the plugin: %v\n%s", err, p.log)
	}
	return p
}

// Conn is the connection to the present process.
func (p *Plugin) Conn() *plugin.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.launched.conn
}

// PID is that of the present process.
func (p *Plugin) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.launched.cmd.Process.Pid
}

// Log is what all processes of the plugin logged.
func (p *Plugin) Log() *Log { return p.log }

// Restart kills the plugin with SIGKILL, and starts it anew over the same state.
func (p *Plugin) Restart(ctx context.Context) (*plugin.Conn, error) {
	if err := p.Kill(ctx); err != nil {
		return nil, err
	}
	if err := p.launch(ctx); err != nil {
		return nil, err
	}
	return p.Conn(), nil
}

// Lose kills the plugin with SIGKILL, and starts it anew over an empty state.
func (p *Plugin) Lose(ctx context.Context) (*plugin.Conn, error) {
	if err := p.Kill(ctx); err != nil {
		return nil, err
	}
	names, err := os.ReadDir(p.o.StateDir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(p.o.StateDir, name.Name())); err != nil {
			return nil, err
		}
	}
	if err := p.launch(ctx); err != nil {
		return nil, err
	}
	return p.Conn(), nil
}

// Kill ends the plugin's process with SIGKILL and waits until it is gone. Nothing else is killed.
func (p *Plugin) Kill(ctx context.Context) error {
	p.mu.Lock()
	l := p.launched
	p.mu.Unlock()
	if err := syscall.Kill(l.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing the plugin: %w", err)
	}
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !l.client.Exited() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("the plugin does not end: %w", ctx.Err())
		}
	}
	l.close()
	return nil
}

// Close ends the plugin. It may be called twice.
func (p *Plugin) Close() {
	p.mu.Lock()
	l := p.launched
	p.mu.Unlock()
	if l != nil {
		l.close()
	}
}

// RuntimeOptions returns what conformance.Runtime checks of this plugin, kill and all.
func (p *Plugin) RuntimeOptions(spec func(id string) runtime.Spec) conformance.RuntimeOptions {
	return conformance.RuntimeOptions{
		Runtime: p.Conn().Runtime(), Spec: spec, State: p.o.StateDir,
		Kill: func(ctx context.Context) (runtime.Runtime, error) {
			conn, err := p.Restart(ctx)
			if err != nil {
				return nil, err
			}
			return conn.Runtime(), nil
		},
		Lose: func(ctx context.Context) (runtime.Runtime, error) {
			conn, err := p.Lose(ctx)
			if err != nil {
				return nil, err
			}
			return conn.Runtime(), nil
		},
	}
}

func (l *launched) close() {
	_ = l.conn.Close()
	l.client.Kill()
	_ = l.parent.Close()
}

// launch starts a process.
func (p *Plugin) launch(ctx context.Context) error {
	ours, theirs, err := parentPipe()
	if err != nil {
		return err
	}
	defer func() { _ = theirs.Close() }()
	cmd := exec.Command(p.o.Path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "PLUGIN_UNIX_SOCKET_DIR=" + p.runDir,
		plugin.EnvName + "=" + filepath.Base(p.o.Path), plugin.EnvRunDir + "=" + p.runDir, plugin.EnvStateDir + "=" + p.o.StateDir,
		plugin.EnvLogLevel + "=" + p.o.LogLevel.String(), plugin.EnvParentFD + "=3",
	}, p.o.Env...)
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: plugin.Handshake, VersionedPlugins: plugin.Plugins(), Cmd: cmd,
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC}, AutoMTLS: true, SkipHostEnv: true,
		SecureConfig: &goplugin.SecureConfig{Checksum: p.sum, Hash: sha256.New()},
		StartTimeout: startTimeout, GRPCDialOptions: plugin.GRPCDialOptions(),
		Logger:     hclog.New(&hclog.LoggerOptions{Name: "plugin", Level: hclog.Debug, Output: p.log}),
		SyncStdout: p.log, SyncStderr: p.log,
	})
	conn, err := p.connect(ctx, client)
	if err != nil {
		client.Kill()
		_ = ours.Close()
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.launched = &launched{client: client, cmd: cmd, conn: conn, parent: ours}
	return nil
}

// connect makes a process that is about to start ready to serve.
func (p *Plugin) connect(ctx context.Context, client *goplugin.Client) (*plugin.Conn, error) {
	protocol, err := client.Client()
	if err != nil {
		return nil, err
	}
	dispensed, err := protocol.Dispense(plugin.Name)
	if err != nil {
		return nil, err
	}
	conn, ok := dispensed.(*plugin.Conn)
	if !ok {
		return nil, fmt.Errorf("the plugin dispenses a %T", dispensed)
	}
	if p.o.Host != nil {
		conn.SetHostServices(p.o.Host)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if _, err := conn.Info(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	if _, err := conn.Configure(ctx, p.o.Config, 1); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// parentPipe returns the end of a pipe that the plugin watches, and ours, which no other process inherits.
func parentPipe() (ours, theirs *os.File, err error) {
	theirs, ours, err = os.Pipe()
	return ours, theirs, err
}
