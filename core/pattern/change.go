package pattern

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// change is one write to the versions of a name, as the transaction sees it.
type change struct {
	service *Service
	ctx     context.Context //nolint:containedctx // lives for one call of the service
	tx      core.Tx
	now     time.Time
	after   []*core.Pattern // all versions of the name once the change is stored
}

// CreatePattern implements core.PatternService.
func (s *Service) CreatePattern(ctx context.Context, in core.PatternInput) (*core.Pattern, error) {
	plan, err := s.accept(ctx, in, "")
	if err != nil {
		return nil, err
	}
	if plan.definition.Name == core.AdHocPattern.Name {
		return nil, core.InvalidAll("definition", []core.Problem{{
			Path: "name", Reason: strconv.Quote(core.AdHocPattern.Name) + " stands for executions that run no pattern; choose another name",
		}})
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.acceptComposition(ctx, plan, in.Source); err != nil {
		return nil, err
	}
	made := s.newPattern(ctx, plan, in.Source)
	err = s.transact(ctx, made.Name, func(c *change, stored []*core.Pattern) error {
		if err := readOnly(stored); err != nil {
			return err
		}
		if find(stored, made.Version) != nil {
			return core.Conflict("pattern", made.Name+"@"+made.Version, "", "pattern %q has a version %s already", made.Name, made.Version)
		}
		c.after = append(stored, made)
		return c.put(made, core.EventPatternCreated, map[string]string{
			"name": made.Name, "version": made.Version, "createdBy": made.CreatedBy,
		})
	})
	if err != nil {
		return nil, err
	}
	s.keep(made, plan)
	return made, nil
}

// UpdatePattern implements core.PatternService. A replaced version keeps its creator and time of creation;
// executions that run go on with the definition they began with.
func (s *Service) UpdatePattern(ctx context.Context, name string, in core.PatternInput) (core.PatternUpdate, error) {
	if s.catalog.family(name) == nil {
		return core.PatternUpdate{}, unknown(name, "")
	}
	if in.Name != "" && in.Name != name {
		return core.PatternUpdate{}, core.Invalid("name", "is %q in the body and %q in the path", clip(in.Name, maxName), name)
	}
	plan, err := s.accept(ctx, in, name)
	if err != nil {
		return core.PatternUpdate{}, err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.acceptComposition(ctx, plan, in.Source); err != nil {
		return core.PatternUpdate{}, err
	}
	update := core.PatternUpdate{Pattern: s.newPattern(ctx, plan, in.Source)}
	err = s.transact(ctx, name, func(c *change, stored []*core.Pattern) error {
		return c.update(&update, stored)
	})
	if err != nil {
		return core.PatternUpdate{}, err
	}
	s.keep(update.Pattern, plan)
	return update, nil
}

func (c *change) update(update *core.PatternUpdate, stored []*core.Pattern) error {
	made := update.Pattern
	if len(stored) == 0 {
		return unknown(made.Name, "")
	}
	if err := readOnly(stored); err != nil {
		return err
	}
	latest := newFamily(stored).patterns[0].Version
	previous := made.Version
	if old := find(stored, made.Version); old != nil {
		made.CreatedAt, made.CreatedBy = old.CreatedAt, old.CreatedBy
	} else {
		previous = latest
		update.Created = true
	}
	update.PreviousVersion = previous
	c.after = append(without(stored, made.Version), made)
	return c.put(made, core.EventPatternUpdated, map[string]string{
		"name": made.Name, "version": made.Version, "previousVersion": previous,
		"updatedBy": core.PrincipalFrom(c.ctx).ID,
	})
}

// DeletePattern implements core.PatternService. The version is taken literally: a range deletes nothing.
// Executions that run go on.
func (s *Service) DeletePattern(ctx context.Context, name, version string) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	removed := 0
	err := s.transact(ctx, name, func(c *change, stored []*core.Pattern) error {
		if err := readOnly(stored); err != nil {
			return err
		}
		gone := stored
		if version != "" {
			gone = nil
			if p := find(stored, version); p != nil {
				gone = []*core.Pattern{p}
			}
		}
		if len(stored) == 0 {
			return unknown(name, "")
		}
		if len(gone) == 0 {
			return unknown(name, version)
		}
		c.after = stored
		for _, p := range gone {
			if err := c.tx.DeletePattern(name, p.Version); err != nil {
				return err
			}
			c.after = without(c.after, p.Version)
		}
		removed = len(gone)
		return c.announce(name, core.EventPatternDeleted, map[string]string{
			"name": name, "deletedBy": core.PrincipalFrom(ctx).ID,
		})
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// IdentifyPattern implements core.PatternService.
func (s *Service) IdentifyPattern(ctx context.Context, in core.PatternInput) (name, version string, err error) {
	plan, found := parse(in.Source, identity{name: in.Name, version: in.Version, description: in.Description}, s.rules(ctx))
	if len(found) > 0 {
		return in.Name, in.Version, core.InvalidAll("definition", found)
	}
	return plan.definition.Name, plan.definition.Version, nil
}

// accept checks what a caller sent, by itself. path is the name that the request is about, "" for a new one.
func (s *Service) accept(ctx context.Context, in core.PatternInput, path string) (*Plan, error) {
	plan, found := parse(in.Source, identity{in.Name, in.Version, in.Description, path}, s.rules(ctx))
	if len(found) > 0 {
		return nil, core.InvalidAll("definition", found)
	}
	if plan.access.limited() {
		s.guarded.Store(true)
	}
	return plan, nil
}

// acceptComposition checks it against the other patterns. The caller holds writing, so that two patterns
// cannot come to run each other at the same moment.
func (s *Service) acceptComposition(ctx context.Context, plan *Plan, source string) error {
	return core.InvalidAll("definition", s.checkComposition(ctx, plan, source))
}

func (s *Service) newPattern(ctx context.Context, plan *Plan, source string) *core.Pattern {
	now := s.clock.Now().UTC()
	d := plan.definition
	return &core.Pattern{
		Name: d.Name, Version: d.Version, Description: d.Description,
		Source: source, Hash: hashOf(source), Definition: plan.json,
		CreatedAt: now, UpdatedAt: now, CreatedBy: core.PrincipalFrom(ctx).ID,
	}
}

// transact runs one change of a name's versions in a transaction, and the catalog with it. A
// caller who leaves does not stop it: the transaction could commit all the same, and the catalog would not
// know.
func (s *Service) transact(ctx context.Context, name string, fn func(*change, []*core.Pattern) error) error {
	c := &change{service: s, ctx: ctx, now: s.clock.Now().UTC()}
	return doubt.Update(context.WithoutCancel(ctx), ctx, s.clock, s.store, func(tx core.Tx) error {
		c.tx, c.after = tx, nil
		// Who asks at the event finds the versions that it tells of.
		tx.AfterCommit(func() {
			before := s.catalog.latestHash(name)
			s.catalog.replace(name, c.after)
			if s.guarded.Load() && s.catalog.latestHash(name) != before {
				s.guards.Add(1)
			}
		})
		stored, err := tx.FindPatternVersions(name)
		if err != nil && core.ErrorCode(err) != core.CodeNotFound {
			return err
		}
		return fn(c, slices.Clone(stored))
	}, pause.For)
}

// put stores a version with its definition, the caller's idempotency claim and the event.
func (c *change) put(p *core.Pattern, event core.EventType, data map[string]string) error {
	claim := core.IdempotencyFrom(c.ctx)
	if err := c.tx.ClaimIdempotency(claim, p.Name+"@"+p.Version, c.now); err != nil {
		return err
	}
	if err := c.tx.PutDefinition(p.Hash, p.Source); err != nil {
		return err
	}
	if err := c.tx.PutPattern(p); err != nil {
		return err
	}
	return c.announce(p.Name, event, data)
}

func (c *change) announce(name string, event core.EventType, data map[string]string) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return c.tx.Append(core.Event{
		ID: c.service.options.IDs.New(core.PrefixEvent), Type: event, Time: c.now, Subject: core.PatternSubject(name), Data: raw,
	})
}

// keep has the plan of a committed version at hand.
func (s *Service) keep(p *core.Pattern, plan *Plan) {
	s.cache.put(cacheKey(p), &compiled{p, plan}, plan.weight(p.Source))
}

func find(patterns []*core.Pattern, version string) *core.Pattern {
	for _, p := range patterns {
		if p.Version == version {
			return p
		}
	}
	return nil
}

func without(patterns []*core.Pattern, version string) []*core.Pattern {
	return slices.DeleteFunc(slices.Clone(patterns), func(p *core.Pattern) bool { return p.Version == version })
}
