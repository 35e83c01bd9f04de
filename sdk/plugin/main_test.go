package plugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/plugin"
)

// envMode makes the test binary a plugin, a host that is to be killed, or what else a test needs a process for.
const envMode = "WARDROOM_TEST_MODE"

func TestMain(m *testing.M) {
	switch mode := os.Getenv(envMode); mode {
	case "":
	case "host":
		hostToBeKilled()
		return
	default:
		childPlugin(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

// logLines collects a log.
type logLines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// child is a plugin in a process of its own.
type child struct {
	*plugin.Conn
	client *goplugin.Client
	cmd    *exec.Cmd
	log    *logLines
	stop   func()
}

// start starts this test binary as a plugin, as a host does: with AutoMTLS, and an environment of its own.
func start(tb testing.TB, mode string, env ...string) (*child, error) {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	dir := socketDir(tb)
	alive, held, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append([]string{
		envMode + "=" + mode, plugin.EnvName + "=child", plugin.EnvRunDir + "=" + dir, plugin.EnvStateDir + "=" + dir,
		plugin.EnvParentFD + "=3", plugin.EnvLogLevel + "=debug", goplugin.EnvUnixSocketDir + "=" + dir,
		"GOCOVERDIR=" + dir,
	}, env...)
	cmd.ExtraFiles = []*os.File{alive}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log := &logLines{}
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: plugin.Handshake, VersionedPlugins: plugin.Plugins(), Cmd: cmd, SkipHostEnv: true, AutoMTLS: true,
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC}, GRPCDialOptions: plugin.GRPCDialOptions(),
		StartTimeout: 20 * time.Second,
		Logger:       hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: log, JSONFormat: true}),
	})
	c := &child{client: client, cmd: cmd, log: log}
	var once sync.Once
	c.stop = func() {
		once.Do(func() {
			if c.Conn != nil {
				_ = c.Conn.Close()
			}
			client.Kill()
			_ = alive.Close()
			_ = held.Close()
		})
	}
	tb.Cleanup(c.stop)
	protocol, err := client.Client()
	if err != nil {
		return c, err
	}
	raw, err := protocol.Dispense(plugin.Name)
	if err != nil {
		return c, err
	}
	c.Conn = raw.(*plugin.Conn)
	return c, nil
}

func mustStart(tb testing.TB, mode string, env ...string) *child {
	tb.Helper()
	c, err := start(tb, mode, env...)
	if err != nil {
		tb.Fatalf("start: %v\n%s", err, c.log)
	}
	return c
}

// configured is mustStart with a host and a first configuration.
func configured(tb testing.TB, mode string) *child {
	tb.Helper()
	c := mustStart(tb, mode)
	c.SetHostServices(newFakeHost())
	if _, err := c.Configure(testContext(tb), json.RawMessage(`{"greeting":"hello"}`), 1); err != nil {
		tb.Fatalf("configure: %v\n%s", err, c.log)
	}
	return c
}

// socketDir is a directory with a path short enough for sockets.
func socketDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "wp")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Clean(dir)
}

func testContext(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	tb.Cleanup(cancel)
	return ctx
}

// eventually waits for a condition.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	deadline := time.NewTimer(15 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			tb.Fatalf("%s: not in time", what)
		case <-tick.C:
		}
	}
}

// hostToBeKilled is a host's process: it starts a plugin, prints the plugin's pid, and waits for its end.
func hostToBeKilled() {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self)
	cmd.Env = []string{
		envMode + "=plain", goplugin.EnvUnixSocketDir + "=" + os.Getenv(goplugin.EnvUnixSocketDir), "GOCOVERDIR=" + os.TempDir(),
		plugin.EnvStateDir + "=" + os.Getenv(goplugin.EnvUnixSocketDir),
	}
	if os.Getenv("WITH_PIPE") != "" {
		alive, held, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		defer func() { _ = held.Close() }()
		cmd.ExtraFiles = []*os.File{alive}
		cmd.Env = append(cmd.Env, plugin.EnvParentFD+"=3")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: plugin.Handshake, VersionedPlugins: plugin.Plugins(), Cmd: cmd, SkipHostEnv: true, AutoMTLS: true,
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC}, Logger: hclog.NewNullLogger(),
	})
	protocol, err := client.Client()
	if err != nil {
		panic(err)
	}
	raw, err := protocol.Dispense(plugin.Name)
	if err != nil {
		panic(err)
	}
	if _, err := raw.(*plugin.Conn).Configure(context.Background(), json.RawMessage(`{"greeting":"mark"}`), 1); err != nil {
		panic(err)
	}
	fmt.Println(cmd.Process.Pid)
	_, _ = io.Copy(io.Discard, os.Stdin)
}
