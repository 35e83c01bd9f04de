//go:build linux

package store_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
)

// smallDisk mounts a file system of its own with so many MiB. Only root may.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	return mountSmall(t, size, 0)
}

// openAgain opens a store that was closed before.
func openAgain(t *testing.T, opts store.Options) (s *store.Store) {
	t.Helper()
	var err error
	coretest.WaitFor(t, "the store to be free", func() bool { // a child that another test starts has its lock until it is the program
		s, err = store.Open(ctx, opts)
		return err == nil || !strings.Contains(err.Error(), "directory lock")
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mountSmall is smallDisk with the flags of its unmount.
func mountSmall(t *testing.T, size, flags int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,nr_inodes=8192,mode=0700", size)); err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
			t.Fatalf("a small file system cannot be mounted: %v", err)
		}
		t.Skipf("a small file system cannot be mounted (it takes root): %v", err)
	}
	t.Cleanup(func() {
		var err error
		coretest.WaitFor(t, "the file system to be free", func() bool { // a child that another test starts has its files until it is the program
			err = unix.Unmount(dir, flags)
			return !errors.Is(err, unix.EBUSY)
		})
		if err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fillDisk takes all that is free but for a rest, and returns what gives it back.
func fillDisk(t *testing.T, dir string, rest uint64) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	block := make([]byte, 64<<10)
	for freeOf(t, dir) > rest {
		if _, err := f.Write(block[:min(uint64(len(block)), freeOf(t, dir)-rest)]); errors.Is(err, syscall.ENOSPC) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

func freeOf(t *testing.T, dir string) uint64 {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return st.Bavail * uint64(st.Bsize)
}

// Requests of many MiB at once on a nearly full disk are refused one by one: none ends the process, and what was
// acknowledged is there, also after a start on a disk without a byte free.
func TestDiskFills(t *testing.T) {
	t.Parallel()
	const budget = 48 << 20
	disk := smallDisk(t, 256)
	dir := filepath.Join(disk, "store")
	opts := store.Options{Path: dir, MinFreeBytes: budget}
	s, err := store.Open(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "the ballast", func() bool {
		_, err := os.Stat(filepath.Join(dir, "reserve"))
		return err == nil
	})
	value := bytes.Repeat([]byte("x"), 8<<20)
	var mu sync.Mutex
	var stored []int
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			err := s.Update(ctx, func(tx core.Tx) error {
				for n := range 50 { // and small ones beside it
					if err := tx.PutBatchInput(fmt.Sprintf("small_%d", i), n, value[:1000]); err != nil {
						return err
					}
				}
				return tx.PutBatchInput("batch_1", i, value)
			})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				stored = append(stored, i)
			} else if e := core.AsError(err); !e.Unavailable {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
	if len(stored) == 0 || len(stored) == 60 {
		t.Fatalf("%d of 60 stored", len(stored))
	}
	if free := freeOf(t, disk); free < budget/2 {
		t.Errorf("%d MiB are left of the %d that are to be left", free>>20, budget>>20)
	}
	check := func(s *store.Store, when string) {
		t.Helper()
		for _, i := range stored {
			if got, err := s.FindBatchInput(ctx, "batch_1", i); err != nil || len(got) != len(value) {
				t.Fatalf("%s: %d: %d bytes, %v", when, i, len(got), err)
			}
		}
	}
	check(s, "at once")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	free := fillDisk(t, disk, 0)
	for range 2 { // the second time without the ballast
		s = openAgain(t, opts)
		if readOnly, reason := s.State(); !readOnly || reason == "" {
			t.Errorf("state: %v, %q", readOnly, reason)
		}
		check(s, "on a full disk")
		wantReason(t, s.Update(ctx, appendEvent("one")), "store_read_only")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		free()
		free = fillDisk(t, disk, 0)
	}
	s = openAgain(t, opts)
	defer func() { _ = s.Close() }()
	free()
	if freeOf(t, disk) < budget*5/4 {
		t.Skipf("only %d MiB are free", freeOf(t, disk)>>20)
	}
	coretest.WaitFor(t, "the store to take writes again", func() bool { return s.Update(ctx, appendEvent("one")) == nil })
	check(s, "at the end")
}

// A store that was not stopped in order starts on a disk without a byte free also where nothing keeps room for that: for
// reading only, with all that was acknowledged, and again, and takes writes once there is room.
func TestCrashedStoreOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := mountSmall(t, 256, unix.MNT_DETACH) // Badger keeps logs that it opened for reading only
	opts := store.Options{Path: filepath.Join(disk, "store"), MinFreeBytes: 48 << 20}
	s, err := store.Open(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("x"), 1<<20)
	for n := range 20 {
		mustUpdate(t, s, func(tx core.Tx) error {
			return errors.Join(tx.PutBatchInput("small", n, large[:1000+n]), tx.PutBatchInput("large", n, large[:len(large)-n]))
		})
	}
	// What a kill leaves are the files as they are while the store is open.
	image := filepath.Join(disk, "image")
	if err := os.CopyFS(image, os.DirFS(opts.Path)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{opts.Path, filepath.Join(image, "reserve"), filepath.Join(image, "LOCK")} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(image, 0o700); err != nil {
		t.Fatal(err)
	}
	if logs, err := filepath.Glob(filepath.Join(image, "*.mem")); err != nil || len(logs) == 0 {
		t.Fatalf("logs of memtables: %v, %v", logs, err)
	}
	opts.Path = image
	check := func(s *store.Store, when string) {
		t.Helper()
		for n := range 20 {
			for name, want := range map[string]int{"small": 1000 + n, "large": len(large) - n} {
				if got, err := s.FindBatchInput(ctx, name, n); err != nil || len(got) != want {
					t.Fatalf("%s: %s %d has %d bytes, %v, want %d", when, name, n, len(got), err, want)
				}
			}
		}
	}
	free := fillDisk(t, disk, 0)
	for range 2 {
		s = openAgain(t, opts)
		if readOnly, reason := s.State(); !readOnly || reason == "" {
			t.Errorf("state: %v, %q", readOnly, reason)
		}
		check(s, "on a full disk")
		wantReason(t, s.Update(ctx, appendEvent("one")), "store_read_only")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s = openAgain(t, opts)
	defer func() { _ = s.Close() }()
	free()
	coretest.WaitFor(t, "the store to take writes again", func() bool { return s.Update(ctx, appendEvent("one")) == nil })
	check(s, "at the end")
}

// A store is closed on a disk without a byte free, with and without what is kept for that, and nothing is lost. A process of
// its own closes it: what is left as it is stays open until that ends.
func TestCloseOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprintf("ballast %v", kept), func(t *testing.T) {
			disk := smallDisk(t, 256)
			dir := filepath.Join(disk, "store")
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), "STORE_TEST_CLOSE_DIR="+dir)
			var stderr strings.Builder
			child.Stderr = &stderr
			stdin, err := child.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
				t.Fatal(line, err, stderr.String())
			}
			if !kept {
				if err := os.Remove(filepath.Join(dir, "reserve")); err != nil {
					t.Fatal(err)
				}
			}
			free := fillDisk(t, disk, 0)
			if err := errors.Join(stdin.Close(), child.Wait()); err != nil {
				t.Fatal(err, stderr.String())
			}
			free()
			s, err := store.Open(ctx, closedOptions(dir))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			for n := range closedInputs {
				if got, err := s.FindBatchInput(ctx, "batch_1", n); err != nil || len(got) != closedInputSize {
					t.Fatalf("%d: %d bytes, %v", n, len(got), err)
				}
			}
		})
	}
}
