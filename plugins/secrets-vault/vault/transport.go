package vault

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/vault/api"
)

// maxAnswer bounds an answer of the server: a secret of 1 MiB, thrice over.
const maxAnswer = 8 << 20

// newClient makes a client of the server that takes nothing from the environment.
func newClient(c Config, transport http.RoundTripper) (*api.Client, error) {
	// No repetition: the appliance asks again by itself, and says meanwhile what is wrong.
	client, err := api.NewClient(&api.Config{
		Address: c.Address, Timeout: c.timeout, MaxRetries: 0,
		HttpClient: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // api follows one itself
		},
	})
	if err != nil {
		return nil, err
	}
	client.ClearToken()
	client.SetNamespace(c.Namespace)
	return client, nil
}

// transport bounds answers, and trusts the authorities of a file as it is at the moment of a connection.
type transport struct {
	http *http.Transport
	file string // of authorities; empty: those of the system

	mu    sync.Mutex // guards all below
	info  os.FileInfo
	roots *x509.CertPool
}

func newTransport(caFile string) *transport {
	t := &transport{file: caFile}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	t.http = &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			roots, err := t.authorities()
			if err != nil {
				return nil, err
			}
			d := tls.Dialer{NetDialer: dialer, Config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}
			return d.DialContext(ctx, network, address)
		},
	}
	return t
}

var errAuthorities = errors.New("the file of authorities holds none")

// authorities reads the file again when it has changed, and keeps the last good ones.
func (t *transport) authorities() (*x509.CertPool, error) {
	if t.file == "" {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	info, err := os.Stat(t.file)
	if err == nil && t.info != nil && os.SameFile(info, t.info) && info.ModTime().Equal(t.info.ModTime()) && info.Size() == t.info.Size() {
		return t.roots, nil
	}
	pem, err := os.ReadFile(t.file)
	if roots := x509.NewCertPool(); err == nil && roots.AppendCertsFromPEM(pem) {
		t.info, t.roots = info, roots
	}
	if t.roots == nil {
		return nil, errAuthorities
	}
	return t.roots, nil
}

var errTooLong = errors.New("the answer is too long")

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.http.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = &bounded{body: resp.Body, left: maxAnswer}
	return resp, nil
}

// bounded is a body that fails behind its bound.
type bounded struct {
	body io.ReadCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if len(p) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.body.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

func (b *bounded) Close() error { return b.body.Close() }
