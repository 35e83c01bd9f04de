package pluginhost_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/pluginhost"
)

func TestDisableAndEnable(t *testing.T) {
	r := newRig(t, pen("")).open()
	pid := r.signal("runtime-pen", 0)
	p, err := r.DisablePlugin(t.Context(), "runtime-pen")
	if err != nil || p.State != core.PluginDisabled || p.Enabled || p.PID != 0 {
		t.Fatalf("disable: %+v, %v", p, err)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("its process is still there")
	}
	if status, _, _ := r.checks["plugin:runtime-pen"].Run(); status != "ok" {
		t.Errorf("health of a disabled plugin: %s", status)
	}
	if _, err := r.RestartPlugin(t.Context(), "runtime-pen"); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("restart: %v", err)
	}
	r.Close()

	// What the operator said is stronger than the configuration, and survives the restart.
	r.checks = map[string]pluginhost.HealthCheck{}
	r.open()
	if p := r.plugin("runtime-pen"); p.State != core.PluginDisabled || p.Enabled {
		t.Errorf("after the restart: %+v", p)
	}
	if p, err = r.EnablePlugin(t.Context(), "runtime-pen"); err != nil || p.State != core.PluginReady || !p.Enabled {
		t.Errorf("enable: %+v, %v", p, err)
	}
}

func TestUnknownPlugin(t *testing.T) {
	r := newRig(t, pen("")).open()
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"find":    func() error { _, err := r.FindPlugin(ctx, "nosuch"); return err },
		"verify":  func() error { _, err := r.VerifyPlugin(ctx, "nosuch"); return err },
		"enable":  func() error { _, err := r.EnablePlugin(ctx, "nosuch"); return err },
		"disable": func() error { _, err := r.DisablePlugin(ctx, "nosuch"); return err },
		"restart": func() error { _, err := r.RestartPlugin(ctx, "../../bin/sh"); return err },
		"logs":    func() error { _, err := r.PluginLogs(ctx, "nosuch", 1); return err },
		"follow":  func() error { return r.FollowPluginLogs(ctx, "nosuch", 1, nil) },
	} {
		if err := call(); core.ErrorCode(err) != core.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A plugin that is only installed is listed, and runs once it is enabled, now and after a restart.
func TestInstalledOnly(t *testing.T) {
	r := newRig(t, pen("")).open()
	e := r.install("runtime-quill", builds.v1, "1.0.0", "runtime")
	r.manifest(pluginhost.Manifest{Plugins: []pluginhost.ManifestEntry{entryOf(t, r), e}})
	list, err := r.FindPlugins(t.Context())
	if err != nil || len(list) != 2 || list[1].Name != "runtime-quill" || list[1].State != core.PluginDisabled || list[1].Declared {
		t.Fatalf("list %+v, %v", list, err)
	}
	if p, err := r.DisablePlugin(t.Context(), "runtime-quill"); err != nil || p.State != core.PluginDisabled {
		t.Errorf("disable: %+v, %v", p, err)
	}
	if _, err := r.RestartPlugin(t.Context(), "runtime-quill"); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("restart: %v", err)
	}
	if err := r.FollowPluginLogs(t.Context(), "runtime-quill", 1, nil); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("follow: %v", err)
	}
	p, err := r.EnablePlugin(t.Context(), "runtime-quill")
	if err != nil || p.State != core.PluginReady {
		t.Fatalf("enable: %+v, %v", p, err)
	}
	if _, ok := r.checks["plugin:runtime-quill"]; !ok {
		t.Error("its health is not watched")
	}
	if _, err := r.Runtime("runtime-quill").Capabilities(t.Context()); err != nil {
		t.Error(err)
	}
	r.Close()
	r.checks = map[string]pluginhost.HealthCheck{}
	r.open()
	r.until("runtime-quill", core.PluginReady)
}

func TestRequiredCannotBeDisabled(t *testing.T) {
	spec := pen("")
	spec.Required = true
	r := newRig(t, spec).open()
	if _, err := r.DisablePlugin(t.Context(), "runtime-pen"); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("disable: %v", err)
	}
	if p := r.plugin("runtime-pen"); p.State != core.PluginReady {
		t.Errorf("it is %s", p.State)
	}
}

