package target_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/webhook/target"
)

// client makes a client as the dispatcher does.
func client(t *testing.T, g *target.Guard, opts target.Options) *http.Client {
	t.Helper()
	transport, err := target.NewTransport(g, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport: transport, Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// get returns status and body of an answer.
func get(c *http.Client, url string) (int, string, error) {
	resp, err := c.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func hello(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello over "+r.Proto) }

func serve(t *testing.T, handler http.HandlerFunc) (server *httptest.Server, port string) {
	t.Helper()
	server = httptest.NewServer(handler)
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return server, port
}

func TestTransportRefuses(t *testing.T) {
	reached := false
	server, port := serve(t, func(http.ResponseWriter, *http.Request) { reached = true })
	c := client(t, &target.Guard{}, target.Options{})
	for _, to := range []string{server.URL, "http://[::ffff:127.0.0.1]:" + port, "http://10.0.0.1/", "https://[fd00:ec2::254]/"} {
		_, _, err := get(c, to)
		var refusal *target.Refusal
		if !errors.Is(err, target.ErrRefused) || !errors.As(err, &refusal) || refusal.Reason == "" {
			t.Errorf("%s: got %v", to, err)
		}
	}
	if reached {
		t.Error("a refused server was reached")
	}
}

// A name that is another address at each look gets nowhere: what is dialled is judged, not what was looked up before.
func TestRebinding(t *testing.T) {
	_, port := serve(t, hello)
	var answers atomic.Pointer[[]string]
	resolver := fakeResolver(t, func(string) []string { return *answers.Load() })
	c := client(t, &target.Guard{Development: true}, target.Options{Resolver: resolver})
	to := "http://rebound.example:" + port + "/"
	if _, err := (&target.Guard{Development: true}).CheckURL(to); err != nil {
		t.Fatal(err)
	}
	for i, row := range []struct {
		answers []string
		refused bool
	}{
		{[]string{"127.0.0.1"}, false},
		{[]string{"169.254.169.254"}, true},
		{[]string{"127.0.0.1"}, false},
		{[]string{"10.0.0.1", "192.168.0.1"}, true},
		{[]string{"::ffff:169.254.169.254"}, true},
		{[]string{"64:ff9b::a9fe:a9fe"}, true},
		{[]string{"fd00:ec2::254", "169.254.169.254"}, true},
		{[]string{"0.0.0.0"}, true},
	} {
		answers.Store(&row.answers)
		_, body, err := get(c, to)
		if row.refused != errors.Is(err, target.ErrRefused) || row.refused == strings.HasPrefix(body, "hello") {
			t.Errorf("look %d at %v: got %q, %v", i, row.answers, body, err)
		}
		c.CloseIdleConnections() // the next one dials again
	}
	strict := client(t, &target.Guard{}, target.Options{Resolver: resolver})
	answers.Store(&[]string{"127.0.0.1"})
	if _, _, err := get(strict, to); !errors.Is(err, target.ErrRefused) {
		t.Errorf("loopback behind a name: got %v", err)
	}
}

// fakeResolver answers every name with what lookup says, with a time to live of 0.
func fakeResolver(t *testing.T, lookup func(name string) []string) *net.Resolver {
	t.Helper()
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		wg.Go(func() {
			defer func() { _ = far.Close() }()
			for { // a stream: each message behind its length
				head := make([]byte, 2)
				if _, err := io.ReadFull(far, head); err != nil {
					return
				}
				query := make([]byte, int(head[0])<<8|int(head[1]))
				if _, err := io.ReadFull(far, query); err != nil {
					return
				}
				answer := resolve(query, lookup)
				if _, err := far.Write(append([]byte{byte(len(answer) >> 8), byte(len(answer))}, answer...)); err != nil {
					return
				}
			}
		})
		return near, nil
	}}
}

func resolve(query []byte, lookup func(name string) []string) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: header.ID, Response: true, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q},
	}
	for _, text := range lookup(q.Name.String()) {
		addr := netip.MustParseAddr(text)
		head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		switch {
		case addr.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: addr.As4()}})
		case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
	answer, err := m.Pack()
	if err != nil {
		return nil
	}
	return answer
}

func TestTransportKeepsConnections(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(hello))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := client(t, &target.Guard{Development: true}, target.Options{MaxIdle: 4})
	for range 5 {
		if status, _, err := get(c, server.URL); err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Fatalf("five requests took %d connections", n)
	}
}

func TestTransportFollowsNoRedirect(t *testing.T) {
	reached := false
	other, _ := serve(t, func(http.ResponseWriter, *http.Request) { reached = true })
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	status, _, err := get(client(t, &target.Guard{Development: true}, target.Options{}), server.URL)
	if err != nil || status != http.StatusFound || reached {
		t.Fatalf("got %d, %v; the other server was reached: %v", status, err, reached)
	}
}

func TestTransportBoundsHeaders(t *testing.T) {
	server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("a", 1<<20))
	})
	if status, _, err := get(client(t, &target.Guard{Development: true}, target.Options{}), server.URL); err == nil {
		t.Fatalf("a header of a megabyte was taken, status %d", status)
	}
}

