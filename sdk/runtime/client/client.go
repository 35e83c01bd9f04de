package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

var _ runtime.Runtime = (*Client)(nil)

// Defaults.
const (
	DefaultDialTimeout = 5 * time.Second
	DefaultCallTimeout = 60 * time.Second
	DefaultSilence     = 60 * time.Second

	sendTimeout = 120 * time.Second // of Input.Timeout, by the contract
	stopGrace   = 5 * time.Second   // of StopOptions.Grace, by the contract
)

// Options say which server to call. URL is needed.
type Options struct {
	URL   string // http or https, with whatever path the server's routes are below
	Token string // or empty
	TLS   *tls.Config

	DialTimeout time.Duration // to connect; 0: 5 s
	// CallTimeout bounds a call beyond what it waits for by itself, such as a turn; 0: 60 s. Spawning an agent
	// whose image must be fetched takes longest.
	CallTimeout time.Duration
	// Silence is how long a stream may be without even a heartbeat before it is given up; 0: 60 s.
	Silence time.Duration
}

// Client is the runtime behind a server. It is safe for concurrent use, holds no state but idle connections,
// and starts nothing until it is called.
type Client struct {
	o         Options
	base      *url.URL
	transport *http.Transport
	http      *http.Client
	dial      func(ctx context.Context, network, addr string) (net.Conn, error)
}

// New checks the options. It does not connect.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("the address of a runtime server must be http://HOST:PORT or https://HOST:PORT")
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("the address of a runtime server must not hold a user, a query or a fragment; a token goes into its own field")
	}
	base.Path = strings.TrimRight(base.Path, "/")
	base.RawPath = ""
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&o.DialTimeout, DefaultDialTimeout}, {&o.CallTimeout, DefaultCallTimeout}, {&o.Silence, DefaultSilence}} {
		*d.value = cmp.Or(max(*d.value, 0), d.standard)
	}
	c := &Client{o: o, base: base, dial: (&net.Dialer{Timeout: o.DialTimeout, KeepAlive: 15 * time.Second}).DialContext}
	c.transport = &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: c.dial, TLSClientConfig: o.TLS, TLSHandshakeTimeout: o.DialTimeout,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second, DisableCompression: true,
		// HTTP/1.1 only: its one call per connection keeps a slow stream from holding up other calls.
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
	c.http = &http.Client{
		Transport: c.transport,
		// A redirect would carry the token to an address that was not configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// CloseIdle closes connections that no call uses.
func (c *Client) CloseIdle() { c.transport.CloseIdleConnections() }

// address returns the address of a route; elements are path elements.
func (c *Client) address(query url.Values, elements ...string) string {
	u := *c.base
	for _, element := range elements {
		u.RawPath = u.EscapedPath() + "/" + url.PathEscape(element)
		u.Path += "/" + element
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// full asks for agents as the runtime has them.
func full() url.Values { return url.Values{"full": {"true"}} }
