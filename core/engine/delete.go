package engine

import (
	"context"
	"encoding/json"

	"github.com/wardroom/wardroom/core"
)

// deletedData is the data of EventExecutionDeleted.
type deletedData struct {
	ExecutionID string               `json:"executionId"`
	Pattern     core.PatternRef      `json:"pattern"`
	Status      core.ExecutionStatus `json:"status"`
	DeletedBy   string               `json:"deletedBy,omitempty"`
}

// Delete implements core.ExecutionService. A batch that runs looks at what became of its items, so that they stay until it
// is over.
func (e *Engine) Delete(ctx context.Context, id string) error {
	exec, err := e.store.FindExecution(ctx, id)
	if err != nil {
		return err
	}
	if exec.Status.Terminal() && exec.BatchID != "" {
		b, err := e.store.FindBatch(ctx, exec.BatchID)
		if err != nil && core.ErrorCode(err) != core.CodeNotFound {
			return err
		}
		if err == nil && !b.Status.Terminal() {
			return core.Conflict("execution", id, string(exec.Status), "execution %s belongs to batch %s, which still runs: wait for it or cancel it first", id, b.ID)
		}
	}
	data, err := json.Marshal(deletedData{id, exec.Pattern, exec.Status, core.PrincipalFrom(ctx).ID})
	if err != nil {
		return core.AsError(err)
	}
	return e.store.DeleteExecution(context.WithoutCancel(ctx), id, core.Event{
		ID: e.ids.New(core.PrefixEvent), Type: core.EventExecutionDeleted, Time: e.clock.Now(), Subject: id, Data: data,
	})
}
