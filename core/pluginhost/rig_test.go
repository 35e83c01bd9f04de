package pluginhost_test

import (
	"bytes"
	"context"
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

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/pluginhost"
)

// rig is a host with plugins in a directory of its own.
type rig struct {
	*pluginhost.Host
	tb      testing.TB
	dir     string // of the plugins
	opts    pluginhost.Options
	clock   *coretest.Clock
	log     *syncBuffer
	metrics *counts
	checks  map[string]pluginhost.HealthCheck
}

// pen is the usual plugin.
func pen(mode string) pluginhost.Spec {
	return pluginhost.Spec{
		Name: "runtime-pen", Enabled: true, Env: map[string]string{"TEST_MODE": mode, "PEN_SECRET": "canary-env"},
	}
}

// newRig prepares a host; the binary of each plugin is a build of the test plugin, and the manifest names it.
func newRig(tb testing.TB, specs ...pluginhost.Spec) *rig {
	tb.Helper()
	short, err := os.MkdirTemp("", "w") // socket addresses are short
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(short) })
	r := &rig{
		tb: tb, dir: filepath.Join(tb.TempDir(), "plugins"), clock: coretest.NewClock(), log: &syncBuffer{},
		metrics: &counts{n: map[string]int{}}, checks: map[string]pluginhost.HealthCheck{},
	}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	r.opts = pluginhost.Options{
		Dir: r.dir, RunDir: filepath.Join(short, "run"), StateDir: filepath.Join(tb.TempDir(), "state"), Plugins: specs, Uses: []string{core.PluginKindRuntime},
		Clock: r.clock, Metrics: r.metrics, Check: func(c pluginhost.HealthCheck) { r.checks[c.Name] = c },
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: r.log, DisableTime: true}),
		Policy: pluginhost.Policy{
			Backoff: time.Second, Max: 10 * time.Second, Factor: 2, Quarantine: 4, Window: time.Hour, Healthy: 10 * time.Minute,
		},
	}
	var m pluginhost.Manifest
	for _, s := range specs {
		m.Plugins = append(m.Plugins, r.install(s.Name, builds.v1, "1.0.0", kindOf(s)))
	}
	r.manifest(m)
	return r
}

func kindOf(s pluginhost.Spec) string {
	switch mode := s.Env["TEST_MODE"]; mode {
	case "secret", "audit":
		return mode
	}
	return "runtime"
}

// install puts a binary in place, as a package does, and returns its entry for the manifest.
func (r *rig) install(name, from, version, kind string) pluginhost.ManifestEntry {
	r.tb.Helper()
	in, err := os.Open(from)
	if err != nil {
		r.tb.Fatal(err)
	}
	defer in.Close()
	temp, err := os.OpenFile(filepath.Join(r.dir, "."+name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		r.tb.Fatal(err)
	}
	if _, err := io.Copy(temp, in); err != nil {
		r.tb.Fatal(err)
	}
	if err := temp.Close(); err != nil {
		r.tb.Fatal(err)
	}
	if err := os.Rename(temp.Name(), filepath.Join(r.dir, name)); err != nil {
		r.tb.Fatal(err)
	}
	sum, err := pluginhost.FileSHA256(filepath.Join(r.dir, name))
	if err != nil {
		r.tb.Fatal(err)
	}
	return pluginhost.ManifestEntry{Name: name, Kind: kind, Version: version, SHA256: sum, Protocol: 1}
}

// manifest writes the manifest of the directory.
func (r *rig) manifest(m pluginhost.Manifest) {
	r.tb.Helper()
	m.Format = 1
	r.write(pluginhost.ManifestFile, string(m.Encode()))
}

func (r *rig) write(name, text string) {
	r.tb.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.tb.Fatal(err)
	}
}

// open opens the host and closes it with the test.
func (r *rig) open() *rig {
	r.tb.Helper()
	if err := r.tryOpen(); err != nil {
		r.tb.Fatalf("open: %v\n%s", err, r.log)
	}
	return r
}

func (r *rig) tryOpen() error {
	r.tb.Helper()
	var err error
	if r.Host, err = pluginhost.New(r.opts); err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(r.Close)
	return r.Open(r.tb.Context())
}

// plugin returns the status of a plugin.
func (r *rig) plugin(name string) core.Plugin {
	r.tb.Helper()
	p, err := r.FindPlugin(context.Background(), name)
	if err != nil {
		r.tb.Fatal(err)
	}
	return p.Plugin
}

// until waits for a plugin to be in a state.
func (r *rig) until(name string, state core.PluginState) core.Plugin {
	r.tb.Helper()
	var p core.Plugin
	defer func() {
		if r.tb.Failed() {
			r.tb.Logf("%s is %s: %s\n%s", name, p.State, p.Reason, r.log)
		}
	}()
	coretest.WaitFor(r.tb, name+" to be "+string(state), func() bool {
		p = r.plugin(name)
		return p.State == state
	})
	return p
}

// signal sends a signal to the process of a plugin, and returns its id.
func (r *rig) signal(name string, sig syscall.Signal) int {
	r.tb.Helper()
	pid := r.plugin(name).PID
	if pid <= 1 {
		r.tb.Fatalf("%s has no process", name)
	}
	if err := syscall.Kill(pid, sig); err != nil {
		r.tb.Fatal(err)
	}
	return pid
}

// counts is a Metrics that counts words.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) add(word string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[word]++
}

func (c *counts) get(word string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[word]
}

func (c *counts) State(plugin, kind, state string) { c.add("state " + state) }
func (c *counts) Restarted(plugin string)          { c.add("restarted") }
func (c *counts) Called(plugin, method, code string, _ time.Duration) {
	c.add("call " + method + " " + code)
}

// syncBuffer is a buffer that may be written and read at once.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// contains fails the test unless text has all the words.
func contains(tb testing.TB, text string, words ...string) {
	tb.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			tb.Errorf("%q lacks %q", text, word)
		}
	}
}

// startSelf runs one test of this package in a process of its own.
func startSelf(tb testing.TB, test string, env ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^"+test+"$")
	cmd.Env = append(append(os.Environ(), "TEST_BUILDS="+filepath.Dir(builds.v1)), env...)
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// asked reports whether the agent slow-once was asked for.
func (r *rig) asked(plugin string) bool {
	_, err := os.Stat(filepath.Join(r.opts.StateDir, "data", plugin, "asked"))
	return err == nil
}
