package appliance

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/pattern"
	"github.com/wardroom/wardroom/core/policy"
	"github.com/wardroom/wardroom/core/store"
)

// policyConfig picks what the policy needs of the configuration.
func policyConfig(c *config.Config) policy.Config {
	r := c.Security.RBAC
	out := policy.Config{RBAC: r.Enabled, DefaultRole: r.DefaultRole, Roles: map[string][]string{}, Dir: c.Security.Policy.Dir}
	for _, role := range r.Roles {
		out.Roles[role.Name] = []string{}
		for _, p := range role.Permissions {
			for _, action := range p.Actions {
				out.Roles[role.Name] = append(out.Roles[role.Name], p.Resource+":"+action)
			}
		}
	}
	for _, b := range r.Bindings {
		out.Bindings = append(out.Bindings, policy.Binding{Type: b.Subject.Type, Name: b.Subject.Name, Role: b.Role})
	}
	return out
}

// loadApprovals takes over what answers prompts by the operator's policy. Without security the policy must not be about
// access as well: nothing would ask it.
func (a *App) loadApprovals(c *config.Config) error {
	if !c.Security.Enabled() {
		about, err := policy.DecidesAccess(c.Security.Policy.Dir)
		if err != nil {
			return err
		}
		if about {
			return core.Invalid("security.policy.dir", "the package wardroom.authz needs to know who calls: enable security.authentication.apiKeys or jwt too")
		}
	}
	return a.approvals.Load(a.work, policyConfig(c))
}

// decide answers for a caller. Where what it is about belongs to a pattern with an allow-list, that counts too; hidden is
// then what the caller is refused only because of it, and likewise what is not there: whatever else is wrong with a request,
// the two are refused at the same point, so that nothing tells them apart.
func (a *App) decide(ctx context.Context, p core.Principal, access core.Access) (ruling core.Ruling, hidden bool) {
	ruling = a.policy.Decide(ctx, p, access)
	if !ruling.Allowed {
		return ruling, false
	}
	whole, guards, err := a.aboutWhat(ctx, access)
	switch {
	case core.ErrorCode(err) == core.CodeNotFound && finderOf(access) != nil:
		return core.Ruling{Reason: "there is none of that id", Revision: ruling.Revision}, true
	case core.ErrorCode(err) == core.CodeNotFound: // the operation says so itself
		return ruling, false
	case err != nil:
		return core.Ruling{Reason: "what the request is about could not be read", Revision: ruling.Revision}, false
	case whole == access && len(guards) == 0:
		return ruling, false
	}
	ruling = a.policy.Decide(ctx, p, whole)
	for _, guard := range guards {
		if ruling.Allowed {
			whole.Guard = guard
			ruling = a.policy.Decide(ctx, p, whole)
		}
	}
	return ruling, !ruling.Allowed
}

// authorize refuses what a caller may not do. What belongs to a pattern that is not open to them is not there for them: the
// answer is that to an id which does not exist.
func (a *App) authorize(ctx context.Context, p core.Principal, access core.Access) error {
	ruling, hidden := a.decide(ctx, p, access)
	a.metrics.Access.Decision(access.Action, ruling.Allowed)
	if ruling.Allowed {
		return nil
	}
	if hidden && finderOf(access) != nil {
		return core.NotFound(store.KindOf(access.ID), access.ID)
	}
	return core.Forbidden(access.Action, ruling.Scope, "%s", ruling.Reason)
}

// experiences are asked about by their execution, which they outlive.
const experiences = "experiences"

// finderOf returns what finds the owner of what the id of a request names; nil for what belongs to no pattern, and for patterns
// themselves.
func finderOf(access core.Access) findOwner {
	if access.Pattern != "" {
		return nil
	}
	for prefix, find := range owners {
		if core.ValidID(prefix, access.ID) {
			return find
		}
	}
	return nil
}

