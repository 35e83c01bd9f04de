package config

import (
	"net/url"
	"regexp"
	"strings"
)

// SSO is where people sign in.
type SSO struct {
	// Let people sign in at the identity provider, by OpenID Connect. It is not needed for the start.
	Enabled bool `json:"enabled"`
	// Kind of the identity provider. Of the sections below that one counts which has its name.
	Provider string `json:"provider" default:"oidc" enum:"oidc,okta,azure,google"`
	// Any provider of OpenID Connect.
	OIDC SSOIssuer `json:"oidc"`
	// Okta.
	Okta SSOOkta `json:"okta"`
	// Microsoft Entra ID.
	Azure SSOAzure `json:"azure"`
	// Google Workspace.
	Google SSOGoogle `json:"google"`
	// Claim that names a person: what bindings of users are about, and what records call createdBy. An email counts only if the
	// provider says that it verified it.
	UserClaim string `json:"userClaim" default:"sub"`
	// Claim with the names of a person's groups; a path with dots where it is nested. Empty: they have none.
	GroupsClaim string `json:"groupsClaim" default:"groups"`
	// Claim with the names of a person's roles; a path with dots where it is nested. Empty: they have none but those of bindings.
	RolesClaim string `json:"rolesClaim" default:"roles"`
	// What people may do at most, beside what their roles say. Empty: where security.rbac is enabled, what roles allow; else
	// read.
	DefaultScopes []string `json:"defaultScopes" check:"is=scope"`
}

// SSOIssuer is any provider of OpenID Connect.
type SSOIssuer struct {
	// The issuer, to the letter, as its metadata has it.
	Issuer string `json:"issuer"`
	// What this server is called there.
	ClientID string `json:"clientId"`
	// What proves that there; by reference, such as ${OIDC_CLIENT_SECRET}. Empty: a public client.
	ClientSecret Secret `json:"clientSecret"`
	// What is asked for. Empty: openid, profile and email.
	Scopes []string `json:"scopes"`
	// Where the provider sends browsers back to, as it is registered there. Empty: /auth/callback of server.baseUrl.
	RedirectURI string `json:"redirectUri" check:"is=url"`
}

// SSOOkta is Okta.
type SSOOkta struct {
	// Host of the organization, such as example.okta.com.
	Domain string `json:"domain"`
	// What this server is called there.
	ClientID string `json:"clientId"`
	// What proves that there; by reference, such as ${OKTA_CLIENT_SECRET}.
	ClientSecret Secret `json:"clientSecret"`
	// Authorization server. Empty: that of the organization itself.
	AuthorizationServerID string `json:"authorizationServerId" default:"default"`
}

// SSOAzure is Microsoft Entra ID.
type SSOAzure struct {
	// Directory (tenant), as its id and not as a domain.
	TenantID string `json:"tenantId"`
	// Application (client) id.
	ClientID string `json:"clientId"`
	// A client secret of the application; by reference, such as ${AZURE_CLIENT_SECRET}.
	ClientSecret Secret `json:"clientSecret"`
}

// SSOGoogle is Google Workspace.
type SSOGoogle struct {
	// OAuth client id.
	ClientID string `json:"clientId"`
	// Its secret; by reference, such as ${GOOGLE_CLIENT_SECRET}.
	ClientSecret Secret `json:"clientSecret"`
	// Let in only people of this domain. Empty: everybody with a Google account.
	HostedDomain string `json:"hostedDomain"`
}

// CallbackPath is where identity providers send browsers back to.
const CallbackPath = "/auth/callback"

// SSOClient is what this server is at the identity provider.
type SSOClient struct {
	Issuer       string
	ClientID     string
	ClientSecret Secret
	Scopes       []string
	HostedDomain string
}

