package appliance_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadableStore warns of a store that every user of the machine can read.
func TestReadableStore(t *testing.T) {
	former := syscall.Umask(0o022)
	defer syscall.Umask(former)
	data := t.TempDir()
	open(t, devOptions(data)).Close()
	for mode, warned := range map[os.FileMode]bool{0o700: false, 0o711: true} {
		if err := os.Chmod(filepath.Join(data, "store"), mode); err != nil {
			t.Fatal(err)
		}
		opts, out := devOptions(data), &log{}
		opts.Stderr = out
		open(t, opts).Close()
		if got := strings.Contains(out.String(), "others on this machine can read what is stored"); got != warned {
			t.Errorf("%o: warned %t:\n%s", mode, got, out)
		}
	}
}
