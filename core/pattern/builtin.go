package pattern

import (
	"context"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// shipper is the creator of the built-in patterns.
const shipper = "system"

// builtIn is a definition that is shipped with the product.
type builtIn struct {
	source, hash string
	plan         *Plan
}

// readBuiltIns compiles the shipped definitions.
func (s *Service) readBuiltIns() (map[string]builtIn, error) {
	byName := make(map[string]builtIn, len(s.options.BuiltIns))
	for _, source := range s.options.BuiltIns {
		plan, found := parse(source, identity{}, rules{limit: len(source)})
		if len(found) > 0 {
			return nil, core.Errorf(core.CodeInternal, "a built-in pattern cannot be read").WithCause(core.InvalidAll("definition", found))
		}
		byName[plan.definition.Name] = builtIn{source, hashOf(source), plan}
	}
	return byName, nil
}

// install makes the stored built-in patterns those that are shipped now. They are stored like any others, so
// that executions which pin one survive an upgrade that changes it. A pattern of the same name that somebody
// made before the product shipped one stays, and hides ours. The caller holds writing.
func (s *Service) install(ctx context.Context) error {
	shipped, err := s.readBuiltIns()
	if err != nil {
		return err
	}
	var names []string
	for name, b := range shipped {
		if !b.installed(s.catalog.family(name)) {
			names = append(names, name)
		}
	}
	for _, name := range s.catalog.shippedNames() {
		if _, still := shipped[name]; !still {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	now := s.clock.Now().UTC()
	after := make(map[string][]*core.Pattern, len(names))
	err = s.store.Update(ctx, func(tx core.Tx) error {
		clear(after)
		tx.AfterCommit(func() {
			for name, patterns := range after {
				s.catalog.replace(name, patterns)
			}
		})
		for _, name := range names {
			b, still := shipped[name]
			stored, err := tx.FindPatternVersions(name)
			if err != nil && core.ErrorCode(err) != core.CodeNotFound {
				return err
			}
			if !still {
				b = builtIn{}
			}
			if after[name], err = b.replace(tx, name, stored, now); err != nil {
				return err
			}
		}
		return nil
	})
	if core.AsError(err) != nil && core.AsError(err).Unavailable {
		return nil // a store that takes no writes now, as on a full disk, must not keep the service from starting
	}
	return err
}

// installed reports whether the stored versions of the name are what they should be.
func (b builtIn) installed(f *family) bool {
	if f == nil {
		return false
	}
	if !slices.ContainsFunc(f.patterns, func(p *core.Pattern) bool { return p.ReadOnly }) {
		return true // somebody's own
	}
	return len(f.patterns) == 1 && f.patterns[0].Hash == b.hash && f.patterns[0].Version == b.plan.definition.Version
}

// replace puts the built-in pattern in the place of those that were shipped before, and returns all versions
// of the name. The zero builtIn only removes them.
func (b builtIn) replace(tx core.PatternTx, name string, stored []*core.Pattern, now time.Time) ([]*core.Pattern, error) {
	created := now
	var kept []*core.Pattern
	for _, p := range stored {
		switch {
		case !p.ReadOnly:
			kept = append(kept, p)
			continue
		case b.plan != nil && p.Version == b.plan.definition.Version:
			created = p.CreatedAt
			continue // PutPattern replaces it
		}
		if err := tx.DeletePattern(name, p.Version); err != nil {
			return nil, err
		}
	}
	if b.plan == nil || len(kept) > 0 {
		return kept, nil
	}
	d := b.plan.definition
	made := &core.Pattern{
		Name: name, Version: d.Version, Description: d.Description, Source: b.source, Hash: b.hash,
		Definition: b.plan.json, CreatedAt: created, UpdatedAt: now, CreatedBy: shipper, ReadOnly: true,
	}
	if err := tx.PutDefinition(made.Hash, made.Source); err != nil {
		return nil, err
	}
	return []*core.Pattern{made}, tx.PutPattern(made)
}

// shippedNames returns the names of all stored built-in patterns.
func (c *catalog) shippedNames() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var names []string
	for name, f := range c.families {
		if slices.ContainsFunc(f.patterns, func(p *core.Pattern) bool { return p.ReadOnly }) {
			names = append(names, name)
		}
	}
	return names
}

// readOnly refuses a change of a name that is shipped with the product; nil if it is not.
func readOnly(stored []*core.Pattern) error {
	for _, p := range stored {
		if p.ReadOnly {
			return core.Conflict("pattern", p.Name+"@"+p.Version, "read-only",
				"pattern %q is shipped with the product and cannot be changed or deleted; copy its definition under another name", p.Name)
		}
	}
	return nil
}
