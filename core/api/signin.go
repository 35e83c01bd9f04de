package api

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Paths of the pages that people sign in by.
const (
	loginPath    = "/auth/login"
	callbackPath = "/auth/callback"
	cliPath      = "/auth/cli"
	logoutPath   = "/auth/logout"
)

// SignInPage reports whether a path is one of those that people sign in by, which stand beside the API.
func SignInPage(path string) bool {
	return slices.Contains([]string{loginPath, callbackPath, cliPath, logoutPath}, path) || strings.HasPrefix(path, cliPath+"/")
}

// signInRoutes are the pages that browsers are sent to, and the login of command lines.
func (s *Server) signInRoutes() []Route {
	o := &s.opts.SignIn
	if o.Sessions == nil {
		return nil
	}
	route := func(method, action string, r Route) Route {
		r.Method, r.Tag, r.Resource, r.Action, r.Scope, r.Public = method, "auth", "session", action, core.ScopeAny, always
		return r
	}
	page := func(doc string) []Response {
		return []Response{{Status: 200, Body: "", ContentType: pageMedia, Doc: doc}}
	}
	routes := []Route{
		route(http.MethodGet, "session.logout", Route{
			Path: logoutPath, OperationID: "logoutPage", Summary: "Sign a browser out, also at the identity provider.",
			Description: "Only for pages of this site, and for people who type the address.",
			Responses: append(page("The browser is signed out."),
				Response{Status: http.StatusSeeOther, Location: true, Doc: "To the identity provider, which signs it out too."}),
			Page: true, Handle: paged(s.logoutPage),
		}),
		route(http.MethodPost, "session.cli", Route{
			Path: cliPath, OperationID: "beginCLILogin", Summary: "Begin the login of a command line, for a person to approve in a browser.",
			Body:      &Body{JSON: new(wire.CLILogin), Limit: limitSignIn},
			Responses: []Response{{Status: 201, Body: wire.CLIGrant{}, Doc: "It waits for approval."}},
			Handle:    decoded(s.beginCLI),
		}),
		route(http.MethodGet, "session.cli", Route{
			Path: cliPath, OperationID: "cliLoginPage", Summary: "Ask a person whether a command line may act for them.",
			Query: []Param{
				{Name: "code", Type: ParamString, MaxBytes: 20, Doc: "That the command line shows."},
				{Name: "again", Type: ParamBoolean, Doc: "The browser comes from the sign-in, and is not sent there again."},
			},
			Responses: append(page("The question, or a field for the code."),
				Response{Status: http.StatusSeeOther, Location: true, Doc: "To the sign-in."}),
			Fails: []int{404}, Page: true, Handle: paged(s.cliPage),
		}),
		route(http.MethodPost, "session.cli", Route{
			Path: cliPath + "/decide", OperationID: "decideCLILogin", Summary: "Take a person's answer to that question.",
			Body: &Body{JSON: new(cliDecision), Form: true, Limit: limitSignIn},
			Responses: append(page("The login is approved or refused."),
				Response{Status: http.StatusSeeOther, Location: true, Doc: "To the command line, on its loopback address."}),
			Fails: []int{404}, Page: true, Handle: paged(s.decideCLI),
		}),
		route(http.MethodPost, "session.cli", Route{
			Path: cliPath + "/token", OperationID: "redeemCLILogin", Summary: "Get the credential of a command line whose login was approved.",
			Description: "409 with the status pending while it waits; only this answer shows the credential.",
			Body:        &Body{JSON: new(wire.CLIRedeem), Limit: limitSignIn},
			Responses:   []Response{{Status: 200, Body: wire.CLIToken{}, Doc: "The credential."}},
			Fails:       []int{404, 409}, Handle: decoded(s.redeemCLI),
		}),
	}
	if o.Provider == nil {
		return routes
	}
	return append(routes,
		route(http.MethodGet, "session.login", Route{
			Path: loginPath, OperationID: "loginPage", Summary: "Send a browser to the identity provider to sign in.",
			Query:     []Param{{Name: "returnTo", Type: ParamString, Doc: "Where to go afterwards: a path of this site. Others are passed over."}},
			Responses: []Response{{Status: http.StatusSeeOther, Location: true, Doc: "To the identity provider."}},
			Page:      true, Handle: paged(s.loginPage),
		}),
		route(http.MethodGet, "session.login", Route{
			Path: callbackPath, OperationID: "loginCallback", Summary: "Take a browser back from the identity provider.",
			Query: []Param{
				{Name: "state", Type: ParamString}, {Name: "code", Type: ParamString, MaxBytes: 8192}, {Name: "iss", Type: ParamString},
				{Name: "error", Type: ParamString}, {Name: "error_description", Type: ParamString, MaxBytes: 8192},
			},
			OpenQuery: true, Responses: page("The browser is signed in, and goes on to where it was to."),
			Page: true, Handle: paged(s.callbackPage),
		}))
}

