package pluginhost_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestReady(t *testing.T) {
	spec := pen("")
	spec.Config, spec.Required = json.RawMessage(`{"ink": "blue", "token": "canary-config"}`), true
	spec.Secrets = []string{"canary-config"}
	t.Setenv("HOST_SECRET", "canary-host")
	r := newRig(t, spec).open()

	p, err := r.FindPlugin(t.Context(), "runtime-pen")
	if err != nil {
		t.Fatal(err)
	}
	if p.State != core.PluginReady || p.Kind != "runtime" || p.Version != "1.0.0" || p.PID == 0 || p.Protocol != 1 ||
		!p.Required || !p.Enabled || !p.Declared || p.Reason != "" || p.Restarts != 0 || len(p.SHA256) != 64 {
		t.Errorf("plugin %+v", p)
	}
	contains(t, string(p.Schema), `"ink"`)
	if len(p.Examples) != 1 {
		t.Errorf("%d examples", len(p.Examples))
	}
	caps, err := r.Runtime("runtime-pen").Capabilities(t.Context())
	if err != nil || !strings.HasPrefix(caps.Name, "1.0.0-") {
		t.Errorf("capabilities %+v, %v", caps, err)
	}
	if r.metrics.get("call capabilities ok") != 1 || r.metrics.get("state ready") != 1 {
		t.Errorf("counted %v", r.metrics.n)
	}
	if status, message, _ := r.checks["plugin:runtime-pen"].Run(); status != "ok" || !r.checks["plugin:runtime-pen"].Required {
		t.Errorf("health %s %s", status, message)
	}

	coretest.WaitFor(t, "the plugin's log", func() bool {
		lines, err := r.PluginLogs(t.Context(), "runtime-pen", 0)
		return err == nil && strings.Contains(joined(lines), "configured")
	})
	lines, _ := r.PluginLogs(t.Context(), "runtime-pen", 0)
	for where, text := range map[string]string{"ring": joined(lines), "log": r.log.String()} {
		contains(t, text, "TEST_MODE=", "PEN_SECRET=***", `\"ink\": \"blue\"`)
		for _, secret := range []string{"canary-env", "canary-config", "canary-host"} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s shows %s", where, secret)
			}
		}
		for _, hidden := range []string{"PLUGIN_CLIENT_CERT", "HOST_SECRET"} {
			if strings.Contains(text, hidden) {
				t.Errorf("the plugin has %s in its environment", hidden)
			}
		}
	}
}

func joined(lines []core.PluginLogLine) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Level + " " + l.Message + "\n")
	}
	return b.String()
}

func TestCloseLeavesNothing(t *testing.T) {
	r := newRig(t, pen("")).open()
	pid := r.signal("runtime-pen", 0)
	began := time.Now()
	r.Close()
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("an orderly end took %s", took)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("the process is still there")
	}
	if left, _ := filepath.Glob(r.opts.RunDir + "/plugins/*"); len(left) > 0 {
		t.Errorf("sockets are left: %v", left)
	}
	info, err := os.Stat(r.opts.RunDir + "/plugins")
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("socket directory %v, %v", info, err)
	}
	_, err = r.Runtime("runtime-pen").Capabilities(t.Context())
	if runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("a call after the end: %v", err)
	}
	r.Close()
}

