package access

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/wardroom/wardroom/core"
)

var _ core.SessionService = (*Service)(nil)

// Bounds of sessions.
const (
	maxSessions = 20_000 // of all people; beyond that those that were not used for longest end
	maxText     = 200    // bytes of what a client calls itself, and of names
	maxIDToken  = 16 << 10
)

// SessionLimits bound sessions. They may change at any time.
type SessionLimits struct {
	Idle          time.Duration // after which a session of a browser ends that is not used
	MaxAge        time.Duration // after which every session ends
	MaxConcurrent int           // sessions of one person
}

// SessionOptions are those of the sessions of people. All are needed.
type SessionOptions struct {
	Limits func() SessionLimits
	// Scopes returns what a person who signed in by an identity provider may do at most, and whether everybody gets that.
	Scopes func(ctx context.Context, p core.Principal) (scopes []string, byDefault bool)
	// Secure says that browsers reach the server by https; else sessions are for loopback alone.
	Secure bool
	// SSO says that people sign in at an identity provider. Without it sessions that they opened there are none any more.
	SSO bool
	// Issuer is that provider. Sessions that people opened at another one are none any more.
	Issuer string
}

// sessions are all sessions that are not over. The zero value is ready.
type sessions struct {
	changing sync.Mutex // held by whoever begins or ends sessions

	mu   sync.RWMutex // guards below
	live map[string]*liveSession
}

// liveSession is a session in memory.
//
// Its times have monotonic readings, and it is over as soon as the time that passed or the wall clock says so: the former stands
// still while the machine is suspended, and the latter may be set back.
type liveSession struct {
	rec   *core.SessionRecord // without IDToken; immutable
	began time.Time
	ends  time.Time
	used  time.Time
	dirty bool // used is not stored yet
}

// newLive takes in a session that was stored at some time before now.
func newLive(rec *core.SessionRecord, now time.Time) *liveSession {
	wall := now // as far as it is known: behind a clock that was set back, the last use at least was there
	if rec.LastUsedAt.After(wall) {
		wall = rec.LastUsedAt
	}
	back := func(t time.Time) time.Time { return now.Add(-max(wall.Sub(t), 0)) } // a time of the future is now
	life := rec.ExpiresAt.Sub(rec.CreatedAt)
	return &liveSession{
		rec: withoutToken(rec), began: back(rec.CreatedAt), used: back(rec.LastUsedAt), ends: now.Add(min(rec.ExpiresAt.Sub(wall), life)),
	}
}

// idleUntil returns when a session ends unless it is used; zero: it has no such end.
func (l *liveSession) idleUntil(limits SessionLimits) time.Time {
	if l.rec.Kind != core.SessionBrowser {
		return time.Time{}
	}
	return l.used.Add(limits.Idle)
}

// over reports whether a session ended.
func (l *liveSession) over(now time.Time, limits SessionLimits) bool {
	idle := l.idleUntil(limits)
	return reached(l.ends, now) || reached(l.began.Add(limits.MaxAge), now) || !idle.IsZero() && reached(idle, now)
}

// lastUse returns the last use as it is stored: behind a clock that was set back it is as far from the beginning as the time that passed.
func (l *liveSession) lastUse() time.Time {
	used, passed := l.used.UTC(), l.rec.CreatedAt.Add(l.used.Sub(l.began))
	if passed.After(used) {
		return passed
	}
	return used
}

// reached reports whether it is a time by now, of which both have a monotonic reading, or by the wall clock.
func reached(t, now time.Time) bool {
	return !now.Before(t) || !now.Round(0).Before(t.Round(0))
}

// loadSessions reads the sessions.
func (s *Service) loadSessions(ctx context.Context) error {
	if s.opts.Sessions == nil {
		return nil
	}
	live, now := map[string]*liveSession{}, s.opts.Clock.Now()
	page := core.Page{Limit: core.MaxPageLimit}
	for {
		list, info, err := s.opts.Store.FindSessions(ctx, core.SessionFilter{Page: page})
		if err != nil {
			return err
		}
		for _, rec := range list {
			live[rec.ID] = newLive(rec, now)
		}
		if page.Cursor = info.NextCursor; page.Cursor == "" {
			break
		}
	}
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	s.sessions.live = live
	return nil
}

