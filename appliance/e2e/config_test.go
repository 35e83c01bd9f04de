package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// refusedStart runs the server's command where it must end by itself, and returns what it says.
func (s *server) refusedStart(args ...string) (stderr string, code int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append(append([]string(nil), s.args...), args...)...)
	listen := s.addr
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	cmd.Env = append(os.Environ(), "E2E_LISTEN="+listen)
	var log bytes.Buffer
	cmd.Stderr = &log
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		s.t.Fatalf("the server started, or could not be run: %v\n%s", err, &log)
	}
	return log.String(), exit.ExitCode()
}

// dropIn writes a drop-in beside the configuration file.
func (s *server) dropIn(name, text string) {
	s.t.Helper()
	dir := filepath.Join(s.dir, "conf.d")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func TestServeRefusesBadConfiguration(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		yaml, dropIn string
		args         []string
		want         []string
	}{
		"Keys": {
			yaml: "store.pth: x\nengine.maxActive: none\nlog.level: loud",
			want: []string{"wardroom.yaml", "store.pth", "store.path", "engine.maxActive", "log.level", "loud"},
		},
		"DropIn": {dropIn: "engine:\n  maxQeued: 5\n", want: []string{"10-test.yaml", "engine.maxQeued", "maxQueued"}},
		"Empty":  {yaml: "store.minFree: ${NO_SUCH_VARIABLE}", want: []string{"NO_SUCH_VARIABLE", "store.minFree"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := configured(t, dir, filepath.Join(dir, "store"), tt.yaml)
			if tt.dropIn != "" {
				s.dropIn("10-test.yaml", tt.dropIn)
			}
			out, code := s.refusedStart()
			if code != 78 {
				t.Errorf("exit code %d, want 78", code)
			}
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("the text does not name %s:\n%s", want, out)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "store")); err == nil {
				t.Error("a refused configuration made a store")
			}
		})
	}
}

// What a start refuses of the endpoints of webhooks is no valid configuration either, and what may be reached is one: a package
// restarts a service by that.
func TestValidateKnowsEndpoints(t *testing.T) {
	for _, tt := range []struct{ more, url, want string }{
		{"", "https://10.0.0.5/x", "it is a private address"},
		{"", "https://169.254.169.254/x", "the metadata service"},
		{"", "https://hooks..example.com/x", "without empty parts"},
		{"", "https://localhost/x", "this machine"},
		{"webhooks.denyCidrs: [8.8.8.0/24]", "https://8.8.8.8/x", "8.8.8.8"},
		{"webhooks.allowCidrs: [10.0.0.0/24]", "https://10.0.0.5/x", ""},
		{"webhooks.allowPrivate: true", "https://10.0.0.5/x", ""},
		{"", "https://hooks.example.com/x", ""},
	} {
		dir := t.TempDir()
		s := configured(t, dir, filepath.Join(dir, "store"), "server.environment: production\n"+tt.more+
			"\nwebhooks.endpoints: [{url: '"+tt.url+"', events: [execution.completed], secret: 0123456789abcdef0123456789abcdef}]")
		s.addr = "127.0.0.1:0"
		problems, code := s.atRest("config", "validate", "-o", "json")
		if tt.want == "" {
			if code != 0 {
				t.Errorf("%s, %s: exit code %d", tt.url, tt.more, code)
			}
			continue
		}
		if code != 2 || !strings.Contains(problems, "webhooks.endpoints[0].url") || !strings.Contains(problems, tt.want) {
			t.Errorf("%s: exit code %d: %s", tt.url, code, problems)
		}
		if out, code := s.refusedStart(); code != 78 || !strings.Contains(out, tt.want) {
			t.Errorf("%s: the start ends with %d: %s", tt.url, code, out)
		}
	}
}

