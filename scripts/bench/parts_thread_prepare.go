package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	api "github.com/wardroom/wardroom/sdk/client"
)

// threadPrepare measures a worktree of a large repository from a warm mirror, over the API, beside plain git on the
// same disk. Nothing is deleted before the end: for minutes ext4 passes over the inodes of deleted files, one by one for
// each new file (recently_deleted in the kernel's fs/ext4/ialloc.c), so that a worktree made where another was just
// removed takes ten times as long, with and without us.
func (b *bench) threadPrepare(ctx context.Context) error {
	const files = 50_000
	rounds := 9
	if b.quick {
		rounds = 3
	}
	repo, err := b.repository(ctx, files)
	if err != nil {
		return err
	}
	s, err := b.serve(ctx, "")
	if err != nil {
		return err
	}
	defer s.stop()
	spec := api.ThreadSpec{
		ExecutionID: api.NewExecution, Role: "engineer", Objective: "Fix the flaky parser test", Provision: true,
		Preparation: api.ThreadPreparation{Workspace: &api.WorkspaceSpec{Repo: "file://" + repo, Branch: "main"}},
	}
	mirror := ""
	var ours, plain []time.Duration
	for i := range rounds + 1 {
		start := time.Now()
		plan, err := s.Client.PrepareThread(ctx, spec)
		if err != nil {
			return err
		}
		took := time.Since(start)
		w := plan.Preparation.Workspace
		if _, err := os.Stat(filepath.Join(w.Path, "d99", "e19", fmt.Sprintf("f%05d.go", files-1))); err != nil {
			return fmt.Errorf("the worktree is not whole: %w", err)
		}
		if i == 0 { // the mirror is cloned
			b.add("prepare", fmt.Sprintf("%d files, the first time, with the mirror", files), took.Seconds(), "%.2f s", 0, true, "")
			mirrors := s.mirrors()
			if len(mirrors) != 1 {
				return fmt.Errorf("there are %d mirrors in %s", len(mirrors), s.workspaces())
			}
			mirror = mirrors[0]
		} else {
			ours = append(ours, took)
		}
		if took, err = b.plainWorktree(ctx, "prepare", mirror, w.BaseCommit, i); err != nil {
			return err
		}
		if i > 0 {
			plain = append(plain, took)
		}
	}
	slices.Sort(ours)
	slices.Sort(plain)
	mid, base := ours[rounds/2].Seconds(), plain[rounds/2].Seconds()
	name := fmt.Sprintf("%d files, mirror warm, %d times", files, rounds)
	b.add("prepare", name+": plain git worktree add, p50", base, "%.2f s", 0, true, "the baseline")
	b.add("prepare", name+": prepare over the API, p50", mid, "%.2f s", 1.5, true, fmt.Sprintf("best %.2f s, worst %.2f s", ours[0].Seconds(), ours[rounds-1].Seconds()))
	b.add("prepare", name+": against plain git", mid/base, "%.2f", 1.3, true, fmt.Sprintf("best against best %.2f", ours[0].Seconds()/plain[0].Seconds()))
	return nil
}

// plainWorktree times what git alone does in the core's mirror, the n-th time in a part.
func (b *bench) plainWorktree(ctx context.Context, part, mirror, commit string, n int) (time.Duration, error) {
	name := fmt.Sprintf("plain-%s-%d", part, n)
	start := time.Now()
	err := git(ctx, mirror, nil, "worktree", "add", "-q", "-b", name, filepath.Join(b.dir, name), commit)
	return time.Since(start), err
}