func withoutToken(rec *core.SessionRecord) *core.SessionRecord {
	short := *rec
	short.IDToken = nil
	return &short
}

// find returns a session as it is now; false if there is none, or it is over.
func (s *Service) liveSession(id string, now time.Time) (l liveSession, ok bool) {
	s.sessions.mu.RLock()
	defer s.sessions.mu.RUnlock()
	found := s.sessions.live[id]
	if found == nil || found.over(now, s.opts.Sessions.Limits()) {
		return l, false
	}
	return *found, true
}

// CreateSession implements core.SessionService.
func (s *Service) CreateSession(ctx context.Context, spec core.SessionSpec) (*core.NewSession, error) {
	if spec.User == "" || core.IsReserved(spec.User) {
		return nil, core.Invalid("user", "must not be empty or reserved")
	}
	secret, err := newSecret()
	if err != nil {
		return nil, err
	}
	var until time.Time // that of the key, and not of the principal, which ends with the certificate of its connection as well
	if spec.KeyID != "" {
		p, err := s.keyPrincipal(ctx, spec.KeyID, spec.KeySecret)
		if err != nil {
			return nil, err
		}
		until = p.Expires
	}
	s.sessions.changing.Lock()
	defer s.sessions.changing.Unlock()
	now, limits := s.opts.Clock.Now(), s.opts.Sessions.Limits()
	rec := &core.SessionRecord{UserSession: core.UserSession{
		ID: s.opts.IDs.New(core.PrefixSession), Kind: spec.Kind, User: spec.User, Name: shown(cmp.Or(spec.Name, spec.User)), Method: spec.Method,
		KeyID: spec.KeyID, Groups: slices.Clone(spec.Groups), Roles: slices.Clone(spec.Roles), Address: shown(spec.Address), Client: shown(spec.Client),
		CreatedAt: now.UTC(), LastUsedAt: now.UTC(), ExpiresAt: now.Add(limits.MaxAge).UTC(),
	}}
	if !until.IsZero() && until.Before(rec.ExpiresAt) {
		rec.ExpiresAt = until.UTC()
	}
	rec.MAC, rec.KeySecret = s.mac(rec.ID, secret), spec.KeySecret
	if spec.KeyID == "" {
		rec.Issuer = s.opts.Sessions.Issuer
	}
	if spec.IDToken != "" && len(spec.IDToken) <= maxIDToken {
		if rec.IDToken, err = s.seal(rec.ID, spec.IDToken); err != nil {
			return nil, err
		}
	}
	ending := s.superfluous(rec.User, spec.Replaces, now, limits)
	err = s.update(ctx, func(tx core.Tx) error {
		for _, id := range ending {
			if err := readable(tx.DeleteSession(id)); err != nil {
				return err
			}
		}
		tx.AfterCommit(func() { s.drop(ending, newLive(rec, now)) })
		return tx.PutSession(rec)
	})
	if err != nil {
		return nil, err
	}
	s.log.Info("signed in", "session", rec.ID, "kind", string(rec.Kind), "user", rec.User, "method", rec.Method, "from", rec.Address)
	for _, id := range ending {
		s.log.Info("session ended", "session", id, "by", rec.User, "reason", "another sign-in")
	}
	return &core.NewSession{UserSession: rec.UserSession, Token: sessionForm.join(rec.ID, secret)}, nil
}