// Client returns what this server is at the chosen provider.
func (s *SSO) Client() SSOClient {
	standard := []string{"openid", "profile", "email"}
	switch s.Provider {
	case "okta":
		c := SSOClient{
			Issuer: "https://" + s.Okta.Domain, ClientID: s.Okta.ClientID, ClientSecret: s.Okta.ClientSecret, Scopes: append(standard, "groups"),
		}
		if s.Okta.AuthorizationServerID != "" {
			c.Issuer += "/oauth2/" + s.Okta.AuthorizationServerID
		}
		return c
	case "azure":
		return SSOClient{
			Issuer: "https://login.microsoftonline.com/" + strings.ToLower(s.Azure.TenantID) + "/v2.0", ClientID: s.Azure.ClientID,
			ClientSecret: s.Azure.ClientSecret, Scopes: standard,
		}
	case "google":
		return SSOClient{
			Issuer: "https://accounts.google.com", ClientID: s.Google.ClientID, ClientSecret: s.Google.ClientSecret, Scopes: standard,
			HostedDomain: s.Google.HostedDomain,
		}
	}
	c := SSOClient{Issuer: s.OIDC.Issuer, ClientID: s.OIDC.ClientID, ClientSecret: s.OIDC.ClientSecret, Scopes: s.OIDC.Scopes}
	if len(c.Scopes) == 0 {
		c.Scopes = standard
	}
	return c
}

// RedirectURI returns where the provider sends browsers back to; "" where no key says it: to the loopback address that the
// browser asked for.
func (c *Config) RedirectURI() string {
	switch {
	case c.Security.SSO.Enabled && c.Security.SSO.Provider == "oidc" && c.Security.SSO.OIDC.RedirectURI != "":
		return c.Security.SSO.OIDC.RedirectURI
	case c.Server.BaseURL != "":
		return c.Server.BaseURL + CallbackPath
	}
	return ""
}

// SecureCookies reports whether browsers reach the server by https.
func (c *Config) SecureCookies() bool {
	return c.Security.MTLS.Enabled || strings.HasPrefix(c.RedirectURI(), "https://")
}

var (
	tenantID    = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	hostPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	oktaServer  = regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`)
)

// sso reports what contradicts itself in the section.
func (r *ruling) sso(s *Security, server *Server) {
	const at = "security.sso"
	o := &s.SSO
	if !o.Enabled {
		return
	}
	section := at + "." + o.Provider
	if o.Client().ClientID == "" {
		r.refuse(section, "clientId", "is missing: the provider gives it when this server is registered there")
	}
	if o.Provider != "oidc" && o.Client().ClientSecret.IsZero() {
		r.refuse(section, "clientSecret", "is missing: refer to it, as ${NAME}")
	}
	switch {
	case o.Provider == "oidc" && o.OIDC.Issuer == "":
		r.refuse(section, "issuer", "is missing: name the issuer")
	case o.Provider == "oidc" && !secureOrLoopback(o.OIDC.Issuer):
		r.refuse(section, "issuer", "must be https: whoever changes the answers of a plain address signs in as anybody")
	case o.Provider == "oidc" && hasUser(o.OIDC.Issuer):
		r.refuse(section, "issuer", "must not hold a user or a password: it is shown wherever the configuration is")
	case o.Provider == "okta" && !hostPattern.MatchString(o.Okta.Domain):
		r.refuse(section, "domain", "must be the host of the organization, such as example.okta.com")
	case o.Provider == "okta" && !oktaServer.MatchString(o.Okta.AuthorizationServerID):
		r.refuse(section, "authorizationServerId", "must be letters, digits, - and _")
	case o.Provider == "azure" && !tenantID.MatchString(o.Azure.TenantID):
		r.refuse(section, "tenantId", "must be the id of one directory, such as 72f988bf-86f1-41af-91ab-2d7cd011db47: tokens of others are refused")
	}
	if o.UserClaim == "" {
		r.refuse(at, "userClaim", "must not be empty: somebody without a name can do nothing")
	}
	r.callback(section, o, server)
}

// callback reports where browsers cannot be sent back to.
func (r *ruling) callback(section string, o *SSO, server *Server) {
	switch redirect := o.OIDC.RedirectURI; {
	case o.Provider == "oidc" && redirect != "":
		u, err := url.Parse(redirect)
		if err != nil {
			return // said elsewhere
		}
		if u.Path != CallbackPath {
			r.refuse(section, "redirectUri", "must end in %s, where browsers are taken back", CallbackPath)
		}
		if !secureOrLoopback(redirect) {
			r.refuse(section, "redirectUri", "must be https: codes and cookies travel there")
		}
	case server.BaseURL != "":
		if !secureOrLoopback(server.BaseURL) {
			r.refuse("server", "baseUrl", "must be https where people sign in: codes and cookies travel there")
		}
	case !server.LoopbackOnly():
		r.refuse("server", "baseUrl", "is missing: the identity provider sends browsers back to an address of this server")
	}
}
