package secrets

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/sdk/secret"
)

// Service resolves references. Make it with New, end it with Close. It is safe for concurrent use.
type Service struct {
	opts   Options
	clock  core.Clock
	began  core.Stopwatch
	log    hclog.Logger
	config atomic.Pointer[Config]

	providers atomic.Pointer[map[string]*provider] // by the name of the built-in one or of the plugin; replaced, never changed

	ctx    context.Context // of the fetches and loops
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.RWMutex
	closed  bool
	entries map[core.SecretRef]*entry
	bytes   int // of all values
}

// provider is one that references name.
type provider struct {
	name     string // what references begin with
	plugin   string // empty: built in
	provider secret.Provider
	state    func() (ready bool, reason, hint string)

	ctx   context.Context // of its watch
	leave context.CancelFunc

	changed chan struct{} // the set of its secrets is another one; holds one
	watched atomic.Bool   // a watch is open

	hits, misses atomic.Int64 // uses of secrets

	mu      sync.Mutex       // guards all below
	failed  *secret.Error    // of its last call, if that failed as a whole
	answers map[string]int64 // about single secrets, by code
	asked   time.Duration    // spent in calls

	reports changes
	pending map[secret.Ref]bool // of reports that were not followed; nil: none
}

// entry is one secret. All but state and used is guarded by Service.mu.
type entry struct {
	ref      core.SecretRef
	from     *provider
	state    atomic.Pointer[value]
	used     atomic.Int64 // when it was used last, by Service.began
	flight   *flight      // a fetch under way; or nil
	again    bool         // it changed since that began
	failed   *secret.Error
	unwaited bool      // no use of it waited for the call that failed
	retry    time.Time // failed counts until then
	tries    int       // failures in a row, but for those
	size     int       // bytes of the value
}

// value is the answer of a provider. It is immutable.
type value struct {
	secret.Value
	at    time.Time // when its provider gave it
	fresh time.Time // until then it is used without asking
	until time.Time // until then it is used while its provider does not answer
	ends  time.Time // as its provider says; zero: never
	stale bool      // the last time its provider did not answer
}

// good reports whether a value is used without asking.
func (v *value) good(now time.Time) bool { return !over(v.fresh, now) && !v.ended(now) }

// ended reports whether a value is not to be used any more, whoever answers.
func (v *value) ended(now time.Time) bool { return !v.ends.IsZero() && over(v.ends, now) }

// over reports whether a moment has come, by the clock that is further: that of the machine stands still while it is suspended, and
// the time of day may be set back.
func over(at, now time.Time) bool { return !now.Before(at) || !now.Round(0).Before(at.Round(0)) }

// flight is a fetch that several may wait for. err is valid once done is closed.
type flight struct {
	done     chan struct{}
	unwaited bool // it is not asked again while the provider is away
	err      *secret.Error
}

// New returns a service that resolves at once; Open begins what it does by itself.
func New(o Options) *Service {
	o.setDefaults()
	s := &Service{
		opts: o, clock: o.Clock, began: core.NewStopwatch(o.Clock), log: o.Logger, entries: map[core.SecretRef]*entry{},
	}
	s.config.Store(o.Config.withDefaults())
	s.ctx, s.cancel = context.WithCancel(context.Background())
	all := map[string]*provider{}
	for _, name := range []string{core.SecretsCredential, core.SecretsEnv, core.SecretsFile} {
		own := &builtin{name: name, environ: o.Environ, credentials: o.Credentials}
		all[name] = s.newProvider(&provider{name: name, provider: own})
	}
	for plugin, p := range o.Plugins {
		all[plugin] = s.pluginProvider(plugin, p)
	}
	s.providers.Store(&all)
	return s
}

// newProvider completes what a provider is begun with.
func (s *Service) newProvider(p *provider) *provider {
	p.changed, p.answers = make(chan struct{}, 1), map[string]int64{codeOK: 0}
	p.ctx, p.leave = context.WithCancel(s.ctx)
	return p
}

func (s *Service) pluginProvider(plugin string, p Plugin) *provider {
	name := plugin
	for alias, of := range core.SecretAliases {
		if of == plugin {
			name = alias
		}
	}
	return s.newProvider(&provider{name: name, plugin: plugin, provider: p.Provider, state: p.State})
}

// Open begins to ask anew for what is in use, and to watch what can be watched.
func (s *Service) Open() {
	s.wg.Go(s.keep)
	for _, p := range s.all() {
		s.begin(p)
	}
}

// all returns the providers by their name, which is not to be changed.
func (s *Service) all() map[string]*provider { return *s.providers.Load() }

