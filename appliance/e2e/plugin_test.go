package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/sdk/client"
)

// hungTime is after how long a plugin that hangs in Configure is given up, and some more.
const hungTime = 50 * time.Second

// badPlugin builds the plugin that misbehaves.
func badPlugin(t *testing.T) string {
	t.Helper()
	path := filepath.Join(shortDir(t), "badplugin")
	if err := build(path, "appliance/e2e/testdata/badplugin"); err != nil {
		t.Fatal(err)
	}
	return path
}

// checksum returns the SHA-256 of a file, as a configuration names it.
func checksum(t *testing.T, path string) string {
	t.Helper()
	sum, err := pluginhost.FileSHA256(path)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// Every way in which a plugin can be bad has a state and a reason that an operator sees, and harms nothing else.
func TestBadPlugins(t *testing.T) {
	t.Parallel()
	path := badPlugin(t)
	script := filepath.Join(filepath.Dir(path), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho hello, world\nsleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	sum := checksum(t, path)
	entry := func(mode, sum string) string {
		return fmt.Sprintf("plugins.%s: {kind: runtime, path: %s, sha256: %q, env: {MODE: %s}}", mode, path, sum, mode)
	}
	other := "0" + sum[1:]
	if sum[0] == '0' {
		other = "1" + sum[1:]
	}
	c := managed(t, entry("version", sum), entry("crash", sum), entry("hang", sum),
		entry("refuse", sum), entry("chatty", sum), entry("tampered", other),
		fmt.Sprintf("plugins.stdout: {kind: runtime, path: %s, sha256: %q}", script, checksum(t, script)),
		fmt.Sprintf("plugins.missing: {kind: runtime, path: %s-not}", path), fmt.Sprintf("plugins.unannounced: {kind: runtime, path: %s}", path))
	a := c.shell()
	for _, tt := range []struct {
		name, reason string
		crashes      bool
	}{
		{"version", "another version of the plugin protocol", false},
		{"stdout", `printed "hello, world" on its standard output`, true},
		{"crash", "exit status 3", true},
		{"refuse", "these settings are not to my taste", false},
		{"tampered", "checksum", false},
		{"missing", "there is no file", false},
		{"unannounced", "no checksum is known", false},
		{"hang", "no answer to", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := awaitPlugin(t, c, tt.name, tt.reason)
			if p.Hint == "" || p.PID != 0 || p.NextAttempt.IsZero() || (p.Failures > 0) != tt.crashes {
				t.Errorf("%s", p.Body)
			}
			c.told(a.ID, "echo well", "well")
		})
	}
	if p, err := c.api.GetPlugin(t.Context(), "chatty"); err != nil || p.State != "ready" {
		t.Errorf("a plugin that prints: %+v, %v", p, err)
	}

	// What is seen of it, where operators look.
	detailed := string(c.read("/api/health?detailed=true").body)
	for _, name := range []string{"version", "stdout", "crash", "refuse", "tampered", "missing", "unannounced", "hang"} {
		if !strings.Contains(detailed, "plugin:"+name) {
			t.Errorf("the health says nothing of %s: %s", name, detailed)
		}
	}
	if ready := c.read("/api/health/ready"); ready.status != 200 {
		t.Errorf("plugins that are not required made it unready: %s", ready)
	}
	logs, err := c.api.PluginLogs(t.Context(), "crash", 100)
	if err != nil || !slices.ContainsFunc(logs.Logs, func(l client.PluginLogLine) bool { return strings.Contains(l.Message, "out of luck") }) {
		t.Errorf("its log: %+v, %v", logs, err)
	}

	// An operator takes it up.
	eventually(t, "some crashes", func() bool {
		p, err := c.api.GetPlugin(t.Context(), "crash")
		return err == nil && p.Failures >= 3
	})
	if p, err := c.api.RestartPlugin(t.Context(), "crash"); err != nil || p.Failures > 1 {
		t.Errorf("after a restart by hand: %+v, %v", p, err)
	}
	if p, err := c.api.DisablePlugin(t.Context(), "crash"); err != nil || p.State != "disabled" {
		t.Errorf("disabled: %+v, %v", p, err)
	}
	report, err := c.api.VerifyPlugin(t.Context(), "runtime-local")
	if err != nil || !report.OK {
		t.Errorf("verify: %+v, %v", report, err)
	}
	c.retire(a.ID)
}

// awaitPlugin waits until a plugin has failed for a reason.
func awaitPlugin(t *testing.T, c *crew, name, reason string) *client.Plugin {
	t.Helper()
	deadline, tick := time.Now().Add(hungTime), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		p, err := c.api.GetPlugin(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if p.State == "failed" && strings.Contains(p.Reason, reason) {
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("the plugin: %s", p.Body)
		}
		<-tick.C
	}
}

// A plugin that is required and cannot be had ends the start, with the reason.
func TestRequiredPlugin(t *testing.T) {
	t.Parallel()
	path := badPlugin(t)
	dir := shortDir(t)
	s := configured(t, dir, filepath.Join(dir, "store"), "plugins.pen: {kind: runtime, required: true, sha256: "+
		strings.Repeat("ab", 32)+", path: "+path+"}")
	cmd := exec.Command(binary, s.args...)
	cmd.Env = append(os.Environ(), "E2E_LISTEN=127.0.0.1:0")
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() <= 0 || !strings.Contains(string(out), "pen") || !strings.Contains(string(out), "checksum") {
		t.Errorf("the start gave %v: %s", err, out)
	}
}
