package appliance_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/wardroom/wardroom/appliance"
)

// provider is an identity provider: a key set, and tokens that are signed with its key.
type provider struct {
	*httptest.Server
	signer jose.Signer
	away   atomic.Bool
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "k", Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{}
	p.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: private, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if p.away.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write(set)
	}))
	t.Cleanup(p.Close)
	return p
}

// token signs a token for a subject; more are further claims, and replace those that it has.
func (p *provider) token(t *testing.T, sub string, more map[string]any) string {
	t.Helper()
	claims := map[string]any{"iss": "https://id.example", "aud": "wardroom", "sub": sub, "exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range more {
		claims[name] = value
	}
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := p.signer.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return compact
}

func TestTokens(t *testing.T) {
	p := newProvider(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "wardroom.yaml")
	write(t, config, fmt.Sprintf(`server: {listen: "127.0.0.1:0"}
store: {path: %s}
security:
  authentication:
    jwt: {enabled: true, issuer: "https://id.example", audience: wardroom, jwksUri: %q, defaultScopes: [admin]}
  rbac:
    enabled: true
    defaultRole: ""
    bindings:
      - {subject: {type: user, name: ann}, role: viewer}
      - {subject: {type: group, name: ops}, role: operator}
      - {subject: {type: serviceAccount, name: ci}, role: admin}
`, filepath.Join(dir, "store"), p.URL))
	text := &log{}
	app := open(t, appliance.Options{ConfigPath: config, Version: "1.2.3", Stderr: text})
	get := func(path, token string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+app.Addr()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		a, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = a.Body.Close() }()
		body, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		return a.StatusCode, string(body)
	}
	p.away.Store(true)
	if status, body := get("/api/patterns", p.token(t, "ann", nil)); status != http.StatusServiceUnavailable || strings.Contains(body, p.URL) {
		t.Errorf("while the provider is away: %d %s", status, body)
	}
	if got := text.String(); !strings.Contains(got, "keys of tokens cannot be fetched") || strings.Contains(got, p.token(t, "ann", nil)) {
		t.Errorf("log: %s", got)
	}
	app.Close()
	p.away.Store(false)
	app = open(t, appliance.Options{ConfigPath: config, Version: "1.2.3", Stderr: text})

	for name, c := range map[string]struct {
		path, token string
		status      int
	}{
		"a bound user":                    {"/api/patterns", p.token(t, "ann", nil), 200},
		"beyond her role":                 {"/api/admin/plugins", p.token(t, "ann", nil), 403},
		"nobody's role":                   {"/api/patterns", p.token(t, "bob", nil), 403},
		"a group":                         {"/api/agents", p.token(t, "bob", map[string]any{"groups": []string{"ops"}}), 200},
		"a role of the token":             {"/api/admin/plugins", p.token(t, "bob", map[string]any{"roles": []string{"admin"}}), 200},
		"scopes bound what roles grant":   {"/api/admin/plugins", p.token(t, "bob", map[string]any{"roles": []string{"admin"}, "scope": "openid patterns:read"}), 403},
		"a name is no service account":    {"/api/admin/plugins", p.token(t, "bob", map[string]any{"name": "ci", "preferred_username": "ci"}), 403},
		"a subject is no service account": {"/api/admin/plugins", p.token(t, "ci", nil), 403},
		"the system is nobody's subject":  {"/api/admin/plugins", p.token(t, "system", nil), 401},
		"everybody with a credential":     {"/api/session", p.token(t, "bob", nil), 200},
		"expired":                         {"/api/session", p.token(t, "ann", map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), 401},
		"for another":                     {"/api/session", p.token(t, "ann", map[string]any{"aud": "other"}), 401},
		"changed":                         {"/api/session", p.token(t, "ann", nil) + "A", 401},
		"an API key where none are taken": {"/api/session", "wr_x", 401},
		"nothing":                         {"/api/session", "", 401},
		"live needs none":                 {"/api/health/live", "", 200},
	} {
		if status, body := get(c.path, c.token); status != c.status {
			t.Errorf("%s: %d %s, want %d", name, status, body, c.status)
		}
	}
}

// TestCertificateAsCredential has clients whose certificate is all they show.
func TestCertificateAsCredential(t *testing.T) {
	s := newTLSSite(t, `    clientAuth: request
    scopes: [read]
`)
	alice := s.client(t)
	if status, text, _, err := s.get(t, "/api/session", alice); err != nil || status != http.StatusOK || !strings.Contains(text, `"alice"`) {
		t.Errorf("with a certificate: %d %s %v", status, text, err)
	}
	if status, _, _, err := s.get(t, "/api/patterns", alice); err != nil || status != http.StatusOK {
		t.Errorf("within its scopes: %d %v", status, err)
	}
	if status, _, _, err := s.get(t, "/api/webhooks", alice); err != nil || status != http.StatusForbidden {
		t.Errorf("beyond its scopes: %d %v", status, err)
	}
	if status, _, _, err := s.get(t, "/api/session", func(*tls.Config) {}); err != nil || status != http.StatusUnauthorized {
		t.Errorf("without a certificate: %d %v", status, err)
	}
}
