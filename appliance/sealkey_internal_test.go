package appliance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

func TestSealKey(t *testing.T) {
	dir := t.TempDir()
	first, err := sealKey(dir, threadKeyFile)
	if err != nil {
		t.Fatal(err)
	}
	if first == [32]byte{} {
		t.Error("the key is all zeros")
	}
	if again, err := sealKey(dir, threadKeyFile); err != nil || again != first {
		t.Errorf("a second start has another key, error %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, threadKeyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, error %v", info, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d files, error %v; want the key alone", len(entries), err)
	}
	if other, err := sealKey(t.TempDir(), threadKeyFile); err != nil || other == first {
		t.Errorf("two installations share a key, error %v", err)
	}
}

func TestSealKeyRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(path string) error
		want string
	}{
		"GroupReadable": {func(path string) error { return os.WriteFile(path, make([]byte, 32), 0o640) }, "may be read by others"},
		"WorldReadable": {func(path string) error { return os.WriteFile(path, make([]byte, 32), 0o604) }, "may be read by others"},
		"Short":         {func(path string) error { return os.WriteFile(path, make([]byte, 16), 0o600) }, "is no key of 32 bytes"},
		"Directory":     {func(path string) error { return os.Mkdir(path, 0o700) }, "may be read by others"},
		"Link": {func(path string) error {
			if err := os.WriteFile(path+".real", make([]byte, 32), 0o600); err != nil {
				return err
			}
			return os.Symlink(path+".real", path)
		}, "open the key"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tt.make(filepath.Join(dir, threadKeyFile)); err != nil {
				t.Fatal(err)
			}
			_, err := sealKey(dir, threadKeyFile)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
			if name != "Link" && core.ErrorCode(err) != core.CodeConflict {
				t.Errorf("code %s", core.ErrorCode(err))
			}
		})
	}
}