// begin watches a provider that can be watched.
func (s *Service) begin(p *provider) {
	if watcher, ok := p.provider.(secret.Watcher); ok {
		s.wg.Go(func() {
			s.watch(p, watcher)
		})
	}
}

// Join adds a plugin to a service that is open, and reports whether it was not there. Calls of Join, Leave and Close do not
// overlap.
func (s *Service) Join(plugin string, p Plugin) bool {
	if s.Knows(plugin) {
		return false
	}
	all, added := maps.Clone(s.all()), s.pluginProvider(plugin, p)
	all[plugin] = added
	s.providers.Store(&all)
	s.begin(added)
	return true
}

// Leave takes back what Join did, and forgets the secrets of the plugin.
func (s *Service) Leave(plugin string) {
	all := maps.Clone(s.all())
	gone := all[plugin]
	if gone == nil || gone.plugin == "" {
		return
	}
	delete(all, plugin)
	s.providers.Store(&all)
	gone.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if e.from == gone {
			s.drop(e)
		}
	}
}

// Knows reports whether a plugin is a provider of secrets.
func (s *Service) Knows(plugin string) bool {
	p := s.all()[plugin]
	return p != nil && p.plugin != ""
}

// Close ends all fetches and forgets the secrets. What is resolved afterwards is UNAVAILABLE.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.entries)
	s.bytes = 0
}

// ApplyConfig changes how long values are kept from their next fetch on, and what users may write at once.
func (s *Service) ApplyConfig(c Config) { s.config.Store(c.withDefaults()) }

// Resolve returns a secret: from memory while that is good, else from its provider. Several that want the same secret at the
// same time are one call of the provider. The error is a *secret.Error.
func (s *Service) Resolve(ctx context.Context, ref core.SecretRef, by secret.Caller) (secret.Value, error) {
	now := s.clock.Now()
	s.mu.RLock()
	e := s.entries[ref]
	s.mu.RUnlock()
	if e != nil {
		if v := e.state.Load(); v != nil && v.good(now) {
			e.used.Store(s.began.At(now))
			e.from.hits.Add(1)
			return v.Value, nil
		}
	}
	return s.resolve(ctx, ref, by, now)
}

func (s *Service) resolve(ctx context.Context, ref core.SecretRef, by secret.Caller, now time.Time) (secret.Value, error) {
	e, f, err := s.join(ref, by, now)
	for first := true; err == nil && f != nil; first = false {
		select {
		case <-f.done:
		case <-ctx.Done():
			return secret.Value{}, secret.Errorf(secret.CodeTimeout, "its provider did not answer in time")
		}
		if f.err == nil {
			break
		}
		if !f.unwaited || !first || f.err.Code != secret.CodeUnavailable {
			return secret.Value{}, f.err
		}
		e, f, err = s.join(ref, by, s.clock.Now())
	}
	if err != nil {
		return secret.Value{}, err
	}
	if v := e.state.Load(); v != nil {
		return v.Value, nil
	}
	return secret.Value{}, secret.Errorf(secret.CodeUnavailable, "it was forgotten while it was fetched")
}

// join returns the entry of a reference and the fetch to wait for; no fetch when the entry has a value to be used.
func (s *Service) join(ref core.SecretRef, by secret.Caller, now time.Time) (*entry, *flight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, e := s.providerOf(ref) // one that leaves later takes what is begun here with it
	if e != nil {
		return nil, nil, e
	}
	if s.closed {
		return nil, nil, secret.Errorf(secret.CodeUnavailable, "the service is being stopped")
	}
	known := s.entries[ref]
	if known == nil {
		known = &entry{ref: ref, from: p}
		s.entries[ref] = known
		s.bound(known)
		p.signal()
	}
	known.used.Store(s.began.At(now))
	v := known.state.Load()
	if v != nil && v.good(now) {
		p.hits.Add(1)
		return known, nil, nil
	}
	p.misses.Add(1)
	switch {
	case known.flight != nil:
	case v == nil && known.failed != nil && now.Before(known.retry) && !(known.unwaited && known.failed.Code == secret.CodeUnavailable):
		return nil, nil, known.failed
	default:
		s.fetch(p, by, []*entry{known})
	}
	return known, known.flight, nil
}

func (s *Service) providerOf(ref core.SecretRef) (*provider, *secret.Error) {
	name := cmp.Or(ref.Plugin(), ref.Provider)
	if p := s.all()[name]; p != nil {
		return p, nil
	}
	return nil, &secret.Error{
		Code: secret.CodeNotConfigured, Message: "no provider " + ref.Provider + " is configured",
		Hint: "set security.secrets.provider, or declare the plugin " + name + " in plugins",
	}
}

