package appliance_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core/coretest"
)

// tlsSite is an app that serves HTTPS.
type tlsSite struct {
	*coretest.Authority
	app               *appliance.App
	log               *log
	config            string // path
	certFile, keyFile string
	crl               string
}

// logs reports whether the log has a text.
func (s *tlsSite) logs(text string) bool { return strings.Contains(s.log.String(), text) }

func newTLSSite(t *testing.T, more string, before ...func(s *tlsSite, dir string)) *tlsSite {
	t.Helper()
	dir := t.TempDir()
	s := &tlsSite{
		Authority: coretest.NewAuthority(t), log: &log{}, config: filepath.Join(dir, "wardroom.yaml"),
		certFile: filepath.Join(dir, "tls.crt"), keyFile: filepath.Join(dir, "tls.key"),
	}
	s.install(t, "first")
	write(t, filepath.Join(dir, "ca.crt"), string(s.PEM()))
	for _, f := range before {
		f(s, dir)
	}
	write(t, s.config, fmt.Sprintf(`server:
  listen: 127.0.0.1:0
store:
  path: %s
metrics:
  public: true
security:
  mtls:
    enabled: true
    serverCert: tls.crt
    serverKey: tls.key
    clientCA: ca.crt
%s`, filepath.Join(dir, "store"), more))
	s.app = open(t, appliance.Options{ConfigPath: s.config, Version: "1.2.3", Stderr: s.log})
	return s
}

// install writes a certificate with a name, and its key.
func (s *tlsSite) install(t *testing.T, name string) {
	t.Helper()
	certText, keyText := s.Issue(x509.Certificate{Subject: pkix.Name{CommonName: name}})
	write(t, s.certFile, string(certText))
	write(t, s.keyFile, string(keyText))
}

// get reads a path on a connection of its own, and returns the name of the server's certificate too.
func (s *tlsSite) get(t *testing.T, path string, change func(*tls.Config)) (status int, text, server string, err error) {
	t.Helper()
	config := &tls.Config{RootCAs: s.Pool(), MinVersion: tls.VersionTLS12}
	if change != nil {
		change(config)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "https://"+s.app.Addr()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	a, err := client.Do(r)
	if err != nil {
		return 0, "", "", err
	}
	defer func() { _ = a.Body.Close() }()
	body, err := io.ReadAll(a.Body)
	return a.StatusCode, string(body), a.TLS.PeerCertificates[0].Subject.CommonName, err
}

func (s *tlsSite) client(t *testing.T) func(*tls.Config) {
	t.Helper()
	certText, keyText := s.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "alice"}})
	pair, err := tls.X509KeyPair(certText, keyText)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *tls.Config) { c.Certificates = []tls.Certificate{pair} }
}

func TestTLS(t *testing.T) {
	s := newTLSSite(t, "")
	alice := s.client(t)
	if status, _, _, err := s.get(t, "/api/patterns", nil); err == nil {
		t.Errorf("without a certificate: %d", status)
	}
	status, text, server, err := s.get(t, "/api/patterns", alice)
	if err != nil || status != http.StatusOK || server != "first" {
		t.Fatalf("%d %s %s %v", status, text, server, err)
	}
	plain, err := http.Get("http://" + s.app.Addr() + "/api/patterns")
	if err == nil {
		_ = plain.Body.Close()
		if plain.StatusCode == http.StatusOK {
			t.Error("HTTP is served beside HTTPS")
		}
	}
	_, text, _, err = s.get(t, "/api/metrics", alice)
	if err != nil || !strings.Contains(text, "\nservice_certificate_expiry_seconds ") {
		t.Errorf("no series of the certificate's end: %v", err)
	}

	s.install(t, "second")
	coretest.WaitFor(t, "the new certificate", func() bool {
		_, _, server, err := s.get(t, "/api/health/live", alice)
		return err == nil && server == "second"
	})
	write(t, s.keyFile, "nonsense")
	coretest.WaitFor(t, "an alert", func() bool {
		return strings.Contains(s.log.String(), "The new certificate of the server is not in use, and what was before stays: ")
	})
	if _, _, server, err := s.get(t, "/api/health/live", alice); err != nil || server != "second" {
		t.Fatalf("the former certificate is not in use: %s, %v", server, err)
	}
}

func TestTLSRefusesToStart(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "wardroom.yaml")
	write(t, config, fmt.Sprintf(`server: {listen: "127.0.0.1:0"}
store: {path: %s}
security:
  mtls: {enabled: true, serverCert: nowhere.crt, serverKey: nowhere.key, clientAuth: none}
`, filepath.Join(dir, "store")))
	a, err := appliance.New(appliance.Options{ConfigPath: config, Version: "1.2.3", Stderr: &log{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "nowhere.crt") {
		t.Fatalf("got %v, want an error that names the file", err)
	}
	a.Close()
}

// Who may not come from where it does gets no page either.
func TestAllowlistCoversPages(t *testing.T) {
	s := newTLSSite(t, `    clientAuth: none
  network:
    ipAllowlist: {enabled: true, ranges: [192.0.2.0/24]}
`)
	for _, path := range []string{"/api/patterns", "/", "/docs/", "/docs/search?q=key"} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Pool()}, DisableKeepAlives: true}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+s.app.Addr()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/html")
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		if a.StatusCode != http.StatusForbidden && a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.StatusCode)
		}
	}
}

func TestLimits(t *testing.T) {
	s := newTLSSite(t, `    clientAuth: none
  rateLimit:
    enabled: true
    perPattern: {requestsPerMinute: 1}
  network:
    trustedProxies: [127.0.0.1]
    ipAllowlist: {enabled: true, ranges: [127.0.0.0/8, 192.0.2.0/24]}
`)
	for _, want := range []int{http.StatusNotFound, http.StatusTooManyRequests} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+s.app.Addr()+"/api/patterns/nowhere/execute",
			strings.NewReader(`{"input":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Pool()}, DisableKeepAlives: true}}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		if a.StatusCode != want || a.Header.Get("X-RateLimit-Limit") != "1" {
			t.Fatalf("%d %v, want %d", a.StatusCode, a.Header, want)
		}
	}
	if status, _, _, err := s.get(t, "/api/health/ready", nil); err != nil || status != http.StatusOK {
		t.Errorf("a probe: %d %v", status, err)
	}
}