// An operator's restart begins anew whatever the plugin is about: here it hangs while it is configured.
func TestRestartInterrupts(t *testing.T) {
	r := newRig(t, pen("hang-configure"))
	r.opts.Limits = pluginhost.Limits{Settle: time.Millisecond}
	r.open()
	pid := r.until("runtime-pen", core.PluginConfiguring).PID
	want, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = r.RestartPlugin(want, "runtime-pen") // it hangs again; only the waiting is ended
	}()
	coretest.WaitFor(t, "another process", func() bool {
		p := r.plugin("runtime-pen")
		return p.State == core.PluginConfiguring && p.PID != pid && p.PID != 0
	})
	cancel()
	<-done
	if p, err := r.DisablePlugin(t.Context(), "runtime-pen"); err != nil || p.State != core.PluginDisabled {
		t.Errorf("disable: %+v, %v", p, err)
	}
}

func TestVerify(t *testing.T) {
	r := newRig(t, pen("warn")).open()
	was := r.plugin("runtime-pen")
	report, err := r.VerifyPlugin(t.Context(), "runtime-pen")
	if err != nil || !report.OK {
		t.Fatalf("report %+v, %v", report, err)
	}
	var words []string
	for _, check := range report.Checks {
		words = append(words, check.Name+" "+check.Status)
	}
	if got, want := strings.Join(words, ", "), "files ok, handshake ok, identity ok, schema ok, settings warning, contract skipped"; got != want {
		t.Errorf("checks %s, want %s: %+v", got, want, report.Checks)
	}
	if now := r.plugin("runtime-pen"); now.PID != was.PID || now.Restarts != 0 {
		t.Errorf("the running plugin was disturbed: %+v", now)
	}

	r.install("runtime-pen", builds.v2, "2.0.0", "runtime")
	report, err = r.VerifyPlugin(t.Context(), "runtime-pen")
	if err != nil || report.OK {
		t.Fatalf("report %+v, %v", report, err)
	}
	contains(t, report.Checks[0].Text, "the checksum of")
	if report.Checks[1].Status != core.PluginCheckSkipped {
		t.Errorf("checks %+v", report.Checks)
	}
	remove(t, filepath.Join(r.dir, "runtime-pen"))
	if report, err = r.VerifyPlugin(t.Context(), "runtime-pen"); err != nil || report.OK || report.Checks[0].Status != core.PluginCheckFailed {
		t.Errorf("report %+v, %v", report, err)
	}
}

// A plugin that nobody uses has its contract checked as well. The runtime of the tests has only a part of it.
func TestVerifyContract(t *testing.T) {
	audit := named("audit-pen", "audit")
	r := newRig(t, pen(""), audit).open()
	for name, want := range map[string]string{"runtime-pen": core.PluginCheckFailed, "audit-pen": core.PluginCheckOK} {
		if _, err := r.DisablePlugin(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		report, err := r.VerifyPlugin(t.Context(), name)
		if err != nil || report.OK != (want == core.PluginCheckOK) {
			t.Fatalf("%s: report %+v, %v", name, report, err)
		}
		if last := report.Checks[len(report.Checks)-1]; last.Name != "contract" || last.Status != want {
			t.Errorf("%s: checks %+v", name, report.Checks)
		}
		if want == core.PluginCheckFailed {
			contains(t, report.Checks[5].Text, "unknown/not-found: every call about an unknown agent is NOT_FOUND")
		}
		if p := r.plugin(name); p.State != core.PluginDisabled || p.PID != 0 {
			t.Errorf("%s is %s with pid %d", name, p.State, p.PID)
		}
	}
}

func TestVerifyBadSettings(t *testing.T) {
	spec := pen("")
	spec.Config = []byte(`{"ink": 5}`)
	r := newRig(t, spec).open()
	report, err := r.VerifyPlugin(t.Context(), "runtime-pen")
	if err != nil || report.OK || report.Checks[4].Status != core.PluginCheckFailed {
		t.Errorf("report %+v, %v", report, err)
	}
}

func TestFollowLogs(t *testing.T) {
	r := newRig(t, pen("")).open()
	seen := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- r.FollowPluginLogs(ctx, "runtime-pen", 1, func(line core.PluginLogLine, _ int) error {
			seen <- line.Message
			return nil
		})
	}()
	<-seen // the last one that was there
	r.signal("runtime-pen", syscall.SIGKILL)
	for message := ""; !strings.Contains(message, "plugin is failed"); {
		message = <-seen
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}

	stop := errors.New("enough")
	if err := r.FollowPluginLogs(t.Context(), "runtime-pen", 5, func(core.PluginLogLine, int) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("it ended with %v", err)
	}
	go func() {
		ended <- r.FollowPluginLogs(context.Background(), "runtime-pen", 1, func(core.PluginLogLine, int) error { return nil })
	}()
	r.Close()
	if err := <-ended; err != nil {
		t.Errorf("the end of the host is %v", err)
	}
}

