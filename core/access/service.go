package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/internal/schema"
	"github.com/wardroom/wardroom/sdk/wire"
)

var _ core.KeyService = (*Service)(nil)

// Bounds of keys.
const (
	maxName    = 100 // bytes
	maxRoles   = 20
	maxFormer  = 4                   // secrets of one key that are valid at once, beside the newest
	keptBehind = 30 * 24 * time.Hour // how long a key that is over stays listed
	maxOver    = 1000                // keys that are over and listed; beyond that the first to be over go
	overEvery  = 100                 // changes of keys between looks for those
	flushEvery = time.Minute         // last uses are written at most so often
	purgeEvery = time.Hour
	minLife    = time.Minute
)

// Store is the part of core.Store that the service uses.
type Store interface {
	core.APIKeyReader
	core.SessionReader
	core.IdempotencyReader
	Update(ctx context.Context, fn func(tx core.Tx) error) error
}

// Options are what a Service is made of. Store, Clock, IDs and Pepper are needed.
type Options struct {
	Store  Store
	Clock  core.Clock
	IDs    core.IDs
	Logger hclog.Logger // nil: discards
	Pepper [32]byte
	// KnownRole reports whether a role exists; nil: any may be given.
	KnownRole func(name string) bool
	// Bound reports whether a binding gives a role to the service account of a name; nil: none does.
	Bound func(name string) bool
	// FitKey returns the scopes of a new key that its roles would make good for less than they say, and a role that mends that,
	// where it may be given; nil: roles bound nothing.
	FitKey func(spec core.APIKeySpec) (lacking []string, role string)
	// MayGrant reports whether somebody may do core.ActionGrant; nil: all who have the scope admin.
	MayGrant func(ctx context.Context, p core.Principal) bool
	// Origin returns the address that failed attempts of a request count for; nil: that of its connection.
	Origin func(r *http.Request) netip.Addr
	// Tokens verifies a token of an identity provider; nil: no tokens are taken. Its errors are for the log, but for one
	// that is Unavailable: it cannot be told now.
	Tokens func(ctx context.Context, token string) (core.Principal, error)
	// Certificate returns whom the certificate of a connection speaks for, if that counts as a credential; nil: it never
	// does.
	Certificate func(r *http.Request) (core.Principal, bool)
	// NoKeys refuses API keys: only tokens and certificates are taken.
	NoKeys bool
	// Attempt is called for each credential that was looked at; may be nil.
	Attempt func(method core.PrincipalKind, allowed bool)
	// Older says what is over for long; nil: the clock does.
	Older core.OlderFunc
	// Changed is called when a key was revoked or given other secrets, and when a session ended; may be nil.
	Changed func()
	// Sessions are those of people; nil: there are none.
	Sessions *SessionOptions
}

// Service keeps API keys and authenticates requests by them. Make it with New, start it with Open, end it with Close.
type Service struct {
	opts     Options
	log      hclog.Logger
	cache    cache
	formers  formers
	failures failures

	known    ids      // of keys, once somebody guesses
	accepted accepted // tokens of an identity provider
	changes  atomic.Int64

	purging sync.Mutex // one look for keys that are over at a time

	mu   sync.Mutex // guards used
	used map[string]time.Time

	sessions sessions
	grants   grants

	closed atomic.Bool
	ctx    context.Context // of the goroutine, and of waits for the store; ends in Close
	stop   context.CancelFunc
	wg     sync.WaitGroup
}

