package pluginhost_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/secret"
)

// A plugin that answers pings and never says how it is, is not one that is well.
func TestMuteHealth(t *testing.T) {
	r := newRig(t, pen("mute"))
	r.opts.Limits = pluginhost.Limits{Answer: 200 * time.Millisecond, Ping: time.Second}
	r.open()
	r.until("runtime-pen", core.PluginReady)
	coretest.WaitFor(t, "the silence to be told", func() bool {
		r.clock.Advance(time.Second)
		return r.plugin("runtime-pen").Health == "degraded"
	})
	contains(t, r.plugin("runtime-pen").HealthReason, "does not say how it is")
	if status, message, _ := r.checks["plugin:runtime-pen"].Run(); status != "degraded" || !strings.Contains(message, "does not say") {
		t.Errorf("the check says %s: %s", status, message)
	}
}

// Of endless lists in the answers of a plugin, the beginning is kept, logged and shown.
func TestEndlessLists(t *testing.T) {
	r := newRig(t, pen("endless"))
	r.opts.Limits = pluginhost.Limits{Answer: time.Minute, Ping: time.Second}
	r.open()
	r.until("runtime-pen", core.PluginReady)
	var p *core.PluginDetail
	coretest.WaitFor(t, "its health", func() bool {
		r.clock.Advance(time.Second)
		p, _ = r.FindPlugin(t.Context(), "runtime-pen")
		return len(p.Checks) > 0
	})
	if len(p.Checks) > 100 || len(p.Features) > 100 || len(p.Examples) > 100 || len(p.Features[0]) > 100 {
		t.Errorf("%d checks, %d features of %d bytes, %d examples", len(p.Checks), len(p.Features), len(p.Features[0]), len(p.Examples))
	}
	if n := strings.Count(r.log.String(), "plugin warns about its settings"); n > 100 {
		t.Errorf("%d warnings in the log", n)
	}
	report, err := r.VerifyPlugin(t.Context(), "runtime-pen")
	if err != nil || !report.OK || len(report.Checks) > 200 {
		t.Errorf("a report of %d checks, %v", len(report.Checks), err)
	}

	r = newRig(t, pen("endless"))
	r.opts.Plugins[0].Config = []byte(`{"ink": "dry"}`)
	r.open()
	contains(t, r.until("runtime-pen", core.PluginFailed).Reason, "it refuses its settings: /ink: is dry")
	if report, err := r.VerifyPlugin(t.Context(), "runtime-pen"); err != nil || report.OK {
		t.Errorf("a report that is OK, though an error is behind many warnings: %v", err)
	}
}

// What nothing uses says so, wherever somebody looks.
func TestUnusedKinds(t *testing.T) {
	spec := pluginhost.Spec{Name: "audit-file", Enabled: true, Env: map[string]string{"TEST_MODE": "audit"}}
	r := newRig(t, spec, pen("")).open()
	contains(t, r.until("audit-file", core.PluginReady).Reason, "asks nothing of audit plugins", "not used")
	coretest.WaitFor(t, "the log", func() bool { return strings.Contains(r.log.String(), "plugin is not used") }) // it follows the state
	if p := r.until("runtime-pen", core.PluginReady); p.Reason != "" || p.SDK == "" {
		t.Errorf("a plugin that is used: %+v", p)
	}
}

// A plugin learns that there is nobody to ask for secrets.
func TestHostHasNoSecrets(t *testing.T) {
	for want, lookup := range map[string]pluginhost.SecretLookup{
		"false true": nil,
		"true true":  func(context.Context, string, string) (secret.Value, error) { return secret.Value{}, nil },
	} {
		r := newRig(t, pen(""))
		r.opts.Secrets = lookup
		r.open().until("runtime-pen", core.PluginReady)
		if a, err := r.Runtime("runtime-pen").Spawn(t.Context(), runtime.Spec{ID: "has-secret"}); err != nil || a.ID != want {
			t.Errorf("it has %q, %v, want %q", a.ID, err, want)
		}
	}
}

// A neighbour that others may change spoils itself, and nobody else.
func TestUnsafeNeighbour(t *testing.T) {
	other := pen("")
	other.Name = "runtime-quill"
	r := newRig(t, pen(""), other)
	chmod(t, filepath.Join(r.dir, "runtime-quill"), 0o777)
	r.open()
	r.until("runtime-pen", core.PluginReady)
	contains(t, r.until("runtime-quill", core.PluginFailed).Reason, "runtime-quill is writable by everyone")
	chmod(t, filepath.Join(r.dir, "runtime-quill"), 0o755)
	coretest.WaitFor(t, "the plugin that was put right", func() bool {
		r.clock.Advance(time.Second)
		return r.plugin("runtime-quill").State == core.PluginReady
	})
}

