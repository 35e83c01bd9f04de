package cert_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core/cert"
	"github.com/wardroom/wardroom/core/coretest"
)

// files are the three files of a Source.
type files struct{ cert, key, ca string }

func newFiles(t testing.TB) files {
	dir := t.TempDir()
	return files{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")}
}

func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// rig is a Source that listens.
type rig struct {
	*coretest.Authority
	files
	clock  *coretest.Clock
	source *cert.Source
	addr   string
}

func newRig(t *testing.T, auth cert.Auth) *rig {
	t.Helper()
	r := &rig{Authority: coretest.NewAuthority(t), files: newFiles(t), clock: coretest.NewClock()}
	c, k := r.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "first"}})
	write(t, r.files.cert, c)
	write(t, r.files.key, k)
	write(t, r.ca, r.PEM())
	source, err := cert.Open(r.options(auth))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	r.source = source
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = listener.Addr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			server := tls.Server(conn, source.TLS())
			text := "refused"
			if server.Handshake() == nil {
				text = "nobody"
				state := server.ConnectionState()
				if who, ok := cert.IdentityOf(&state, cert.NameSubject); ok {
					text = who.Name + "/" + strings.Join(who.Groups, ",")
				}
			}
			_, _ = io.WriteString(server, text)
			_ = server.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-done })
	return r
}

func (r *rig) options(auth cert.Auth) cert.Options {
	return cert.Options{
		CertFile: r.files.cert, KeyFile: r.files.key, CAFile: r.ca, Auth: auth, Clock: r.clock, Logger: hclog.NewNullLogger(),
	}
}

// dial returns the name of the server's certificate and what it says of the client.
func (r *rig) dial(change func(*tls.Config)) (server, client string, err error) {
	config := &tls.Config{RootCAs: r.Pool(), ServerName: "localhost"}
	if change != nil {
		change(config)
	}
	conn, err := tls.Dial("tcp", r.addr, config)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = conn.Close() }()
	text, err := io.ReadAll(conn)
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName, string(text), err
}

func (r *rig) as(t *testing.T, a *coretest.Authority, template x509.Certificate) func(*tls.Config) {
	t.Helper()
	c, k := a.Issue(template)
	pair, err := tls.X509KeyPair(c, k)
	if err != nil {
		t.Fatal(err)
	}
	return func(config *tls.Config) { config.Certificates = []tls.Certificate{pair} }
}

func TestClientAuth(t *testing.T) {
	alice := func() x509.Certificate {
		return x509.Certificate{Subject: pkix.Name{CommonName: "alice", OrganizationalUnit: []string{"devs"}}}
	}
	for auth, want := range map[cert.Auth]struct{ without, with, foreign string }{
		cert.AuthRequire: {"", "alice/devs", ""},
		cert.AuthRequest: {"nobody", "alice/devs", ""},
		cert.AuthNone:    {"nobody", "nobody", "nobody"},
	} {
		t.Run(string(auth), func(t *testing.T) {
			r := newRig(t, auth)
			if _, got, _ := r.dial(nil); got != want.without {
				t.Errorf("without a certificate: %q, want %q", got, want.without)
			}
			if _, got, _ := r.dial(r.as(t, r.Authority, alice())); got != want.with {
				t.Errorf("with a certificate: %q, want %q", got, want.with)
			}
			foreign := coretest.NewAuthority(t)
			force := r.as(t, foreign, alice())
			got := func() string {
				_, got, _ := r.dial(func(c *tls.Config) {
					force(c)
					pair := c.Certificates[0]
					c.Certificates = nil // sent although the server does not name its issuer
					c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
				})
				return got
			}()
			if got != want.foreign {
				t.Errorf("with a certificate of a foreign CA: %q, want %q", got, want.foreign)
			}
			ended := alice()
			ended.NotBefore, ended.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
			if _, got, _ := r.dial(r.as(t, r.Authority, ended)); got == "alice/devs" {
				t.Error("a certificate that ended is accepted")
			}
		})
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	r := newRig(t, cert.AuthNone)
	if _, _, err := r.dial(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS11 }); err == nil {
		t.Fatal("TLS 1.1 is accepted")
	}
	if _, got, err := r.dial(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }); err != nil || got != "nobody" {
		t.Fatalf("TLS 1.2: %q, %v", got, err)
	}
}

