package remote_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/audit/remote"
)

func TestRefusal(t *testing.T) {
	for status, want := range map[int]audit.Code{
		400: audit.CodeInvalidArgument, 401: audit.CodeForbidden, 403: audit.CodeForbidden, 404: audit.CodeInvalidArgument,
		408: audit.CodeUnavailable, 429: audit.CodeUnavailable, 500: audit.CodeUnavailable, 503: audit.CodeUnavailable, 507: audit.CodeFull,
	} {
		if e := remote.Refusal(status, "a reason"); e.Code != want || !e.Retry {
			t.Errorf("%d: %+v, want %s and to be tried again", status, e, want)
		}
	}
}

// A reason is cut between characters, whatever it is made of.
func TestReason(t *testing.T) {
	for _, reason := range []string{"a" + strings.Repeat("é", 1000), strings.Repeat("\xff", 1000)} {
		if e := remote.Refusal(400, reason); !utf8.ValidString(e.Message) || len(e.Message) > 1000 {
			t.Errorf("%q", e.Message)
		}
	}
}

// authority makes a certificate that signs itself, good until an hour from now and that long more.
func authority(t *testing.T, more time.Duration) (own tls.Certificate, text []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(time.Hour + more), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// service answers with a certificate.
func service(t *testing.T, own tls.Certificate) string {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{own}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// A certificate whose time is over is not taken for a service that is away.
func TestCertificateWhoseTimeIsOver(t *testing.T) {
	own, text := authority(t, -24*time.Hour)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := remote.New(remote.Options{CAFile: file})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Do(t.Context(), "GET", service(t, own), nil, nil)
	if e := audit.AsError(err); e.Code != audit.CodeUnavailable || !strings.Contains(e.Message, "certificate") || e.Hint == "" {
		t.Errorf("%+v", e)
	}
}

// Authorities that were replaced in their file are trusted without a restart; what is in the file meanwhile, such as half of one, changes
// nothing.
func TestAuthoritiesRotate(t *testing.T) {
	_, former := authority(t, 0)
	own, text := authority(t, 0)
	file := filepath.Join(t.TempDir(), "ca.pem")
	write := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(former)
	c, err := remote.New(remote.Options{CAFile: file})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	url := service(t, own)
	for _, text := range [][]byte{former, text[:40], nil} {
		write(text)
		if _, err := c.Do(t.Context(), "GET", url, nil, nil); err == nil || !strings.Contains(err.Error(), "not trusted") {
			t.Fatalf("%v", err)
		}
	}
	write(text)
	_, _ = c.Do(t.Context(), "GET", url, nil, nil) // which reads the file
	if a, err := c.Do(t.Context(), "GET", url, nil, nil); err != nil || a.Status != 404 {
		t.Errorf("%d, %v", a.Status, err)
	}
}