// A directory that others may change keeps all of its plugins from starting, which is told once; a file of one plugin
// keeps that one. What is put right and then wrong again is told again.
func TestUnsafeDirectoryIsToldOnce(t *testing.T) {
	var specs []pluginhost.Spec
	for _, name := range []string{"runtime-pen", "runtime-quill", "runtime-brush"} {
		spec := pen("")
		spec.Name = name
		specs = append(specs, spec)
	}
	r := newRig(t, specs...)
	var mu sync.Mutex
	var told []string
	r.opts.Unsafe = func(path, reason, hint string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, filepath.Base(path))
		contains(t, reason, path, "is writable by everyone", "run: chmod o-w")
		contains(t, hint, "nobody else may be able to change them")
	}
	expect := func(when string, want ...string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(told, want) {
			t.Errorf("%s: told %v, want %v", when, told, want)
		}
	}
	all := func(state core.PluginState) {
		t.Helper()
		for _, spec := range specs {
			coretest.WaitFor(t, spec.Name+" to be "+string(state), func() bool {
				r.clock.Advance(time.Second)
				return r.plugin(spec.Name).State == state
			})
		}
	}
	dir := filepath.Base(r.dir)
	chmod(t, r.dir, 0o777)
	r.open()
	all(core.PluginFailed)
	expect("the directory", dir)

	chmod(t, r.dir, 0o755)
	chmod(t, filepath.Join(r.dir, "runtime-quill"), 0o777)
	specs = slices.DeleteFunc(specs, func(s pluginhost.Spec) bool { return s.Name == "runtime-quill" })
	all(core.PluginReady)
	coretest.WaitFor(t, "the file to be told of", func() bool {
		r.clock.Advance(time.Second)
		mu.Lock()
		defer mu.Unlock()
		return len(told) == 2
	})
	expect("a file", dir, "runtime-quill")

	chmod(t, filepath.Join(r.dir, "runtime-quill"), 0o755)
	coretest.WaitFor(t, "the plugin that was put right", func() bool {
		r.clock.Advance(time.Second)
		return r.plugin("runtime-quill").State == core.PluginReady
	})
	chmod(t, r.dir, 0o777)
	for _, name := range []string{"runtime-quill", "runtime-pen"} {
		if _, err := r.RestartPlugin(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		r.until(name, core.PluginFailed)
	}
	expect("the directory again", dir, "runtime-quill", dir)
}

// An upgrade is shown until the plugin is restarted, a file that came with it is found by it, and a rollback is one.
func TestUpgradeIsShown(t *testing.T) {
	r := newRig(t)
	r.open()
	install := func(from, version, ink string) {
		t.Helper()
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		p, err := pluginhost.ReadPackage(buildWith(t, "ink", version, string(data), ink, 1), r.dir, pluginhost.About{}, pluginhost.Trust{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := p.Install(); err != nil {
			t.Fatal(err)
		}
	}
	ink := func() string {
		t.Helper()
		a, err := r.Runtime("runtime-pen").Spawn(t.Context(), runtime.Spec{ID: "file"})
		if err != nil {
			t.Fatal(err)
		}
		return a.ID
	}
	install(builds.v1, "1.0.0", "blue")
	if _, err := r.EnablePlugin(t.Context(), "runtime-pen"); err != nil {
		t.Fatal(err)
	}
	if p := r.until("runtime-pen", core.PluginReady); p.Installed != "" || ink() != "blue" {
		t.Errorf("plugin %+v", p)
	}
	install(builds.v2, "2.0.0", "red")
	if p := r.plugin("runtime-pen"); p.Version != "1.0.0" || p.Installed != "2.0.0" || ink() != "blue" {
		t.Errorf("after the upgrade: %+v", p)
	}
	list, err := r.FindPlugins(t.Context())
	if err != nil || len(list) != 1 || list[0].Installed != "2.0.0" {
		t.Errorf("the list has %+v, %v", list, err)
	}
	restart := func(version, colour string) {
		t.Helper()
		p, err := r.RestartPlugin(t.Context(), "runtime-pen")
		if err != nil || p.State != core.PluginReady || p.Version != version || r.plugin("runtime-pen").Installed != "" || ink() != colour {
			t.Errorf("after the restart: %+v, %v", p, err)
		}
	}
	restart("2.0.0", "red")
	if _, _, err := pluginhost.Rollback(r.dir, "runtime-pen"); err != nil {
		t.Fatal(err)
	}
	restart("1.0.0", "blue")
}

// With trusted keys, what was installed without a signature does not run, and what was signed does.
func TestTrustedKeys(t *testing.T) {
	secretKey, public := key(t)
	data, err := os.ReadFile(builds.v1)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	r.opts.TrustedKeys = []string{public}
	r.opts.Policy.Max = time.Second
	path := build(t, "1.0.0", string(data), "blue", 1)
	install(t, path, r.dir)
	r.opts.Plugins = []pluginhost.Spec{pen("")}
	r.open()
	contains(t, r.until("runtime-pen", core.PluginFailed).Reason, "none of plugins.trustedKeys signed it")
	if _, _, err := pluginhost.Sign(path, secretKey, noPassword); err != nil {
		t.Fatal(err)
	}
	p, err := pluginhost.ReadPackage(path, r.dir, pluginhost.About{}, pluginhost.Trust{Keys: []string{public}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Install(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.RestartPlugin(t.Context(), "runtime-pen"); err != nil {
		t.Fatal(err)
	}
	r.until("runtime-pen", core.PluginReady)
}