func TestReload(t *testing.T) {
	r := newRig(t, cert.AuthNone)
	served := func() string {
		name, _, err := r.dial(nil)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	second, key := r.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "second"}})
	write(t, r.files.cert, second) // the key is still the first one's
	r.pass(t, 2)
	coretest.WaitFor(t, "the refusal of half a pair", func() bool { return r.source.Failed() != nil })
	if got := served(); got != "first" {
		t.Fatalf("half a pair: %s is served, want first", got)
	}
	write(t, r.files.key, key)
	r.pass(t, 2)
	coretest.WaitFor(t, "the second certificate", func() bool { return served() == "second" })
	if err := r.source.Failed(); err != nil {
		t.Fatal(err)
	}
	remove := func() {
		if err := os.Remove(r.files.key); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	r.pass(t, 1)
	if err := r.source.Failed(); err != nil {
		t.Errorf("a file that is replaced at the moment: %v", err)
	}
	r.pass(t, 1)
	if err := r.source.Failed(); err == nil || !strings.Contains(err.Error(), r.files.key) || served() != "second" {
		t.Errorf("a file that stays away: %v", err)
	}
	write(t, r.files.key, key)
	r.pass(t, 2)
	if err := r.source.Failed(); err != nil {
		t.Errorf("a file that is back: %v", err)
	}
	remove()
	if err := r.source.Reload(); err == nil {
		t.Fatal("a reload without a key says nothing")
	}
	if got := served(); got != "second" {
		t.Fatalf("%s is served, want second", got)
	}
}

// pass lets n looks at the files pass.
func (r *rig) pass(t *testing.T, n int) {
	t.Helper()
	for range n {
		coretest.WaitFor(t, "the next look", func() bool { return r.clock.Pending() == 1 })
		r.clock.Advance(time.Second)
	}
	coretest.WaitFor(t, "the end of the look", func() bool { return r.clock.Pending() == 1 })
}

// What is refused because the time of day is wrong is in use once that is right again.
func TestReloadOnceTheClockIsRight(t *testing.T) {
	clock := coretest.NewStepClock()
	r := &rig{Authority: coretest.NewAuthority(t), files: newFiles(t), clock: clock}
	issue := func(name string, end time.Time) {
		c, k := r.Issue(x509.Certificate{Subject: pkix.Name{CommonName: name}, NotBefore: clock.Now().Add(-time.Hour), NotAfter: end})
		write(t, r.files.cert, c)
		write(t, r.files.key, k)
	}
	write(t, r.ca, r.PEM())
	issue("first", clock.Now().Add(time.Hour))
	source, err := cert.Open(r.options(cert.AuthNone))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	second := clock.Now().Add(24 * time.Hour).Round(0).Truncate(time.Second)
	issue("second", second)
	clock.Step(365 * 24 * time.Hour)
	r.pass(t, 3)
	if source.Failed() == nil {
		t.Fatal("a certificate that has ended is in use")
	}
	clock.Step(-365 * 24 * time.Hour)
	r.pass(t, 61)
	if failed := source.Failed(); failed != nil || !source.Expires().Equal(second) {
		t.Errorf("in use is the one that ends on %s: %v", source.Expires(), failed)
	}
}

