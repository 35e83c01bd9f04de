package pluginhost_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// builds holds the plugin's binary in two versions, made once.
var builds struct{ v1, v2 string }

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if made := os.Getenv("TEST_BUILDS"); made != "" { // a test that runs itself once more
		builds.v1, builds.v2 = filepath.Join(made, "v1"), filepath.Join(made, "v2")
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "pluginhost-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	builds.v1, builds.v2 = filepath.Join(dir, "v1"), filepath.Join(dir, "v2")
	for path, version := range map[string]string{builds.v1: "1.0.0", builds.v2: "2.0.0"} {
		cmd := exec.Command("go", "build", "-o", path, "-ldflags", "-s -w -X main.version="+version, "./testdata/plugin")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the plugin of the tests: %v\n%s", err, out)
			return 1
		}
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}
