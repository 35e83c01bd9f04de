package docker_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// small mounts a file system that has room for an image, and returns its directory.
func small(t *testing.T) string {
	t.Helper()
	at, err := os.MkdirTemp("", "full")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(at) })
	if err := syscall.Mount("tmpfs", at, "tmpfs", 0, "size=256m"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
	return at
}

// fill writes to a file below a directory until nothing more fits.
func fill(t *testing.T, at string) (file string) {
	t.Helper()
	file = filepath.Join(at, "filler")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1 << 20, 4 << 10, 1} {
		for part := make([]byte, size); err == nil || !errors.Is(err, syscall.ENOSPC); {
			if _, err = f.Write(part); err != nil && !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
		}
		err = nil
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestDiskFull fills the disk of the engine: an agent that runs is not touched, starts fail for that reason, wherever their image comes
// from, and all is well when there is room again.
func TestDiskFull(t *testing.T) {
	need(t)
	at := small(t)
	e, ctx := fresh(t, "--data-root", filepath.Join(at, "data")), within(t)
	c := e.client(t)
	r := startRegistry(t, false)
	ref, packed := r.host+"/lab/full:1", "wardroom/packed:1"
	e.publish(ctx, t, ref, "1")
	archive := filepath.Join(t.TempDir(), "images.tar")
	if err := c.ImageTag(ctx, "wardroom/test:1", packed); err != nil {
		t.Fatal(err)
	}
	stream, err := c.ImageSave(ctx, []string{packed})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadFrom(stream); err != nil {
		t.Fatal(err)
	}
	_, err = c.ImageRemove(ctx, packed, imageRemove)
	if err := errors.Join(err, f.Close(), stream.Close()); err != nil {
		t.Fatal(err)
	}
	rt := e.plugin(t, map[string]any{
		"pull": "if-missing", "archives": []string{archive}, "images": map[string]string{"pulled": ref, "packed": packed},
	}).Conn().Runtime()
	a := spawn(ctx, t, rt, shell(id(t)))
	say(ctx, t, rt, a.ID, "x=kept")
	filler := fill(t, at)
	specs := map[string]runtime.Spec{}
	for _, kind := range []string{"shell", "pulled", "packed"} {
		spec := shell(id(t) + "-" + kind)
		spec.Type = kind
		specs[kind] = spec
		_, err := rt.Spawn(ctx, spec)
		wantError(t, err, runtime.CodeResourceLimit, "no space left on device")
		if left := e.containers(ctx, t, spec.ID); len(left) > 0 {
			t.Errorf("%s: %d containers are left", kind, len(left))
		}
	}
	if got := say(ctx, t, rt, a.ID, "echo $x"); got != "kept" {
		t.Errorf("the agent that runs says %q", got)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for kind, spec := range specs {
		if spawn(ctx, t, rt, spec); say(ctx, t, rt, spec.ID, "echo x") != "x" {
			t.Errorf("%s does not start", kind)
		}
	}
	for _, spec := range specs {
		if err := rt.Stop(ctx, spec.ID, runtime.StopOptions{Force: true}); err != nil {
			t.Error(err)
		}
	}
}
