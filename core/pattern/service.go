package pattern

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/wardroom/wardroom/core"
)

var _ core.PatternService = (*Service)(nil)

// Store is the part of the durable state that the service uses; core.Store implements it.
type Store interface {
	Update(ctx context.Context, fn func(tx core.Tx) error) error
	AllPatterns(ctx context.Context) ([]*core.Pattern, error)
	FindDefinition(ctx context.Context, hash string) (string, error)
	AllDefinitions(ctx context.Context, fn func(source string) error) error
}

// Defaults of Options.
const (
	DefaultMaxDefinition = 1 << 20  // bytes
	DefaultCacheBytes    = 64 << 20 // bytes
)

// Options of a Service. The zero value is good.
type Options struct {
	MaxDefinition int      // bytes of the longest definition; 0: DefaultMaxDefinition
	CacheBytes    int      // bytes of definitions whose compiled form is kept; 0: DefaultCacheBytes
	IDs           core.IDs // makes event ids; nil: core.NewIDs of the clock
	BuiltIns      []string // definitions that are shipped with the product, as YAML text
	// AgentTypes returns those that roles of new definitions may name; nil: any. It is called by every
	// create, update and check, and must be quick.
	AgentTypes func(ctx context.Context) []string
	// CheckSecret says why a secret that config refers to could never be resolved; nil: new definitions may refer to any. It
	// must be quick.
	CheckSecret func(ref core.SecretRef) error
}

// Service implements core.PatternService, and gives plans to the engine. Reads come from memory: what is
// known of all versions is loaded by Open, and definitions are compiled once and kept while they are in
// use. All methods are safe for concurrent use once Open has returned.
type Service struct {
	store   Store
	clock   core.Clock
	options Options

	catalog catalog
	cache   *cache
	guarded atomic.Bool   // some definition, in use or kept for what runs, has an allow-list
	guards  atomic.Uint64 // changes after which a pattern may have another allow-list

	// writing is held over each change, from its transaction to the catalog's update, so that the catalog
	// learns of changes in the order in which they were stored.
	writing sync.Mutex
}

// NewService returns a service that knows nothing until Open.
func NewService(store Store, clock core.Clock, options Options) *Service {
	options.MaxDefinition = cmp.Or(options.MaxDefinition, DefaultMaxDefinition)
	options.CacheBytes = cmp.Or(options.CacheBytes, DefaultCacheBytes)
	options.IDs = cmp.Or[core.IDs](options.IDs, core.NewIDs(clock))
	return &Service{
		store:   store,
		clock:   clock,
		options: options,
		catalog: catalog{families: make(map[string]*family)},
		cache:   newCache(options.CacheBytes),
	}
}

