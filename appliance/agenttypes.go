package appliance

import (
	"context"
	"maps"
	"slices"
)

// wellKnownTypes are the agent types that every runtime is made for. A definition may name them whatever the
// runtimes say at the moment.
var wellKnownTypes = []string{"claude", "codex", "gemini"}

// agentTypes are those that roles of org charts may name: the well-known ones, the declared ones, and what the
// runtimes offer beside them.
func (a *App) agentTypes(ctx context.Context) []string {
	types := slices.AppendSeq(slices.Clone(wellKnownTypes), maps.Keys(a.config.Load().AgentTypes))
	if a.runtimes != nil {
		for _, r := range a.runtimes.Runtimes(ctx) {
			types = append(types, r.Types...)
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}
