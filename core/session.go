package core

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixSession begins the ids of sessions.
const PrefixSession = "sess_"

// What is public of sessions.
type (
	UserSession     = wire.UserSession
	UserSessionKind = wire.UserSessionKind
)

// Kinds of sessions.
const (
	SessionBrowser = wire.SessionBrowser
	SessionCLI     = wire.SessionCLI
)

// Ways to sign in.
const (
	SignInSSO    = "sso"
	SignInAPIKey = "apiKey"
)

// SessionRecord is a session as it is stored: without Current and IdleUntil, which follow from who asks and when. A session
// that is over has no record. Values are snapshots.
type SessionRecord struct {
	UserSession
	MAC []byte `json:"mac"` // HMAC-SHA256 of id and secret under the server's pepper
	// IDToken is the identity provider's, sealed; it is sent back at the end of the session. Empty: there is none.
	IDToken []byte `json:"idToken,omitempty"`
	// Issuer is the identity provider that the person signed in at; "" of one who did so with a key, or before it was kept.
	Issuer string `json:"issuer,omitempty"`
	// KeySecret is that of the principal who opened the session with a key.
	KeySecret string `json:"keySecret,omitempty"`
}

// SessionSpec describes a session to open, for a user who has signed in.
type SessionSpec struct {
	Kind   UserSessionKind
	User   string
	Name   string
	Method string // SignInSSO or SignInAPIKey
	KeyID  string // of SignInAPIKey
	// KeySecret is that of the principal, of SignInAPIKey.
	KeySecret string
	Groups    []string
	Roles     []string
	Address   string
	Client    string
	IDToken   string
	// Replaces is the id of a session that ends as this one begins; "": none.
	Replaces string
}

// NewSession is a session with its secret, as it is given once.
type NewSession struct {
	UserSession
	Token string // what the cookie, or the file of a command line, holds
}

// SessionFilter selects sessions of a list. Zero values select all.
type SessionFilter struct {
	User string
	Page
}

// SessionReader reads stored sessions.
type SessionReader interface {
	// FindSession returns one. NOT_FOUND.
	FindSession(ctx context.Context, id string) (*SessionRecord, error)
	// FindSessions lists sessions, newest first.
	FindSessions(ctx context.Context, filter SessionFilter) ([]*SessionRecord, PageInfo, error)
}

// SessionService keeps the sessions of people. Methods are safe for concurrent use.
//
// It has many methods because what is in a cookie and in its form only means something beside the session that it is of.
type SessionService interface {
	// CreateSession begins a session and returns it with its secret, this once. Where a person has more sessions than they
	// may, those that were not used for longest end.
	CreateSession(ctx context.Context, spec SessionSpec) (*NewSession, error)
	// FindSessions lists sessions that are not over, newest first.
	FindSessions(ctx context.Context, filter SessionFilter) ([]*UserSession, PageInfo, error)
	// FindSession returns one that is not over. NOT_FOUND.
	FindSession(ctx context.Context, id string) (*UserSession, error)
	// RevokeSession ends a session at once, and returns the ID token that it was opened by, or "". NOT_FOUND.
	RevokeSession(ctx context.Context, id string) (idToken string, err error)
	// CSRFToken returns what changes by the cookie of a session have to send with it.
	CSRFToken(sessionID string) string
	// IsCSRFToken reports whether a text is that of a session, in a time that does not depend on it.
	IsCSRFToken(sessionID, text string) bool
	// CookieSession returns the id of the session that a cookie opens; "": none.
	CookieSession(cookie string) string
}

// SignIn is how people sign in at an identity provider. Methods are safe for concurrent use.
type SignIn interface {
	// Begin returns where the browser is sent, and what it keeps until it comes back. Unavailable while the provider cannot
	// be reached.
	Begin(ctx context.Context, redirectURI, returnTo string) (*SignInAttempt, error)
	// Finish checks what the browser came back with, query and what it kept, and returns who signed in. UNAUTHORIZED for
	// anything that is not the answer to this browser's own attempt; FORBIDDEN for people who are not let in; Unavailable.
	Finish(ctx context.Context, query map[string]string, kept string) (*SignedIn, error)
	// End returns where a browser ends the session at the provider too; "" if the provider has no such place.
	End(ctx context.Context, idToken, returnURI string) string
	// Provider returns the kind of the provider.
	Provider() string
}