func (p *provider) signal() { pause.Wake(p.changed) }

// bound forgets what was not used for longest until there is room. mu is held.
func (s *Service) bound(but *entry) {
	for len(s.entries) > maxEntries || s.bytes > maxBytes {
		var oldest *entry
		for _, e := range s.entries {
			if e != but && e.flight == nil && (oldest == nil || e.used.Load() < oldest.used.Load()) {
				oldest = e
			}
		}
		if oldest == nil {
			return
		}
		s.drop(oldest)
	}
}

// drop forgets an entry. mu is held.
func (s *Service) drop(e *entry) {
	if s.entries[e.ref] == e {
		delete(s.entries, e.ref)
		s.bytes -= e.size
		e.size = 0 // a fetch may be under way, and fail
		e.from.signal()
	}
}

// fetch begins to ask a provider for entries that are not asked for yet. mu is held.
func (s *Service) fetch(p *provider, by secret.Caller, list []*entry) {
	if s.closed || len(list) == 0 {
		return
	}
	f := &flight{done: make(chan struct{})}
	wait := false
	for _, e := range list {
		e.flight = &flight{done: f.done, unwaited: by == refresh}
		wait = wait || e.state.Load() == nil && by != refresh
	}
	s.wg.Go(func() {
		defer close(f.done)
		begin := s.clock.Now()
		results, err := s.ask(p, by, list, wait)
		now := s.clock.Now()
		codes := make([]string, len(list)) // set below
		defer func() { p.answered(codes, now.Sub(begin)) }()
		s.mu.Lock()
		defer s.mu.Unlock()
		var again []*entry
		for i, e := range list {
			var failed *secret.Error
			if failed = err; failed == nil {
				failed = s.take(e, results[i], now)
			}
			codes[i] = codeOK
			if failed != nil {
				codes[i] = string(failed.Code)
				failed = s.fail(e, failed, now, by == refresh)
			}
			e.flight.err, e.flight = failed, nil
			if e.again && s.entries[e.ref] == e {
				again = append(again, e)
			}
			e.again = false
		}
		s.bound(nil)
		s.fetch(p, refresh, again)
	})
}

// ask makes the call. While the provider is not there, it is asked again until the time is over, where somebody has no value
// to go on with: at the start of the service, plugins are not there yet.
func (s *Service) ask(p *provider, by secret.Caller, list []*entry, wait bool) ([]secret.Result, *secret.Error) {
	refs := make([]secret.Ref, len(list))
	for i, e := range list {
		refs[i] = secret.Ref{Path: e.ref.Path, Key: e.ref.Key}
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.config.Load().Timeout)
	defer cancel()
	again := pause.Backoff{First: waitFirst, Most: time.Second}
	for {
		results, err := p.provider.Resolve(ctx, refs, by)
		if err == nil && len(results) != len(refs) {
			err = secret.Errorf(secret.CodeInternal, "the provider answered %d references with %d results", len(refs), len(results))
		}
		failed := secret.AsError(err)
		if failed == nil {
			failed = allDown(results)
		}
		if failed != nil && ctx.Err() != nil && s.ctx.Err() == nil && failed.Code != secret.CodeUnavailable {
			failed = secret.Errorf(secret.CodeTimeout, "its provider did not answer within %s", s.config.Load().Timeout)
		}
		if failed == nil || !wait || failed.Code != secret.CodeUnavailable || !pause.For(ctx, s.clock, again.Next()) {
			p.note(failed)
			return results, failed
		}
	}
}

// allDown returns the failure of all results, where the provider says of each that its store cannot be reached.
func allDown(results []secret.Result) *secret.Error {
	for _, r := range results {
		if r.Error == nil || !down(r.Error) {
			return nil
		}
	}
	if len(results) == 0 {
		return nil
	}
	return results[0].Error
}

// down reports whether an error says nothing about the secret. One that may pass by itself does not, whatever its code: a
// provider whose own login was refused for a while says FORBIDDEN too.
func down(e *secret.Error) bool {
	if e.Retry {
		return true
	}
	switch e.Code {
	case secret.CodeNotFound, secret.CodeInvalidRef, secret.CodeForbidden, secret.CodeNotConfigured, secret.CodeUnimplemented:
		return false
	}
	return true
}

