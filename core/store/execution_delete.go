package store

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// DeleteExecution implements core.Store. It is what retention does to an execution, at once.
func (s *Store) DeleteExecution(ctx context.Context, id string, event core.Event) error {
	var r *retired
	err := s.view(ctx, func(txn kv.Snapshot) error {
		e, err := executions.read(txn, id)
		if err != nil {
			return err
		}
		if !e.Status.Terminal() {
			return core.Conflict("execution", id, string(e.Status), "execution %s is %s; it can be deleted once it is over, cancel it first", id, e.Status)
		}
		r, _, err = s.retiredExecution(txn, id)
		return err
	})
	if err != nil {
		return err
	}
	held := core.Conflict("execution", id, "", "execution %s has a thread that is not over: stop that first", id)
	if r == nil {
		return held
	}
	_, gone, err := s.removeSome(ctx, []*retired{r}, func(t *tx, r *retired) error {
		old, err := t.execState(r.id)
		switch {
		case err != nil:
			return err
		case !old.exists():
			return core.NotFound("execution", r.id) // somebody else was faster
		case !old.status.Terminal():
			return core.Conflict("execution", r.id, string(old.status), "execution %s is %s", r.id, old.status)
		}
		if err := dropExecution(t, r); err != nil {
			return err
		}
		return t.Append(event)
	})
	if err == nil && gone == 0 {
		err = held
	}
	return err
}
