package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
)

const (
	measureBudget = sweepInterval / 5 // that one sweep spends on looking at what workspaces take
	sizeStep      = 256 << 10         // a difference in bytes that is worth a write
)

// overSize begins the warning about a workspace that takes more than it may.
const overSize = "it takes "

// measure looks at what workspaces take on disk, and stores it. It is called by the sweep alone: requests go by what is
// stored. A released workspace does not change, so one look at it is enough. What does not fit into the time of one
// sweep is for the next one, which goes on where this one ends.
func (s *Service) measure(ctx context.Context, all []*core.Workspace) error {
	began := s.opts.Clock.Now()
	after := max(0, slices.IndexFunc(all, func(w *core.Workspace) bool { return w.ID > s.measured }))
	released := make(map[string]bool, len(s.settled))
	for id := range s.settled {
		released[id] = true
	}
	clear(s.settled)
	for _, w := range all { // those that are gone are forgotten
		if w.Status == core.WorkspaceReleased && released[w.ID] {
			s.settled[w.ID] = true
		}
	}
	for i := range all {
		w := all[(after+i)%len(all)]
		if w.Status != core.WorkspaceReady && (w.Status != core.WorkspaceReleased || s.settled[w.ID]) {
			continue
		}
		if err := s.measureOne(ctx, w); err != nil {
			return err
		}
		if s.measured = w.ID; w.Status == core.WorkspaceReleased {
			s.settled[w.ID] = true
		}
		if s.opts.Clock.Now().Sub(began) > measureBudget {
			break
		}
	}
	return nil
}

// measureOne stores what one workspace takes, where it differs from what is known.
func (s *Service) measureOne(ctx context.Context, w *core.Workspace) error {
	size := diskUse(s.treePath(w.ID))
	warnings := slices.DeleteFunc(slices.Clone(w.Warnings), func(text string) bool { return strings.HasPrefix(text, overSize) })
	if most := s.config().MaxBytes; most > 0 && size > most {
		warnings = append(warnings, fmt.Sprintf("%s%d bytes, and may take %d (threads.workspaces.maxBytes)", overSize, size, most))
		if len(warnings) > len(w.Warnings) {
			s.log.Warn("a workspace takes more than it may", "workspace", w.ID, "thread", w.ThreadID, "bytes", size, "maxBytes", most)
		}
	}
	if difference := size - w.SizeBytes; difference < sizeStep && difference > -sizeStep && len(warnings) == len(w.Warnings) {
		return ctx.Err()
	}
	_, err := s.change(ctx, w.ID, func(latest *core.Workspace) error {
		if latest.Status == w.Status {
			latest.SizeBytes, latest.Warnings = size, warnings
		}
		return nil
	})
	if core.ErrorCode(err) == core.CodeNotFound {
		return nil
	}
	if err == nil {
		w.SizeBytes = size
	}
	return err
}

// retainBySize removes workspaces whose thread is over, the oldest first, while they take more than they may together. Work
// that is nowhere else stays.
func (s *Service) retainBySize(ctx context.Context, all []*core.Workspace) error {
	most := s.config().MaxReleasedBytes
	if most <= 0 {
		return nil
	}
	released, sum := oldestReleased(all)
	var failed error
	for _, w := range released {
		if sum <= most {
			return failed
		}
		pruned, err := s.prune(ctx, w.ID, true, core.WorkspacePrune{})
		if err != nil && ctx.Err() != nil {
			return err
		}
		failed = firstError(failed, err)
		if pruned.Removed {
			sum -= w.SizeBytes
			s.log.Info("a workspace was removed before its time: those of threads that are over take more than they may",
				"workspace", w.ID, "bytes", pruned.FreedBytes)
		}
	}
	return failed
}

// oldestReleased returns the released workspaces, the oldest first, and what they take together.
func oldestReleased(all []*core.Workspace) (released []*core.Workspace, sum int64) {
	for _, w := range all {
		if w.Status == core.WorkspaceReleased {
			released, sum = append(released, w), sum+w.SizeBytes
		}
	}
	slices.SortStableFunc(released, func(a, b *core.Workspace) int { return releasedAt(a).Compare(releasedAt(b)) })
	return released, sum
}

// releasedAt orders released workspaces by the end of their threads: all have the same time to live.
func releasedAt(w *core.Workspace) time.Time {
	if w.ExpiresAt == nil {
		return w.CreatedAt
	}
	return *w.ExpiresAt
}

// WorkspaceUsage implements core.WorkspaceService.
func (s *Service) WorkspaceUsage(ctx context.Context) (*core.WorkspaceUsage, error) {
	all, err := s.opts.Store.AllWorkspaces(ctx)
	if err != nil {
		return nil, err
	}
	cfg, now := s.config(), s.opts.Clock.Now()
	u := &core.WorkspaceUsage{
		MaxCount: cfg.MaxWorkspaces, MaxBytes: cfg.MaxBytes, MaxTotalBytes: cfg.MaxTotalBytes, MaxReleasedBytes: cfg.MaxReleasedBytes,
	}
	old := map[string]bool{}
	released, sum := oldestReleased(all)
	for i := 0; cfg.MaxReleasedBytes > 0 && i < len(released) && sum > cfg.MaxReleasedBytes; i++ {
		old[released[i].ID], sum = true, sum-released[i].SizeBytes
	}
	for _, w := range all {
		if w.Status == core.WorkspaceRemoved {
			continue
		}
		u.Count, u.Bytes = u.Count+1, u.Bytes+w.SizeBytes
		if w.Status == core.WorkspaceReleased {
			u.ReleasedCount, u.ReleasedBytes = u.ReleasedCount+1, u.ReleasedBytes+w.SizeBytes
		}
		if w.Kept != "" {
			u.KeptCount, u.KeptBytes = u.KeptCount+1, u.KeptBytes+w.SizeBytes
		}
		if old[w.ID] || w.ExpiresAt != nil && !now.Before(*w.ExpiresAt) {
			u.Remove++
		}
	}
	return u, nil
}
