package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/core/pluginhost"
)

// binary is the wardroom under test, and plugins the folder of its plugins, with a manifest.
var binary, plugins string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "wardroom-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary = os.Getenv("WARDROOM_E2E_BIN"); binary == "" {
		binary = filepath.Join(dir, "wardroom")
		err = build(binary, "appliance/cmd/wardroom")
	}
	if err == nil {
		plugins, err = buildPlugins(filepath.Join(dir, "plugins"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// build builds a command of the module.
func build(path, command string) error {
	out, err := exec.Command("go", "build", "-o", path, "github.com/wardroom/wardroom/"+command).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", command, err, out)
	}
	return nil
}

// buildPlugins fills a folder as a package does: the plugins, and a manifest with their checksums.
func buildPlugins(dir string) (string, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{"runtime-local", "holder"} {
		if err := build(filepath.Join(dir, name), "plugins/"+name); err != nil {
			return "", err
		}
	}
	return dir, writeManifest(dir, "runtime-local")
}

// writeManifest announces the plugins of a folder.
func writeManifest(dir string, names ...string) error {
	m := pluginhost.Manifest{Format: 1}
	for _, name := range names {
		sum, err := pluginhost.FileSHA256(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		m.Plugins = append(m.Plugins, pluginhost.ManifestEntry{Name: name, Kind: "runtime", Version: "0.1.0", SHA256: sum, Protocol: 1})
	}
	return os.WriteFile(filepath.Join(dir, pluginhost.ManifestFile), m.Encode(), 0o644)
}

// patience is how long a test waits for what must come: as long as the product waits for an agent to get ready.
const patience = time.Minute

// eventually waits until cond holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
		<-tick.C
	}
}

// requireReal skips a test that the machine cannot run, or fails it where everything must be there.
func requireReal(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
