package appliance

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/cert"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/health"
	"github.com/wardroom/wardroom/core/jwt"
)

// openTokens makes what verifies the tokens of an identity provider, where there is one.
func (a *App) openTokens(c config.JWT) (err error) {
	if !c.Enabled {
		return nil
	}
	a.tokens, err = jwt.New(jwt.Options{
		Issuer: c.Issuer, Audience: c.Audience, KeySetURI: c.JWKSURI, Algorithms: c.Algorithms,
		RolesClaim: c.RolesClaim, GroupsClaim: c.GroupsClaim,
		Client: providerClient(),
		Clock:  a.clock, Logger: a.log.Named("tokens"),
	})
	if err != nil {
		return err
	}
	a.health.Register(health.Check{Name: "identity", Severity: health.Degraded, Run: a.checkIdentity})
	return nil
}

// providerClient makes what calls an identity provider.
func providerClient() *http.Client {
	transport, _ := http.DefaultTransport.(*http.Transport)
	return &http.Client{
		Transport: transport.Clone(),
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the provider sends us elsewhere; give its own address")
		},
	}
}

// verifyToken returns what verifies a token; nil where none are taken.
func (a *App) verifyToken() func(ctx context.Context, token string) (core.Principal, error) {
	if a.tokens == nil {
		return nil
	}
	fallback := a.config.Load().Security.Authentication.JWT.DefaultScopes
	return func(ctx context.Context, token string) (core.Principal, error) {
		who, err := a.tokens.Verify(ctx, token)
		switch {
		case jwt.Unavailable(err):
			return core.Principal{}, core.Unavailable("identity", "the identity provider's keys are not at hand; try again").WithCause(err)
		case err != nil:
			return core.Principal{}, err
		case core.IsReserved(who.Subject):
			return core.Principal{}, errors.New("of a subject that is reserved")
		}
		p := core.Principal{
			Kind: core.PrincipalUser, ID: who.Subject, Name: who.Name, Groups: who.Groups, Roles: who.Roles,
			Expires: who.Expires.Add(jwt.Leeway),
		}
		for _, scope := range who.Scopes {
			if slices.Contains(core.Scopes, scope) {
				p.Scopes = append(p.Scopes, scope)
			}
		}
		if len(p.Scopes) == 0 {
			p.Scopes, p.ScopesByDefault = fallback, true
		}
		return p, nil
	}
}

// clientOf returns what tells whom the certificate of a connection speaks for; nil where a certificate is no credential.
func (a *App) clientOf() func(r *http.Request) (core.Principal, bool) {
	c := a.config.Load().Security.MTLS
	if !c.Enabled || len(c.Scopes) == 0 {
		return nil
	}
	return func(r *http.Request) (core.Principal, bool) {
		who, ok := cert.IdentityOf(r.TLS, cert.Name(c.Identity))
		if !ok || core.IsReserved(who.Name) {
			return core.Principal{}, false
		}
		return core.Principal{
			Kind: core.PrincipalClient, ID: who.Name, Name: who.Name, Groups: who.Groups, Scopes: c.Scopes,
			Expires: r.TLS.PeerCertificates[0].NotAfter, Certificates: cert.NumbersOf(r.TLS),
		}, true
	}
}

// checkIdentity is the health of the identity provider's keys.
func (a *App) checkIdentity(context.Context) health.Result {
	fetched, failed := a.tokens.State()
	if failed == nil {
		return health.OK()
	}
	const hint = "look at security.authentication.jwt.jwksUri and at the way to the provider"
	if fetched.IsZero() {
		return health.Impaired("the keys of the identity provider cannot be fetched: its tokens are refused", hint)
	}
	return health.Impaired("the keys of the identity provider are of "+fetched.UTC().Format(time.RFC3339)+
		" and cannot be fetched anew; they are good for a day", hint)
}
