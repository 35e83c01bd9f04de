package appliance

import (
	"context"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/erasure"
)

// openErasures makes what exports and erases what is stored of a subject, and goes on with the erasures that were begun.
func (a *App) openErasures() {
	o := erasure.Options{
		Store: a.store, Work: a.engine, Memory: a.memory, Managed: a.runtimes, Workspaces: a.workspaces, Trail: a.audit,
		Schedules: a.schedules, Triggers: a.triggers, Remaining: a.remaining, Clock: a.clock, IDs: a.ids, Logger: a.log.Named("erasures"),
	}
	if a.access != nil {
		o.Sessions = a.access
	}
	a.erasures = erasure.New(o)
	a.erasures.Open()
}

// remaining reports what an erasure leaves of a subject: what others use, and what lies outside of the store.
func (a *App) remaining(ctx context.Context, subject string) ([]core.DataRemainder, error) {
	var list []core.DataRemainder
	add := func(kind string, n int, note string) {
		if n > 0 {
			list = append(list, core.DataRemainder{Kind: kind, Count: n, Note: note})
		}
	}
	if a.access != nil {
		_, info, err := a.access.FindKeys(ctx, core.APIKeyFilter{Owner: subject, Page: core.Page{Limit: 1}})
		if err != nil {
			return nil, err
		}
		add("keys", info.Total, "API keys that name the subject as their owner: revoke them, wardroom auth revoke-key")
	}
	patterns, err := a.store.AllPatterns(ctx)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, p := range patterns {
		if p.CreatedBy == subject {
			n++
		}
	}
	add("patterns", n, "versions of patterns that the subject made, which others run: delete them, or store them anew by somebody else")
	hooks, err := a.store.AllWebhooks(ctx)
	if err != nil {
		return nil, err
	}
	n = 0
	for _, w := range hooks {
		if w.CreatedBy == subject {
			n++
		}
	}
	add("webhooks", n, "endpoints that the subject made: delete them, or make them anew by somebody else")
	connected, err := a.store.AllAgents(ctx)
	if err != nil {
		return nil, err
	}
	n = 0
	for _, r := range connected {
		if r.CreatedBy == subject {
			n++
		}
	}
	add("agents", n, "connected agents that the subject registered: their records go some time after they disconnect")
	if path := a.store.FormerDump(); path != "" {
		add("dumps", 1, path+", the store as it was before an upgrade: delete it, or let the server do so 30 days after the upgrade")
	}
	list = append(list,
		core.DataRemainder{Kind: "dumps", Note: "dumps and backups that were made before: delete them, or let them expire; what is restored of one has to be erased again"},
		core.DataRemainder{Kind: "logs", Note: "the log of the process and the access log, as long as the system keeps them"},
		core.DataRemainder{Kind: "agents", Note: "what agents, receivers of webhooks, and repositories that work was pushed to were given"},
	)
	if sinks := auditSinks(a.config.Load()); len(sinks) > 0 {
		list = append(list, core.DataRemainder{Kind: "auditSinks", Count: len(sinks), Note: "audit records that " + strings.Join(sinks, ", ") + " took, by the retention of each"})
	}
	return list, nil
}
