package store_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// imageDisk is a file system on a file of its own.
type imageDisk struct {
	t     *testing.T
	image string
	at    string
}

// mountDisk mounts the ext4 file system of an image.
func mountDisk(t *testing.T, image string) *imageDisk {
	t.Helper()
	at := t.TempDir()
	if out, err := exec.Command("mount", "-o", "loop", image, at).CombinedOutput(); err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" && os.Geteuid() == 0 && exec.Command("modprobe", "-n", "loop").Run() == nil {
			t.Fatalf("a file system on a file cannot be mounted: %v: %s", err, out)
		}
		t.Skipf("a file system on a file cannot be mounted (it takes root and loop devices): %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return &imageDisk{t, image, at}
}

// newDisk makes an ext4 file system of so many MiB.
func newDisk(t *testing.T, size int64) *imageDisk {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	err := os.WriteFile(image, nil, 0o600)
	if err == nil {
		err = os.Truncate(image, size<<20)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", image).CombinedOutput(); err != nil {
		t.Skipf("no file system can be made: %v: %s", err, out)
	}
	return mountDisk(t, image)
}

// shutDown is EXT4_IOC_SHUTDOWN, and noFlush its way to end a file system without a word to the disk.
const (
	shutDown = 0x8004587d
	noFlush  = 2
)

// cutPower ends the file system as a power cut does: what was not yet given to the disk is gone. It returns what the disk has.
func (d *imageDisk) cutPower() *imageDisk {
	d.t.Helper()
	f, err := os.Open(d.at)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	flag := uint32(noFlush)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), shutDown, uintptr(unsafe.Pointer(&flag))); errno != 0 {
		d.t.Skipf("the file system cannot be shut down: %v", errno)
	}
	image := filepath.Join(d.t.TempDir(), "image")
	if out, err := exec.Command("cp", "--sparse=always", d.image, image).CombinedOutput(); err != nil {
		d.t.Fatalf("%v: %s", err, out)
	}
	return mountDisk(d.t, image)
}

// TestPowerCutLosesWhatIsNotSynced holds that the disk of these tests forgets.
func TestPowerCutLosesWhatIsNotSynced(t *testing.T) {
	d := newDisk(t, 32)
	for name, sync := range map[string]bool{"synced": true, "lost": false} {
		f, err := os.Create(filepath.Join(d.at, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("text"); err != nil {
			t.Fatal(err)
		}
		if sync {
			dir, err := os.Open(d.at)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
			if err := dir.Sync(); err != nil {
				t.Fatal(err)
			}
			_ = dir.Close()
		}
		_ = f.Close()
	}
	after := d.cutPower()
	if text, err := os.ReadFile(filepath.Join(after.at, "synced")); err != nil || string(text) != "text" {
		t.Errorf("what was synced is %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(after.at, "lost")); err == nil && string(text) == "text" {
		t.Error("what was not synced is there")
	}
}

// TestPowerCut: what was acknowledged before a power cut is there after it, whole.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	d := newDisk(t, 512)
	acknowledged := map[string]bool{}
	for round := range 3 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "STORE_TEST_CRASH_DIR="+filepath.Join(d.at, "store"))
		var stderr strings.Builder
		child.Stderr = &stderr
		stdout, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(stdout)
		before := len(acknowledged)
		for len(acknowledged) < before+300+round*57 && lines.Scan() {
			acknowledged[lines.Text()] = true
		}
		if len(acknowledged) < before+300 {
			_ = child.Process.Kill()
			_ = child.Wait()
			t.Fatalf("the child wrote little: %s", stderr.String())
		}
		after := d.cutPower()
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		// What is acknowledged from the cut on does not count: where power is cut the program ends too, and a sync that is under
		// way while its file system is shut down may end without an error though nothing of it is on disk.
		_, _ = io.Copy(io.Discard, stdout)
		_ = child.Wait() // it was killed
		d = after
		checkAfterKill(t, filepath.Join(d.at, "store"), acknowledged)
	}
}
