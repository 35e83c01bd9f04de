package pluginhost_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Each fault has a state, a reason that names it, and a hint; none of them keeps the host from opening.
func TestFaults(t *testing.T) {
	var none pluginhost.Manifest
	for _, tt := range []struct {
		name   string
		mode   string
		spoil  func(t *testing.T, r *rig)
		reason string
		hint   string
		crash  bool // it counts for the quarantine
	}{
		{name: "MissingBinary", reason: "there is no file", hint: "plugin install",
			spoil: func(t *testing.T, r *rig) { remove(t, filepath.Join(r.dir, "runtime-pen")) }},
		{name: "NotExecutable", reason: "is not executable", hint: "chmod a+x",
			spoil: func(t *testing.T, r *rig) { chmod(t, filepath.Join(r.dir, "runtime-pen"), 0o644) }},
		{name: "NotAProgram", reason: "cannot be executed: exec format error", hint: "plugin install",
			spoil: func(t *testing.T, r *rig) {
				r.write("runtime-pen", "no program")
				chmod(t, filepath.Join(r.dir, "runtime-pen"), 0o755)
				r.manifest(pluginhost.Manifest{Plugins: []pluginhost.ManifestEntry{entryOf(t, r)}})
			}},
		{name: "Directory", reason: "is not a file", hint: "plugin install",
			spoil: func(t *testing.T, r *rig) {
				remove(t, filepath.Join(r.dir, "runtime-pen"))
				if err := os.Mkdir(filepath.Join(r.dir, "runtime-pen"), 0o755); err != nil {
					t.Fatal(err)
				}
			}},
		{name: "WrongChecksum", reason: "the checksum of", hint: "plugin install",
			spoil: func(t *testing.T, r *rig) { r.install("runtime-pen", builds.v2, "2.0.0", "runtime") }},
		{name: "NoManifest", reason: "no checksum is known for", hint: "plugins.runtime-pen.sha256",
			spoil: func(t *testing.T, r *rig) { remove(t, filepath.Join(r.dir, pluginhost.ManifestFile)) }},
		{name: "NotInManifest", reason: "no checksum is known for", hint: "plugin install",
			spoil: func(t *testing.T, r *rig) { r.manifest(none) }},
		{name: "HostileManifest", reason: "its manifest cannot be used: ", hint: "plugin install",
			spoil: func(t *testing.T, r *rig) {
				r.write(pluginhost.ManifestFile, `{"format": 1, "plugins": [{"name": "../../bin/sh", "kind": "runtime", "version": "1", "sha256": "x", "protocol": 1}]}`)
			}},
		{name: "ManifestOfAnotherKind", reason: "it says that it is of kind \"runtime\", and should be audit", hint: "plugin install",
			spoil: func(t *testing.T, r *rig) {
				e := entryOf(t, r)
				e.Kind = "audit"
				r.manifest(pluginhost.Manifest{Plugins: []pluginhost.ManifestEntry{e}})
			}},
		{name: "WorldWritableDirectory", reason: "is writable by everyone", hint: "nobody else",
			spoil: func(t *testing.T, r *rig) { chmod(t, r.dir, 0o777) }},
		{name: "WorldWritableBinary", reason: "is writable by everyone", hint: "nobody else",
			spoil: func(t *testing.T, r *rig) { chmod(t, filepath.Join(r.dir, "runtime-pen"), 0o757) }},
		{name: "WorldWritableNeighbour", reason: "is writable by everyone", hint: "nobody else",
			spoil: func(t *testing.T, r *rig) {
				r.write("holder", "#!/bin/sh")
				chmod(t, filepath.Join(r.dir, "holder"), 0o777)
			}},
		{name: "WorldWritableManifest", reason: "is writable by everyone", hint: "nobody else",
			spoil: func(t *testing.T, r *rig) { chmod(t, filepath.Join(r.dir, pluginhost.ManifestFile), 0o646) }},
		{name: "WorldWritableParent", reason: "is writable by everyone", hint: "nobody else",
			spoil: func(t *testing.T, r *rig) { chmod(t, filepath.Dir(r.dir), 0o777) }},
		{name: "ManifestOfAnotherProtocol", reason: "it speaks version 2 of the plugin protocol, and this release speaks 1", hint: "install the release",
			spoil: func(t *testing.T, r *rig) {
				e := entryOf(t, r)
				e.Protocol = 2
				r.manifest(pluginhost.Manifest{Plugins: []pluginhost.ManifestEntry{e}})
			}},
		{name: "FileMissing", reason: "which came with it", hint: "plugin install",
			spoil: func(t *testing.T, r *rig) {
				e := entryOf(t, r)
				e.Files = []pluginhost.ManifestFileEntry{{Name: "holder", SHA256: e.SHA256}}
				r.manifest(pluginhost.Manifest{Plugins: []pluginhost.ManifestEntry{e}})
			}},
		{name: "LastWords", mode: "exit", reason: `it ended before it was ready: exit status 3; the last that it said is "panic: the pen is broken"`, hint: "plugin logs", crash: true},
		{name: "WrongProtocol", spoil: script("echo '1|7|unix|/nowhere|grpc|'; sleep 60"), reason: "it speaks another version of the plugin protocol: this release speaks 1, and it speaks 7", hint: "install the release"},
		{name: "WrongCoreProtocol", spoil: script("echo '9|1|unix|/nowhere|grpc|'; sleep 60"), reason: "it speaks another version of the plugin protocol", hint: "install the release"},
		{name: "NotGRPC", spoil: script("echo '1|1|unix|/nowhere|netrpc|'; sleep 60"), reason: "it does not speak gRPC", hint: "install the release"},
		{name: "NobodyListens", spoil: script("echo '1|1|unix|/nowhere|grpc|'; sleep 60"), reason: "it ended, or broke its connection, during the question what it is", hint: "plugin logs runtime-pen", crash: true},
		{name: "PrintsAndEnds", spoil: script("echo usage: pen"), reason: `it printed "usage: pen"`, hint: "tell its author", crash: true},
		{name: "Floods", spoil: script("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done"), reason: `it printed "xxx`, hint: "tell its author", crash: true},
		{name: "PrintsToStdout", spoil: script("echo Welcome to the plugin!; sleep 60"), reason: `it printed "Welcome to the plugin!" on its standard output`, hint: "tell its author", crash: true},
		{name: "PrintsASecret", spoil: script(`echo "ink=$PEN_SECRET"; sleep 60`), reason: `it printed "ink=***"`, hint: "tell its author", crash: true},
		{name: "RefusesWithASecret", mode: "long-refuse", reason: "xxx***", hint: "plugin info runtime-pen"},
		{name: "Silent", mode: "silent", reason: "it did not get to its handshake in time", hint: "plugin logs runtime-pen", crash: true},
		{name: "HangsInConfigure", mode: "hang-configure", reason: "it hangs: it gave no answer to the taking of its settings in time", hint: "plugin logs runtime-pen", crash: true},
		{name: "CrashesInConfigure", mode: "crash-configure", reason: "it ended, or broke its connection, during the taking of its settings", hint: "plugin logs runtime-pen", crash: true},
		{name: "RefusesItsSettings", mode: "refuse", reason: "it does not take its settings: the ink", hint: "plugin info runtime-pen"},
		{name: "ServiceBehindIsDown", mode: "unavailable", reason: "it does not take its settings: the ink shop is closed", hint: "knock"},
		{name: "SettingsAgainstTheSchema", reason: "it refuses its settings: /ink", hint: "correct plugins.runtime-pen.config",
			spoil: func(t *testing.T, r *rig) { r.opts.Plugins[0].Config = []byte(`{"ink": 5}`) }},
		{name: "UnknownSetting", reason: "paper", hint: "correct plugins.runtime-pen.config",
			spoil: func(t *testing.T, r *rig) { r.opts.Plugins[0].Config = []byte(`{"paper": "white"}`) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, pen(tt.mode))
			switch tt.mode { // those that are about a limit; a busy machine must not be one
			case "silent":
				r.opts.Limits.Start = 300 * time.Millisecond
			case "hang-configure":
				r.opts.Limits.Configure = 300 * time.Millisecond
			default:
				r.opts.Limits = pluginhost.Limits{Start: time.Minute, Configure: time.Minute}
			}
			if tt.spoil != nil {
				tt.spoil(t, r)
			}
			r.open()
			p := r.until("runtime-pen", core.PluginFailed)
			contains(t, p.Reason, tt.reason)
			contains(t, p.Hint, tt.hint)
			if (p.Failures > 0) != tt.crash {
				t.Errorf("%d failures count", p.Failures)
			}
			if text := p.Reason + r.log.String(); strings.Contains(text, "canary") || strings.Contains(text, "xxxcan") {
				t.Errorf("a secret shows: %s", text)
			}
			if p.PID != 0 || p.NextAttempt.IsZero() {
				t.Errorf("plugin %+v", p)
			}
			if left, err := os.ReadDir(filepath.Join(r.opts.RunDir, "plugins")); err != nil || len(left) > 0 {
				t.Errorf("the directories of its sockets: %v, %v, want none", left, err)
			}
			_, err := r.Runtime("runtime-pen").Spawn(t.Context(), runtime.Spec{ID: "a"})
			if e := runtime.AsError(err); e.Code != runtime.CodeUnavailable || !strings.Contains(e.Message, p.Reason) {
				t.Errorf("a call says %v", err)
			}
		})
	}
}