// SignInLife is how long a browser may take to come back from the identity provider.
const SignInLife = 10 * time.Minute

// SignInAttempt is a sign-in that has begun.
type SignInAttempt struct {
	State    string // names the attempt
	Location string // of the provider's page
	Kept     string // what the browser keeps in a cookie: sealed
}

// SignedIn is who came back from the identity provider.
type SignedIn struct {
	User     string
	Name     string
	Groups   []string
	Roles    []string
	IDToken  string
	ReturnTo string // a path of ours, or ""
}

// GrantService signs command lines in by the browser of a person. Methods are safe for concurrent use.
type GrantService interface {
	// BeginGrant begins a login. RATE_LIMITED when too many wait.
	BeginGrant(ctx context.Context, spec GrantSpec) (*Grant, error)
	// FindGrant returns a login that waits for a person, by the code that they read. NOT_FOUND.
	FindGrant(ctx context.Context, userCode string) (*Grant, error)
	// DecideGrant approves or refuses a login for whoever is signed in by a browser's session, and returns the code that
	// the browser brings to the command line; "" where it asks for the outcome itself. NOT_FOUND; FORBIDDEN.
	DecideGrant(ctx context.Context, userCode string, approve bool) (code string, err error)
	// RedeemGrant returns the session of a login that was approved. CONFLICT {status: pending} before that, NOT_FOUND for a
	// login that is over, or whose verifier or code are wrong; FORBIDDEN for one that was refused; RATE_LIMITED for one that is
	// asked for too often.
	RedeemGrant(ctx context.Context, deviceCode, verifier, code string) (*NewSession, error)
}

// GrantLife is how long a command line waits for approval; GrantInterval is how often it may ask.
const (
	GrantLife     = 10 * time.Minute
	GrantInterval = 2 * time.Second
)

// GrantSpec describes a login that a command line begins.
type GrantSpec struct {
	Challenge string // of PKCE, S256
	Port      int    // of its loopback address; 0: it asks for the outcome
	Client    string
	Address   string
}

// Grant is a login of a command line that waits.
type Grant struct {
	GrantSpec
	DeviceCode string // only as BeginGrant returns it
	UserCode   string
	ExpiresAt  time.Time
}

// Names of the cookies of browsers. With https they have the prefix that binds them to one host and to https
// (RFC 6265bis, section 4.1.3.2); over plain http, which is for loopback alone, they name the port, since cookies are shared
// by all ports of a host.
const (
	secureCookiePrefix = "__Host-wardroom-"
	plainCookiePrefix  = "wardroom-"
)

// SessionCookie returns the name of the cookie of sessions for requests to a host.
func SessionCookie(secure bool, host string) string { return cookieName(secure, host, "session") }

// SignInCookie returns the name of the cookie of a sign-in under way.
func SignInCookie(secure bool, host, state string) string {
	return cookieName(secure, host, "signin-"+state[:min(len(state), 8)])
}

// IsSignInCookie reports whether a name is that of the cookie of some sign-in.
func IsSignInCookie(secure bool, host, name string) bool {
	prefix := plainCookiePrefix
	if secure {
		prefix = secureCookiePrefix
	}
	state, ok := strings.CutPrefix(name, prefix+"signin-")
	return ok && name == SignInCookie(secure, host, state)
}

func cookieName(secure bool, host, what string) string {
	if secure {
		return secureCookiePrefix + what
	}
	if _, port, err := net.SplitHostPort(host); err == nil && len(port) <= 5 {
		return plainCookiePrefix + what + "-" + port
	}
	return plainCookiePrefix + what
}
