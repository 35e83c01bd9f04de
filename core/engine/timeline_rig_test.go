package engine_test

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/timeline"
)

// reads returns what reads the journals of the rig: whatever the engine writes, people see it there.
func (r *rig) reads() *timeline.Service { return &timeline.Service{Store: r.store, Clock: r.clock} }

func (r *rig) Timeline(ctx context.Context, id string) (*core.Timeline, error) {
	return r.reads().Timeline(ctx, id)
}

func (r *rig) FindTask(ctx context.Context, executionID, taskID string) (*core.TaskDetail, error) {
	return r.reads().FindTask(ctx, executionID, taskID)
}

func (r *rig) FindStep(ctx context.Context, executionID, path string) (*core.StepDetail, error) {
	return r.reads().FindStep(ctx, executionID, path)
}
