package appliance

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/access"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/health"
	"github.com/wardroom/wardroom/core/jwt"
	"github.com/wardroom/wardroom/core/sso"
)

// openSignIn makes what people sign in by at an identity provider, where there is one. It asks the provider nothing yet.
func (a *App) openSignIn(c *config.Config, pepper [32]byte) (err error) {
	if !c.Security.SSO.Enabled {
		return nil
	}
	at, own := &c.Security.SSO, c.Security.SSO.Client()
	client := providerClient()
	key := hmac.New(sha256.New, pepper[:])
	_, _ = key.Write([]byte("wardroom sign-in")) // never fails
	options := sso.Options{
		Kind: at.Provider, Issuer: own.Issuer, ClientID: own.ClientID, ClientSecret: own.ClientSecret.Reveal(), Secrets: a.secrets.Configured("sso"), Scopes: own.Scopes,
		HostedDomain: own.HostedDomain, UserClaim: at.UserClaim, GroupsClaim: at.GroupsClaim, RolesClaim: at.RolesClaim,
		Attempt:     func(allowed bool) { a.metrics.Access.Attempt("sso", allowed) },
		Unavailable: jwt.Unavailable, Client: client, Clock: a.clock, Logger: a.log.Named("sso"),
		Verifier: func(issuer, keySet string, algorithms []string) (sso.Verifier, error) {
			return jwt.New(jwt.Options{
				Issuer: issuer, Audience: own.ClientID, KeySetURI: keySet, Algorithms: jwt.Known(algorithms),
				GroupsClaim: at.GroupsClaim, RolesClaim: at.RolesClaim, Client: client, Clock: a.clock, Logger: a.log.Named("sso"),
			})
		},
	}
	copy(options.Key[:], key.Sum(nil))
	if a.signIn, err = sso.New(options); err != nil {
		return err
	}
	a.health.Register(health.Check{Name: "sso", Severity: health.Degraded, Run: a.checkSignIn})
	return nil
}

// sessionLimits are the bounds of sessions that the configuration has.
func (a *App) sessionLimits() access.SessionLimits {
	s := a.config.Load().Security.Sessions
	return access.SessionLimits{Idle: s.Timeout, MaxAge: s.MaxAge, MaxConcurrent: s.MaxConcurrent}
}

// scopesButAdmin are what a person without the scope admin may have at most.
var scopesButAdmin = slices.DeleteFunc(slices.Clone(core.Scopes), func(scope string) bool { return scope == core.ScopeAdmin })

// sessionScopes returns what a person who signed in at the identity provider may do at most. Where roles decide it is what
// roles can grant; admin, to which no allow-list of a pattern applies, goes to administrators alone.
func (a *App) sessionScopes(ctx context.Context, p core.Principal) (scopes []string, byDefault bool) {
	if fixed := a.config.Load().Security.SSO.DefaultScopes; len(fixed) > 0 {
		return fixed, true
	}
	// Whether roles decide is asked of what decides by them: a reload takes over the policy before the configuration.
	switch roles, admin := a.policy.Administers(ctx, p); {
	case !roles:
		return []string{core.ScopeRead}, true
	case admin:
		return []string{core.ScopeAdmin}, false
	}
	return scopesButAdmin, false
}

// signInOptions are what the API needs of signing in.
func (a *App) signInOptions() api.SignIn {
	c := a.config.Load()
	o := api.SignIn{
		Sessions: a.access, Grants: a.access, SignedIn: a.access.SignedIn, Secure: c.SecureCookies(), RedirectURI: c.RedirectURI(),
		HomeURI: c.Server.BaseURL, APIKeys: c.Security.Authentication.APIKeys.Enabled,
	}
	if a.signIn != nil {
		o.Provider = a.signIn
	}
	return o
}

// checkSignIn is the health of the identity provider. That it was not asked yet is no failure.
func (a *App) checkSignIn(context.Context) health.Result {
	fetched, failed := a.signIn.State()
	if failed == nil {
		return health.OK()
	}
	const hint = "look at security.sso, and at the way to the provider"
	if fetched.IsZero() {
		return health.Impaired("the identity provider cannot be reached: people cannot sign in", hint)
	}
	return health.Impaired("the identity provider was reached last at "+fetched.UTC().Format(time.RFC3339), hint)
}
