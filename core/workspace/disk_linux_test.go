package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/workspace"
)

func TestDiskFull(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	src := newSource(t)
	for i := range 20 { // compresses well: the mirror fits, the checkout does not
		src.write("large"+string(rune('a'+i)), strings.Repeat("all the same\n", 40_000))
	}
	src.commit("large")
	r := newRig(t, func(o *workspace.Options) { o.Root = filepath.Join(disk, "root") })
	w := r.reserve("x", src.spec())
	_, err := r.ProvisionWorkspace(t.Context(), w.ID)
	if e := wantError(t, err, core.CodeInternal, "disk of the workspaces is full"); e.Details["reason"] != "disk_full" {
		t.Errorf("%+v", e)
	}
	if got := r.find(w.ID); got.Status != core.WorkspaceReserved {
		t.Errorf("%+v", got)
	}
	if entries, _ := os.ReadDir(filepath.Join(disk, "root", "trees")); len(entries) != 0 {
		t.Errorf("left: %v", entries)
	}
	if left, _ := filepath.Glob(filepath.Join(disk, "root/mirrors/*/worktrees/*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	// With room for it, the same workspace is made.
	if err := unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	if made, err := r.ProvisionWorkspace(t.Context(), w.ID); err != nil || made.WorkBranch != w.WorkBranch {
		t.Errorf("%+v, %v", made, err)
	}
}

// An update that the disk has no room for is put back, at the latest once there is room, however far it came.
func TestUpdateOnAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	src := newSource(t)
	text := func(text string) {
		for i := range 10 {
			src.write("f"+string(rune('a'+i)), strings.Repeat(text, 3000))
		}
	}
	text("before\n")
	src.commit("before")
	r := newRig(t, func(o *workspace.Options) { o.Root = filepath.Join(disk, "root") })
	w := r.provision("x", src.spec())
	text("after, and longer\n")
	src.write("new/file", strings.Repeat("new\n", 20_000))
	src.commit("after")
	filler := filepath.Join(disk, "filler")
	for _, room := range []int64{0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 80, 96, 128, 192, 256, 320, 384, 448} {
		f, err := os.Create(filler)
		if err != nil {
			t.Fatal(err)
		}
		var size int64
		for block := make([]byte, 4<<10); err == nil; size += int64(len(block)) {
			_, err = f.Write(block)
		}
		if err := errors.Join(f.Truncate(max(size-(room+4)<<10, 0)), f.Close()); err != nil {
			t.Fatal(err)
		}
		_, failed := r.UpdateWorkspace(soon(t), w.ID, core.WorkspaceMerge)
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		if failed == nil {
			return
		}
		if e := core.AsError(failed); e.Details["failure"] != "disk_full" {
			t.Errorf("with room for %d KiB: %v", room, failed)
		}
		if _, err := r.InspectWorkspace(soon(t), w.ID); err != nil {
			t.Errorf("with room for %d KiB: %v", room, err)
		}
		if status := r.agentGit(w, "status", "--porcelain"); status != "" {
			t.Errorf("with room for %d KiB: status %q", room, status)
		}
	}
	t.Error("there is no room for it at all")
}
