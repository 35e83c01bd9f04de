package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// Threads that share a mirror, all at once, from the first clone on, while the remote moves and agents commit.
func TestManyShareAMirror(t *testing.T) {
	threads := 200
	if testing.Short() {
		threads = 40
	}
	src := newSource(t)
	r := newRig(t)
	made := make([]*core.Workspace, threads)
	var wg sync.WaitGroup
	run := make(chan struct{}, 16) // agents and calls at the same time; more only wait for a processor
	for i := range threads {
		wg.Add(1)
		go func() {
			defer wg.Done()
			run <- struct{}{}
			defer func() { <-run }()
			w, err := r.ReserveWorkspace(t.Context(), core.WorkspaceRequest{ExecutionID: "exec_1", Role: "coder", Name: "same", Spec: src.spec()})
			if err != nil {
				t.Errorf("%d: reserve: %v", i, err)
				return
			}
			if w, err = r.ProvisionWorkspace(t.Context(), w.ID); err != nil {
				t.Errorf("%d: provision: %v", i, err)
				return
			}
			made[i] = w
			if err := os.WriteFile(filepath.Join(w.Path, "work.txt"), fmt.Appendln(nil, i), 0o644); err != nil {
				t.Errorf("%d: %v", i, err)
			}
			artifacts, err := r.FinishWorkspace(t.Context(), w.ID, core.ThreadFinish{Commit: true, Push: i%8 == 0}, fmt.Sprint("work ", i))
			if err != nil || len(artifacts) == 0 {
				t.Errorf("%d: finish: %v, %v", i, artifacts, err)
			}
		}()
	}
	for i := range 5 {
		src.write("moving.txt", fmt.Sprintln(i))
		src.commit(fmt.Sprint("moved ", i))
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	if len(r.mirrors()) != 1 {
		t.Errorf("mirrors: %v", r.mirrors())
	}
	branches := make(map[string]bool)
	for i, w := range made {
		branches[w.WorkBranch] = true
		changes, err := r.InspectWorkspace(t.Context(), w.ID)
		want := 1
		if i%8 == 0 {
			want = 0
		}
		if err != nil || changes.CommitCount != 1 || changes.Uncommitted != 0 || changes.Unpushed != want {
			t.Errorf("%d: %+v, %v", i, changes, err)
		}
	}
	if len(branches) != threads {
		t.Errorf("%d branches for %d threads", len(branches), threads)
	}
	runGit(t, r.mirror(), nil, "fsck", "--connectivity-only")
}
