package appliance

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/access"
	"github.com/wardroom/wardroom/core/cert"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

// What is opened over a connection ends with the certificate of the client, whatever credential was shown beside it, and so does the
// connection.
func TestCredentialEndsWithCertificate(t *testing.T) {
	dir, clock, authority := t.TempDir(), coretest.NewClock(), coretest.NewAuthority(t)
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text, key := authority.Issue(x509.Certificate{})
	source, err := cert.Open(cert.Options{
		CertFile: write("tls.crt", text), KeyFile: write("tls.key", key), CAFile: write("ca.crt", authority.PEM()), Auth: cert.AuthRequire,
		Clock: clock, Logger: hclog.NewNullLogger(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	a := &App{clock: clock}
	a.certificates.Store(source)
	ends := clock.Now().Add(time.Hour).Truncate(time.Second)
	client, _ := authority.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "ann"}, NotAfter: ends})
	r := &http.Request{TLS: coretest.ConnectionOf(t, authority, client)}
	sooner, later := ends.Add(-time.Minute), ends.Add(time.Minute)
	for _, tt := range []struct{ credential, want time.Time }{{time.Time{}, ends}, {sooner, sooner}, {later, ends}} {
		p, err := a.withCertificate(func(*http.Request) (core.Principal, error) { return core.Principal{Expires: tt.credential}, nil })(r)
		if err != nil || !p.Expires.Equal(tt.want) {
			t.Errorf("a credential that ends at %s: %s, %v, want %s", tt.credential, p.Expires, err, tt.want)
		}
	}
	plain := &http.Request{}
	if p, err := a.withCertificate(func(*http.Request) (core.Principal, error) { return core.Principal{}, nil })(plain); err != nil || !p.Expires.IsZero() {
		t.Errorf("without a certificate: %s, %v", p.Expires, err)
	}
	// What is opened by what came of it, as by a ticket, ends with it too, and so does what needs no credential.
	records, err := store.OpenOn(t.Context(), memory.New(), store.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = records.Close() }()
	a.access = access.New(access.Options{Store: records, Clock: clock, IDs: core.NewIDs(clock)})
	made, err := a.access.CreateKey(t.Context(), core.APIKeySpec{Name: "ann", Scopes: []string{core.ScopeRead}, Life: 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ began, want time.Time }{{ends, ends}, {time.Time{}, *made.ExpiresAt}} {
		p, err := a.refresh(t.Context(), core.Principal{Kind: core.PrincipalAPIKey, ID: "ann", KeyID: made.ID, Expires: tt.began})
		if err != nil || !p.Expires.Equal(tt.want) {
			t.Errorf("what began until %s: %s, %v, want %s", tt.began, p.Expires, err, tt.want)
		}
	}
	a.access = nil
	anonymous, err := a.withCertificate(func(*http.Request) (core.Principal, error) { return core.Anonymous, nil })(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.refresh(t.Context(), anonymous); err != nil {
		t.Errorf("before its end, without security: %v", err)
	}
	clock.Advance(2 * time.Hour)
	if _, err := a.refresh(t.Context(), anonymous); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("after its end, without security: %v", err)
	}
	_, err = a.withCertificate(func(*http.Request) (core.Principal, error) { return core.Principal{}, nil })(r)
	if core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("after its end: %v", err)
	}
}
