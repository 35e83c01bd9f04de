package appliance_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/coretest"
)

// What a client has open ends within seconds of the withdrawal of its certificate, and nothing is opened with it any more; the others
// go on.
func TestWithdrawnCertificate(t *testing.T) {
	s := newTLSSite(t, "    clientAuth: request\n    scopes: [read]\n    clientCRL: clients.crl\n", func(s *tlsSite, dir string) {
		s.crl = filepath.Join(dir, "clients.crl")
		write(t, s.crl, string(s.Withdraw(time.Now().Add(time.Hour))))
	})
	certificate := func(name string) (text []byte, as func(*tls.Config)) {
		text, key := s.Issue(x509.Certificate{Subject: pkix.Name{CommonName: name}})
		pair, err := tls.X509KeyPair(text, key)
		if err != nil {
			t.Fatal(err)
		}
		return text, func(c *tls.Config) { c.Certificates = []tls.Certificate{pair} }
	}
	text, alice := certificate("alice")
	_, bob := certificate("bob")
	config := &tls.Config{RootCAs: s.Pool(), MinVersion: tls.VersionTLS12}
	alice(config)
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	kept := &http.Client{Transport: transport}
	open := func(path string) *http.Response {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "https://"+s.app.Addr()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := kept.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	stream := open("/api/events")
	if stream.StatusCode != http.StatusOK {
		t.Fatal(stream.Status)
	}
	idle := open("/api/session")
	if _, err := io.Copy(io.Discard, idle.Body); err != nil || idle.StatusCode != http.StatusOK {
		t.Fatal(idle.Status, err)
	}

	write(t, s.crl, string(s.Withdraw(time.Now().Add(time.Hour), text)))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, stream.Body)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the stream goes on")
	}
	if again := open("/api/session"); again.StatusCode != http.StatusUnauthorized {
		t.Errorf("on the connection that was open: %s", again.Status)
	}
	if status, _, _, err := s.get(t, "/api/session", alice); err == nil {
		t.Errorf("on a new connection: %d", status)
	}
	if status, _, _, err := s.get(t, "/api/session", bob); err != nil || status != http.StatusOK {
		t.Errorf("another certificate: %d, %v", status, err)
	}
	write(t, s.crl, "nonsense")
	coretest.WaitFor(t, "an alert", func() bool {
		return s.logs("The new list of withdrawn certificates of clients is not in use, and what was before stays: ")
	})
	if s.logs("The new certificate of the server is not in use") {
		t.Error("the certificate of the server is blamed for the list")
	}
	if status, _, _, err := s.get(t, "/api/session", alice); err == nil {
		t.Errorf("a list that is none lets in again: %d", status)
	}
}