// A plugin that says it is not well is ready, and its health says so.
func TestSick(t *testing.T) {
	r := newRig(t, pen("sick")).open()
	coretest.WaitFor(t, "its health", func() bool {
		r.clock.Advance(10 * time.Second)
		return r.plugin("runtime-pen").Health == "degraded"
	})
	if status, message, _ := r.checks["plugin:runtime-pen"].Run(); status != "degraded" || !strings.Contains(message, "little ink") {
		t.Errorf("health %s %q", status, message)
	}
	p, err := r.FindPlugin(t.Context(), "runtime-pen")
	if err != nil || len(p.Checks) != 1 || p.Checks[0].Text != "1 ml" {
		t.Errorf("checks %+v, %v", p.Checks, err)
	}
}

// In development a build that no manifest knows runs; a checksum of the configuration counts all the same.
func TestDevelopment(t *testing.T) {
	r := newRig(t, pen(""))
	r.opts.Dev = true
	r.install("runtime-pen", builds.v2, "2.0.0", "runtime")
	chmod(t, r.dir, 0o777)
	r.open()
	r.until("runtime-pen", core.PluginReady)
	report, err := r.VerifyPlugin(t.Context(), "runtime-pen")
	if err != nil || !report.OK || report.Checks[0].Status != core.PluginCheckWarning {
		t.Errorf("report %+v, %v", report, err)
	}
	r.Close()
	r.checks = map[string]pluginhost.HealthCheck{}
	r.opts.Plugins[0].SHA256 = strings.Repeat("0", 64)
	r.open()
	contains(t, r.until("runtime-pen", core.PluginFailed).Reason, "checksum")
}

// Two plugins may share a binary, with settings and state of their own.
func TestTwoOfOneBinary(t *testing.T) {
	other := named("runtime-quill", "")
	r := newRig(t, pen(""), other)
	remove(t, filepath.Join(r.dir, "runtime-quill"))
	r.opts.Plugins[1].Path = filepath.Join(r.dir, "runtime-pen")
	r.open()
	a, b := r.until("runtime-pen", core.PluginReady), r.until("runtime-quill", core.PluginReady)
	if a.PID == b.PID {
		t.Error("they are one process")
	}
	for _, name := range []string{"runtime-pen", "runtime-quill"} {
		if info, err := os.Stat(filepath.Join(r.opts.StateDir, "data", name)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("state directory of %s: %v, %v", name, info, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, change := range map[string]func(*pluginhost.Options){
		"name":        func(o *pluginhost.Options) { o.Plugins[0].Name = "../pen" },
		"path":        func(o *pluginhost.Options) { o.Plugins[0].Path = "pen" },
		"twice":       func(o *pluginhost.Options) { o.Plugins = append(o.Plugins, o.Plugins[0]) },
		"reserved":    func(o *pluginhost.Options) { o.Plugins[0].Env = map[string]string{"PLUGIN_CLIENT_CERT": "x"} },
		"NUL":         func(o *pluginhost.Options) { o.Plugins[0].Env = map[string]string{"A": "x\x00y"} },
		"relative":    func(o *pluginhost.Options) { o.Dir = "plugins" },
		"without log": func(o *pluginhost.Options) { o.Logger = nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, pen(""))
			change(&r.opts)
			if _, err := pluginhost.New(r.opts); err == nil {
				t.Error("it was taken")
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Run("LongRunDir", func(t *testing.T) {
		r := newRig(t, pen(""))
		r.opts.RunDir = "/tmp/" + strings.Repeat("x", 80)
		contains(t, r.tryOpen().Error(), "108 bytes")
	})
	t.Run("DamagedChoices", func(t *testing.T) {
		r := newRig(t, pen(""))
		if err := os.MkdirAll(r.opts.StateDir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(r.opts.StateDir, "choices.json"), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		contains(t, r.tryOpen().Error(), "choices.json", "mend or remove it")
	})
	t.Run("Cancelled", func(t *testing.T) {
		r := newRig(t, pen("silent"))
		h, err := pluginhost.New(r.opts)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := h.Open(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("open: %v", err)
		}
	})
}
