package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/scripts/testbed"
)

// binary is the wardroom under test, and plugins the folder of its plugins, with a manifest.
var binary, plugins string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// atOnce is how many tests run beside each other. They wait for programs of others most of the time.
const atOnce = 4

func run(m *testing.M) int {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(max(atOnce, runtime.GOMAXPROCS(0)))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "wardroom-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := install(dir); err != nil {
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

// install puts the product into a folder as a package does: the binary, and beside it the plugins with a manifest of their
// checksums.
func install(dir string) error {
	product, err := testbed.Product(context.Background(), "", dir)
	if err != nil {
		return err
	}
	binary = filepath.Join(dir, "wardroom")
	plugins = testbed.Plugins(binary)
	if product != binary { // one that was built before, and is left as it is
		if err := os.Mkdir(plugins, 0o755); err != nil {
			return err
		}
		for _, name := range []string{"wardroom", "plugins/runtime-local", "plugins/holder"} {
			data, err := os.ReadFile(filepath.Join(filepath.Dir(product), name))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), data, 0o755)
			}
			if err != nil {
				return err
			}
		}
	}
	return writeManifest(plugins, "runtime-local")
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

// patience is how long a test waits for what must come: longer than the product waits for an agent to get ready, as other
// tests run beside it.
const patience = 2 * time.Minute

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
