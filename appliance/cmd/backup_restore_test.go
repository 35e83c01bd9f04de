package cmd_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/backup"
)

// A restore that fails once some of its files are made leaves nothing in the way of the next one.
func TestBackupRestoreAgain(t *testing.T) {
	dir, dump := dumped(t)
	text, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	archive := func(name string, files ...backup.File) string {
		path := filepath.Join(dir, name)
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := backup.NewWriter(out, backup.Meta{Version: "1.2.3", CreatedAt: time.Now()}, files)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := backup.File{Name: "config/a", Data: []byte("x")}
	whole := archive("whole", first, backup.File{Name: "config/b"}, backup.File{Name: "keys/k", Data: []byte("k")})
	cut := archive("cut", first, backup.File{Name: "config/a/b"}) // a file below a file
	data, files := filepath.Join(dir, "data"), filepath.Join(dir, "files")

	execute(t, "", "backup", "restore", cut, "--data-dir", data, "--files", files).expect(t, 1, "config/a")
	// The directory of the store is not empty any more once the files are placed.
	execute(t, "", "backup", "restore", whole, "--data-dir", data, "--files", filepath.Join(data, "files")).expect(t, 1, "not empty")
	if err := os.Remove(filepath.Join(data, "files")); err != nil {
		t.Errorf("what the second try left: %v", err)
	}
	execute(t, "", "backup", "restore", whole, "--data-dir", data, "--files", files).expect(t, 0)
	for path, want := range map[string]string{filepath.Join(files, "config", "a"): "x", filepath.Join(data, "k"): "k"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.restoring"))
	if err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
	execute(t, "", "backup", "restore", whole, "--data-dir", filepath.Join(dir, "other"), "--files", files).expect(t, 4, "is not empty", "move what is there aside")

	// One that was killed when the files were in place, and the store was not.
	if err := os.Rename(data, data+".restoring"); err != nil {
		t.Fatal(err)
	}
	execute(t, "", "backup", "restore", whole, "--data-dir", data, "--files", files).expect(t, 4, "is not empty", "rm -r "+files)
	if err := os.RemoveAll(files); err != nil {
		t.Fatal(err)
	}
	execute(t, "", "backup", "restore", whole, "--data-dir", data, "--files", files).expect(t, 0)
}
