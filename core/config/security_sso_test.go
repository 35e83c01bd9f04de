package config_test

import (
	"testing"

	"github.com/wardroom/wardroom/core/config"
)

// Where each provider is found, and what is asked of it.
func TestSSOClient(t *testing.T) {
	for name, tt := range map[string]struct {
		sso            config.SSO
		issuer, domain string
		scopes         int
	}{
		"oidc": {config.SSO{Provider: "oidc", OIDC: config.SSOIssuer{Issuer: "https://id.example.com/", ClientID: "c"}}, "https://id.example.com/", "", 3},
		"okta": {
			config.SSO{Provider: "okta", Okta: config.SSOOkta{Domain: "example.okta.com", ClientID: "c", AuthorizationServerID: "default"}},
			"https://example.okta.com/oauth2/default", "", 4,
		},
		"okta organization": {config.SSO{Provider: "okta", Okta: config.SSOOkta{Domain: "example.okta.com", ClientID: "c"}}, "https://example.okta.com", "", 4},
		"azure": {
			config.SSO{Provider: "azure", Azure: config.SSOAzure{TenantID: "72F988BF-86f1-41af-91ab-2d7cd011db47", ClientID: "c"}},
			"https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0", "", 3,
		},
		"google": {config.SSO{Provider: "google", Google: config.SSOGoogle{ClientID: "c", HostedDomain: "example.com"}}, "https://accounts.google.com", "example.com", 3},
	} {
		got := tt.sso.Client()
		if got.Issuer != tt.issuer || got.ClientID != "c" || got.HostedDomain != tt.domain || len(got.Scopes) != tt.scopes {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Cookies are for https as soon as browsers reach the server by it.
func TestSecureCookies(t *testing.T) {
	c := config.Default()
	if c.SecureCookies() || c.RedirectURI() != "" {
		t.Errorf("plain: %v %q", c.SecureCookies(), c.RedirectURI())
	}
	c.Server.BaseURL = "https://wardroom.example.com"
	if !c.SecureCookies() || c.RedirectURI() != "https://wardroom.example.com/auth/callback" {
		t.Errorf("behind a proxy: %v %q", c.SecureCookies(), c.RedirectURI())
	}
	c.Security.SSO.Enabled, c.Security.SSO.OIDC.RedirectURI = true, "http://127.0.0.1:8080/auth/callback"
	if c.SecureCookies() || c.RedirectURI() != "http://127.0.0.1:8080/auth/callback" {
		t.Errorf("by its own address: %v %q", c.SecureCookies(), c.RedirectURI())
	}
	c.Security.MTLS.Enabled = true
	if !c.SecureCookies() {
		t.Error("with TLS of its own")
	}
}
