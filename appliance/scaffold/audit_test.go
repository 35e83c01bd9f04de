package scaffold_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance/scaffold"
)

// A sink that was made is short, and passes the conformance suite as it is, without a network.
func TestAudit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit-pen")
	sdk, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scaffold.Module(scaffold.Options{Name: "pen", Dir: dir, SDK: sdk, Kind: "audit"}); err != nil {
		t.Fatal(err)
	}
	main, err := os.ReadFile(filepath.Join(dir, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(main)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			lines++
		}
	}
	if lines >= 100 {
		t.Errorf("it has %d lines of code and was promised to have less than 100", lines)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-mod=mod", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test: %v\n%s", err, out)
	}
	if _, err := scaffold.Files(scaffold.Options{Name: "audit-pen", Dir: dir, SDK: sdk, Kind: "audit"}); err == nil || !strings.Contains(err.Error(), "give pen") {
		t.Errorf("%v", err)
	}
}
