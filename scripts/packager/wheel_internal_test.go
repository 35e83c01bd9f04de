package main

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The wheel is the same bytes each time, names everything in it, and can be imported where the library that it needs is.
func TestWheel(t *testing.T) {
	made := func(version string) (path string, data []byte) {
		t.Helper()
		dir := t.TempDir()
		b := &builder{options: options{root: filepath.Join("..", ".."), version: version}, epoch: time.Unix(1_700_000_000, 0).UTC()}
		if err := b.wheel(dir); err != nil {
			t.Fatal(err)
		}
		entries, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(entries) != 1 {
			t.Fatal(entries, err)
		}
		data, err = os.ReadFile(entries[0])
		if err != nil {
			t.Fatal(err)
		}
		return entries[0], data
	}
	path, data := made("1.2.3+4.gabc")
	if got, want := filepath.Base(path), "wardroom_agent-1.2.3+4.gabc-py3-none-any.whl"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, again := made("1.2.3+4.gabc"); !bytes.Equal(data, again) {
		t.Error("the same version has other bytes")
	}
	if pre, _ := made("1.3.0-rc.1"); filepath.Base(pre) != "wardroom_agent-1.3.0rc1-py3-none-any.whl" {
		t.Errorf("got %s", pre)
	}
	wheel, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = wheel.Close() }()
	record, err := wheel.Open("wardroom_agent-1.2.3+4.gabc.dist-info/RECORD")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(record); err != nil {
		t.Fatal(err)
	}
	for _, file := range wheel.File {
		if !strings.Contains(text.String(), file.Name+",") {
			t.Errorf("RECORD does not have %s", file.Name)
		}
	}
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import websockets").Run() != nil {
			continue
		}
		cmd := exec.Command(python, "-c", "import wardroom_agent; print(wardroom_agent.Agent.__name__)")
		cmd.Env = append(os.Environ(), "PYTHONPATH="+path)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "Agent\n" {
			t.Errorf("import of the wheel: %v\n%s", err, out)
		}
		return
	}
	if os.Getenv("WARDROOM_REQUIRE_REAL") != "" {
		t.Error("no python3 with the websockets package")
	}
}