// script makes the plugin a shell script.
func script(text string) func(*testing.T, *rig) {
	return func(t *testing.T, r *rig) {
		path := filepath.Join(r.dir, "runtime-pen")
		r.write("runtime-pen", "#!/bin/sh\n"+text+"\n")
		chmod(t, path, 0o755)
		r.manifest(pluginhost.Manifest{Plugins: []pluginhost.ManifestEntry{entryOf(t, r)}})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// entryOf describes the binary as it is now.
func entryOf(t *testing.T, r *rig) pluginhost.ManifestEntry {
	t.Helper()
	sum, err := pluginhost.FileSHA256(filepath.Join(r.dir, "runtime-pen"))
	if err != nil {
		t.Fatal(err)
	}
	return pluginhost.ManifestEntry{Name: "runtime-pen", Kind: "runtime", Version: "1.0.0", SHA256: sum, Protocol: 1}
}

// What was put right is noticed without a word from the operator, however often it was tried before.
func TestPutRight(t *testing.T) {
	r := newRig(t, pen(""))
	remove(t, filepath.Join(r.dir, "runtime-pen"))
	r.open()
	for range 10 { // more often than crashes may happen
		r.until("runtime-pen", core.PluginFailed)
		before := r.metrics.get("state failed")
		r.clock.Advance(time.Minute)
		coretest.WaitFor(t, "another attempt", func() bool { return r.metrics.get("state failed") > before })
	}
	r.install("runtime-pen", builds.v1, "1.0.0", "runtime")
	r.until("runtime-pen", core.PluginFailed)
	r.clock.Advance(time.Minute)
	r.until("runtime-pen", core.PluginReady)
}

// A package upgrade replaces binary and manifest under a running core; the next start takes the new ones, and a
// crash in between does not end in a checksum failure for ever.
func TestUpgrade(t *testing.T) {
	r := newRig(t, pen("")).open()
	r.until("runtime-pen", core.PluginReady)
	e := r.install("runtime-pen", builds.v2, "2.0.0", "runtime")
	if p := r.plugin("runtime-pen"); p.State != core.PluginReady || p.Version != "1.0.0" {
		t.Errorf("the running plugin was disturbed: %+v", p)
	}
	r.signal("runtime-pen", syscall.SIGKILL)
	r.until("runtime-pen", core.PluginFailed)
	r.clock.Advance(time.Second)
	coretest.WaitFor(t, "the checksum to be noticed", func() bool {
		return strings.Contains(r.plugin("runtime-pen").Reason, "checksum")
	})
	r.manifest(pluginhost.Manifest{Plugins: []pluginhost.ManifestEntry{e}})
	r.clock.Advance(time.Minute)
	p := r.until("runtime-pen", core.PluginReady)
	if p.Version != "2.0.0" || p.SHA256 != e.SHA256 {
		t.Errorf("plugin %+v", p)
	}
}

// A plugin that gives no sign of life is killed and started anew.
func TestHung(t *testing.T) {
	r := newRig(t, pen(""))
	r.opts.Limits = pluginhost.Limits{Ping: time.Second, Answer: 50 * time.Millisecond, Pings: 2, Stop: time.Second}
	r.open()
	pid := r.signal("runtime-pen", syscall.SIGSTOP)
	coretest.WaitFor(t, "the plugin to be given up", func() bool {
		r.clock.Advance(time.Second)
		return strings.Contains(r.plugin("runtime-pen").Reason, "it hangs: 2 pings") || r.plugin("runtime-pen").Restarts > 0
	})
	coretest.WaitFor(t, "another process", func() bool {
		r.clock.Advance(time.Second)
		p := r.plugin("runtime-pen")
		return p.State == core.PluginReady && p.PID != 0 && p.PID != pid
	})
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("the hung process is still there")
	}
}

// The restarts of a plugin that has no settings are counted like those of any other.
func TestRestartsWithoutSettings(t *testing.T) {
	r := newRig(t, pen("no-settings")).open()
	for n := 1; n <= 2; n++ {
		pid := r.signal("runtime-pen", syscall.SIGKILL)
		coretest.WaitFor(t, "another process", func() bool {
			r.clock.Advance(time.Second)
			p := r.plugin("runtime-pen")
			return p.State == core.PluginReady && p.PID != 0 && p.PID != pid
		})
		if p := r.plugin("runtime-pen"); p.Restarts != n || r.metrics.get("restarted") != n {
			t.Errorf("%d restarts, %d are counted, want %d", p.Restarts, r.metrics.get("restarted"), n)
		}
	}
}

// A plugin that leaves a ping open cannot be reached, until it answers one.
func TestSilent(t *testing.T) {
	r := newRig(t, pen(""))
	r.opts.Limits = pluginhost.Limits{Ping: time.Minute, Answer: 50 * time.Millisecond, Pings: 3, Stop: time.Second}
	r.open()
	if ok, reason := r.Reachable("runtime-pen"); !ok || reason != "" {
		t.Fatalf("at first: %v, %q", ok, reason)
	}
	pid := r.signal("runtime-pen", syscall.SIGSTOP)
	coretest.WaitFor(t, "the plugin to be out of reach", func() bool {
		r.clock.Advance(time.Minute)
		ok, reason := r.Reachable("runtime-pen")
		return !ok && strings.Contains(reason, "it does not answer")
	})
	if p := r.plugin("runtime-pen"); p.State != core.PluginReady || p.PID != pid || p.Health != plugin.StatusFailed {
		t.Errorf("meanwhile: %+v", p)
	}
	_, err := r.Runtime("runtime-pen").Send(t.Context(), "magent_1", runtime.Input{Message: "hi"})
	if runtime.ErrorCode(err) != runtime.CodeUnavailable || !strings.Contains(err.Error(), "it does not answer") {
		t.Errorf("a call meanwhile: %v", err)
	}
	r.signal("runtime-pen", syscall.SIGCONT)
	coretest.WaitFor(t, "the plugin to be back", func() bool {
		ok, _ := r.Reachable("runtime-pen")
		return ok
	})
	if p := r.plugin("runtime-pen"); p.PID != pid || p.Restarts != 0 {
		t.Errorf("afterwards: %+v", p)
	}
}

// A grandchild in a session of its own that keeps the plugin's stderr open holds up neither restart nor end.
func TestGrandchildHoldsStderr(t *testing.T) {
	r := newRig(t, pen("grandchild")).open()
	grandchild := 0
	coretest.WaitFor(t, "the grandchild", func() bool {
		lines, _ := r.PluginLogs(t.Context(), "runtime-pen", 0)
		if m := regexp.MustCompile(`pid of the child: (\d+)`).FindStringSubmatch(joined(lines)); m != nil {
			grandchild, _ = strconv.Atoi(m[1])
		}
		return grandchild > 1
	})
	defer func() { _ = syscall.Kill(grandchild, syscall.SIGKILL) }()
	r.signal("runtime-pen", syscall.SIGKILL)
	began := time.Now()
	r.until("runtime-pen", core.PluginFailed)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the end was seen after %s", took)
	}
	if err := syscall.Kill(grandchild, 0); err != nil {
		t.Errorf("a process in a session of its own is not ours to end: %v", err)
	}
	began = time.Now()
	r.Close()
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("Close took %s", took)
	}
}

// The death of the host ends the plugin, though nothing tells it to.
func TestHostKilled(t *testing.T) {
	if os.Getenv("TEST_HOST") != "" {
		r := newRig(t, pen(""))
		r.open()
		if err := os.WriteFile(os.Getenv("TEST_HOST"), []byte(strconv.Itoa(r.plugin("runtime-pen").PID)), 0o600); err != nil {
			t.Fatal(err)
		}
		<-t.Context().Done() // until it is killed
		return
	}
	told := filepath.Join(t.TempDir(), "pid")
	host := startSelf(t, "TestHostKilled", "TEST_HOST="+told)
	pid := 0
	coretest.WaitFor(t, "the other host's plugin", func() bool {
		data, _ := os.ReadFile(told)
		pid, _ = strconv.Atoi(string(data))
		return pid > 1
	})
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	coretest.WaitFor(t, "the plugin to end", func() bool { return syscall.Kill(pid, 0) != nil })
}
