package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/audit"
)

// maxAnswer bounds an answer that is read.
const maxAnswer = 8 << 20

// Options are those of a Client.
type Options struct {
	CAFile  string        // PEM file of the authorities that certificates are checked with; empty: those of the system
	Timeout time.Duration // of one request; 0: 30 s
	Direct  bool          // no proxy of the environment is used
}

// Client sends requests. It is safe for concurrent use.
type Client struct{ http *http.Client }

// New makes a client. It opens no connection.
func New(o Options) (*Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, audit.Errorf(audit.CodeInvalidArgument, "the file of authorities cannot be read")
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, audit.Errorf(audit.CodeInvalidArgument, "the file of authorities holds no certificate")
		}
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	proxy := http.ProxyFromEnvironment
	if o.Direct {
		proxy = nil
	}
	return &Client{&http.Client{
		Timeout: o.Timeout,
		Transport: &http.Transport{
			Proxy: proxy, TLSClientConfig: config, MaxIdleConnsPerHost: 2, MaxResponseHeaderBytes: 64 << 10,
			IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
		},
		// A redirect could lead records elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

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
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := c.http.Do(req)
	if err != nil {
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

// Failure words an error of the network. Addresses and the like stay in the log of the plugin.
func Failure(ctx context.Context, err error) *audit.Error {
	var timeout interface{ Timeout() bool }
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return audit.Errorf(audit.CodeCanceled, "the call was ended")
	case errors.As(err, &unknown), errors.As(err, &host):
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