// aboutWhat completes what a request is about: the pattern that it belongs to, who made it, and the allow-list that the pattern
// has now. What runs or ran goes by the allow-lists of what it runs as well, the composed patterns included, whatever became of
// them. What outlives its execution, such as a workspace, is for its owner and administrators alone. NOT_FOUND.
func (a *App) aboutWhat(ctx context.Context, access core.Access) (whole core.Access, guards []*core.Guard, err error) {
	executionID := ""
	var pinned []string
	if find := finderOf(access); find != nil {
		of, err := find(ctx, a, access.ID)
		if err != nil {
			return access, nil, err
		}
		access.Owner, access.Pattern, executionID, pinned = cmp.Or(of.by, access.Owner), of.pattern, of.executionID, of.pinned
	}
	if executionID != "" {
		e, err := a.store.FindExecution(ctx, executionID)
		if core.ErrorCode(err) == core.CodeNotFound && (executionID != access.ID || access.Resource == experiences) {
			// It was deleted, and its allow-lists with it: what is left is for its owner and administrators.
			access.Guard = &core.Guard{}
			return access, nil, nil
		}
		if err != nil {
			return access, nil, err
		}
		access.Owner, access.Pattern = cmp.Or(access.Owner, e.CreatedBy), e.Pattern.Name
		pinned = append(slices.Collect(maps.Values(e.Pins)), e.Hash)
	}
	if access.Pattern == "" {
		return access, nil, nil
	}
	if access.Guard, err = a.patterns.Guard(ctx, access.Pattern); err != nil {
		return access, nil, err
	}
	guards, err = a.patterns.PinnedGuards(ctx, pinned...)
	return access, guards, err
}

// guardedExecution reports whether an execution belongs to a pattern with an allow-list; one that cannot be read counts as such. Of
// one that is gone, the pattern that it is known to have had decides.
func (a *App) guardedExecution(id, pattern string) bool {
	what, guards, err := a.aboutWhat(a.work, core.Access{ID: id})
	if core.ErrorCode(err) == core.CodeNotFound {
		if pattern == "" {
			return false
		}
		guard, err := a.patterns.Guard(a.work, pattern)
		return err != nil || guard != nil
	}
	return err != nil || what.Guard != nil || len(guards) > 0
}

// opens reports whether what belongs to one execution would be open to others in another one, whose allow-lists are not all of its
// own. What cannot be read counts as such.
func (a *App) opens(from, to string) bool {
	if a.policy == nil {
		return false
	}
	lists := func(id string) ([]*core.Guard, error) {
		what, guards, err := a.aboutWhat(a.work, core.Access{ID: id})
		if err == nil && what.Guard != nil {
			guards = append(guards, what.Guard)
		}
		return guards, err
	}
	own, err := lists(from)
	if core.ErrorCode(err) == core.CodeNotFound || err == nil && len(own) == 0 {
		return false
	}
	there, failed := lists(to)
	if err != nil || failed != nil {
		return true
	}
	return slices.ContainsFunc(own, func(g *core.Guard) bool {
		return !slices.ContainsFunc(there, func(other *core.Guard) bool {
			return slices.Equal(g.Users, other.Users) && slices.Equal(g.Roles, other.Roles)
		})
	})
}

// editable is the pattern service of the API. It refuses another version of a pattern to callers who may not change it.
type editable struct {
	*pattern.Service
	app *App
}

// CreatePattern implements core.PatternService. FORBIDDEN.
func (e editable) CreatePattern(ctx context.Context, in core.PatternInput) (*core.Pattern, error) {
	if e.app.policy != nil {
		name, _, refused := e.IdentifyPattern(ctx, in)
		access := core.Access{Action: "patterns.create", Resource: "patterns", Scope: core.ScopePatternsWrite, ID: name, Pattern: name}
		if err := e.app.authorize(ctx, core.PrincipalFrom(ctx), access); err != nil {
			return nil, err
		}
		if refused != nil {
			return nil, refused
		}
	}
	return e.Service.CreatePattern(ctx, in)
}

// runnable gives the engine the patterns that whoever starts an execution may run: however it was asked for, by a batch, a
// retry or a pattern that is composed of others.
type runnable struct {
	*pattern.Service
	app *App
}

