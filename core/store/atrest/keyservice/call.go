package keyservice

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core/store/atrest"
)

// Bounds.
const (
	maxAnswer      = 1 << 20
	maxCredential  = 64 << 10
	defaultTimeout = 10 * time.Second
)

// caller makes requests of one service.
type caller struct {
	what    string // the service in errors
	timeout time.Duration
	http    *http.Client
}

// newCaller returns one that trusts the authorities in a file, or those of the system.
func newCaller(what, caFile string, timeout time.Duration) *caller {
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSHandshakeTimeout: timeout, MaxResponseHeaderBytes: 64 << 10,
		DialContext: (&net.Dialer{Timeout: timeout}).DialContext,
	}
	transport.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if caFile != "" { // read at each connection: it may be replaced
			pem, err := os.ReadFile(caFile)
			if err != nil {
				return nil, errAuthorities
			}
			if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(pem) {
				return nil, errAuthorities
			}
		}
		return (&tls.Dialer{Config: config}).DialContext(ctx, network, address)
	}
	return &caller{what: what, timeout: timeout, http: &http.Client{
		Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

var errAuthorities = errors.New("the file of authorities holds none")

// answer is the response of a key service.
type answer struct {
	status int
	body   []byte
}

// do makes a request. The error says why there is no answer, and wraps atrest.ErrKey.
func (c *caller) do(ctx context.Context, method, url string, body []byte, prepare func(*http.Request) error) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return answer{}, fmt.Errorf("%w: %s has no valid address", atrest.ErrKey, c.what)
	}
	if prepare != nil {
		if err := prepare(r); err != nil {
			return answer{}, err
		}
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return answer{}, c.unreached(ctx, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return answer{}, c.unreached(ctx, err)
	case len(text) > maxAnswer:
		return answer{}, fmt.Errorf("%w: %s answers with more than %d MiB", atrest.ErrKey, c.what, maxAnswer>>20)
	}
	return answer{resp.StatusCode, text}, nil
}

// unreached words a request without an answer. Nothing of the request is repeated.
func (c *caller) unreached(ctx context.Context, err error) error {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var network net.Error
	why := "cannot be reached: check its address, and that it runs"
	switch {
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &invalid), errors.Is(err, errAuthorities):
		why = "has a certificate that is not trusted: check the host name of its address, and the file of authorities"
	case ctx.Err() != nil, errors.As(err, &network) && network.Timeout():
		why = fmt.Sprintf("did not answer within %s", c.timeout)
	}
	return fmt.Errorf("%w: %s %s", atrest.ErrKey, c.what, why)
}

// readCredential reads a file with one line.
func readCredential(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCredential))
	if err != nil {
		return "", err
	}
	line := strings.TrimSpace(string(text))
	if line == "" || strings.ContainsAny(line, "\r\n") {
		return "", errors.New("it holds no credential")
	}
	return line, nil
}
