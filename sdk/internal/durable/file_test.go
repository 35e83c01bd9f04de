package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/sdk/internal/durable"
)

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, sync := range []bool{true, false} {
		for _, text := range []string{"one", "two", ""} {
			if err := durable.WriteFile(path, []byte(text), sync); err != nil {
				t.Fatal(err)
			}
			got, err := durable.ReadFile(path, 3)
			if err != nil || string(got) != text {
				t.Errorf("%q, %v", got, err)
			}
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := durable.WriteFile(path, []byte("long"), false); err != nil {
		t.Fatal(err)
	}
	if _, err := durable.ReadFile(path, 3); err == nil {
		t.Error("a part of a file was read")
	}
	if err := durable.WriteFile(filepath.Join(dir, "none", "f"), nil, true); err == nil {
		t.Error("a missing directory is no error")
	}
	if err := durable.WriteFile(dir, []byte("x"), true); err == nil {
		t.Error("a directory was replaced")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
	}
}

func TestSwept(t *testing.T) {
	for name, want := range map[string]bool{".f.123.tmp": true, "f": false, "f.tmp": false, ".tmp": false} {
		if durable.Swept(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
