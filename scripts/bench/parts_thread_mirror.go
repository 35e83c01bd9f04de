package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	api "github.com/wardroom/wardroom/sdk/client"
)

// threadMirror measures many threads of one repository: shells of the local runtime, each in a worktree of its own,
// and all of one mirror.
func (b *bench) threadMirror(ctx context.Context) error {
	n, files := 200, 1000
	if b.quick {
		n, files = 20, 500
	}
	repo, err := b.repository(ctx, files)
	if err != nil {
		return err
	}
	m, err := b.serveManaged(ctx)
	if err != nil {
		return err
	}
	defer m.close()
	warm, err := m.Client.PrepareThread(ctx, api.ThreadSpec{
		ExecutionID: api.NewExecution, Provision: true, Preparation: api.ThreadPreparation{Workspace: &api.WorkspaceSpec{Repo: "file://" + repo}},
	})
	if err != nil {
		return err
	}
	mirrors := m.mirrors()
	if len(mirrors) != 1 {
		return fmt.Errorf("there are %d mirrors of one repository", len(mirrors))
	}
	alone, err := b.plainWorktree(ctx, "mirror", mirrors[0], warm.Preparation.Workspace.BaseCommit, 0)
	if err != nil {
		return err
	}
	execution := ""
	before, start := testbed.CPUTime(m.PID()), time.Now()
	if execution, err = m.spawnThreads(ctx, n, repo); err != nil {
		return err
	}
	asked := time.Since(start)
	err = testbed.Until(ctx, 5*time.Minute, fmt.Sprintf("%d threads are ready", n), func(ctx context.Context) (bool, error) {
		if err := testbed.Pause(ctx, 100*time.Millisecond); err != nil { // so that the core does something else than to answer
			return false, err
		}
		for _, status := range []string{api.ThreadFailed, api.ThreadStopped} {
			list, err := m.Client.ListThreads(ctx, api.ThreadFilter{ExecutionID: execution, Status: status, Page: api.Page{Limit: 1}})
			if err != nil {
				return false, err
			}
			if list.Total > 0 {
				return false, fmt.Errorf("thread %s is %s: %v", list.Threads[0].ID, status, list.Threads[0].Error)
			}
		}
		list, err := m.Client.ListThreads(ctx, api.ThreadFilter{ExecutionID: execution, Status: api.ThreadReady, Page: api.Page{Limit: 1}})
		return err == nil && list.Total == n, err
	})
	if err != nil {
		return err
	}
	took, cpu := time.Since(start), testbed.CPUTime(m.PID())-before
	name := fmt.Sprintf("%d threads of one repository, %d files each", n, files)
	b.add("mirror", name+": all acknowledged", asked.Seconds(), "%.1f s", 0, true, "")
	b.add("mirror", name+": all have a worktree and a shell that is ready", took.Seconds(), "%.1f s", 0, true,
		fmt.Sprintf("%.2f s each; git worktree add alone %.2f s", took.Seconds()/float64(n), alone.Seconds()))
	b.add("mirror", name+": CPU of the core each", perStep(cpu, n), "%.1f ms", 0, true, "without git's")
	if mirrors = m.mirrors(); len(mirrors) != 1 {
		return fmt.Errorf("there are %d mirrors of one repository", len(mirrors))
	}
	mirror, err := onDisk(mirrors[0])
	if err != nil {
		return err
	}
	trees, err := onDisk(filepath.Join(m.workspaces(), "trees"))
	if err != nil {
		return err
	}
	objects, err := onDisk(filepath.Join(mirrors[0], "objects"))
	if err != nil {
		return err
	}
	b.add("mirror", name+": the mirror on disk", mirror, "%.1f MiB", 0, true, fmt.Sprintf("%.1f MiB of objects, for all; the rest is git's index of each", objects))
	b.add("mirror", name+": the worktrees on disk", trees, "%.0f MiB", 0, true, fmt.Sprintf("%.2f MiB each", trees/float64(n+1)))
	b.add("mirror", name+": memory of the core", rss(m.PID()), "%.0f MiB", 0, true, fmt.Sprintf("%.0f MiB without mapped files", anonymous(m.PID())))
	return nil
}

// spawnThreads spawns threads of one execution, some at a time.
func (m *managed) spawnThreads(ctx context.Context, n int, repo string) (execution string, err error) {
	spec := api.ThreadSpec{
		ExecutionID: api.NewExecution, AgentType: "shell", Role: "engineer",
		Preparation: api.ThreadPreparation{Workspace: &api.WorkspaceSpec{Repo: "file://" + repo, Branch: "main"}},
	}
	first, err := m.Client.SpawnThread(ctx, spec)
	if err != nil {
		return "", err
	}
	spec.ExecutionID = first.ExecutionID
	var wg sync.WaitGroup
	failed := make(chan error, n)
	gate := make(chan struct{}, 8)
	for range n - 1 {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			if _, err := m.Client.SpawnThread(ctx, spec); err != nil {
				failed <- err
			}
		})
	}
	wg.Wait()
	select {
	case err = <-failed:
	default:
	}
	return first.ExecutionID, err
}
