package pluginhost_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/pluginhost"
)

// installed puts a package of a plugin with a file beside it into a directory.
func installed(tb testing.TB, dir, name, text, version string) {
	tb.Helper()
	path := file(tb, name, []byte(text))
	p, err := pluginhost.ReadPackage(path, dir, pluginhost.About{Name: name, Version: version}, pluginhost.Trust{})
	if err != nil {
		tb.Fatal(err)
	}
	defer p.Close()
	if err := p.Install(); err != nil {
		tb.Fatal(err)
	}
}

// filesOf lists the files below a directory whose names begin with that of a plugin.
func filesOf(tb testing.TB, dir, name string) (list []string) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasPrefix(d.Name(), name) {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	installed(t, dir, "runtime-pen", binaryText, "1.0.0")
	installed(t, dir, "runtime-pen", binaryText+"#2\n", "2.0.0")
	installed(t, dir, "runtime-pencil", binaryText+"#3\n", "1.0.0")
	if len(filesOf(t, dir, "runtime-pen")) != 6 { // two binaries and their entries, and those of the other
		t.Fatalf("before: %v", filesOf(t, dir, "runtime-pen"))
	}
	removed, err := pluginhost.Remove(dir, "runtime-pen")
	if err != nil || removed.Version != "2.0.0" || removed.Former != "1.0.0" || removed.Kind != "runtime" {
		t.Fatalf("%+v, %v", removed, err)
	}
	if left := filesOf(t, dir, "runtime-pen"); len(left) != 2 || !strings.HasSuffix(left[0]+left[1], "runtime-pencil") {
		t.Errorf("left: %v", left)
	}
	if _, err := pluginhost.Remove(dir, "runtime-pen"); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("a second time: %v", err)
	}
	if _, _, err := pluginhost.Rollback(dir, "runtime-pen"); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("rollback after it: %v", err)
	}
	for _, name := range []string{"../runtime-pencil", "", "holder/x"} {
		if _, err := pluginhost.Remove(dir, name); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%q: %v", name, err)
		}
	}
	// A program of the directory that no manifest names, and a plugin of the package, stay.
	if err := os.WriteFile(filepath.Join(dir, "holder"), []byte(binaryText), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := pluginhost.Remove(dir, "holder"); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("a helper: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, pluginhost.ManifestFile), []byte(strings.Replace(manifestOf("audit-pen", binaryText), "runtime", "audit", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := pluginhost.Remove(dir, "audit-pen"); core.ErrorCode(err) != core.CodeConflict || !strings.Contains(err.Error(), "package") {
		t.Errorf("one of the package: %v", err)
	}
}