// The environment's proxy is not asked; the configured one is, and may be at an address that is no target.
func TestTransportProxy(t *testing.T) {
	var seen []string
	proxy, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.String())
		hello(w, r)
	})
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	direct := client(t, &target.Guard{}, target.Options{})
	if _, _, err := get(direct, "http://10.0.0.1/"); !errors.Is(err, target.ErrRefused) || len(seen) != 0 {
		t.Fatalf("got %v; the proxy saw %v", err, seen)
	}
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, &target.Guard{}, target.Options{Proxy: at})
	if _, body, err := get(c, "http://example.org/hook"); err != nil || !strings.HasPrefix(body, "hello") {
		t.Fatalf("got %q, %v", body, err)
	}
	for _, to := range []string{"http://10.0.0.1/", "https://169.254.169.254/", "http://127.0.0.1:80/", "http://[::1]:8080/"} {
		if _, _, err := get(c, to); !errors.Is(err, target.ErrRefused) {
			t.Errorf("%s through the proxy: got %v", to, err)
		}
	}
	if len(seen) != 1 || seen[0] != "http://example.org/hook" {
		t.Errorf("the proxy saw %v", seen)
	}
}

// authority makes certificates for the tests.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	var der []byte
	a.key, der = a.sign(t, a.cert)
	a.pem = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

// sign makes a key and a certificate for it; the authority's own when it has none yet.
func (a *authority) sign(t *testing.T, c *x509.Certificate) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := c, key
	if a.key != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return key, der
}

// issue makes a certificate and its key in PEM.
func (a *authority) issue(t *testing.T, name string) (certificate, key string) {
	t.Helper()
	private, der := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	})
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

func serveTLS(t *testing.T, a *authority, change func(c *tls.Config)) *httptest.Server {
	t.Helper()
	certificate, key := a.issue(t, "server")
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(hello))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = discard()
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	change(server.TLS)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func TestTransportTLS(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	certificate, key := a.issue(t, "client")
	otherCertificate, otherKey := stranger.issue(t, "client")
	mutual := func(c *tls.Config) {
		c.ClientAuth = tls.RequireAndVerifyClientCert
		c.ClientCAs = x509.NewCertPool()
		c.ClientCAs.AddCert(a.cert)
	}
	for _, row := range []struct {
		name   string
		server func(c *tls.Config)
		opts   target.TLS
		want   string // the answer; "": an error
	}{
		{"unknown authority", func(*tls.Config) {}, target.TLS{}, ""},
		{"another authority", func(*tls.Config) {}, target.TLS{CA: stranger.pem}, ""},
		{"own authority", func(*tls.Config) {}, target.TLS{CA: a.pem}, "hello over HTTP/2.0"},
		{"without HTTP/2", func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }, target.TLS{CA: a.pem}, "hello over HTTP/1.1"},
		{"old TLS", func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11 }, target.TLS{CA: a.pem}, ""},
		{"no client certificate", mutual, target.TLS{CA: a.pem}, ""},
		{"wrong client certificate", mutual, target.TLS{CA: a.pem, Certificate: otherCertificate, Key: otherKey}, ""},
		{"client certificate", mutual, target.TLS{CA: a.pem, Certificate: certificate, Key: key}, "hello over HTTP/2.0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := serveTLS(t, a, row.server)
			_, body, err := get(client(t, &target.Guard{Development: true}, target.Options{TLS: row.opts}), server.URL)
			if (err == nil) != (row.want != "") || body != row.want {
				t.Fatalf("got %q, %v", body, err)
			}
		})
	}
}

func TestTLSConfigRefuses(t *testing.T) {
	a := newAuthority(t)
	certificate, key := a.issue(t, "client")
	_, otherKey := a.issue(t, "other")
	for field, list := range map[string][]target.TLS{
		"clientKey": {{Certificate: certificate}},
		"clientCertificate": {
			{Key: key}, {Certificate: "no PEM", Key: key}, {Certificate: certificate, Key: "no PEM"},
			{Certificate: certificate, Key: otherKey}, {Certificate: key, Key: key},
		},
		"ca": {{CA: "no PEM"}, {CA: key}},
	} {
		for i, c := range list {
			_, err := target.NewTransport(&target.Guard{}, target.Options{TLS: c})
			var e *core.Error
			if !errors.As(err, &e) || e.Code != core.CodeValidation || e.Details["field"] != field || strings.Contains(e.Message, "PRIVATE") {
				t.Errorf("%s, %d: got %v", field, i, err)
			}
		}
	}
}

// Data stays in its region at each new connection: whatever was stored or allowed before, and without a look-up of the name.
func TestTransportStaysInTheRegion(t *testing.T) {
	reached := false
	server, _ := serve(t, func(http.ResponseWriter, *http.Request) { reached = true })
	guard := &target.Guard{Development: true, Elsewhere: func(host string) string {
		if host == "127.0.0.1" || strings.HasSuffix(host, ".example.com") {
			return "it is elsewhere"
		}
		return ""
	}}
	proxy, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string]target.Options{"Direct": {}, "Proxied": {Proxy: proxy}} {
		for _, to := range []string{server.URL, "http://hooks.example.com/x"} {
			_, _, err := get(client(t, guard, opts), to)
			var refusal *target.Refusal
			if !errors.As(err, &refusal) || !strings.Contains(refusal.Error(), "elsewhere") || reached {
				t.Errorf("%s, %s: %v; reached: %t", name, to, err, reached)
			}
		}
	}
}