// superfluous returns the sessions that end so that a person can have one more: the one that it replaces, and if there is no room then,
// those that are over first, and those that were not used for longest.
func (s *Service) superfluous(user, replaced string, now time.Time, limits SessionLimits) []string {
	s.sessions.mu.RLock()
	defer s.sessions.mu.RUnlock()
	byUse := func(list []*liveSession) {
		slices.SortFunc(list, func(a, b *liveSession) int {
			if over := a.over(now, limits); over != b.over(now, limits) {
				if over {
					return -1
				}
				return 1
			}
			return cmp.Or(a.used.Compare(b.used), strings.Compare(a.rec.ID, b.rec.ID))
		})
	}
	var own, ending []*liveSession
	for _, l := range s.sessions.live {
		switch {
		case l.rec.ID == replaced:
			ending = append(ending, l)
		case l.rec.User == user:
			own = append(own, l)
		}
	}
	byUse(own)
	if n := len(own) - limits.MaxConcurrent + 1; n > 0 {
		ending = append(ending, own[:n]...)
	}
	if more := len(s.sessions.live) - len(ending) - maxSessions + 1; more > 0 {
		var all []*liveSession
		for _, l := range s.sessions.live {
			if !slices.Contains(ending, l) {
				all = append(all, l)
			}
		}
		byUse(all)
		ending = append(ending, all[:more]...)
	}
	ids := make([]string, len(ending))
	for i, l := range ending {
		ids[i] = l.rec.ID
	}
	return ids
}

// drop takes sessions out of memory, and one in, if that is not nil.
func (s *Service) drop(ids []string, fresh *liveSession) {
	s.sessions.mu.Lock()
	for _, id := range ids {
		delete(s.sessions.live, id)
	}
	if fresh != nil {
		s.sessions.live[fresh.rec.ID] = fresh
	}
	s.sessions.mu.Unlock()
	if len(ids) > 0 && s.opts.Changed != nil {
		s.opts.Changed()
	}
}

// shown returns a text of a client, or of a provider, as it may be shown: without control characters, and not too long.
func shown(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	return text
}

// viewSession is a session as others see it.
func (s *Service) viewSession(l liveSession) *core.UserSession {
	v := l.rec.UserSession
	v.LastUsedAt = l.used.UTC().Truncate(time.Minute)
	if idle := l.idleUntil(s.opts.Sessions.Limits()); !idle.IsZero() {
		v.IdleUntil = new(idle.UTC().Truncate(time.Second))
	}
	return &v
}

// FindSessions implements core.SessionService.
func (s *Service) FindSessions(ctx context.Context, filter core.SessionFilter) ([]*core.UserSession, core.PageInfo, error) {
	found, info, err := s.opts.Store.FindSessions(ctx, filter)
	now := s.opts.Clock.Now()
	list := make([]*core.UserSession, 0, len(found))
	for _, rec := range found {
		if l, ok := s.liveSession(rec.ID, now); ok {
			list = append(list, s.viewSession(l))
		}
	}
	return list, info, err
}

// FindSession implements core.SessionService.
func (s *Service) FindSession(_ context.Context, id string) (*core.UserSession, error) {
	l, ok := s.liveSession(id, s.opts.Clock.Now())
	if !ok {
		return nil, core.NotFound("session", id)
	}
	return s.viewSession(l), nil
}

// RevokeSession implements core.SessionService.
func (s *Service) RevokeSession(ctx context.Context, id string) (idToken string, err error) {
	s.sessions.changing.Lock()
	defer s.sessions.changing.Unlock()
	err = s.update(ctx, func(tx core.Tx) error {
		rec, err := tx.FindSession(id)
		if err != nil {
			return err
		}
		idToken = s.open(id, rec.IDToken)
		tx.AfterCommit(func() { s.drop([]string{id}, nil) })
		return tx.DeleteSession(id)
	})
	switch {
	case core.ErrorCode(err) == core.CodeNotFound:
		return "", core.NotFound("session", id)
	case errors.Is(err, core.ErrUnreadable): // the record stays; what memory has of it is not used any more
		s.drop([]string{id}, nil)
	case err != nil:
		return "", err
	}
	s.log.Info("session ended", "session", id, "by", core.PrincipalFrom(ctx).ID)
	return idToken, nil
}