// Open loads all patterns from the store, and stores the built-in ones that are new or were changed.
func (s *Service) Open(ctx context.Context) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	all, err := s.store.AllPatterns(ctx)
	if err != nil {
		return err
	}
	s.catalog.reset(all)
	err = s.store.AllDefinitions(ctx, func(source string) error {
		if !s.guarded.Load() && mayBeGuarded(source) {
			plan, err := s.compileStored(source, standIn(source))
			s.guarded.Store(err != nil || plan.access.limited()) // one that cannot be read may have one
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.install(ctx)
}

// mayBeGuarded reports whether a definition may have an allow-list, without a look at more than its letters: in YAML a backslash may
// hide any.
func mayBeGuarded(source string) bool {
	return strings.Contains(source, "allowedUsers") || strings.Contains(source, "allowedRoles") || strings.Contains(source, `\`)
}

// Guarded reports whether there may be a definition with an allow-list, those included that are kept for what ran. It stays true until
// the next start.
func (s *Service) Guarded() bool { return s.guarded.Load() }

// GuardChanges returns a number that grows whenever a pattern may have got another allow-list.
func (s *Service) GuardChanges() uint64 { return s.guards.Load() }

// FindPatterns implements core.PatternService. The patterns of a list have neither Source nor Definition.
func (s *Service) FindPatterns(_ context.Context, filter core.PatternFilter) ([]*core.Pattern, core.PageInfo, error) {
	return s.catalog.page(filter)
}

// FindPatternVersions implements core.PatternService. The patterns have neither Source nor Definition.
func (s *Service) FindPatternVersions(_ context.Context, name string) ([]*core.Pattern, error) {
	f := s.catalog.family(name)
	if f == nil {
		return nil, unknown(name, "")
	}
	return slices.Clone(f.patterns), nil
}

// FindPattern implements core.PatternService.
func (s *Service) FindPattern(ctx context.Context, name, version string) (*core.Pattern, error) {
	c, err := s.resolve(ctx, name, version)
	if err != nil {
		return nil, err
	}
	return c.pattern, nil
}

// Resolve returns the version of a pattern that FindPattern finds, with its plan. Name and version of the
// plan's definition are those of the pattern.
func (s *Service) Resolve(ctx context.Context, name, version string) (*core.Pattern, core.Plan, error) {
	c, err := s.resolve(ctx, name, version)
	if err != nil {
		return nil, nil, err
	}
	return c.pattern, c.plan, nil
}

// Guard returns who may run and read a pattern by the allow-list of its latest version, which counts for all of them; nil:
// it has none, or there is no such pattern.
func (s *Service) Guard(ctx context.Context, name string) (*core.Guard, error) {
	c, err := s.resolve(ctx, name, "")
	if core.ErrorCode(err) == core.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if a := c.plan.Access(); a.limited() {
		return &core.Guard{Users: a.Users, Roles: a.Roles}, nil
	}
	return nil, nil
}

// PinnedGuards returns the allow-lists of definitions by the hashes that an execution pinned, also after their patterns were
// replaced or deleted. Definitions that are gone have none.
func (s *Service) PinnedGuards(ctx context.Context, hashes ...string) ([]*core.Guard, error) {
	var list []*core.Guard
	for _, hash := range hashes {
		found, err := s.Plan(ctx, hash)
		if core.ErrorCode(err) == core.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		plan, ok := found.(*Plan)
		if !ok {
			continue // there is no other kind
		}
		if a := plan.Access(); a.limited() {
			list = append(list, &core.Guard{Users: a.Users, Roles: a.Roles})
		}
	}
	return list, nil
}

// Plan returns the plan of a definition by the hash that an execution pinned, also after its pattern was
// replaced or deleted. Name and version of the plan's definition are empty: the request that stored it may have named
// others than the text does. NOT_FOUND for an unknown hash.
func (s *Service) Plan(ctx context.Context, hash string) (core.Plan, error) {
	if c := s.cache.get(hash); c != nil {
		return c.plan, nil
	}
	source, err := s.store.FindDefinition(ctx, hash)
	if err != nil {
		return nil, err
	}
	plan, err := s.compileStored(source, standIn(source))
	if err != nil {
		return nil, err
	}
	plan.definition.Name, plan.definition.Version = "", ""
	s.cache.put(hash, &compiled{plan: plan}, plan.weight(source))
	return plan, nil
}

// CheckPattern implements core.PatternService.
func (s *Service) CheckPattern(ctx context.Context, source string) (*core.Pattern, []core.Problem) {
	plan, found := s.CheckPlan(ctx, source)
	if plan == nil {
		return nil, found
	}
	d := &plan.definition
	return &core.Pattern{Name: d.Name, Version: d.Version, Description: d.Description, Definition: plan.json}, nil
}

// CheckPlan is CheckPattern that returns the plan of the definition, nil of one with problems.
func (s *Service) CheckPlan(ctx context.Context, source string) (*Plan, []core.Problem) {
	plan, found := parse(source, identity{}, s.rules(ctx))
	if plan == nil {
		return nil, found
	}
	if found = s.checkComposition(ctx, plan, source); len(found) > 0 {
		return nil, found
	}
	return plan, nil
}

// resolve finds a version and compiles it unless that was done before.
func (s *Service) resolve(ctx context.Context, name, version string) (*compiled, error) {
	f := s.catalog.family(name)
	if f == nil {
		return nil, unknown(name, "")
	}
	light, err := f.find(version)
	if err != nil {
		return nil, err
	}
	if light == nil {
		return nil, unknown(name, version)
	}
	return s.load(ctx, light)
}

// load returns the compiled form of a version of the catalog.
func (s *Service) load(ctx context.Context, light *core.Pattern) (*compiled, error) {
	key := cacheKey(light)
	if c := s.cache.get(key); c != nil {
		return c, nil
	}
	source, err := s.store.FindDefinition(ctx, light.Hash)
	if err != nil {
		return nil, err
	}
	plan, err := s.compileStored(source, identity{name: light.Name, version: light.Version, description: light.Description})
	if err != nil {
		return nil, err
	}
	c := &compiled{full(light, source, plan), plan}
	s.cache.put(key, c, plan.weight(source))
	return c, nil
}

// cacheKey tells apart what is stored under a name and version at different times. The time of update is
// part of it because a description given beside the definition does not show in the hash.
func cacheKey(p *core.Pattern) string {
	return p.Hash + " " + p.Name + " " + p.Version + " " + strconv.FormatInt(p.UpdatedAt.UnixNano(), 36)
}

// full returns a pattern of the catalog with its texts.
func full(light *core.Pattern, source string, plan *Plan) *core.Pattern {
	p := *light
	p.Source, p.Definition = source, plan.json
	return &p
}

// rules are those for texts that are new.
func (s *Service) rules(ctx context.Context) rules {
	r := rules{limit: s.options.MaxDefinition, secret: s.options.CheckSecret, matching: maxInstructions, noOctal: true}
	if s.options.AgentTypes != nil {
		r.agentTypes = s.options.AgentTypes(ctx)
	}
	return r
}

// compileStored compiles a text that was accepted when it was stored. A later version of Wardroom may be
// stricter about new texts, but a text it cannot read at all is a fault of ours. The size was checked then,
// too, perhaps against another bound.
func (s *Service) compileStored(source string, given identity) (*Plan, error) {
	plan, found := parse(source, given, rules{limit: len(source)})
	if len(found) > 0 {
		return nil, core.Errorf(core.CodeInternal, "the stored definition cannot be read").
			WithCause(core.InvalidAll("definition", found))
	}
	return plan, nil
}

// hashOf is the name of a definition's text: hex SHA-256.
func hashOf(source string) string {
	sum := sha256.Sum256([]byte(source))
	return hex.EncodeToString(sum[:])
}

// unknown is the error for a name, or a version of one, that is not stored. Callers may ask for names of
// any length.
func unknown(name, version string) error {
	id := clip(name, 2*maxName)
	if version != "" {
		id += "@" + clip(version, maxSelector)
	}
	return core.NotFound("pattern", id)
}
