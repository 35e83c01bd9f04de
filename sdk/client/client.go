package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// DefaultMaxResponse bounds the body of one answer in bytes, against a server that never stops sending.
const DefaultMaxResponse = 128 << 20

// Options are the settings of a Client. The zero value is a client without a credential and without retries.
type Options struct {
	// Token is sent as `Authorization: Bearer`. Empty: no credential.
	Token string
	// HTTPClient sends the requests. Nil: one with connection reuse and no overall timeout, because
	// streams and synchronous executions last as long as they last; bound calls with their context.
	HTTPClient *http.Client
	// TLS is how the server's certificate is checked, where HTTPClient is nil. Nil: as the system does.
	TLS *tls.Config
	// UserAgent is sent with each request. Empty: "wardroom-client".
	UserAgent string
	// Retry says whether and for how long a request is repeated. The zero value never repeats.
	Retry RetryPolicy
	// StreamRetry says how long a Stream tries to come back after its connection was lost. Zero
	// MaxElapsed means two minutes; a negative one gives up at once.
	StreamRetry RetryPolicy
	// StreamIdle is the silence after which a stream's connection is taken for dead and made anew, one that is made anew
	// and gets no answer as well; that of a log which is followed ends then. 0: a minute, four of the server's heartbeats.
	StreamIdle time.Duration
	// MaxResponse bounds an answer's body in bytes. 0: DefaultMaxResponse.
	MaxResponse int64
	// Sleep waits for d or the end of ctx, whose error it returns. Nil: a timer. Tests set it.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now tells the time. Nil: time.Now. Tests set it.
	Now func() time.Time
}

// Client calls one Wardroom server.
type Client struct {
	base *url.URL // scheme, host and path prefix without a slash at its end; immutable
	opts Options  // immutable; defaults filled in
}

// New returns a client of the server at baseURL, for example "https://wardroom.example.com". A missing
// scheme means http. New sends no request.
func New(baseURL string, opts Options) (*Client, error) {
	text := strings.TrimSpace(baseURL)
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	base, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("server address %q: %w", baseURL, err)
	}
	switch {
	case base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("server address %q: the scheme must be http or https", baseURL)
	case base.Host == "":
		return nil, fmt.Errorf("server address %q: there is no host", baseURL)
	case base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("server address %q: a query or fragment has no meaning here", baseURL)
	case base.User != nil:
		return nil, fmt.Errorf("server address: credentials belong into Options.Token, not into the address")
	}
	base.Path = strings.TrimRight(base.Path, "/")
	base.RawPath = ""

	if opts.HTTPClient == nil {
		opts.HTTPClient = newHTTPClient(opts.TLS)
	}
	opts.UserAgent = cmp.Or(opts.UserAgent, "wardroom-client")
	if opts.MaxResponse <= 0 {
		opts.MaxResponse = DefaultMaxResponse
	}
	opts.MaxResponse = min(opts.MaxResponse, math.MaxInt64-1) // one byte more is read, to see that it is too large
	opts.StreamRetry.MaxElapsed = cmp.Or(opts.StreamRetry.MaxElapsed, 2*time.Minute)
	if opts.StreamIdle <= 0 {
		opts.StreamIdle = time.Minute
	}
	if opts.Sleep == nil {
		opts.Sleep = sleep
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Client{base: base, opts: opts}, nil
}

// BaseURL returns the server's address as it is used.
func (c *Client) BaseURL() string { return c.base.String() }

// Close lets go of idle connections. The client may be used again.
func (c *Client) Close() { c.opts.HTTPClient.CloseIdleConnections() }

func newHTTPClient(trust *tls.Config) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if trust != nil {
		transport.TLSClientConfig = trust
	}
	transport.MaxIdleConnsPerHost = 64
	return &http.Client{
		Transport: transport,
		// A redirect turns a POST into a GET and would make a creating call look like a read. The credential is for this server
		// alone: elsewhere, or in clear, it is not sent.
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if via[0].Method != http.MethodGet || len(via) >= 5 || !sameServer(via[0].URL, req.URL) {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// sameServer reports whether a redirect leads to the same server: at the same address, or by TLS on the same host.
func sameServer(from, to *url.URL) bool {
	return from.Scheme == to.Scheme && from.Host == to.Host || from.Scheme == "http" && to.Scheme == "https" && from.Hostname() == to.Hostname()
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
