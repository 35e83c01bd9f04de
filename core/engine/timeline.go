package engine

import (
	"context"

	"github.com/wardroom/wardroom/core"
)

// Timeline implements core.ExecutionService.
func (e *Engine) Timeline(ctx context.Context, id string) (*core.Timeline, error) {
	exec, err := e.store.FindExecution(ctx, id)
	if err != nil {
		return nil, err
	}
	return &core.Timeline{ExecutionID: id, Pattern: exec.Pattern, Status: exec.Status}, nil
}
