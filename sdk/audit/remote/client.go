package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/audit"
)

// maxAnswer bounds an answer that is read.
const maxAnswer = 8 << 20

// Options are those of a Client.
type Options struct {
	// CAFile is the PEM file of the authorities that certificates are checked with, which is read again when one is not trusted; empty:
	// those of the system.
	CAFile  string
	Timeout time.Duration // of one request; 0: 30 s
	Direct  bool          // no proxy of the environment is used
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	options Options

	mu   sync.Mutex // guards below
	http *http.Client
	pem  []byte // of the authorities in http
}

// New makes a client. It opens no connection.
func New(o Options) (*Client, error) {
	o.Timeout = cmp.Or(max(o.Timeout, 0), 30*time.Second)
	c := &Client{options: o}
	var authorities *x509.CertPool
	if o.CAFile != "" {
		var err error
		if c.pem, authorities, err = readAuthorities(o.CAFile); err != nil {
			return nil, err
		}
	}
	c.http = c.with(authorities)
	return c, nil
}

func readAuthorities(file string) ([]byte, *x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, audit.Errorf(audit.CodeInvalidArgument, "the file of authorities cannot be read")
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, nil, audit.Errorf(audit.CodeInvalidArgument, "the file of authorities holds no certificate")
	}
	return pem, pool, nil
}

// with makes an HTTP client that trusts authorities; nil: those of the system.
func (c *Client) with(authorities *x509.CertPool) *http.Client {
	proxy := http.ProxyFromEnvironment
	if c.options.Direct {
		proxy = nil
	}
	return &http.Client{
		Timeout: c.options.Timeout,
		Transport: &http.Transport{
			Proxy: proxy, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}, MaxIdleConnsPerHost: 2,
			MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
		},
		// A redirect could lead records elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// current returns the client that requests go through.
func (c *Client) current() *http.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.http
}

// renew takes the authorities from their file for the next request, if they are others.
func (c *Client) renew() {
	if c.options.CAFile == "" {
		return
	}
	pem, authorities, err := readAuthorities(c.options.CAFile)
	if err != nil { // it may be written right now
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Equal(pem, c.pem) {
		return
	}
	c.http.CloseIdleConnections()
	c.http, c.pem = c.with(authorities), pem
}

// Close lets go of idle connections.
func (c *Client) Close() { c.current().CloseIdleConnections() }

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request with a body, which may be nil, and returns the answer, whatever its status. The error is an
// *audit.Error.
func (c *Client) Do(ctx context.Context, method, url string, header http.Header, body []byte) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return Answer{}, audit.Errorf(audit.CodeInvalidArgument, "the address of the service is wrong")
	}
	maps.Copy(req.Header, header)
	resp, err := c.current().Do(req)
	if err != nil {
		if isUntrusted(err) {
			c.renew()
		}
		return Answer{}, Failure(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // only read from
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return Answer{}, Failure(ctx, err)
	}
	if len(data) > maxAnswer {
		return Answer{}, audit.Errorf(audit.CodeUnavailable, "the service answers with more than %d bytes", maxAnswer)
	}
	return Answer{resp.StatusCode, resp.Header, data}, nil
}

// isUntrusted reports whether the certificate of a service is that of an authority that is not trusted, or of another host.
func isUntrusted(err error) bool {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &unknown) || errors.As(err, &host)
}

// Failure words an error of the network. Addresses and the like stay in the log of the plugin.
func Failure(ctx context.Context, err error) *audit.Error {
	var timeout interface{ Timeout() bool }
	var invalid x509.CertificateInvalidError
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return audit.Errorf(audit.CodeCanceled, "the call was ended")
	case isUntrusted(err):
		e := audit.Errorf(audit.CodeUnavailable, "the certificate of the service is not trusted")
		e.Hint = "check the host name, and give the authorities of the service"
		return e
	case errors.As(err, &invalid):
		e := audit.Errorf(audit.CodeUnavailable, "the certificate of the service is not valid, such as when its time is over")
		e.Hint = "renew it, or compare the clock of this machine with the real time"
		return e
	case errors.As(err, &timeout) && timeout.Timeout():
		return audit.Errorf(audit.CodeTimeout, "the service did not answer in time")
	}
	return audit.Errorf(audit.CodeUnavailable, "the service cannot be reached")
}

// smallRecord is how many bytes every service, and every proxy before one, takes.
const smallRecord = 4 << 10

// Small reports whether a record is so small that to be refused as too large is no fault of its own, but of a setting.
func Small(r audit.Record) bool { return len(r.JSON) <= smallRecord }

// OfContent reports whether the status of an answer that is not one of the service itself may be about what a request holds: so refuse
// proxies and firewalls before it, and only a request with other records shows whether they refuse everything.
func OfContent(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusForbidden || status == http.StatusNotAcceptable
}

// Rejection is Refusal of a record alone, for good.
func Rejection(status int, reason string) *audit.Error {
	e := Refusal(status, reason)
	if e.Code == audit.CodeForbidden {
		e = audit.Errorf(audit.CodeRejected, "a firewall before the service does not take a record (%d)", status)
		e.Hint = "look for the rule of the firewall that the record matches"
	}
	e.Code, e.Retry = audit.CodeRejected, false
	return e
}

// Refusal returns the error of an answer whose status is not one of success; reason, which may be empty, is the text
// that the service says, without any part of a record.
func Refusal(status int, reason string) *audit.Error {
	if reason != "" {
		reason = fmt.Sprintf(": %.200s", strings.ToValidUTF8(reason, "\uFFFD"))
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e := audit.Errorf(audit.CodeForbidden, "the service refuses the credential (%d)%s", status, reason)
		e.Hint, e.Retry = "check the credential and its rights", true
		return e
	case status == http.StatusInsufficientStorage:
		return audit.Errorf(audit.CodeFull, "the service has no room (%d)%s", status, reason)
	case status == http.StatusTooManyRequests || status >= 500 || status == http.StatusRequestTimeout:
		return audit.Errorf(audit.CodeUnavailable, "the service is busy or broken (%d)%s", status, reason)
	}
	e := audit.Errorf(audit.CodeInvalidArgument, "%s", fmt.Sprintf("the service does not take what it is sent (%d)%s", status, reason))
	e.Retry = true // it may after a change there
	if status == http.StatusRequestEntityTooLarge {
		e.Hint = "raise the size of a request that the service, or the proxy before it, takes"
	}
	return e
}
