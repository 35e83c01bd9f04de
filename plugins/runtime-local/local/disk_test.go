package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestDiskFull fills the disk under the runtime: what runs goes on, nothing starts, and it is over by itself.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m,mode=700"); err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
			t.Fatalf("a small disk cannot be mounted: %v", err)
		}
		t.Skipf("a small disk cannot be mounted, which takes root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	r := shells(t, dir, open(t, dir, nil))
	if _, err := r.Spawn(t.Context(), runtime.Spec{ID: "a", Type: "shell"}); err != nil {
		t.Fatal(err)
	}
	before := status(t, r, "a", runtime.StatusReady)
	ask(t, r, "a", "x=kept")

	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	_ = f.Close()

	for range 3 {
		if got := ask(t, r, "a", "echo $x"); got != "kept" {
			t.Errorf("with a full disk the shell answers %q", got)
		}
	}
	// A message whose repeat could not be recognised is not typed.
	_, err = r.Send(t.Context(), "a", runtime.Input{Message: "echo $x", ID: "i1", ExpectResponse: true})
	if code := runtime.ErrorCode(err); code != runtime.CodeInternal {
		t.Errorf("a message with an id: %v", err)
	}
	_, err = r.Spawn(t.Context(), runtime.Spec{ID: "b", Type: "shell"})
	if code := runtime.ErrorCode(err); code != runtime.CodeSpawnFailed {
		t.Errorf("a start: %v", err)
	}
	if a, err := r.Inspect(t.Context(), "b"); runtime.ErrorCode(err) != runtime.CodeNotFound {
		t.Errorf("what did not start: %+v, %v", a, err)
	}
	if after := status(t, r, "a", runtime.StatusReady); after.PID != before.PID {
		t.Errorf("pid %d, was %d", after.PID, before.PID)
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if res, err := r.Send(t.Context(), "a", runtime.Input{Message: "echo $x", ID: "i1", ExpectResponse: true}); err != nil || res.Response.Text != "kept" {
		t.Errorf("with room again: %+v, %v", res, err)
	}
	if _, err := r.Spawn(t.Context(), runtime.Spec{ID: "b", Type: "shell"}); err != nil {
		t.Errorf("a start with room again: %v", err)
	}
	status(t, r, "b", runtime.StatusReady)
}
