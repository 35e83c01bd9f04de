package drivertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// CLI finds one of the real CLIs: in the folder of WARDROOM_CLIS, in .cache/clis of the repository, or on the
// PATH. Without it the test is skipped, or fails if WARDROOM_REQUIRE_REAL is 1.
func CLI(tb testing.TB, name string) string {
	tb.Helper()
	if dir := os.Getenv("WARDROOM_CLIS"); dir != "" {
		for _, bin := range []string{"bin", "node_modules/.bin"} {
			if p := filepath.Join(dir, bin, name); executable(p) {
				return p
			}
		}
	} else {
		if p := filepath.Join(moduleRoot(tb), ".cache", "clis", "bin", name); executable(p) {
			return p
		}
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	const how = "it is not installed; run scripts/clis/install.sh"
	if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
		tb.Fatalf("%s: %s", name, how)
	}
	tb.Skipf("%s: %s", name, how)
	return ""
}

func executable(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}
