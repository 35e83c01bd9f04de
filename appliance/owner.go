package appliance

import (
	"context"
	"maps"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/threads"
)

// owner is what something belongs to: an execution, or the pattern itself. It belongs to none if both are empty.
type owner struct {
	by                   string // who made it; "": who made the execution
	executionID, pattern string
	pinned               []string // hashes of what it runs
}

// findOwner returns the owner of what has an id. NOT_FOUND.
type findOwner func(ctx context.Context, a *App, id string) (owner, error)

// owners find the owners of what may belong to a pattern, by the prefixes of ids.
var owners = map[string]findOwner{
	core.PrefixExecution: func(_ context.Context, _ *App, id string) (owner, error) { return owner{executionID: id}, nil },
	core.PrefixThread: ownerIn(func(a *App) finder[core.ThreadRecord] { return a.store.FindThread }, func(t *core.ThreadRecord) owner {
		return owner{by: t.CreatedBy, executionID: t.ExecutionID}
	}),
	core.PrefixQuestion: ownerIn(func(a *App) finder[core.Question] { return a.store.FindQuestion }, func(q *core.Question) owner {
		return owner{executionID: q.ExecutionID}
	}),
	core.PrefixWorkspace: ownerIn(func(a *App) finder[core.Workspace] { return a.store.FindWorkspace }, func(w *core.Workspace) owner {
		return owner{executionID: asExecution(w.ExecutionID)} // else it is prepared for an execution to come
	}),
	core.PrefixBatch: ownerIn(func(a *App) finder[core.Batch] { return a.store.FindBatch }, func(b *core.Batch) owner {
		return owner{by: b.CreatedBy, pattern: b.Pattern.Name, pinned: append(slices.Collect(maps.Values(b.Pins)), b.Hash)}
	}),
	core.PrefixSchedule: ownerIn(func(a *App) finder[core.Schedule] { return a.schedules.FindSchedule }, func(s *core.Schedule) owner {
		executionID, pattern := aboutTarget(&s.Target)
		return owner{by: s.RunsAs, executionID: executionID, pattern: pattern}
	}),
	core.PrefixTrigger: ownerIn(func(a *App) finder[core.Trigger] { return a.triggers.FindTrigger }, func(t *core.Trigger) owner {
		executionID, pattern := aboutTarget(&t.Target)
		return owner{by: t.Principal.ID, executionID: executionID, pattern: pattern}
	}),
	core.PrefixManaged: ownerIn(func(a *App) finder[core.ManagedAgent] { return a.runtimes.FindManagedAgent }, func(m *core.ManagedAgent) owner {
		return owner{executionID: asExecution(m.Labels[threads.LabelExecution])}
	}),
}

// finder returns what has an id. NOT_FOUND.
type finder[T any] func(ctx context.Context, id string) (*T, error)

// ownerIn finds something in a service, and its owner in that.
func ownerIn[T any](in func(a *App) finder[T], of func(found *T) owner) findOwner {
	return func(ctx context.Context, a *App, id string) (owner, error) {
		found, err := in(a)(ctx, id)
		if err != nil {
			return owner{}, err
		}
		return of(found), nil
	}
}

// asExecution returns the id of an execution, and "" for what is none.
func asExecution(id string) string {
	if core.ValidID(core.PrefixExecution, id) {
		return id
	}
	return ""
}
