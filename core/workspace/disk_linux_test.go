package workspace_test

import (
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
