package cmd_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/core/store"
)

// dumped makes a store and returns a dump of it, in a directory of their own.
func dumped(t *testing.T) (dir, dump string) {
	t.Helper()
	dir = t.TempDir()
	first := filepath.Join(dir, "first")
	s, err := store.Open(t.Context(), store.Options{Path: first, MinFreeBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	dump = filepath.Join(dir, "dump")
	execute(t, "", "store", "dump", dump, "--data-dir", first).expect(t, 0)
	return dir, dump
}

// TestRestoreForTheService has root restore a dump where the service has its store: all of it belongs to the service, as it would
// refuse a store of root.
func TestRestoreForTheService(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this takes root")
	}
	const service = 54321
	dir, dump := dumped(t)
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, service, service); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{filepath.Join(home, "store"), home} { // the directory above it has the owner, or it itself
		execute(t, "", "store", "restore", dump, "--data-dir", data).expect(t, 0)
		err := filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			if owner, ok := info.Sys().(*syscall.Stat_t); !ok || owner.Uid != service {
				t.Errorf("%s belongs to user id %d", path, owner.Uid)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(home, "store")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRestoreThroughALink: the store lies where the link leads, which stays one.
func TestRestoreThroughALink(t *testing.T) {
	dir, dump := dumped(t)
	data, link := filepath.Join(dir, "disk", "data"), filepath.Join(dir, "link")
	if err := os.Symlink(data, link); err != nil {
		t.Fatal(err)
	}
	execute(t, "", "store", "restore", dump, "--data-dir", link).expect(t, 4, "is a link to what is not there")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	execute(t, "", "store", "restore", dump, "--data-dir", link).expect(t, 0)
	if _, err := os.Stat(filepath.Join(data, "MANIFEST")); err != nil {
		t.Error(err)
	}
	if to, err := os.Readlink(link); err != nil || to != data {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	execute(t, "", "store", "check", "--data-dir", link).expect(t, 0)
}

// TestRestoreOnADisk restores to a disk of its own, which cannot be replaced by a directory beside it.
func TestRestoreOnADisk(t *testing.T) {
	dir, dump := dumped(t)
	disk := filepath.Join(dir, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	const script = `mount -t tmpfs -o mode=1777 disk "$1" || exit 99
mkdir "$1/lost+found" "$1/.restoring" && echo cut >"$1/.restoring/000001.sst" || exit 98
wardroom store restore "$2" --data-dir "$1" || exit 2
[ ! -e "$1/.restoring" ] || exit 3
wardroom store restore "$2" --data-dir "$1" && exit 4
wardroom store check --data-dir "$1" || exit 5
[ "$(stat -c %a "$1")" = 1770 ] || exit 6`
	cmd := exec.Command("unshare", "--mount", "sh", "-c", script, "sh", disk, dump)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); os.Geteuid() != 0 || code == 99 || code == 1 { // 1 is of unshare itself
		t.Skipf("nothing can be mounted here: %s", out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if left, err := filepath.Glob(disk + ".*"); err != nil || len(left) > 0 {
		t.Errorf("beside it: %v, %v", left, err)
	}
}