func TestServeRefusesToListenInTheOpen(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", ":0", "wardroom.example:8080"} {
		dir := t.TempDir()
		s := configured(t, dir, filepath.Join(dir, "store"), "")
		s.addr = addr
		out, code := s.refusedStart()
		if code != 78 || !strings.Contains(out, "loopback") || !strings.Contains(out, "--insecure") {
			t.Errorf("%s: exit code %d: %s", addr, code, out)
		}
	}
	missing := &server{t: t, args: []string{"serve", "--config", filepath.Join(t.TempDir(), "none.yaml")}}
	if out, code := missing.refusedStart(); code != 78 || !strings.Contains(out, "none.yaml") {
		t.Errorf("a missing file: exit code %d: %s", code, out)
	}
	dir := t.TempDir()
	open := configured(t, dir, filepath.Join(dir, "store"), "")
	open.addr, open.args = "0.0.0.0:0", append(open.args, "--insecure")
	open.start()
	open.stop()
}

// A second process on the same store or address is refused, and the first one does not notice.
func TestServeRefusesWhatIsTaken(t *testing.T) {
	t.Parallel()
	first := serve(t, "")
	second := configured(t, t.TempDir(), filepath.Join(first.dir, "store"), "")
	if out, code := second.refusedStart(); code == 0 || code == 78 || !strings.Contains(out, "store") {
		t.Errorf("the store is taken: exit code %d: %s", code, out)
	}
	third := configured(t, t.TempDir(), filepath.Join(t.TempDir(), "store"), "")
	third.addr = first.addr
	if out, code := third.refusedStart(); code != 4 || !strings.Contains(out, first.addr) {
		t.Errorf("the address is taken: exit code %d: %s", code, out)
	}
	if first.read("/api/health/ready").status != 200 {
		t.Error("the first process suffered")
	}
}

// SIGHUP takes a good file over, whole or not at all, and names what waits for a restart.
func TestReload(t *testing.T) {
	t.Parallel()
	s := serve(t, "metrics.public: true\nlog.level: warn\nserver.shutdownTimeout: 2s")
	store := "store.path: " + filepath.Join(s.dir, "store")
	s.put(single, "none", "none")
	reload := func(since int, want ...string) {
		t.Helper()
		s.signal(syscall.SIGHUP)
		eventually(t, "the log to say "+strings.Join(want, ", "), func() bool {
			for _, part := range want {
				if !strings.Contains(s.log.String()[since:], part) {
					return false
				}
			}
			return true
		})
	}
	if got := s.metric(`service_config_last_reload_successful`); got != 1 {
		t.Errorf("after the start: %v", got)
	}

	// Good, by a drop-in: limits and the log's level change, the store's place does not.
	s.dropIn("50-limits.yaml", "log: {level: debug}\nengine: {maxQueued: 1}\nstore: {minFree: 65MiB}\nserver: {maxBody: 1MiB}\n")
	reload(len(s.log.String()), "configuration reloaded", "log.level", "engine.maxQueued", "wait for a restart", "store.minFree", "server.maxBody")
	s.async("none", nil)
	if got := s.post("/api/patterns/none/execute?async=true", `{}`); got.status != 429 {
		t.Errorf("engine.maxQueued is not in effect: %s", got)
	}
	s.read("/api/patterns/nothing")
	eventually(t, "the log at debug level", func() bool { return strings.Contains(s.log.String(), "[DEBUG]") })

	// Bad: nothing of it counts.
	since := len(s.log.String())
	s.configure(store, "metrics.public: false\nserver.shutdownTimeout: 2s\nengine.maxQueued: many\nengine.maxActiv: 5")
	reload(since, "not reloaded", "engine.maxQueued", "engine.maxActiv", "many")
	if got := s.metric(`service_config_last_reload_successful`); got != 0 {
		t.Errorf("after a bad reload: %v", got)
	}
	if s.read("/api/metrics").status != 200 {
		t.Error("part of a bad file is in effect")
	}

	// Good again.
	since = len(s.log.String())
	s.configure(store, "metrics.public: true\nserver.shutdownTimeout: 2s\nlog.level: info")
	if err := os.Remove(filepath.Join(s.dir, "conf.d", "50-limits.yaml")); err != nil {
		t.Fatal(err)
	}
	reload(since, "configuration reloaded")
	eventually(t, "the metric to say so", func() bool { return s.metric(`service_config_last_reload_successful`) == 1 })
	s.async("none", nil)
	s.stop()
}
