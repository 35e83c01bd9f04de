package wire

import "time"

// Session says who calls, and what they may do.
type Session struct {
	Authenticated bool       `json:"authenticated" doc:"false while no security is configured: everyone is anonymous."`
	Kind          string     `json:"kind" enum:"anonymous,apiKey,user,certificate,local" doc:"How the caller proved who it is."`
	ID            string     `json:"id" doc:"What records say in createdBy."`
	Name          string     `json:"name"`
	KeyID         string     `json:"keyId,omitempty" doc:"Of the API key."`
	SessionID     string     `json:"sessionId,omitempty" doc:"Of the session that a person signed in to."`
	CSRFToken     string     `json:"csrfToken,omitempty" doc:"What changes by the session's cookie have to send in X-CSRF-Token."`
	Groups        []string   `json:"groups"`
	Roles         []string   `json:"roles"`
	Scopes        []string   `json:"scopes"`
	Actions       []string   `json:"actions" doc:"What the caller may do to some resource at least."`
	ExpiresAt     *time.Time `json:"expiresAt,omitempty" doc:"When the credential ends."`
}

// UserSessionKind says what a session is kept in.
type UserSessionKind string

// Kinds of sessions.
const (
	SessionBrowser UserSessionKind = "browser" // a cookie
	SessionCLI     UserSessionKind = "cli"     // a token in a file of a command line
)

// UserSession is the session of a person who is signed in, without its secret.
type UserSession struct {
	ID         string          `json:"id"`
	Kind       UserSessionKind `json:"kind" enum:"browser,cli"`
	User       string          `json:"user" doc:"Who acts by it: what records say in createdBy."`
	Name       string          `json:"name" doc:"For people."`
	Method     string          `json:"method" enum:"sso,apiKey" doc:"How the person signed in."`
	KeyID      string          `json:"keyId,omitempty" doc:"Of the API key that the session was opened with, and ends with."`
	Groups     []string        `json:"groups,omitempty" doc:"As the identity provider had them at the sign-in."`
	Roles      []string        `json:"roles,omitempty" doc:"As the identity provider had them at the sign-in."`
	Address    string          `json:"address,omitempty" doc:"Where the person signed in from."`
	Client     string          `json:"client,omitempty" doc:"What the browser, or the command line, calls itself."`
	CreatedAt  time.Time       `json:"createdAt"`
	LastUsedAt time.Time       `json:"lastUsedAt" doc:"To the minute."`
	ExpiresAt  time.Time       `json:"expiresAt" doc:"When it ends, however much it is used."`
	IdleUntil  *time.Time      `json:"idleUntil,omitempty" doc:"When it ends unless it is used before. Absent: it has no such end."`
	Current    bool            `json:"current,omitempty" doc:"The request was made by this one."`
}

// SignOut answers the end of a session.
type SignOut struct {
	SignedOut bool   `json:"signedOut"`
	LogoutURL string `json:"logoutUrl,omitempty" doc:"Where a browser ends the session at the identity provider as well."`
}

// SignInMethods are the ways to sign in.
type SignInMethods struct {
	APIKey   bool   `json:"apiKey" doc:"POST /api/session takes an API key."`
	SSO      bool   `json:"sso" doc:"GET /auth/login leads to the identity provider."`
	Provider string `json:"provider,omitempty" enum:"oidc,okta,azure,google"`
	LoginURL string `json:"loginUrl,omitempty"`
	Secure   bool   `json:"secure" doc:"Sessions are for https alone; else for loopback."`
}

// CLILogin asks for a login of a command line.
type CLILogin struct {
	Challenge string `json:"challenge" check:"required,min=43,max=43" doc:"Of PKCE (RFC 7636), S256."`
	Port      int    `json:"port,omitempty" check:"min=0,max=65535" doc:"Of the loopback address where the command line waits for the browser; 0: it asks for the outcome."`
	Client    string `json:"client,omitempty" check:"max=100" doc:"What the page that asks for approval calls it, such as the name of the machine."`
}

// CLIGrant is a login of a command line that waits for a person's approval.
type CLIGrant struct {
	DeviceCode string `json:"deviceCode" doc:"A secret of the command line."`
	UserCode   string `json:"userCode" doc:"What the person compares."`
	URL        string `json:"url" doc:"The path of the page where the person approves."`
	ExpiresIn  int64  `json:"expiresIn" doc:"Milliseconds."`
	Interval   int64  `json:"interval" doc:"Milliseconds between two questions for the outcome."`
}

// CLIRedeem asks for the outcome of a login.
type CLIRedeem struct {
	DeviceCode string `json:"deviceCode" check:"required,max=100"`
	Verifier   string `json:"verifier" check:"required,min=43,max=128" doc:"Of PKCE."`
	Code       string `json:"code,omitempty" check:"max=100" doc:"That the browser brought to the loopback address, where a port was given."`
}

// CLIToken is the outcome of a login: the credential of a command line.
type CLIToken struct {
	UserSession
	Token string `json:"token" doc:"For Authorization: Bearer."`
}

// Can reports whether the caller may do something.
type Can struct {
	Action        string `json:"action"`
	Resource      string `json:"resource,omitempty"`
	Allowed       bool   `json:"allowed"`
	Reason        string `json:"reason,omitempty" doc:"Why not, or by what."`
	RequiredScope string `json:"requiredScope,omitempty" doc:"That the credential lacks."`
	Revision      string `json:"revision,omitempty" doc:"Of the policy that decided."`
}
