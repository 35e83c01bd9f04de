package appliance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/health"
	"github.com/wardroom/wardroom/core/roles"
	"github.com/wardroom/wardroom/core/runtimes"
	"github.com/wardroom/wardroom/core/threads"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeclient "github.com/wardroom/wardroom/sdk/runtime/client"
)

// openRuntimes joins the runtimes of the configuration, plugins and servers alike, to the managed agents.
func (a *App) openRuntimes(ctx context.Context) error {
	installation, err := a.store.Installation(ctx, func() string { return a.ids.New(core.PrefixInstall) })
	if err != nil {
		return fmt.Errorf("read the id of the installation: %w", err)
	}
	c := a.config.Load()
	var sources []runtimes.Source
	for _, name := range slices.Sorted(maps.Keys(c.Runtimes)) {
		source, err := a.source(ctx, name, c.Runtimes[name])
		if err != nil {
			return err
		}
		sources = append(sources, a.watched(source, c.Runtimes[name]))
	}
	a.runtimes = runtimes.New(runtimes.Options{
		Store: a.store, Streams: a.streams, Clock: a.clock, IDs: a.ids, Logger: a.log.Named("runtimes"),
		Installation: installation, Sources: sources, Types: declaredTypes(c), KnownTypes: wellKnownTypes, KeepStopped: c.Store.Retention.Agents,
		Older: a.store.Older, Approver: a.approvals, Typing: a.recordTyping,
		Secrets: a.secrets.Requested("agents"), TypeSecrets: a.secrets.Configured("agents"),
		Restartable: a.restartable,
	})
	return a.runtimes.Open(ctx)
}

// restartable refuses a restart of an agent whose thread or execution is over: nothing would supervise it, and another agent may
// work in its workspace by now.
func (a *App) restartable(ctx context.Context, r *core.ManagedAgentRecord) error {
	var (
		what, id, hint string
		over           bool
		err            error
	)
	labels := r.Spec.Labels
	switch {
	case labels[threads.LabelThread] != "":
		what, id, hint = "thread", labels[threads.LabelThread], "continue the thread, or begin another one"
		var t *core.ThreadRecord
		t, err = a.store.FindThread(ctx, id)
		over = err == nil && t.Status.Terminal()
	case labels[roles.LabelRole] != "":
		what, id, hint = "execution", labels[roles.LabelExecution], "run the execution again"
		var e *core.Execution
		e, err = a.store.FindExecution(ctx, id)
		over = err == nil && e.Status.Terminal()
	}
	if over || core.ErrorCode(err) == core.CodeNotFound {
		return core.Conflict("managed agent", r.ID, string(r.Status), "agent %s was started for %s %s, which is over; %s", r.ID, what, id, hint)
	}
	return err
}

// source makes one runtime of the configuration usable, and changes nothing.
func (a *App) source(ctx context.Context, name string, r *config.Runtime) (runtimes.Source, error) {
	source := runtimes.Source{Name: name, Priority: r.Priority}
	if r.Plugin != "" {
		source.Runtime = a.plugins.Runtime(r.Plugin)
		source.State = func() (bool, string) { return a.plugins.Reachable(r.Plugin) }
		source.Takes = func() (bool, string) {
			p, err := a.plugins.FindPlugin(context.Background(), r.Plugin)
			if err != nil {
				return false, core.AsError(err).Message
			}
			return p.Health != plugin.StatusFailed, p.HealthReason
		}
		return source, nil
	}
	client, err := runtimeclient.New(runtimeclient.Options{URL: r.URL, Token: r.Token.Reveal()})
	if err != nil {
		return source, core.Invalid("runtimes."+name+".url", "%s", err)
	}
	if r.Required {
		if _, err := client.Capabilities(ctx); err != nil {
			client.CloseIdle()
			return source, core.Errorf(core.CodeInternal,
				"the runtime %s is required and does not answer at %s: start its server, or set runtimes.%s.required to false",
				name, r.URL, name).WithCause(err)
		}
	}
	source.Runtime = client
	return source, nil
}

// watched has the service follow what becomes of a source, for as long as it runs.
func (a *App) watched(source runtimes.Source, r *config.Runtime) runtimes.Source {
	if r.Plugin != "" {
		changed := make(chan struct{}, 1)
		a.plugins.OnReady(r.Plugin, func(runtime.Runtime) {
			select {
			case changed <- struct{}{}:
			default: // it will look anyway
			}
		})
		source.Changed = changed
		return source
	}
	if client, ok := source.Runtime.(*runtimeclient.Client); ok {
		a.clients = append(a.clients, client)
	}
	name := source.Name
	severity := health.Degraded
	if r.Required {
		severity = health.Required
	}
	a.health.Register(health.Check{Name: "runtime:" + name, Severity: severity, Run: func(ctx context.Context) health.Result {
		return a.checkRuntime(ctx, name)
	}})
	return source
}

func (a *App) checkRuntime(ctx context.Context, name string) health.Result {
	for _, info := range a.runtimes.Runtimes(ctx) {
		if info.Name == name && !info.Ready {
			return health.Failed("the runtime does not answer: "+info.Reason, "start its server, or correct runtimes."+name+".url")
		}
	}
	return health.OK()
}

// endTimeout bounds the end of all agents of a temporary server.
const endTimeout = 10 * time.Second

// endAgents stops every agent: what they live in is about to be removed, and they could not be found again.
func (a *App) endAgents() {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	var stops errgroup.Group
	stops.SetLimit(32)
	filter := core.ManagedAgentFilter{Page: core.Page{Limit: core.MaxPageLimit}}
	for more := true; more && ctx.Err() == nil; {
		page, info, err := a.runtimes.FindManagedAgents(ctx, filter)
		if err != nil {
			a.log.Warn("the agents were not ended", "error", err)
			break
		}
		for _, agent := range page {
			stops.Go(func() error { return a.runtimes.StopManagedAgent(ctx, agent.ID, core.ManagedAgentStop{Force: true}) })
		}
		filter.Cursor, more = info.NextCursor, info.HasMore
	}
	if err := stops.Wait(); err != nil {
		a.log.Warn("an agent was not ended", "error", err)
	}
}

// declaredTypes are the agent types of the configuration in the terms of runtimes.
func declaredTypes(c *config.Config) map[string]runtime.DeclaredType {
	types := make(map[string]runtime.DeclaredType, len(c.AgentTypes))
	for name, t := range c.AgentTypes {
		types[name] = runtime.DeclaredType{
			Command: t.Command, Args: t.Args, Env: t.Env.Reveal(), Idle: runtime.Duration(t.Idle), Exit: t.Exit,
			Ready: runtime.ReadyRule{Pattern: t.Ready.Pattern, Timeout: runtime.Duration(t.Ready.Timeout)},
		}
	}
	return types
}