// endIdle ends the sessions that are over, so that what goes on for them ends too.
func (s *Service) endIdle(ctx context.Context) {
	if s.opts.Sessions == nil {
		return
	}
	s.sessions.changing.Lock()
	defer s.sessions.changing.Unlock()
	now, limits := s.opts.Clock.Now(), s.opts.Sessions.Limits()
	var over []string
	s.sessions.mu.RLock()
	for id, l := range s.sessions.live {
		if l.over(now, limits) {
			over = append(over, id)
		}
	}
	s.sessions.mu.RUnlock()
	for chunk := range slices.Chunk(over, core.MaxPageLimit) {
		err := s.opts.Store.Update(ctx, func(tx core.Tx) error {
			var errs []error
			for _, id := range chunk {
				errs = append(errs, readable(tx.DeleteSession(id)))
			}
			tx.AfterCommit(func() { s.drop(chunk, nil) })
			return errors.Join(errs...)
		})
		if err != nil {
			if ctx.Err() == nil {
				s.log.Warn("sessions that are over were not removed; they open nothing", "error", err)
			}
			return
		}
	}
}

// flushSessions writes the last uses since the last flush.
func (s *Service) flushSessions(ctx context.Context) {
	if s.opts.Sessions == nil {
		return
	}
	s.sessions.changing.Lock() // so that no session is written that ended meanwhile
	defer s.sessions.changing.Unlock()
	used := map[string]time.Time{}
	s.sessions.mu.Lock()
	for id, l := range s.sessions.live {
		if l.dirty {
			used[id], l.dirty = l.lastUse(), false
		}
	}
	s.sessions.mu.Unlock()
	if len(used) == 0 {
		return
	}
	err := s.opts.Store.Update(ctx, func(tx core.Tx) error {
		for id, at := range used {
			rec, err := tx.FindSession(id)
			if core.ErrorCode(err) == core.CodeNotFound || errors.Is(err, core.ErrUnreadable) {
				continue
			}
			if err != nil {
				return err
			}
			next := *rec
			if at.After(next.LastUsedAt) {
				next.LastUsedAt = at
			}
			if err := tx.PutSession(&next); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil || ctx.Err() != nil {
		return
	}
	s.log.Warn("the last uses of sessions were not written; they are with the next ones", "error", err)
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	for id := range used {
		if l := s.sessions.live[id]; l != nil {
			l.dirty = true
		}
	}
}

// checkCLI is check for the session of a command line.
func (s *Service) checkCLI(ctx context.Context, token string, from netip.Prefix) (core.Principal, string, error) {
	return s.checkSession(ctx, token, from, core.SessionCLI)
}

// checkSession returns whose a session is, or for the log why it is refused. A session of one kind is none of another, so
// that what a browser keeps is of no use outside of it.
func (s *Service) checkSession(
	ctx context.Context, token string, from netip.Prefix, kind core.UserSessionKind,
) (p core.Principal, reason string, err error) {
	id, secret, ok := sessionForm.cut(token)
	now := s.opts.Clock.Now()
	l, live := liveSession{}, false
	if ok {
		l, live = s.liveSession(id, now)
	}
	mac := make([]byte, sha256.Size) // stands for that of a session that is not known, which takes as long to be refused
	if live {
		mac = l.rec.MAC
	}
	if !hmac.Equal(s.mac(id, secret), mac) || !live || l.rec.Kind != kind {
		if wait := s.failures.exceeded(from); wait > 0 {
			return p, "", tooMany(wait)
		}
		return p, "no session, or one that is over", nil
	}
	if p, err = s.sessionPrincipal(ctx, l); err != nil {
		if core.ErrorCode(err) == core.CodeUnauthorized {
			return p, "what the session was opened by is over", nil
		}
		return p, "", err
	}
	s.touchSession(id, now)
	return p, "", nil
}

// touchSession notes the use of a session.
func (s *Service) touchSession(id string, now time.Time) {
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	if l := s.sessions.live[id]; l != nil && now.Sub(l.used) >= time.Second {
		l.used, l.dirty = now, true
	}
}

// sessionPrincipal returns whom a session speaks for. UNAUTHORIZED when what it was opened with is over: a key, the secret of it
// that was shown, or the way to sign in at an identity provider.
func (s *Service) sessionPrincipal(ctx context.Context, l liveSession) (core.Principal, error) {
	rec := l.rec
	p := core.Principal{
		Kind: core.PrincipalUser, ID: rec.User, Name: rec.Name, Groups: rec.Groups, Roles: rec.Roles, SessionID: rec.ID, Expires: l.ends,
	}
	if rec.KeyID == "" {
		if !s.opts.Sessions.SSO || rec.Issuer != "" && rec.Issuer != s.opts.Sessions.Issuer {
			return core.Principal{}, unauthorized("invalid", "the credential is not valid")
		}
		p.Scopes, p.ScopesByDefault = s.opts.Sessions.Scopes(ctx, p)
		return p, nil
	}
	if s.opts.NoKeys {
		return core.Principal{}, unauthorized("invalid", "the credential is not valid")
	}
	p, err := s.keyPrincipal(ctx, rec.KeyID, rec.KeySecret)
	if err != nil {
		return core.Principal{}, err
	}
	p.SessionID = rec.ID
	if p.Expires.IsZero() || l.ends.Before(p.Expires) {
		p.Expires = l.ends
	}
	return p, nil
}

// refreshSession is Refresh for a session.
func (s *Service) refreshSession(ctx context.Context, id string) (core.Principal, error) {
	l, ok := liveSession{}, false
	if s.opts.Sessions != nil {
		l, ok = s.liveSession(id, s.opts.Clock.Now())
	}
	if !ok {
		return core.Principal{}, unauthorized("invalid", "the credential is not valid")
	}
	return s.sessionPrincipal(ctx, l)
}

// derived returns a key for one use, from the pepper.
func (s *Service) derived(use string) []byte {
	h := hmac.New(sha256.New, s.opts.Pepper[:])
	_, _ = h.Write([]byte("wardroom " + use)) // never fails
	return h.Sum(nil)
}

// CSRFToken implements core.SessionService. It follows from the id, which proves nothing, under a key that is ours.
func (s *Service) CSRFToken(sessionID string) string {
	h := hmac.New(sha256.New, s.derived("csrf"))
	_, _ = h.Write([]byte(sessionID)) // never fails
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// CookieSession implements core.SessionService.
func (s *Service) CookieSession(cookie string) string {
	id, secret, ok := sessionForm.cut(cookie)
	if !ok {
		return ""
	}
	l, live := s.liveSession(id, s.opts.Clock.Now())
	if !live || l.rec.Kind != core.SessionBrowser || !hmac.Equal(s.mac(id, secret), l.rec.MAC) {
		return ""
	}
	return id
}

// sealer seals what is stored beside sessions. A nonce is drawn for each text, of which there is one a session.
func (s *Service) sealer() (cipher.AEAD, error) {
	block, err := aes.NewCipher(s.derived("id token"))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (s *Service) seal(id, text string) ([]byte, error) {
	sealer, err := s.sealer()
	if err != nil {
		return nil, err
	}
	return sealer.Seal(nil, nil, []byte(text), []byte(id)), nil
}

// open returns a sealed text; "" if there is none, or it was sealed under another key.
func (s *Service) open(id string, sealed []byte) string {
	sealer, err := s.sealer()
	if err != nil || len(sealed) == 0 {
		return ""
	}
	text, err := sealer.Open(nil, nil, sealed, []byte(id))
	if err != nil {
		return ""
	}
	return string(text)
}

// randomText returns a text of 256 random bits.
func randomText() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // it never fails: crypto/rand ends the process first
	return base64.RawURLEncoding.EncodeToString(raw)
}
