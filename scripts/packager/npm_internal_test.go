package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// The package of npm is the same bytes each time, and can be installed and imported.
func TestNPM(t *testing.T) {
	made := func() (path string, data []byte) {
		t.Helper()
		dir := t.TempDir()
		b := &builder{options: options{root: filepath.Join("..", ".."), version: "1.2.3-rc.1"}, epoch: time.Unix(1_700_000_000, 0).UTC()}
		if err := b.npm(dir); err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(dir, "wardroom-agent-1.2.3-rc.1.tgz")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return path, data
	}
	path, data := made()
	if _, again := made(); !bytes.Equal(data, again) {
		t.Error("the same version has other bytes")
	}
	dir := t.TempDir()
	install := exec.Command("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", path)
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") != "" {
			t.Fatalf("no npm, or it cannot install: %v\n%s", err, out)
		}
		t.Skipf("no npm, or it cannot install: %v\n%s", err, out)
	}
	load := exec.Command("node", "--input-type=module", "-e", `import { Agent } from "wardroom-agent"; console.log(Agent.name)`)
	load.Dir = dir
	if out, err := load.CombinedOutput(); err != nil || string(out) != "Agent\n" {
		t.Errorf("import of the package: %v\n%s", err, out)
	}
}
