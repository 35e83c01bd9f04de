package access

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// CSRFHeader is the header in which changes by cookie send the token of their session.
const CSRFHeader = "X-Csrf-Token"

// byCookie returns who a request speaks for by the cookie of a browser's session. found is false where there is no such
// cookie, or it is of no session any more and a certificate may stand for it.
func (s *Service) byCookie(r *http.Request, token bool) (p core.Principal, found bool, err error) {
	cookie, ok := s.sessionCookie(r)
	if !ok {
		return p, false, nil
	}
	from := addressOf(s.opts.Origin(r))
	p, reason, err := s.checkSession(r.Context(), cookie, from, core.SessionBrowser)
	switch {
	case err != nil:
		return core.Principal{}, true, err
	case reason != "":
		s.opts.Attempt(core.PrincipalUser, false)
		// A browser goes on with the cookie of a session that is over, which is no attempt at guessing: what has the form of
		// one is not counted. To try costs a look at memory, and there are 190 bits.
		if _, _, formed := sessionForm.cut(cookie); !formed {
			s.failures.add(from)
		}
		if s.opts.Certificate != nil {
			if _, ok := s.opts.Certificate(r); ok {
				return core.Principal{}, false, nil
			}
		}
		s.log.Debug("credential refused", "reason", reason, "from", r.RemoteAddr)
		return core.Principal{}, true, unauthorized("invalid", "the session is over; sign in again")
	}
	if err := s.sameSite(r); err != nil {
		return core.Principal{}, true, err
	}
	if token && r.Method != http.MethodGet && r.Method != http.MethodHead && !s.hasCSRFToken(p.SessionID, r.Header[CSRFHeader]) {
		return core.Principal{}, true, refused("a change by cookie needs the header X-CSRF-Token with csrfToken of GET /api/session")
	}
	s.opts.Attempt(core.PrincipalUser, true)
	return p, true, nil
}

// SignedIn returns who a browser is signed in as, for pages that check themselves that a form is theirs. UNAUTHORIZED for
// none.
func (s *Service) SignedIn(r *http.Request) (core.Principal, error) {
	if _, given := bearer(r.Header); !given && s.opts.Sessions != nil {
		if p, found, err := s.byCookie(r, false); found {
			return p, err
		}
	}
	return core.Principal{}, unauthorized("missing", "no session")
}

// IsCSRFToken reports whether a text is the token of a session, in a time that does not depend on it.
func (s *Service) IsCSRFToken(sessionID, text string) bool {
	return subtle.ConstantTimeCompare([]byte(text), []byte(s.CSRFToken(sessionID))) == 1
}

func (s *Service) hasCSRFToken(sessionID string, values []string) bool {
	return len(values) == 1 && s.IsCSRFToken(sessionID, values[0])
}

// sessionCookie returns the cookie of a session; false if there is none. One that is there twice, as somebody can make it
// be who owns another host of the same domain, is none that could be valid.
func (s *Service) sessionCookie(r *http.Request) (string, bool) {
	if s.opts.Sessions == nil || !s.opts.Sessions.Secure && !loopback(r.Host) {
		return "", false
	}
	switch found := r.CookiesNamed(core.SessionCookie(s.opts.Sessions.Secure, r.Host)); len(found) {
	case 0:
		return "", false
	case 1:
		return found[0].Value, found[0].Value != ""
	}
	return "twice", true
}

// loopback reports whether a Host header names this machine.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// sameSite refuses what a browser sends on behalf of another site. Sockets are opened by pages, so they have an Origin, or
// were not opened by a browser that would protect its cookie.
func (s *Service) sameSite(r *http.Request) error {
	if foreign(r, s.opts.Sessions.Secure) {
		return refused("a request by cookie has to come from the site itself")
	}
	if r.Header.Get("Origin") == "" && r.Header.Get("Upgrade") != "" {
		return refused("a socket by cookie needs an Origin")
	}
	return nil
}

// foreign reports whether a browser sent a request on behalf of another site: it says so in Sec-Fetch-Site, of requests without an
// Origin as well, such as that of an image.
func foreign(r *http.Request, secure bool) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return true
	}
	origin := r.Header.Get("Origin")
	return origin != "" && !ofSite(origin, r.Host, secure)
}

// ofSite reports whether an origin is the site that a request was sent to. Where that is secure, plain http is another one.
func ofSite(origin, host string, secure bool) bool {
	scheme, from, _ := strings.Cut(origin, "://")
	return strings.EqualFold(from, host) && (!secure || strings.EqualFold(scheme, "https"))
}

func refused(message string) error {
	e := core.Errorf(core.CodeForbidden, "%s", message)
	e.Details = map[string]any{"reason": "csrf"}
	return e
}