// A process that dies while it removes a plugin leaves none that runs, whatever was gone by then; the next removal, the next
// install and the next start finish it.
func TestRemoveCutShort(t *testing.T) {
	for step := range 4 {
		cut := func(t *testing.T) string {
			dir := t.TempDir()
			installed(t, dir, "runtime-pen", binaryText, "1.0.0")
			installed(t, dir, "runtime-pen", binaryText+"#2\n", "2.0.0")
			if err := os.Mkdir(filepath.Join(dir, "removing"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(dir, pluginhost.InstalledDir, "runtime-pen.json"), filepath.Join(dir, "removing", "runtime-pen.json")); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"runtime-pen", "former/runtime-pen", "former/runtime-pen.json"}[:step] {
				if err := os.Remove(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			if m, err := pluginhost.ReadManifest(dir); err != nil || len(m.Plugins) != 0 {
				t.Fatalf("manifest %+v, %v", m, err)
			}
			return dir
		}
		t.Run("remove", func(t *testing.T) {
			dir := cut(t)
			if removed, err := pluginhost.Remove(dir, "runtime-pen"); err != nil || removed.Version != "2.0.0" {
				t.Errorf("%+v, %v", removed, err)
			}
			if left := filesOf(t, dir, "runtime-pen"); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
		t.Run("install", func(t *testing.T) {
			dir := cut(t)
			installed(t, dir, "runtime-pen", binaryText+"#3\n", "3.0.0")
			if left := filesOf(t, dir, "runtime-pen"); len(left) != 2 {
				t.Errorf("left: %v", left)
			}
			if removed, err := pluginhost.Remove(dir, "runtime-pen"); err != nil || removed.Version != "3.0.0" || removed.Former != "" {
				t.Errorf("%+v, %v", removed, err)
			}
		})
		t.Run("start", func(t *testing.T) {
			r := newRig(t)
			r.dir = cut(t)
			r.opts.Dir = r.dir
			r.open()
			if left := filesOf(t, r.dir, "runtime-pen"); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// The host ends what it removes, and refuses what the configuration uses.
// A plugin that is enabled while it is removed is one that is not there: nothing of it is started, and no choice is kept.
func TestEnableWhileRemoved(t *testing.T) {
	r := newRig(t)
	data, err := os.ReadFile(builds.v1)
	if err != nil {
		t.Fatal(err)
	}
	installed(t, r.dir, "runtime-quill", string(data), "1.0.0")
	enabled := make(chan error, 1)
	r.opts.Changed = func(p core.Plugin) {
		if p.Reason == "it was removed" && len(enabled) == 0 { // its process has ended, and its files are there
			_, err := r.EnablePlugin(t.Context(), "runtime-quill")
			enabled <- err
		}
	}
	r.open()
	if p, err := r.EnablePlugin(t.Context(), "runtime-quill"); err != nil || p.State != core.PluginReady {
		t.Fatalf("enable: %+v, %v", p, err)
	}
	if _, err := r.RemovePlugin(t.Context(), "runtime-quill"); err != nil {
		t.Fatal(err)
	}
	if err := <-enabled; core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("enable while it is removed: %v", err)
	}
	r.Close()
	r.open()
	if list, err := r.FindPlugins(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("after a restart: %+v, %v", list, err)
	}
}

func TestRemoveRunning(t *testing.T) {
	r := newRig(t)
	used := "runtimes.pen.plugin"
	r.opts.UsedBy = func(string) string { return used }
	data, err := os.ReadFile(builds.v1)
	if err != nil {
		t.Fatal(err)
	}
	installed(t, r.dir, "runtime-quill", string(data), "1.0.0")
	r.open()
	if p, err := r.EnablePlugin(t.Context(), "runtime-quill"); err != nil || p.State != core.PluginReady {
		t.Fatalf("enable: %+v, %v", p, err)
	}
	pid := r.signal("runtime-quill", 0)
	if _, err := r.RemovePlugin(t.Context(), "runtime-quill"); core.ErrorCode(err) != core.CodeConflict || !strings.Contains(err.Error(), used) {
		t.Errorf("in use: %v", err)
	}
	if p := r.plugin("runtime-quill"); p.State != core.PluginReady {
		t.Errorf("it is %s after the refusal", p.State)
	}
	used = ""
	removed, err := r.RemovePlugin(t.Context(), "runtime-quill")
	if err != nil || removed.Version != "1.0.0" || removed.State == "" {
		t.Fatalf("%+v, %v", removed, err)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("its process is still there")
	}
	if _, err := r.FindPlugin(t.Context(), "runtime-quill"); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("find: %v", err)
	}
	if _, err := r.Runtime("runtime-quill").Capabilities(t.Context()); err == nil {
		t.Error("it still answers")
	}
	if status, _, _ := r.checks["plugin:runtime-quill"].Run(); status != "ok" {
		t.Errorf("health: %s", status)
	}
	if _, err := r.RemovePlugin(t.Context(), "runtime-quill"); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("a second time: %v", err)
	}
	// It may come back.
	installed(t, r.dir, "runtime-quill", string(data), "1.1.0")
	if p, err := r.EnablePlugin(t.Context(), "runtime-quill"); err != nil || p.State != core.PluginReady {
		t.Errorf("enable again: %+v, %v", p, err)
	}
	if _, err := r.RemovePlugin(t.Context(), "runtime-quill"); err != nil {
		t.Error(err)
	}
	r.Close()
	r.checks = map[string]pluginhost.HealthCheck{}
	r.open() // what was said of it is forgotten
	if list, err := r.FindPlugins(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("after a restart: %+v, %v", list, err)
	}
}

// A configuration starts and stops plugins; what an operator said is stronger.
func TestApplyConfig(t *testing.T) {
	second := pen("")
	second.Name = "runtime-quill"
	r := newRig(t, pen(""), second).open()
	pid := r.signal("runtime-pen", 0)
	off := pen("")
	off.Enabled = false
	done := r.Host.ApplyConfig(t.Context(), []pluginhost.Spec{off})
	if len(done) != 2 || done[0].Name != "runtime-pen" || done[0].Enabled || done[0].State != core.PluginDisabled || done[0].Removed || !done[1].Removed {
		t.Fatalf("%+v", done)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("its process is still there")
	}
	if p := r.plugin("runtime-quill"); p.State != core.PluginDisabled {
		t.Errorf("the one that is gone is %s", p.State)
	}
	if again := r.Host.ApplyConfig(t.Context(), []pluginhost.Spec{off}); len(again) != 0 {
		t.Errorf("nothing changed: %+v", again)
	}
	if done = r.Host.ApplyConfig(t.Context(), []pluginhost.Spec{pen("")}); len(done) != 1 || done[0].State != core.PluginReady {
		t.Errorf("%+v", done)
	}
	if _, err := r.EnablePlugin(t.Context(), "runtime-pen"); err != nil {
		t.Fatal(err)
	}
	if done = r.Host.ApplyConfig(t.Context(), []pluginhost.Spec{off}); len(done) != 1 || !done[0].Chosen || done[0].State != core.PluginReady {
		t.Errorf("an operator enabled it: %+v", done)
	}
}
