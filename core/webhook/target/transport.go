package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/wardroom/wardroom/core"
)

// Bounds of a connection.
const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	idleTimeout      = 90 * time.Second
	maxHeaderBytes   = 64 << 10
)

// TLS holds the TLS settings of an endpoint. Empty strings are the defaults.
type TLS struct {
	Certificate string // PEM, of us as the client, with its chain
	Key         string // PEM, of Certificate
	CA          string // PEM; in place of the system's authorities
}

// Config makes the configuration of connections: the server's certificate is verified, with TLS 1.2 at least. The error
// is a VALIDATION_ERROR for one of clientCertificate, clientKey and ca.
func (t TLS) Config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case t.Certificate != "" && t.Key == "":
		return nil, core.Invalid("clientKey", "must be given with a client certificate")
	case t.Certificate == "" && t.Key != "":
		return nil, core.Invalid("clientCertificate", "must be given with a key")
	case t.Certificate != "":
		pair, err := tls.X509KeyPair([]byte(t.Certificate), []byte(t.Key))
		if err != nil {
			return nil, core.Invalid("clientCertificate", "must be a certificate in PEM that its key belongs to: %v", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if t.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA)) {
			return nil, core.Invalid("ca", "must hold certificates in PEM")
		}
	}
	return c, nil
}

// Options configure a transport. The zero value is ready.
type Options struct {
	TLS TLS
	// Proxy is what every request goes through; nil is none, whatever the environment says. Its own address is the
	// operator's choice and not judged. A proxy resolves names itself, so it has to do what the guard does for names;
	// addresses in URLs are judged here.
	Proxy *url.URL
	// MaxIdle is how many connections wait for the next request, which is best as many as there are requests at a time;
	// 0 means two.
	MaxIdle int
	// Resolver is the system's when nil.
	Resolver *net.Resolver
}

// NewTransport makes a transport whose connections the guard lets through. Its client must not follow redirects
// (CheckRedirect that returns http.ErrUseLastResponse), as each would be another URL, and bounds time and bodies. One
// transport keeps its connections for the next request, so it is made once per endpoint; CloseIdleConnections ends it.
// Errors of its round trips wrap a *Refusal where the guard refused. The error is that of TLS.Config.
func NewTransport(guard *Guard, opts Options) (*http.Transport, error) {
	config, err := opts.TLS.Config()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: dialTimeout, Resolver: opts.Resolver}
	t := &http.Transport{
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    handshakeTimeout,
		ForceAttemptHTTP2:      true, // a dialer of one's own turns it off otherwise
		DisableCompression:     true, // the answer is kept as it came, and nothing inflates
		IdleConnTimeout:        idleTimeout,
		MaxIdleConnsPerHost:    opts.MaxIdle,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	if opts.Proxy != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) {
			if err := guard.judgeURL(r.URL); err != nil {
				return nil, err
			}
			return opts.Proxy, nil
		}
	} else {
		dialer.Control = guard.Control
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _, err := net.SplitHostPort(address); err == nil && guard.Elsewhere != nil && opts.Proxy == nil {
			if reason := guard.Elsewhere(host); reason != "" {
				return nil, &Refusal{address, reason}
			}
		}
		return dialer.DialContext(ctx, network, address)
	}
	return t, nil
}