func (s *Server) loginPage(c *call) (answer, error) {
	if err := c.mayKeepCookies(); err != nil {
		return answer{}, err
	}
	o := &s.opts.SignIn
	redirect := o.RedirectURI
	if redirect == "" {
		if !loopbackHost(c.r.Host) {
			return answer{}, core.Invalid("server.baseUrl", "is not configured, so people sign in at a loopback address alone")
		}
		redirect = (&url.URL{Scheme: c.scheme(), Host: c.r.Host, Path: callbackPath}).String()
	}
	begun, err := o.Provider.Begin(c.ctx, redirect, c.query.text("returnTo"))
	if err != nil {
		return answer{}, err
	}
	c.forgetAttempts()
	// The provider sends the browser back from another site, so this cookie has to be Lax: it opens nothing.
	c.setCookie(core.SignInCookie(o.Secure, c.r.Host, begun.State), begun.Kept, int(core.SignInLife.Seconds()), http.SameSiteLaxMode)
	return answer{status: http.StatusSeeOther, location: begun.Location}, nil
}

// maxAttempts bounds the sign-ins that a browser may have begun: any page can have it begin another one, each with a cookie, and with
// too many of them none of its requests would be taken.
const maxAttempts = 8

// forgetAttempts takes the cookies of sign-ins away that the browser began first, so that there is room for another one. Browsers send
// first what they got first (RFC 6265, section 5.4).
func (c *call) forgetAttempts() {
	var begun []string
	for _, cookie := range c.r.Cookies() {
		if core.IsSignInCookie(c.s.opts.SignIn.Secure, c.r.Host, cookie.Name) {
			begun = append(begun, cookie.Name)
		}
	}
	for _, name := range begun[:max(0, len(begun)-maxAttempts+1)] {
		c.setCookie(name, "", -1, http.SameSiteLaxMode)
	}
}

func (c *call) scheme() string {
	if c.r.TLS != nil {
		return "https"
	}
	return "http"
}

func (s *Server) callbackPage(c *call) (answer, error) {
	if err := c.mayKeepCookies(); err != nil {
		return answer{}, err
	}
	query := map[string]string{}
	for _, p := range c.route.Query {
		query[p.Name] = c.query.text(p.Name)
	}
	name := core.SignInCookie(s.opts.SignIn.Secure, c.r.Host, query["state"])
	kept := c.cookie(name)
	if kept != "" {
		c.setCookie(name, "", -1, http.SameSiteLaxMode)
	}
	who, err := s.opts.SignIn.Provider.Finish(c.ctx, query, kept)
	if err != nil {
		return answer{}, err
	}
	c.principal = core.Principal{Kind: core.PrincipalUser, ID: who.User, Name: who.Name} // for the log and the trail
	if err := c.recordSignIn(core.SignInSSO); err != nil {
		return answer{}, err
	}
	if _, err := s.beginSession(c, core.SessionSpec{
		User: who.User, Name: who.Name, Method: core.SignInSSO, Groups: who.Groups, Roles: who.Roles, IDToken: who.IDToken,
	}); err != nil {
		return answer{}, err
	}
	// A page, and not a redirect: what it leads to is then asked for by this site, and not by the provider's.
	return c.page200(pageContent{Title: "Signed in", Text: "You are signed in as " + who.Name + ".", Next: who.ReturnTo}), nil
}

func (s *Server) logoutPage(c *call) (answer, error) {
	done := pageContent{Title: "Signed out", Text: "You are signed out."}
	p, err := s.opts.SignIn.SignedIn(c.r)
	switch core.ErrorCode(err) {
	case "":
	case core.CodeUnauthorized: // of nothing
		return c.page200(done), nil
	default:
		return answer{}, err
	}
	body, err := s.signOut(c, p.SessionID)
	if err != nil {
		return answer{}, err
	}
	if body.LogoutURL != "" {
		return answer{status: http.StatusSeeOther, location: body.LogoutURL}, nil
	}
	return c.page200(done), nil
}

