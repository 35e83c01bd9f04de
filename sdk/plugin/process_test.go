package plugin_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestPrints(t *testing.T) {
	c := configured(t, "prints")
	if _, err := c.Runtime().Inspect(testContext(t), "print"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"printed before the handshake", "1|1|not the handshake", "printed by fmt", "printed to stderr", "printed by a child",
		`"text":"0"`, // what the handshake needs is not in a child's environment
	} {
		eventually(t, want, func() bool { return strings.Contains(c.log.String(), want) })
	}
	eventually(t, "a level of the log package", func() bool {
		return strings.Contains(c.log.String(), `"@level":"warn","@message":"printed by log"`)
	})
}

func TestLog(t *testing.T) {
	c := configured(t, "plain")
	ctx := testContext(t)
	if _, err := c.Runtime().Inspect(ctx, "debug"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a debug record", func() bool { return strings.Contains(c.log.String(), "a debug record") })
	if err := c.SetLogLevel(ctx, hclog.Warn); err != nil {
		t.Fatal(err)
	}
	before := strings.Count(c.log.String(), "a debug record")
	for _, id := range []string{"debug", "long"} { // the log is one stream, so the second record proves that the first is not there
		if _, err := c.Runtime().Inspect(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the long record", func() bool { return strings.Contains(c.log.String(), `"@level":"warn","@message":"long record"`) })
	if after := strings.Count(c.log.String(), "a debug record"); after != before {
		t.Error("a debug record at level warn")
	}
	if err := c.SetLogLevel(ctx, hclog.NoLevel); plugin.AsError(err) == nil {
		t.Error("no level is a level")
	}
}

func TestPanics(t *testing.T) {
	c := configured(t, "plain")
	ctx := testContext(t)
	_, err := c.Runtime().Inspect(ctx, "panic")
	if runtime.ErrorCode(err) != runtime.CodeInternal {
		t.Errorf("got %v", err)
	}
	term, err := c.Runtime().Attach(ctx, "panic-input", runtime.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := term.Input([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := term.Recv(); runtime.ErrorCode(err) != runtime.CodeInternal {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{"inspect panics", "input panics", "child_test.go"} {
		eventually(t, want, func() bool { return strings.Contains(c.log.String(), want) })
	}
	if _, err := c.Runtime().Inspect(ctx, "x"); err != nil {
		t.Errorf("the plugin did not survive: %v", err)
	}
}

func TestVersions(t *testing.T) {
	host := func(versions map[int]goplugin.PluginSet) error {
		c := exec.Command(os.Args[0])
		dir := socketDir(t)
		c.Env = []string{envMode + "=plain", goplugin.EnvUnixSocketDir + "=" + dir, "GOCOVERDIR=" + dir}
		client := goplugin.NewClient(&goplugin.ClientConfig{
			HandshakeConfig: plugin.Handshake, VersionedPlugins: versions, Cmd: c, SkipHostEnv: true, AutoMTLS: true,
			AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC}, Logger: hclog.NewNullLogger(),
		})
		defer client.Kill()
		_, err := client.Client()
		return err
	}
	ours := plugin.Plugins()[plugin.ProtocolVersion]
	if err := host(map[int]goplugin.PluginSet{1: ours, 2: ours}); err != nil {
		t.Errorf("a newer host: %v", err)
	}
	if err := host(map[int]goplugin.PluginSet{2: ours}); err == nil || !strings.Contains(err.Error(), "Plugin version: 1") {
		t.Errorf("a host without our version: %v", err)
	}
}

func TestWrongDefinition(t *testing.T) {
	c, err := start(t, "wrong")
	if err == nil {
		t.Fatal("a wrong definition was served")
	}
	eventually(t, "the reasons", func() bool {
		return strings.Contains(c.log.String(), "Wrong Name") && strings.Contains(c.log.String(), "Configure is nil")
	})
}

func TestShutdown(t *testing.T) {
	c := configured(t, "plain")
	if err := c.Shutdown(testContext(t)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the service's Close", func() bool { return closings(c) == 1 })
	if _, err := c.Runtime().Inspect(testContext(t), "x"); runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("got %v", err)
	}
	if _, err := c.Configure(testContext(t), nil, 9); plugin.AsError(err).Code != plugin.CodeUnavailable {
		t.Errorf("got %v", err)
	}
	eventually(t, "the end of the process", c.client.Exited)
}

func TestKillCloses(t *testing.T) {
	c := configured(t, "plain")
	c.stop()
	if closings(c) != 1 {
		t.Errorf("the service was not closed:\n%s", c.log)
	}
}

func TestSignals(t *testing.T) {
	c := configured(t, "plain")
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Runtime().Inspect(testContext(t), "x"); err != nil {
		t.Errorf("an interrupt ended it: %v", err)
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the process", c.client.Exited)
	if closings(c) != 1 {
		t.Error("the service was not closed")
	}
}

// A service whose Close never returns does not keep its process.
func TestCloseHangs(t *testing.T) {
	c := configured(t, "plain")
	if _, err := c.Configure(testContext(t), []byte(`{"greeting":"hang"}`), 2); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the process", c.client.Exited)
}

func TestCallsEndWithTheProcess(t *testing.T) {
	c := configured(t, "plain")
	term, err := c.Runtime().Attach(testContext(t), "echo", runtime.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	calls := make(chan error, 1)
	go func() {
		_, err := c.Runtime().Inspect(testContext(t), "wait")
		calls <- err
	}()
	if err := syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-calls; runtime.ErrorCode(err) != runtime.CodeUnavailable || !runtime.AsError(err).Retry {
		t.Errorf("a call: %v", err)
	}
	if _, err := term.Recv(); runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("a terminal: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestHostKilled(t *testing.T) {
	for _, pipe := range []string{"", "yes"} {
		t.Run("Pipe"+pipe, func(t *testing.T) {
			host, dir := exec.Command(os.Args[0]), socketDir(t)
			host.Env = []string{
				envMode + "=host", "WITH_PIPE=" + pipe, goplugin.EnvUnixSocketDir + "=" + dir, "GOCOVERDIR=" + socketDir(t),
			}
			out, err := host.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			in, err := host.StdinPipe() // held open, or the host ends by itself
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = in.Close() }()
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = host.Wait()
			eventually(t, "the end of the plugin", func() bool { return gone(pid) })
			if _, err := os.Stat(filepath.Join(dir, "closed")); err != nil {
				t.Errorf("the service was not closed: %v", err)
			}
		})
	}
}

// gone reports whether a process has ended; one that nobody waits for has, too.
func gone(pid int) bool {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}

func TestBadParentFD(t *testing.T) {
	for _, fd := range []string{"x", "1", "77"} {
		c, err := start(t, "plain", plugin.EnvParentFD+"="+fd)
		if err == nil {
			t.Errorf("%q was taken", fd)
			continue
		}
		eventually(t, "the reason", func() bool { return strings.Contains(c.log.String(), plugin.EnvParentFD) })
	}
}
