package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/workspace"
)

// sized makes an empty workspace of a thread and puts bytes into it.
func (r *rig) sized(name string, bytes int) *core.Workspace {
	r.t.Helper()
	w := r.provision(name, core.WorkspaceSpec{})
	r.adopt(w.ID, "thread_"+name)
	r.store.putThread("thread_"+name, core.ThreadRunning)
	write(r.t, filepath.Join(w.Path, "data"), strings.Repeat("x", bytes))
	return w
}

func (r *rig) over(name, id string) {
	r.t.Helper()
	r.store.putThread("thread_"+name, core.ThreadCompleted)
	r.release(id)
	r.clock.Advance(time.Second)
}

// What agents write counts against the quota, though nobody asked for it, and a workspace that outgrew its own bound says so.
func TestSizeIsMeasuredLater(t *testing.T) {
	r := newRig(t, func(o *workspace.Options) { o.Config.MaxBytes, o.Config.MaxTotalBytes = 2<<20, 5<<20 })
	w := r.sized("one", 3<<20)
	if got := r.find(w.ID); got.SizeBytes > 1<<20 {
		t.Fatalf("%d bytes are known already", got.SizeBytes)
	}
	r.sweep()
	got := r.find(w.ID)
	if got.SizeBytes < 3<<20 || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "threads.workspaces.maxBytes") {
		t.Errorf("%d bytes, warnings %q", got.SizeBytes, got.Warnings)
	}
	r.sized("two", 3<<20)
	r.sweep()
	_, err := r.ReserveWorkspace(t.Context(), core.WorkspaceRequest{ExecutionID: "exec_1"})
	wantError(t, err, core.CodeRateLimited, "maxTotalBytes")
	// What shrinks again is welcome again.
	write(t, filepath.Join(w.Path, "data"), "")
	r.sweep()
	if got := r.find(w.ID); got.SizeBytes > 1<<20 || len(got.Warnings) != 0 {
		t.Errorf("%d bytes, warnings %q", got.SizeBytes, got.Warnings)
	}
	if _, err := r.ReserveWorkspace(t.Context(), core.WorkspaceRequest{ExecutionID: "exec_1"}); err != nil {
		t.Error(err)
	}
}

// A file with a hole takes what was written of it, so a huge one neither has other threads refused nor workspaces removed.
func TestHolesTakeNoSpace(t *testing.T) {
	r := newRig(t, func(o *workspace.Options) {
		o.Config.MaxBytes, o.Config.MaxTotalBytes, o.Config.MaxReleasedBytes = 2<<20, 5<<20, 5<<20
	})
	old := r.sized("old", 1<<20)
	r.over("old", old.ID)
	w := r.sized("one", 1<<20)
	if err := os.Truncate(filepath.Join(w.Path, "data"), 1<<40); err != nil {
		t.Fatal(err)
	}
	r.sweep()
	if got := r.find(w.ID); got.SizeBytes < 1<<20 || got.SizeBytes > 2<<20 || len(got.Warnings) > 0 {
		t.Errorf("%d bytes, warnings %q", got.SizeBytes, got.Warnings)
	}
	if _, err := r.ReserveWorkspace(t.Context(), core.WorkspaceRequest{ExecutionID: "exec_1"}); err != nil {
		t.Error(err)
	}
	r.over("one", w.ID)
	r.sweep()
	if got := r.find(old.ID); got.Status != core.WorkspaceReleased {
		t.Errorf("the workspace of another thread is %s", got.Status)
	}
}

// Beyond a size the oldest released workspaces go first, and none that is in use or holds work that is nowhere else.
func TestRetentionBySize(t *testing.T) {
	src := newSource(t)
	r := newRig(t, func(o *workspace.Options) { o.Config.MaxReleasedBytes = 5 << 20 })
	running := r.sized("running", 4<<20)
	dirty := r.provision("dirty", src.spec())
	r.adopt(dirty.ID, "thread_dirty")
	write(t, filepath.Join(dirty.Path, "new"), strings.Repeat("x", 2<<20))
	r.over("dirty", dirty.ID)
	var done []*core.Workspace
	for _, name := range []string{"a", "b", "c"} {
		done = append(done, r.sized(name, 2<<20))
	}
	for _, i := range []int{1, 0, 2} { // the end of a thread counts, not its beginning
		r.over([]string{"a", "b", "c"}[i], done[i].ID)
	}
	usage := func() *core.WorkspaceUsage {
		t.Helper()
		u, err := r.WorkspaceUsage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	if u := usage(); u.Count != 5 || u.ReleasedCount != 4 || u.MaxReleasedBytes != 5<<20 {
		t.Errorf("%+v", u)
	}
	r.sweep()
	r.sweep() // which finds all as it must be
	for w, want := range map[*core.Workspace]core.WorkspaceStatus{
		running: core.WorkspaceReady, dirty: core.WorkspaceReleased,
		done[1]: core.WorkspaceRemoved, done[0]: core.WorkspaceRemoved, done[2]: core.WorkspaceReleased,
	} {
		if got := r.find(w.ID); got.Status != want {
			t.Errorf("%s (%s) is %s and not %s", w.ID, w.ThreadID, got.Status, want)
		}
	}
	if exists(done[1].Path) || !exists(done[2].Path) || !exists(filepath.Join(dirty.Path, "new")) || !exists(filepath.Join(running.Path, "data")) {
		t.Error("the wrong files are gone")
	}
	r.over("running", running.ID)
	r.sweep()
	if u := usage(); u.Count != 1 || u.ReleasedBytes > 5<<20 || u.Remove != 0 {
		t.Errorf("%+v", u)
	}
	if got := r.find(dirty.ID); got.Status != core.WorkspaceReleased {
		t.Errorf("that with changes is %s", got.Status)
	}
}
