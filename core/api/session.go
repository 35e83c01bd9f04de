package api

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// SignIn is how people sign in.
type SignIn struct {
	Sessions core.SessionService // nil: people do not sign in
	Grants   core.GrantService   // needed beside Sessions
	Provider core.SignIn         // nil: there is no identity provider
	// SignedIn returns who a browser is signed in as, without asking for the token of a change. UNAUTHORIZED.
	SignedIn func(r *http.Request) (core.Principal, error)
	// Secure says that browsers reach the server by https; else people sign in on loopback alone.
	Secure bool
	// RedirectURI is where the identity provider sends browsers back to; empty: to the loopback address that was asked for.
	RedirectURI string
	// HomeURI is where it sends them after the end of a session; empty: nowhere.
	HomeURI string
	APIKeys bool // an API key is a way to sign in
}

const sessionsPath = "/api/auth/sessions"

// sessionRoutes are the sessions of people, and signing in by an API key.
func (s *Server) sessionRoutes() []Route {
	if s.opts.SignIn.Sessions == nil {
		return nil
	}
	const tag = "auth"
	return []Route{
		{
			Method: http.MethodPost, Path: "/api/session", OperationID: "createSession", Secret: true, Tag: tag, Resource: "session",
			Action: "session.create", Scope: core.ScopeAny, Summary: "Sign a browser in by the API key of the request.",
			Description: "The answer sets the cookie of the session, which lasts no longer than the key. A session that the browser had ends. " +
				"Only over https, or on loopback.",
			Responses: []Response{{Status: 201, Body: wire.Session{}, Location: true, Doc: "The browser is signed in."}},
			Fails:     []int{409}, Handle: s.createSession,
		},
		{
			Method: http.MethodDelete, Path: "/api/session", OperationID: "deleteSession", Tag: tag, Resource: "session",
			Action: "session.delete", Scope: core.ScopeAny, Summary: "Sign out: end the session of the request.",
			Description: "A credential that is no session is a 409.",
			Responses:   []Response{{Status: 200, Body: wire.SignOut{}, Doc: "It is over."}},
			Fails:       []int{409}, Handle: s.deleteSession,
		},
		{
			Method: http.MethodGet, Path: "/api/auth/methods", OperationID: "signInMethods", Tag: tag, Resource: "session",
			Action: "session.methods", Scope: core.ScopeAny, Public: always, Summary: "Tell how people sign in.",
			Responses: []Response{{Status: 200, Body: wire.SignInMethods{}, Doc: "The ways."}},
			Handle:    s.signInMethods,
		},
		{
			Method: http.MethodGet, Path: sessionsPath, OperationID: "listSessions", Tag: tag, Resource: "sessions",
			Action: "sessions.read", Scope: core.ScopeAny, Summary: "List sessions that are not over, newest first.",
			Description: "The caller's own, unless user or all asks for those of others, which is for administrators.",
			Query: append(pageParams(), Param{Name: "user", Type: ParamString, Doc: "Those of this user."},
				Param{Name: "all", Type: ParamBoolean, Doc: "Those of everybody."}),
			Responses: []Response{{Status: 200, Body: sessionList{}, Doc: "A page of sessions."}},
			Handle:    s.listSessions,
		},
		{
			Method: http.MethodDelete, Path: sessionsPath + "/{sessionId}", OperationID: "revokeSession", Tag: tag, Resource: "sessions",
			Action: "sessions.revoke", Scope: core.ScopeAny, Summary: "End a session at once.",
			Description: "One's own, or as an administrator anybody's. Streams, terminals and sockets that were opened with it end within seconds.",
			Responses:   []Response{{Status: http.StatusNoContent, Doc: "It is over."}},
			Fails:       []int{404}, Handle: s.revokeSession,
		},
	}
}

type sessionList struct {
	Sessions []wire.UserSession `json:"sessions"`
	wire.PageInfo
}

// aboutSession adds to the description of a caller what is of their session.
func (s *Server) aboutSession(ctx context.Context, p core.Principal, body *wire.Session) {
	if p.SessionID == "" || s.opts.SignIn.Sessions == nil {
		return
	}
	body.SessionID = p.SessionID
	if own, err := s.opts.SignIn.Sessions.FindSession(ctx, p.SessionID); err == nil && own.Kind == core.SessionBrowser {
		body.CSRFToken = s.opts.SignIn.Sessions.CSRFToken(p.SessionID)
	}
}

func (s *Server) createSession(c *call) (answer, error) {
	p := c.principal
	if p.KeyID == "" || p.SessionID != "" {
		return answer{}, core.Conflict("session", "", "", "the credential is no API key; people sign in at /auth/login")
	}
	if err := c.mayKeepCookies(); err != nil {
		return answer{}, err
	}
	made, err := s.beginSession(c, core.SessionSpec{
		User: p.ID, Name: p.Name, Method: core.SignInAPIKey, KeyID: p.KeyID, KeySecret: p.KeySecret,
	})
	if err != nil {
		return answer{}, err
	}
	p.SessionID, p.Expires = made.ID, made.ExpiresAt
	return created("/api/session", s.session(c, p)), nil
}