func (s *Server) beginCLI(c *call, req wire.CLILogin) (answer, error) {
	g, err := s.opts.SignIn.Grants.BeginGrant(c.ctx, core.GrantSpec{
		Challenge: req.Challenge, Port: req.Port, Client: req.Client, Address: c.address(),
	})
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: wire.CLIGrant{
		DeviceCode: g.DeviceCode, UserCode: g.UserCode, URL: cliPath + "?code=" + url.QueryEscape(g.UserCode),
		ExpiresIn: core.GrantLife.Milliseconds(), Interval: core.GrantInterval.Milliseconds(),
	}}, nil
}

// signedIn returns who the browser is signed in as; where it is not, an answer that sends it to sign in.
func (s *Server) signedIn(c *call, returnTo string) (core.Principal, answer, error) {
	p, err := s.opts.SignIn.SignedIn(c.r)
	switch {
	case err == nil:
		c.principal, c.ctx = p, core.WithPrincipal(c.ctx, p)
		return p, answer{}, nil
	case core.ErrorCode(err) != core.CodeUnauthorized:
		return p, answer{}, err
	case s.opts.SignIn.Provider != nil:
		return p, answer{status: http.StatusSeeOther, location: loginPath + "?returnTo=" + url.QueryEscape(s.opts.Prefix+returnTo)}, nil
	}
	return p, c.page200(pageContent{Title: "Sign in first", Text: "Sign in to this server in this browser, then open this page again."}), nil
}

func (s *Server) cliPage(c *call) (answer, error) {
	code := c.query.text("code")
	_, elsewhere, err := s.signedIn(c, cliPath+"?again=true&code="+url.QueryEscape(code))
	switch {
	case err != nil:
		return answer{}, err
	case elsewhere.status == http.StatusSeeOther && c.query.boolean("again"): // else it would go in circles
		return c.page200(pageContent{Title: "Not signed in", Text: "This browser does not keep who you are signed in as: allow cookies, and open the page again."}), nil
	case elsewhere.status != 0:
		return elsewhere, nil
	}
	if code == "" {
		return c.page200(pageContent{Title: "Sign a command line in", Text: "Type the code that the command line shows.", AskCode: true}), nil
	}
	g, err := s.opts.SignIn.Grants.FindGrant(c.ctx, code)
	if err != nil {
		return answer{}, err
	}
	return c.page200(pageContent{
		Title: "Sign a command line in", Grant: g, User: c.principal.Name, Token: s.opts.SignIn.Sessions.CSRFToken(c.principal.SessionID),
	}), nil
}

// cliDecision is the form of the page, for the document.
type cliDecision struct {
	Code     string `json:"code" check:"required,max=20"`
	Token    string `json:"token" check:"required,max=100" doc:"That the page has in its form."`
	Decision string `json:"decision" check:"required" enum:"approve,refuse"`
}

func (s *Server) decideCLI(c *call) (answer, error) {
	form, err := url.ParseQuery(string(c.body))
	if err != nil || len(c.body) > 4<<10 {
		return answer{}, core.Invalid("body", "must be the form of the page")
	}
	code := form.Get("code")
	p, elsewhere, err := s.signedIn(c, cliPath+"?again=true&code="+url.QueryEscape(code))
	if err != nil || elsewhere.status != 0 {
		return elsewhere, err
	}
	if !s.opts.SignIn.Sessions.IsCSRFToken(p.SessionID, form.Get("token")) {
		return answer{}, core.Errorf(core.CodeForbidden, "the form is not that of this session; open the page again")
	}
	approve := form.Get("decision") == "approve"
	g, err := s.opts.SignIn.Grants.FindGrant(c.ctx, code)
	if err != nil {
		return answer{}, err
	}
	secret, err := s.opts.SignIn.Grants.DecideGrant(c.ctx, code, approve)
	if err != nil {
		return answer{}, err
	}
	done := pageContent{Title: "Signed in", Text: "The command line is signed in. You can close this page."}
	back := url.Values{"code": {secret}}
	if !approve {
		done = pageContent{Title: "Refused", Text: "The command line is not signed in."}
		back = url.Values{"error": {"refused"}}
	}
	if g.Port == 0 {
		return c.page200(done), nil
	}
	to := url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.Itoa(g.Port), Path: "/", RawQuery: back.Encode()}
	return answer{status: http.StatusSeeOther, location: to.String()}, nil
}

func (s *Server) redeemCLI(c *call, req wire.CLIRedeem) (answer, error) {
	made, err := s.opts.SignIn.Grants.RedeemGrant(c.detached(), req.DeviceCode, req.Verifier, req.Code)
	if err != nil {
		return answer{}, err
	}
	return ok(wire.CLIToken{UserSession: made.UserSession, Token: made.Token}), nil
}