// A killed plugin comes back after the backoff, and its callers notice nothing but a short absence. Each change of its state is told.
func TestKilled(t *testing.T) {
	r := newRig(t, pen(""))
	var told []string
	var telling sync.Mutex
	r.opts.Changed = func(p core.Plugin) {
		telling.Lock()
		defer telling.Unlock()
		if state := string(p.State); p.Name == "runtime-pen" && (len(told) == 0 || told[len(told)-1] != state) {
			told = append(told, state)
		}
	}
	r.open()
	var ready []string
	done := make(chan string, 10)
	r.OnReady("runtime-pen", func(rt runtime.Runtime) {
		caps, err := rt.Capabilities(context.Background())
		if err != nil {
			done <- err.Error()
			return
		}
		done <- caps.Name
	})
	ready = append(ready, <-done)

	rt := r.Runtime("runtime-pen")
	events, err := rt.Events(t.Context(), runtime.EventOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := events.Next(); err != nil || e.AgentID != "a" {
		t.Fatalf("event %+v, %v", e, err)
	}
	was := r.plugin("runtime-pen")
	r.signal("runtime-pen", syscall.SIGKILL)
	if _, err := events.Next(); runtime.ErrorCode(err) != runtime.CodeUnavailable || !runtime.AsError(err).Retry {
		t.Errorf("the stream ended with %v", err)
	}
	_ = events.Close()
	p := r.until("runtime-pen", core.PluginFailed)
	contains(t, p.Reason, "its process ended: signal 9 (killed)")
	if p.Failures != 1 || !p.NextAttempt.Equal(r.clock.Now().Add(time.Second)) || p.PID != 0 {
		t.Errorf("plugin %+v", p)
	}
	began := time.Now()
	_, err = rt.Capabilities(t.Context())
	if e := runtime.AsError(err); e.Code != runtime.CodeUnavailable || !e.Retry || time.Since(began) > 100*time.Millisecond {
		t.Errorf("a call to the failed plugin: %v after %s", err, time.Since(began))
	}
	if status, message, hint := r.checks["plugin:runtime-pen"].Run(); status != "failed" || !strings.Contains(message, "signal 9") || hint == "" {
		t.Errorf("health %s %q %q", status, message, hint)
	}

	r.clock.Advance(time.Second)
	p = r.until("runtime-pen", core.PluginReady)
	if p.Restarts != 1 || p.PID == was.PID || r.metrics.get("restarted") != 1 {
		t.Errorf("plugin %+v", p)
	}
	ready = append(ready, <-done)
	if ready[0] == ready[1] || !strings.HasPrefix(ready[1], "1.0.0-") {
		t.Errorf("ready was told of %v", ready)
	}
	if _, err := rt.Capabilities(t.Context()); err != nil {
		t.Errorf("after the restart: %v", err)
	}
	telling.Lock()
	defer telling.Unlock()
	const up = "verifying starting configuring ready"
	if got := strings.Join(told, " "); got != up+" failed "+up {
		t.Errorf("told %s", got)
	}
}

// The waits grow, crashes end in quarantine, and an operator gets the plugin out of it.
func TestCrashLoop(t *testing.T) {
	r := newRig(t, pen("exit")).open()
	for i, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		p := r.until("runtime-pen", core.PluginFailed)
		contains(t, p.Reason, "it ended before it was ready: exit status 3")
		contains(t, p.Hint, "wardroom plugin logs runtime-pen")
		if got := p.NextAttempt.Sub(r.clock.Now()); got != wait || p.Failures != i+1 {
			t.Errorf("attempt %d waits %s with %d failures, want %s", i, got, p.Failures, wait)
		}
		r.clock.Advance(wait)
		coretest.WaitFor(t, "the next failure", func() bool { return r.plugin("runtime-pen").Failures > i+1 })
	}
	p := r.until("runtime-pen", core.PluginQuarantined)
	contains(t, p.Hint, "wardroom plugin restart runtime-pen")
	if status, message, _ := r.checks["plugin:runtime-pen"].Run(); status != "failed" || !strings.Contains(message, "quarantined") {
		t.Errorf("health %s %q", status, message)
	}
	r.clock.Advance(24 * time.Hour)
	if p = r.plugin("runtime-pen"); p.State != core.PluginQuarantined {
		t.Errorf("it left the quarantine by itself: %s", p.State)
	}
	coretest.WaitFor(t, "the line of the quarantine, which follows the state", func() bool {
		lines, err := r.PluginLogs(t.Context(), "runtime-pen", 0)
		return err == nil && strings.Contains(joined(lines), "error panic: the pen is broken") &&
			strings.Contains(joined(lines), "wardroom: plugin is quarantined")
	})

	after, err := r.RestartPlugin(t.Context(), "runtime-pen")
	if err != nil || after.State != core.PluginFailed || after.Failures != 1 {
		t.Errorf("restart: %+v, %v", after, err)
	}
}

// A plugin that was well for long has its failures forgotten.
func TestHealthyResets(t *testing.T) {
	r := newRig(t, pen("")).open()
	r.signal("runtime-pen", syscall.SIGKILL)
	r.until("runtime-pen", core.PluginFailed)
	r.clock.Advance(time.Second)
	if p := r.until("runtime-pen", core.PluginReady); p.Failures != 1 {
		t.Errorf("%d failures", p.Failures)
	}
	coretest.WaitFor(t, "the failures to be forgotten", func() bool {
		r.clock.Advance(time.Minute)
		return r.plugin("runtime-pen").Failures == 0
	})
}

func TestRequired(t *testing.T) {
	spec := pen("")
	spec.Required = true
	r := newRig(t, spec)
	if err := os.Remove(filepath.Join(r.dir, spec.Name)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err := r.tryOpen()
	e := core.AsError(err)
	if err == nil || !e.Unavailable || time.Since(began) > 5*time.Second {
		t.Fatalf("open: %v after %s", err, time.Since(began))
	}
	contains(t, e.Message, "the required plugin runtime-pen is not ready: there is no file "+filepath.Join(r.dir, spec.Name), "plugin install")
}

func TestRequiredButLate(t *testing.T) {
	spec := pen("silent")
	spec.Required = true
	r := newRig(t, spec)
	r.opts.Limits = pluginhost.Limits{Ready: 100 * time.Millisecond}
	err := r.tryOpen()
	contains(t, core.AsError(err).Message, "the required plugin runtime-pen is not ready", "starting")
}