// beginSession begins the session of the request's browser, and sets its cookie. The one that it had ends: a session that
// somebody else could have put there is never taken over.
func (s *Server) beginSession(c *call, spec core.SessionSpec) (*core.NewSession, error) {
	spec.Kind, spec.Address, spec.Client = core.SessionBrowser, c.address(), c.r.UserAgent()
	if had := c.cookie(core.SessionCookie(s.opts.SignIn.Secure, c.r.Host)); had != "" {
		spec.Replaces = s.opts.SignIn.Sessions.CookieSession(had)
	}
	made, err := s.opts.SignIn.Sessions.CreateSession(c.detached(), spec)
	if err != nil {
		return nil, err
	}
	age := int(made.ExpiresAt.Sub(s.opts.Clock.Now()).Seconds())
	c.setCookie(core.SessionCookie(s.opts.SignIn.Secure, c.r.Host), made.Token, max(age, 1), http.SameSiteStrictMode)
	return made, nil
}

func (s *Server) deleteSession(c *call) (answer, error) {
	id := c.principal.SessionID
	if id == "" {
		return answer{}, core.Conflict("session", "", "", "the credential is no session: there is nothing to sign out of")
	}
	return shown(s.signOut(c, id))
}

// signOut ends a session and takes its cookie away.
func (s *Server) signOut(c *call, id string) (wire.SignOut, error) {
	idToken, err := s.opts.SignIn.Sessions.RevokeSession(c.detached(), id)
	if err != nil && core.ErrorCode(err) != core.CodeNotFound {
		return wire.SignOut{}, err
	}
	body := wire.SignOut{SignedOut: true}
	if name := core.SessionCookie(s.opts.SignIn.Secure, c.r.Host); c.cookie(name) != "" {
		c.setCookie(name, "", -1, http.SameSiteStrictMode)
	}
	if idToken != "" && s.opts.SignIn.Provider != nil {
		body.LogoutURL = s.opts.SignIn.Provider.End(c.ctx, idToken, s.opts.SignIn.HomeURI)
	}
	return body, nil
}

func (s *Server) signInMethods(*call) (answer, error) {
	o := &s.opts.SignIn
	body := wire.SignInMethods{APIKey: o.APIKeys, Secure: o.Secure}
	if o.Provider != nil {
		body.SSO, body.Provider, body.LoginURL = true, o.Provider.Provider(), loginPath
	}
	return ok(body), nil
}

func (s *Server) listSessions(c *call) (answer, error) {
	page, err := c.page()
	if err != nil {
		return answer{}, err
	}
	user := cmp.Or(c.query.text("user"), c.principal.ID)
	if c.query.boolean("all") {
		if c.query.given("user") {
			return answer{}, core.Invalid("all", "cannot be combined with user")
		}
		user = ""
	}
	if user != c.principal.ID {
		if err := c.mayAlso(actionSessions); err != nil {
			return answer{}, err
		}
	}
	found, info, err := s.opts.SignIn.Sessions.FindSessions(c.ctx, core.SessionFilter{User: user, Page: page})
	if err != nil {
		return answer{}, err
	}
	list := sessionList{Sessions: make([]wire.UserSession, len(found)), PageInfo: pageOf(page, info)}
	for i, one := range found {
		list.Sessions[i] = *one
		list.Sessions[i].Current = one.ID == c.principal.SessionID
	}
	return ok(list), nil
}

func (s *Server) revokeSession(c *call) (answer, error) {
	id := c.param("sessionId")
	one, err := s.opts.SignIn.Sessions.FindSession(c.ctx, id)
	if err != nil {
		return answer{}, err
	}
	if one.User != c.principal.ID && c.mayAlso(actionSessions) != nil {
		return answer{}, core.NotFound("session", id) // as to an id that does not exist
	}
	if _, err := s.opts.SignIn.Sessions.RevokeSession(c.detached(), id); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusNoContent}, nil
}

// mayKeepCookies refuses to give a browser the cookie of a session where others could read it on its way.
func (c *call) mayKeepCookies() error {
	if c.s.opts.SignIn.Secure || loopbackHost(c.r.Host) {
		return nil
	}
	return core.Errorf(core.CodeForbidden,
		"people sign in over https, or at a loopback address of the server's machine; enable security.mtls, or give the https address of its proxy in server.baseUrl")
}

// setCookie sets a cookie for this host alone; maxAge is in seconds, and takes it away if it is negative.
func (c *call) setCookie(name, value string, maxAge int, site http.SameSite) {
	http.SetCookie(c.w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: c.s.opts.SignIn.Secure, SameSite: site,
	})
}

// cookie returns the value of a cookie; "" for none, and for one that is there twice.
func (c *call) cookie(name string) string {
	if found := c.r.CookiesNamed(name); len(found) == 1 {
		return found[0].Value
	}
	return ""
}

// address returns where a request comes from, for people.
func (c *call) address() string {
	if c.origin != "" {
		return c.origin
	}
	host, _, err := net.SplitHostPort(c.r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}

// loopbackHost reports whether a Host header names this machine.
func loopbackHost(host string) bool {
	name := hostName(host)
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}