// New makes a service. It does nothing yet.
func New(o Options) *Service {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	if o.Older == nil {
		o.Older = core.OlderBy(o.Clock)
	}
	if o.Attempt == nil {
		o.Attempt = func(core.PrincipalKind, bool) {}
	}
	if o.Origin == nil {
		o.Origin = connectionOf
	}
	s := &Service{opts: o, log: o.Logger, used: map[string]time.Time{}, failures: failures{clock: o.Clock}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Open reads the sessions and the keys, and starts the writing of last uses and the removal of keys that were over long ago.
func (s *Service) Open(ctx context.Context) error {
	if err := s.loadKeys(ctx); err != nil {
		return err
	}
	if err := s.loadSessions(ctx); err != nil {
		return err
	}
	s.wg.Go(func() {
		s.run(s.ctx)
	})
	return nil
}

// loadKeys puts the keys that are valid into memory, the newest first, as far as there is room: what it costs to find one then does
// not depend on how many there are.
func (s *Service) loadKeys(ctx context.Context) error {
	if s.opts.NoKeys {
		return nil
	}
	_, mark := s.cache.get("")
	now := s.opts.Clock.Now()
	for page := (core.Page{Limit: core.MaxPageLimit}); !s.cache.full(); {
		list, info, err := s.opts.Store.FindAPIKeys(ctx, core.APIKeyFilter{Page: page})
		if err != nil {
			return err
		}
		for _, rec := range list {
			if rec.StatusAt(now) == wire.APIKeyActive && !s.cache.full() {
				s.cache.put(rec.ID, newEntry(rec), mark)
			}
		}
		if page.Cursor = info.NextCursor; page.Cursor == "" {
			return nil
		}
	}
	return nil
}

// Close writes what is left and joins. Safe to call twice, and before Open.
func (s *Service) Close() {
	if s.closed.Swap(true) {
		return
	}
	s.stop()
	s.wg.Wait()
}

// run writes last uses until ctx ends, and once more then.
func (s *Service) run(ctx context.Context) {
	purged := time.Time{}
	for {
		wake := make(chan struct{})
		timer := s.opts.Clock.AfterFunc(flushEvery, func() { close(wake) })
		select {
		case <-wake:
		case <-ctx.Done():
			timer.Stop()
			s.flush(context.WithoutCancel(ctx))
			s.flushSessions(context.WithoutCancel(ctx))
			return
		}
		s.flush(ctx)
		s.flushSessions(ctx)
		s.endIdle(ctx)
		if now := s.opts.Clock.Now(); now.Sub(purged) >= purgeEvery {
			purged = now
			s.purge(ctx)
		}
	}
}

// touch notes the use of a key.
func (s *Service) touch(id string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[id] = now
}

// flush writes the last uses since the last flush, in one transaction.
func (s *Service) flush(ctx context.Context) {
	s.mu.Lock()
	used := s.used
	s.used = map[string]time.Time{}
	s.mu.Unlock()
	if len(used) == 0 {
		return
	}
	err := s.opts.Store.Update(ctx, func(tx core.Tx) error {
		for id, at := range used {
			rec, err := tx.FindAPIKey(id)
			if core.ErrorCode(err) == core.CodeNotFound || errors.Is(err, core.ErrUnreadable) {
				continue
			}
			if err != nil {
				return err
			}
			next := *rec
			next.LastUsedAt = new(at.UTC().Truncate(time.Minute))
			if err := tx.PutAPIKey(&next); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		s.log.Warn("the last uses of keys were not written; they are with the next ones", "error", err)
		s.mu.Lock()
		defer s.mu.Unlock()
		for id, at := range used {
			if s.used[id].Before(at) {
				s.used[id] = at
			}
		}
	}
}

// purge forgets keys that were over long ago, and of too many those that were over first.
func (s *Service) purge(ctx context.Context) {
	s.purging.Lock()
	defer s.purging.Unlock()
	type over struct {
		id  string
		end time.Time
	}
	var kept []over
	var gone []string
	page := core.Page{Limit: core.MaxPageLimit}
	for {
		list, info, err := s.opts.Store.FindAPIKeys(ctx, core.APIKeyFilter{Page: page})
		if err != nil {
			s.log.Warn("keys that are over were not looked for", "error", err)
			return
		}
		for _, rec := range list {
			switch end := endOf(rec); {
			case end.IsZero() || rec.RevokedAt == nil && !s.opts.Older(end, 0):
			case s.opts.Older(end, keptBehind):
				gone = append(gone, rec.ID)
			default:
				kept = append(kept, over{rec.ID, end})
			}
		}
		if page.Cursor = info.NextCursor; page.Cursor == "" {
			break
		}
	}
	if len(kept) > maxOver {
		slices.SortFunc(kept, func(a, b over) int { return a.end.Compare(b.end) })
		for _, k := range kept[:len(kept)-maxOver] {
			gone = append(gone, k.id)
		}
	}
	for chunk := range slices.Chunk(gone, core.MaxPageLimit) {
		err := s.opts.Store.Update(ctx, func(tx core.Tx) error {
			var errs []error
			for _, id := range chunk {
				errs = append(errs, readable(tx.DeleteAPIKey(id)))
			}
			tx.AfterCommit(func() { s.known.drop(chunk) })
			return errors.Join(errs...)
		})
		if err != nil {
			s.log.Warn("keys that are over were not removed", "error", err)
			return
		}
	}
}

// update is doubt.Update for as long as the service is open.
func (s *Service) update(ctx context.Context, fn func(tx core.Tx) error) error {
	return doubt.Update(ctx, s.ctx, s.opts.Clock, s.opts.Store, fn, pause.For)
}

// readable passes over a record that cannot be read: it stays, and keeps nothing from the others.
func readable(err error) error {
	if errors.Is(err, core.ErrUnreadable) {
		return nil
	}
	return err
}

// changed looks for keys that are over now and then, so that they stay bounded however fast they come.
func (s *Service) changed(ctx context.Context) {
	if s.changes.Add(1)%overEvery == 0 {
		s.purge(context.WithoutCancel(ctx))
	}
}

// endOf returns when a key was over, or will be; zero: never.
func endOf(rec *core.APIKeyRecord) time.Time {
	switch {
	case rec.RevokedAt != nil:
		return *rec.RevokedAt
	case rec.ExpiresAt != nil:
		return *rec.ExpiresAt
	}
	return time.Time{}
}

// view is a record as others see it.
func (s *Service) view(rec *core.APIKeyRecord) *core.APIKey {
	now := s.opts.Clock.Now()
	k := rec.APIKey
	k.Status = rec.StatusAt(now)
	s.mu.Lock()
	used := s.used[k.ID]
	s.mu.Unlock()
	if !used.IsZero() {
		k.LastUsedAt = new(used.UTC().Truncate(time.Minute))
	}
	if k.FormerUntil != nil && !now.Before(*k.FormerUntil) {
		k.FormerUntil = nil
	}
	return &k
}

// FindKeys implements core.KeyService.
func (s *Service) FindKeys(ctx context.Context, filter core.APIKeyFilter) ([]*core.APIKey, core.PageInfo, error) {
	found, info, err := s.opts.Store.FindAPIKeys(ctx, filter)
	list := make([]*core.APIKey, len(found))
	for i, rec := range found {
		list[i] = s.view(rec)
	}
	return list, info, err
}

// FindKey implements core.KeyService.
func (s *Service) FindKey(ctx context.Context, id string) (*core.APIKey, error) {
	rec, err := s.opts.Store.FindAPIKey(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.view(rec), nil
}

// CreateKey implements core.KeyService.
func (s *Service) CreateKey(ctx context.Context, spec core.APIKeySpec) (*core.NewAPIKey, error) {
	spec.Owner = cmp.Or(spec.Owner, spec.Name)
	if err := s.checkSpec(spec); err != nil {
		return nil, err
	}
	if err := s.mayGive(ctx, spec); err != nil {
		return nil, err
	}
	warning := s.fit(ctx, &spec)
	rec, key, err := s.newKey(ctx, spec)
	if err != nil {
		return nil, err
	}
	made, err := s.add(ctx, rec, key)
	if err == nil {
		made.Warning = warning
	}
	return made, err
}

// fit gives a key to which nothing gives a role the one that its scopes take, if whoever makes it may give that. It returns what
// there is to say of scopes that no role covers.
func (s *Service) fit(ctx context.Context, spec *core.APIKeySpec) (warning string) {
	if s.opts.FitKey == nil {
		return ""
	}
	lacking, role := s.opts.FitKey(*spec)
	if len(lacking) == 0 {
		return ""
	}
	if role != "" {
		fitted := *spec
		fitted.Roles = []string{role}
		if s.mayGive(ctx, fitted) == nil {
			*spec = fitted
			return ""
		}
	}
	return "no role of the key grants all of the scopes " + strings.Join(lacking, ", ") +
		": what they cover beyond its roles is refused; security.rbac.bindings give its owner one, or roles the key"
}

// CreateFirstKey makes a key that may do everything, if there is none at all. keep gets it before it is valid, so that a
// crash leaves no key whose secret is lost.
func (s *Service) CreateFirstKey(ctx context.Context, name string, keep func(key string) error) error {
	list, _, err := s.opts.Store.FindAPIKeys(ctx, core.APIKeyFilter{Page: core.Page{Limit: 1}})
	if err != nil || len(list) > 0 {
		return err
	}
	rec, key, err := s.newKey(ctx, core.APIKeySpec{
		Name: name, Owner: name, Scopes: []string{core.ScopeAdmin}, Roles: []string{roleAdmin}, Never: true,
	})
	if err != nil {
		return err
	}
	if err := keep(key); err != nil {
		return err
	}
	_, err = s.add(ctx, rec, key)
	return err
}

// roleAdmin is the role that may do everything.
const roleAdmin = "admin"

// newKey makes the record of a key, and the key.
func (s *Service) newKey(ctx context.Context, spec core.APIKeySpec) (*core.APIKeyRecord, string, error) {
	secret, err := newSecret()
	if err != nil {
		return nil, "", err
	}
	now := s.opts.Clock.Now().UTC()
	rec := &core.APIKeyRecord{APIKey: core.APIKey{
		ID: s.opts.IDs.New(core.PrefixAPIKey), Name: spec.Name, Owner: spec.Owner, Scopes: ordered(spec.Scopes), Roles: slices.Clone(spec.Roles),
		CreatedBy: core.PrincipalFrom(ctx).ID, CreatedAt: now,
	}}
	if !spec.Never {
		rec.ExpiresAt = new(now.Add(cmp.Or(spec.Life, core.DefaultKeyLife)))
	}
	rec.Hashes = []core.KeyHash{{MAC: s.mac(rec.ID, secret)}}
	return rec, keyForm.join(rec.ID, secret), nil
}

// add stores a new key.
func (s *Service) add(ctx context.Context, rec *core.APIKeyRecord, key string) (*core.NewAPIKey, error) {
	claim := core.IdempotencyFrom(ctx)
	err := s.update(ctx, func(tx core.Tx) error {
		if err := tx.ClaimIdempotency(claim, rec.ID, rec.CreatedAt); err != nil {
			return err
		}
		other, err := tx.APIKeyNamed(rec.Name)
		if err != nil {
			return err
		}
		if other != nil && other.StatusAt(rec.CreatedAt) == wire.APIKeyActive {
			return core.Conflict("key", other.ID, string(wire.APIKeyActive), "the key %s has the name %q already; revoke or rotate that one", other.ID, rec.Name)
		}
		tx.AfterCommit(func() { s.known.add(rec.ID) })
		return tx.PutAPIKey(rec)
	})
	if err != nil {
		return nil, err
	}
	s.changed(ctx)
	s.log.Info("key created", "key", rec.ID, "name", rec.Name, "owner", rec.Owner, "scopes", strings.Join(rec.Scopes, ","), "by", rec.CreatedBy)
	return &core.NewAPIKey{APIKey: *s.view(rec), Key: key}, nil
}

// ordered returns scopes in the order of core.Scopes, each once.
func ordered(scopes []string) []string {
	list := make([]string, 0, len(scopes))
	for _, scope := range core.Scopes {
		if slices.Contains(scopes, scope) {
			list = append(list, scope)
		}
	}
	return list
}

// checkSpec returns everything that is wrong with a new key.
func (s *Service) checkSpec(spec core.APIKeySpec) error {
	var found []core.Problem
	wrong := func(bad bool, path, reason string) {
		if bad {
			found = append(found, core.Problem{Path: path, Reason: reason})
		}
	}
	for _, text := range []struct{ path, value string }{{"name", spec.Name}, {"owner", spec.Owner}} {
		if text.path == "owner" && spec.Owner == spec.Name {
			continue
		}
		wrong(text.value == "" || len(text.value) > maxName, text.path, "must be 1 to 100 bytes")
		wrong(!utf8.ValidString(text.value) || strings.ContainsFunc(text.value, unprintable) || strings.TrimSpace(text.value) != text.value,
			text.path, "must be printable text without space around it")
		wrong(core.IsReserved(text.value), text.path, "is reserved: records use it for those who need no key")
	}
	wrong(len(spec.Scopes) == 0, "scopes", "must name at least one of "+strings.Join(core.Scopes, ", "))
	for _, scope := range spec.Scopes {
		wrong(!slices.Contains(core.Scopes, scope), "scopes", fmt.Sprintf("must be of %s, not %q", strings.Join(core.Scopes, ", "), schema.Clip(scope)))
	}
	wrong(len(spec.Roles) > maxRoles, "roles", "must be at most 20")
	for _, role := range spec.Roles {
		wrong(role == "" || len(role) > maxName || s.opts.KnownRole != nil && !s.opts.KnownRole(role), "roles",
			"must be admin, operator, developer, viewer, or declared in security.rbac.roles, not "+strconv.Quote(schema.Clip(role)))
	}
	wrong(spec.Never && spec.Life != 0, "never", "excludes a time of expiry")
	wrong(spec.Life != 0 && (spec.Life < minLife || spec.Life > core.MaxKeyLife), "expiresIn", "must be from 1 minute to 3650 days")
	return core.InvalidAll("key", found)
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// mayGive refuses what would make a key mightier than who makes it.
func (s *Service) mayGive(ctx context.Context, spec core.APIKeySpec) error {
	by := core.PrincipalFrom(ctx)
	if by.Kind == core.PrincipalSystem || by.Unbounded() && (s.opts.MayGrant == nil || s.opts.MayGrant(ctx, by)) {
		return nil
	}
	for _, scope := range spec.Scopes {
		if missing := slices.IndexFunc(core.ExpandScopes([]string{scope}), func(s string) bool { return !core.Grants(by.Scopes, s) }); missing >= 0 {
			return core.Forbidden("keys.create", scope, "a key cannot get the scope %s from one without it", scope)
		}
		if scope == core.ScopeAdmin && by.ScopesByDefault { // it opens allow-lists that the default does not
			return core.Forbidden("keys.create", scope, "a key cannot get the scope %s from one who has it by default, as everybody", scope)
		}
	}
	if spec.Owner != by.ID {
		return core.Forbidden("keys.create", core.ScopeAdmin, "only an administrator makes keys that act for somebody else")
	}
	if s.opts.Bound != nil && s.opts.Bound(spec.Name) && (spec.Name != by.Name || by.Kind != core.PrincipalAPIKey) {
		return core.Forbidden("keys.create", core.ScopeAdmin, "only an administrator makes keys with the name of a service account that has a role")
	}
	for _, role := range spec.Roles {
		if !slices.Contains(by.Roles, role) {
			return core.Forbidden("keys.create", core.ScopeAdmin, "only an administrator gives a key a role that its maker's credential does not carry")
		}
	}
	return nil
}

// RotateKey implements core.KeyService.
func (s *Service) RotateKey(ctx context.Context, id string, overlap time.Duration) (*core.NewAPIKey, error) {
	if overlap < 0 || overlap > core.MaxKeyOverlap {
		return nil, core.Invalid("overlap", "must be from 0 to 30 days")
	}
	secret, err := newSecret()
	if err != nil {
		return nil, err
	}
	by := core.PrincipalFrom(ctx)
	var rec *core.APIKeyRecord
	err = s.change(ctx, id, func(next *core.APIKeyRecord, now time.Time) error {
		if status := next.StatusAt(now); status != wire.APIKeyActive {
			return core.Conflict("key", id, string(status), "the key is %s; create another one", status)
		}
		if err := s.mayGive(ctx, core.APIKeySpec{Name: next.Name, Scopes: next.Scopes, Owner: next.Owner, Roles: next.Roles}); err != nil {
			return err
		}
		end := now.Add(overlap)
		hashes := []core.KeyHash{{MAC: s.mac(id, secret)}}
		for _, h := range next.Hashes {
			if h.Until == nil || h.Until.After(end) {
				h.Until = &end
			}
			if h.Until.After(now) && len(hashes) <= maxFormer {
				hashes = append(hashes, h)
			}
		}
		next.Hashes, next.RotatedAt, next.FormerUntil = hashes, &now, nil
		if overlap > 0 {
			next.FormerUntil = &end
		}
		rec = next
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.log.Info("key rotated", "key", id, "name", rec.Name, "overlap", overlap.String(), "by", by.ID)
	return &core.NewAPIKey{APIKey: *s.view(rec), Key: keyForm.join(id, secret)}, nil
}

// RevokeKey implements core.KeyService.
func (s *Service) RevokeKey(ctx context.Context, id string) error {
	by := core.PrincipalFrom(ctx)
	err := s.change(ctx, id, func(next *core.APIKeyRecord, now time.Time) error {
		if next.RevokedAt == nil {
			next.RevokedAt, next.RevokedBy, next.Hashes, next.FormerUntil = &now, by.ID, nil, nil
		}
		return nil
	})
	switch {
	case err == nil:
		s.changed(ctx)
		s.log.Info("key revoked", "key", id, "by", by.ID)
	case errors.Is(err, core.ErrUnreadable): // the record stays; what memory has of it is not used any more
		s.forget(id)
	}
	return err
}

// forget has a key looked up again, by what goes on with it as well.
func (s *Service) forget(id string) {
	s.cache.forget(id)
	if s.opts.Changed != nil {
		s.opts.Changed()
	}
}

// change stores what fn does to a copy of a key, which counts from the commit on.
func (s *Service) change(ctx context.Context, id string, fn func(next *core.APIKeyRecord, now time.Time) error) error {
	now := s.opts.Clock.Now().UTC()
	return s.update(ctx, func(tx core.Tx) error {
		rec, err := tx.FindAPIKey(id)
		if core.ErrorCode(err) == core.CodeNotFound {
			return core.NotFound("key", id)
		}
		if err != nil {
			return err
		}
		next := *rec
		if err := fn(&next, now); err != nil {
			return err
		}
		tx.AfterCommit(func() {
			s.formers.set(&next)
			s.forget(id)
		})
		return tx.PutAPIKey(&next)
	})
}
