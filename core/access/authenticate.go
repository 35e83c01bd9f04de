package access

import (
	"context"
	"crypto/hmac"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Authenticate returns who sends a request. UNAUTHORIZED {reason: missing} for one without a credential, and
// {reason: invalid} for any that is not accepted, whatever the reason: only the log tells which. RATE_LIMITED for an
// address with too many failed attempts, unless the key is one that was accepted before.
func (s *Service) Authenticate(r *http.Request) (core.Principal, error) {
	token, given := bearer(r.Header)
	if !given {
		if p, found, err := s.byCookie(r, true); found {
			return p, err
		}
		if s.opts.Certificate != nil {
			if p, ok := s.opts.Certificate(r); ok {
				if foreign(r, true) {
					return core.Principal{}, refused("a page of another site cannot use the certificate of its user; it sends Authorization: Bearer <key>")
				}
				s.opts.Attempt(p.Kind, true)
				return p, nil
			}
		}
		return core.Principal{}, unauthorized("missing", "a credential is required: Authorization: Bearer <key>")
	}
	from := addressOf(s.opts.Origin(r))
	method, check := core.PrincipalAPIKey, s.check
	switch {
	case s.opts.Tokens != nil && strings.Count(token, ".") == 2: // no key has a dot
		method, check = core.PrincipalUser, s.checkToken
	case s.opts.Sessions != nil && strings.HasPrefix(token, sessionForm.mark):
		method, check = core.PrincipalUser, s.checkCLI
	}
	p, reason, err := check(r.Context(), token, from)
	if err == nil {
		s.opts.Attempt(method, reason == "")
	}
	if err != nil || reason == "" {
		return p, err
	}
	s.failures.add(from)
	s.log.Debug("credential refused", "reason", reason, "key", p.KeyID, "from", r.RemoteAddr)
	return core.Principal{}, unauthorized("invalid", "the credential is not valid")
}

func unauthorized(reason, message string) error {
	e := core.Errorf(core.CodeUnauthorized, "%s", message)
	e.Details = map[string]any{"reason": reason}
	return e
}

// bearer returns the credential of a request. One that is sent twice is none that could be accepted.
func bearer(h http.Header) (token string, given bool) {
	values := h["Authorization"]
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return "", true
	}
	return token, true
}

// check returns whose a token is, or for the log why it is refused; of a key that is known, its id with it.
func (s *Service) check(ctx context.Context, token string, from netip.Prefix) (p core.Principal, reason string, err error) {
	id, secret, ok := keyForm.cut(token)
	ok = ok && !s.opts.NoKeys
	wait := s.failures.exceeded(from)
	if !ok {
		if wait > 0 {
			return p, "", tooMany(wait)
		}
		return p, "malformed", nil
	}
	e, _ := s.cache.get(id)
	if e == nil {
		if wait > 0 && !s.known.has(ctx, s.opts.Store, id) { // such an address costs no look at the store
			return p, "", tooMany(wait)
		}
		if e, err = s.entry(ctx, id); err != nil {
			return p, "", err
		}
	}
	now := s.opts.Clock.Now()
	hashes, status := noHashes, wire.APIKeyRevoked
	if e != nil && len(e.rec.Hashes) > 0 {
		hashes, status = e.rec.Hashes, e.rec.StatusAt(now)
		p.KeyID = id
	}
	shown, good := s.matches(id, secret, hashes, now)
	switch {
	case !good:
		reason = "unknown, or another secret"
	case status != wire.APIKeyActive:
		reason = string(status)
	default:
		s.touch(id, now)
		return e.of(shown), "", nil
	}
	if wait > 0 {
		return p, "", tooMany(wait)
	}
	return p, reason, nil
}

// checkToken is check for a token of an identity provider.
func (s *Service) checkToken(ctx context.Context, token string, from netip.Prefix) (p core.Principal, reason string, err error) {
	now := s.opts.Clock.Now()
	if wait := s.failures.exceeded(from); wait > 0 && !s.accepted.has(token, now) && !s.failures.spare(from) {
		return p, "", tooMany(wait)
	}
	p, err = s.opts.Tokens(ctx, token)
	switch {
	case err == nil:
		s.accepted.add(token, p.Expires, now)
		return p, "", nil
	case core.AsError(err).Unavailable:
		return p, "", err
	}
	return p, "token: " + err.Error(), nil
}

func tooMany(wait time.Duration) error {
	seconds := int((wait + time.Second - 1) / time.Second)
	return core.RateLimited(maxFailures, failureWindow, wait, "too many credentials of this address were not valid; try again in %d seconds", seconds)
}

// noHashes stands for the secrets of a key that is not known, so that it takes as long as another to be refused.
var noHashes = []core.KeyHash{{MAC: make([]byte, 32)}}

// matches returns which of those of a key a secret is, in a time that does not depend on it.
func (s *Service) matches(id, secret string, hashes []core.KeyHash, now time.Time) (shown core.KeyHash, good bool) {
	mac := s.mac(id, secret)
	for _, h := range hashes {
		if hmac.Equal(mac, h.MAC) && h.GoodAt(now) {
			shown, good = h, true
		}
	}
	return shown, good
}

// Refresh returns a principal as it is now: UNAUTHORIZED when its key is revoked or expired. Streams and sockets that
// began with it are asked about by it.
func (s *Service) Refresh(ctx context.Context, p core.Principal) (core.Principal, error) {
	if !p.Expires.IsZero() && !s.opts.Clock.Now().Before(p.Expires) {
		return core.Principal{}, unauthorized("invalid", "the credential is not valid")
	}
	switch {
	case p.SessionID != "":
		return s.refreshSession(ctx, p.SessionID)
	case p.KeyID == "":
		return p, nil
	}
	return s.keyPrincipal(ctx, p.KeyID, p.KeySecret)
}

// keyPrincipal returns whom a key speaks for, by one of its secrets. UNAUTHORIZED when the key or that secret is over, or cannot be read.
func (s *Service) keyPrincipal(ctx context.Context, id, secret string) (core.Principal, error) {
	e, err := s.entry(ctx, id)
	if err = readable(err); err != nil {
		return core.Principal{}, err
	}
	if e != nil && e.rec.StatusAt(s.opts.Clock.Now()) == wire.APIKeyActive {
		if p, ok := e.by(secret, s.opts.Clock.Now()); ok {
			return p, nil
		}
	}
	return core.Principal{}, unauthorized("invalid", "the credential is not valid")
}

// entry returns a key, or nil if there is none.
func (s *Service) entry(ctx context.Context, id string) (*entry, error) {
	e, mark := s.cache.get(id)
	if e != nil {
		return e, nil
	}
	rec, err := s.opts.Store.FindAPIKey(ctx, id)
	switch {
	case core.ErrorCode(err) == core.CodeNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	}
	e = newEntry(rec)
	s.cache.put(id, e, mark)
	return e, nil
}