func TestBadFiles(t *testing.T) {
	r := newRig(t, cert.AuthRequire)
	other, _ := r.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "other"}})
	ended, endedKey := r.Issue(x509.Certificate{NotBefore: r.clock.Now().Add(-48 * time.Hour), NotAfter: r.clock.Now().Add(-time.Hour)})
	client, clientKey := r.Issue(x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	good := map[string][]byte{}
	for _, path := range []string{r.files.cert, r.files.key, r.ca} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		good[path] = text
	}
	for name, c := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"certificate missing":      {map[string][]byte{r.files.cert: nil}, "tls.crt"},
		"key missing":              {map[string][]byte{r.files.key: nil}, "tls.key"},
		"CA missing":               {map[string][]byte{r.ca: nil}, "ca.crt"},
		"certificate no PEM":       {map[string][]byte{r.files.cert: []byte("x")}, "tls.crt holds no certificate"},
		"key no PEM":               {map[string][]byte{r.files.key: []byte("x")}, "tls.key holds no private key"},
		"key of another":           {map[string][]byte{r.files.cert: other}, "no pair"},
		"certificate ended":        {map[string][]byte{r.files.cert: ended, r.files.key: endedKey}, "ended on"},
		"certificate of a client":  {map[string][]byte{r.files.cert: client, r.files.key: clientKey}, "not for a server"},
		"CA empty":                 {map[string][]byte{r.ca: []byte("\n")}, "ca.crt holds no certificate"},
		"CA that is none":          {map[string][]byte{r.ca: other}, "not that of a CA"},
		"CA with a key in it":      {map[string][]byte{r.ca: good[r.files.key]}, "block 1 is no certificate"},
		"certificate far too long": {map[string][]byte{r.files.cert: make([]byte, 5<<20)}, "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			for path, text := range good {
				write(t, path, text)
			}
			for path, text := range c.files {
				if text == nil {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
					continue
				}
				write(t, path, text)
			}
			s, err := cert.Open(r.options(cert.AuthRequire))
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "PRIVATE KEY-----") {
				t.Fatalf("got %q, want %q in it", err, c.want)
			}
			what := "The new certificate of the server"
			if strings.HasPrefix(name, "CA") {
				what = "The new file of CAs of clients"
			}
			if why := new(cert.Failure); errors.As(err, &why) && why.What != what || r.source.Reload() == nil || r.source.Failed().What != what {
				t.Errorf("blamed: %q", r.source.Failed().What)
			}
		})
	}
}

// TestPipe has a pipe in place of a file: nobody writes to it, and nobody waits for that.
func TestPipe(t *testing.T) {
	r := newRig(t, cert.AuthRequire)
	if err := errors.Join(os.Remove(r.ca), syscall.Mkfifo(r.ca, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := r.source.Reload(); err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Errorf("got %v", err)
	}
}

func TestIdentityOf(t *testing.T) {
	uri := &url.URL{Scheme: "spiffe", Host: "example", Path: "/agent/1"}
	state := func(c *x509.Certificate) *tls.ConnectionState {
		return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}, VerifiedChains: [][]*x509.Certificate{{c}}}
	}
	for name, c := range map[string]struct {
		state *tls.ConnectionState
		by    cert.Name
		want  string
	}{
		"common name":         {state(&x509.Certificate{Subject: pkix.Name{CommonName: "alice"}}), cert.NameSubject, "alice"},
		"URI":                 {state(&x509.Certificate{URIs: []*url.URL{uri}, DNSNames: []string{"a"}}), cert.NameSAN, "spiffe://example/agent/1"},
		"e-mail":              {state(&x509.Certificate{EmailAddresses: []string{"a@example.com"}, DNSNames: []string{"a"}}), cert.NameSAN, "a@example.com"},
		"DNS":                 {state(&x509.Certificate{DNSNames: []string{"a.example.com"}}), cert.NameSAN, "a.example.com"},
		"none":                {state(&x509.Certificate{}), cert.NameSubject, ""},
		"no alternative name": {state(&x509.Certificate{Subject: pkix.Name{CommonName: "alice"}}), cert.NameSAN, ""},
		"control characters":  {state(&x509.Certificate{Subject: pkix.Name{CommonName: "alice\nadmin"}}), cert.NameSubject, ""},
		"not checked": {&tls.ConnectionState{PeerCertificates: []*x509.Certificate{
			{Subject: pkix.Name{CommonName: "alice"}},
		}}, cert.NameSubject, ""},
		"no TLS": {nil, cert.NameSubject, ""},
	} {
		who, ok := cert.IdentityOf(c.state, c.by)
		if who.Name != c.want || ok != (c.want != "") {
			t.Errorf("%s: got %q, %v; want %q", name, who.Name, ok, c.want)
		}
	}
}