// Resolve implements engine.Patterns.
func (r runnable) Resolve(ctx context.Context, name, version string) (*core.Pattern, core.Plan, error) {
	found, plan, err := r.Service.Resolve(ctx, name, version)
	p := core.PrincipalFrom(ctx)
	if err != nil || r.app.policy == nil || p.Kind == core.PrincipalSystem {
		return found, plan, err
	}
	access := core.Access{Action: "executions.create", Resource: "executions", Scope: core.ScopeExecutionsCreate, ID: name, Pattern: name}
	if access.Guard, err = r.Guard(ctx, name); err != nil {
		return nil, nil, err
	}
	if ruling := r.app.policy.Decide(ctx, p, access); !ruling.Allowed {
		return nil, nil, core.Forbidden(access.Action, ruling.Scope, "%s", ruling.Reason)
	}
	return found, plan, nil
}

// accessRevision changes whenever somebody may have lost a right.
func (a *App) accessRevision() uint64 {
	revision := a.keyChanges.Load()
	if a.access != nil {
		revision += a.access.EndedSecrets()
	}
	if a.policy != nil {
		revision += a.policy.Loads() + a.patterns.GuardChanges()
	}
	return revision
}

// recheckEvery is how often what goes on is looked at for callers who lost their right to it.
const recheckEvery = time.Second

// watchAccess ends the streams, terminals and sockets of those who lost their right to them, until ctx ends.
func (a *App) watchAccess(ctx context.Context) {
	connect := core.Access{Action: "agents.connect", Resource: "agents", Scope: core.ScopeAgentsManage}
	seen, purged := a.accessRevision(), a.clock.Now()
	for {
		wake := make(chan struct{})
		timer := a.clock.AfterFunc(recheckEvery, func() { close(wake) })
		select {
		case <-wake:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		server := a.serving.Load()
		if server == nil {
			continue
		}
		if now := a.clock.Now(); now.Sub(purged) >= purgeTokensEvery {
			purged = now
			a.agentTokens.Purge(ctx)
		}
		server.Recheck(ctx)
		revision, now := a.accessRevision(), a.clock.Now()
		if revision == seen && a.access == nil && a.certificates.Load() == nil {
			continue // nothing ended, and nothing ends by itself
		}
		known := true // of all agents, whether they may go on; else the next look asks again
		a.agents.EndSessions(ctx, func(p core.Principal) bool {
			if revision == seen && (p.Expires.IsZero() || now.Before(p.Expires)) {
				return false
			}
			p, err := a.refresh(ctx, p)
			known = known && (err == nil || core.ErrorCode(err) == core.CodeUnauthorized)
			return core.ErrorCode(err) == core.CodeUnauthorized || err == nil && a.policy != nil && !a.policy.Decide(ctx, p, connect).Allowed
		})
		if known {
			seen = revision
		}
	}
}

// CheckPolicy compiles and tests the policy of a configuration, and returns its revision.
func CheckPolicy(ctx context.Context, c *config.Config) (revision string, err error) {
	e, err := policy.New(ctx, policyConfig(c))
	if err != nil {
		return "", err
	}
	if _, err := policy.NewApprovals(ctx, policyConfig(c)); err != nil {
		return "", err
	}
	return e.Revision(), nil
}

// EvalApproval asks the policy of a configuration about a prompt; ok is false where it has nothing to say.
func EvalApproval(ctx context.Context, c *config.Config, q core.PromptQuestion) (ruling core.PromptRuling, ok bool, err error) {
	a, err := policy.NewApprovals(ctx, policyConfig(c))
	if err != nil {
		return ruling, false, err
	}
	ruling, ok = a.Decide(ctx, q)
	return ruling, ok, nil
}

// EvalPolicy asks the policy of a configuration.
func EvalPolicy(ctx context.Context, c *config.Config, p core.Principal, access core.Access) (core.Ruling, error) {
	e, err := policy.New(ctx, policyConfig(c))
	if err != nil {
		return core.Ruling{}, err
	}
	return e.Decide(ctx, p, access), nil
}

// PolicyText returns the built-in policy.
func PolicyText() string { return policy.BuiltIn() }