// take takes in a result. mu is held.
func (s *Service) take(e *entry, r secret.Result, now time.Time) *secret.Error {
	switch {
	case r.Error != nil:
		return r.Error
	case r.Value.Len() > MaxValue:
		return secret.Errorf(secret.CodeInvalidRef, "it is %d bytes long; at most %d are taken", r.Value.Len(), MaxValue)
	case !r.Value.NotAfter().IsZero() && !now.Before(r.Value.NotAfter()):
		return secret.Errorf(secret.CodeNotFound, "its provider gave a value that has expired")
	}
	c := s.config.Load()
	v := &value{Value: r.Value, at: now, fresh: now.Add(c.Refresh)}
	if e.from.plugin == "" {
		v.fresh = now.Add(localRefresh)
	}
	v.until = v.fresh.Add(c.StaleFor)
	if end := r.Value.NotAfter(); !end.IsZero() {
		end = now.Add(end.Sub(now)) // by both clocks
		if soon := now.Add(max(end.Sub(now)/3*2, minRefresh)); soon.Before(v.fresh) {
			v.fresh = soon
		}
		v.fresh, v.until, v.ends = sooner(v.fresh, end), sooner(v.until, end), end
	}
	old := e.state.Swap(v)
	e.failed, e.unwaited, e.tries = nil, false, 0
	if s.entries[e.ref] == e {
		s.bytes += r.Value.Len() - e.size
		e.size = r.Value.Len()
	}
	switch {
	case old == nil:
	case !bytes.Equal(old.Reveal(), v.Reveal()):
		s.log.Info("secret changed", "secret", e.ref.String(), "version", v.Version())
	case old.stale:
		s.log.Info("secret is up to date again", "secret", e.ref.String())
	}
	return nil
}

func sooner(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// fail notes a failure, and returns it unless the former value may be used. Where there is none, calls that no use waits for do not have
// the next one wait longer. mu is held.
func (s *Service) fail(e *entry, failed *secret.Error, now time.Time, unwaited bool) *secret.Error {
	v := e.state.Load()
	if v != nil || !unwaited {
		e.tries++
	}
	wait := min(retryFirst<<min(max(e.tries-1, 0), 10), retryMost)
	if v != nil && down(failed) && now.Before(v.until) && !v.ended(now) {
		kept := *v
		kept.fresh, kept.stale = sooner(now.Add(wait), v.until), true
		e.state.Store(&kept)
		if !v.stale {
			s.log.Warn("secret kept although its provider does not answer", "secret", e.ref.String(), "code", failed.Code,
				"reason", failed.Message, "until", v.until.UTC().Format(time.RFC3339))
		}
		return nil
	}
	if v != nil || e.failed == nil || e.failed.Code != failed.Code {
		s.log.Warn("secret not resolved", "secret", e.ref.String(), "code", failed.Code, "reason", failed.Message)
	}
	e.state.Store(nil)
	s.bytes -= e.size
	e.size = 0
	if !down(failed) {
		wait = missingRetry
	}
	e.failed, e.unwaited, e.retry = failed, unwaited, now.Add(wait)
	return failed
}

// keep asks anew for what is in use before it is no longer fresh, or while its provider is away, and forgets what is not used.
func (s *Service) keep() {
	for pause.For(s.ctx, s.clock, lookEvery) {
		now := s.clock.Now()
		for _, p := range s.all() {
			if refs := p.takePending(); len(refs) > 0 {
				s.touch(p, refs)
			}
		}
		due := map[*provider][]*entry{}
		s.mu.Lock()
		for _, e := range s.entries {
			if e.flight != nil {
				continue
			}
			if idle := s.began.At(now) - e.used.Load(); idle > int64(unusedAfter) {
				s.drop(e)
				continue
			}
			v := e.state.Load()
			if v != nil && !v.good(now.Add(2*lookEvery)) || v == nil && e.failed != nil && down(e.failed) && !now.Before(e.retry) {
				due[e.from] = append(due[e.from], e)
			}
		}
		for p, list := range due {
			for chunk := range slices.Chunk(list, maxBatch) {
				s.fetch(p, refresh, chunk)
			}
		}
		s.mu.Unlock()
	}
}

// refs lists the references of a provider that have a value.
func (s *Service) refs(p *provider) []secret.Ref {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var list []secret.Ref
	for _, e := range s.entries {
		if e.from == p {
			list = append(list, secret.Ref{Path: e.ref.Path, Key: e.ref.Key})
		}
	}
	slices.SortFunc(list, func(a, b secret.Ref) int { return bytes.Compare([]byte(a.String()), []byte(b.String())) })
	return slices.Compact(list)
}

// names are those of the providers, the built-in ones first.
func names(all map[string]*provider) []string {
	names := slices.Sorted(maps.Keys(all))
	slices.SortStableFunc(names, func(a, b string) int {
		switch first, second := all[a].plugin == "", all[b].plugin == ""; {
		case first && !second:
			return -1
		case second && !first:
			return 1
		}
		return 0
	})
	return names
}
