package threads

import (
	"cmp"
	"context"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
)

// finish works out the end that was decided on: the agent ends, what it left in the workspace is looked at and
// finished, and the outcome is stored. It goes on from where a crash left it. It returns early when the service
// closes.
func (t *thread) finish() {
	if !t.endAgent(t.ctx) {
		return
	}
	if !t.record().Ending.Finished && !t.wrapUp(t.ctx) {
		return
	}
	ending := &outcome{}
	if t.must(t.ctx, func(c *change) error { return c.conclude(ending) }) {
		fields := []any{"status", t.record().Status}
		if reason := t.record().StatusReason; reason != "" {
			fields = append(fields, "reason", reason)
		}
		t.log.Info("a thread is over", fields...)
		if !ending.keep {
			t.s.forgetAdHoc(t.execution)
		}
		t.s.retire(t)
	}
}

// endAgent ends the agent of the thread. It returns once nothing of it runs, or false when ctx ended.
func (t *thread) endAgent(ctx context.Context) bool {
	if t.isRemote() {
		return t.endRemote(ctx)
	}
	var retry pause.Backoff
	for ctx.Err() == nil {
		err := t.endManaged(ctx)
		if err == nil {
			return true
		}
		t.log.Debug("the agent of a thread is not ended yet", "error", err)
		if !t.s.pause(ctx, retry.Next()) {
			return false
		}
	}
	return false
}

func (t *thread) endManaged(ctx context.Context) error {
	r := t.record()
	id, forced := r.ManagedAgentID, r.Ending.Force
	if id == "" {
		if !r.Begun {
			return nil
		}
		a, known, err := t.newest(ctx)
		if err != nil || a == nil {
			return err
		}
		id = a.ID
		forced = forced || !known && !t.s.configured(ctx, a.Runtime) // it is given up: whether it runs is not known
	}
	ctx = core.OnBehalf(ctx, r.Ending.By)
	select {
	case t.s.stops <- struct{}{}:
		defer func() { <-t.s.stops }()
	case <-ctx.Done():
		return ctx.Err()
	}
	// Asked for again while it goes on, a stop by force overtakes one with grace.
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	t.s.tasks.Go(func() {
		if !forced && t.await(stop, nil, func(r *core.ThreadRecord) bool { return r.Ending != nil && r.Ending.Force }) {
			_ = t.s.opts.ManagedAgents.StopManagedAgent(stop, id, core.ManagedAgentStop{Force: true}) // the first call tells
		}
	})
	err := t.s.opts.ManagedAgents.StopManagedAgent(ctx, id, core.ManagedAgentStop{
		Grace: time.Duration(r.Ending.GraceMs) * time.Millisecond, Force: forced,
	})
	if core.ErrorCode(err) == core.CodeNotFound {
		return nil
	}
	return err
}

// wrapUp does the finish actions of a thread that completes, and looks at what any thread left in its repository. It
// returns false when ctx ended.
func (t *thread) wrapUp(ctx context.Context) bool {
	r := t.record()
	var artifacts []core.Artifact
	var changes *core.WorkspaceChanges
	var failure error
	if r.Workspace != nil && r.Workspace.Repo != "" && r.Workspace.Status != core.WorkspaceReserved {
		ws, finish := r.Workspace.ID, r.Policy.Finish
		if r.Ending.Status == core.ThreadCompleted && finish != nil && (finish.Commit || finish.Push) && r.Ending.State != core.CompletionFailed {
			message := cmp.Or(finish.Message, clip.Text(r.Objective, maxSummary))
			failure = t.tryOften(ctx, func() (err error) {
				artifacts, err = t.s.opts.Workspaces.FinishWorkspace(ctx, ws, *finish, message)
				return err
			})
		}
		if err := t.tryOften(ctx, func() (err error) {
			changes, err = t.s.opts.Workspaces.InspectWorkspace(ctx, ws)
			return err
		}); err != nil && ctx.Err() == nil {
			t.log.Warn("a workspace cannot be looked at", "workspace", ws, "error", err)
		}
	}
	if ctx.Err() != nil {
		return false
	}
	return t.must(ctx, func(c *change) error {
		ending := *c.rec.Ending
		ending.Finished, ending.Artifacts, ending.Changes = true, artifacts, changes
		if failure != nil {
			t.log.Warn("the finish actions of a thread failed", "error", failure)
			if ending.State == core.CompletionComplete {
				ending.State = core.CompletionPartial
			}
			if ending.Summary == "" {
				ending.Summary = c.summaryOf(&ending)
			}
			ending.Summary += "\n\nThe work was not committed or pushed as asked: " + clip.Text(core.AsError(failure).Message, 1000)
		}
		c.rec.Ending = &ending
		return nil
	})
}

// tryOften calls fn until it succeeds, fails for good, or failed in passing too often.
func (t *thread) tryOften(ctx context.Context, fn func() error) error {
	var retry pause.Backoff
	for tries := 1; ; tries++ {
		err := fn()
		if err == nil || !runtimecode.Passing(err) || tries >= maxTries {
			return err
		}
		if !t.s.pause(ctx, retry.Next()) {
			return ctx.Err()
		}
	}
}
