package plugintest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Build compiles the main package at a path, as go build takes it, and returns the binary.
func Build(t testing.TB, pkg string) string {
	t.Helper()
	name := filepath.Base(pkg)
	if dir, err := filepath.Abs(pkg); err == nil && (name == "." || name == "..") {
		name = filepath.Base(dir)
	}
	binary := filepath.Join(t.TempDir(), name)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, pkg).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return binary
}
