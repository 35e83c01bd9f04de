package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/core/internal/atomicfile"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, text := range []string{"one", "two, longer", ""} {
		if err := atomicfile.Write(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || string(data) != text || info.Mode() != 0o640 {
			t.Fatalf("%q, %v, %v, %v", data, info, err, statErr)
		}
	}
	if err := atomicfile.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(dir, []byte("x"), 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	temp, err := os.CreateTemp(dir, "half")
	if err != nil {
		t.Fatal(err)
	}
	if failed := errors.New("failed"); !errors.Is(atomicfile.Commit(temp, path, 0o600, failed), failed) {
		t.Error("the failure is lost")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
