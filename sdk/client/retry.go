package client

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// RetryPolicy says how a failed request is repeated. Repeated are requests that failed to connect, that
// the server answered 429 or 503 (but NO_AGENTS), and, when a second run cannot do harm (reads, PUT, DELETE,
// cancel, anything with an Idempotency-Key), also those whose connection broke, that a proxy answered, or whose
// execution or message goes on without an answer.
type RetryPolicy struct {
	// MaxElapsed bounds the time from the first try to the start of the last one. 0 never repeats.
	MaxElapsed time.Duration
	// Base is the first pause; each later one doubles, up to Max, with jitter. 0: 100 ms.
	Base time.Duration
	// Max is the longest pause. 0: 5 s. A Retry-After of the server may be longer and is respected.
	Max time.Duration
}

// pause returns how long to wait after the given number of failed tries (from 1), half of it random so
// that many clients of one restarted server do not come back in step.
func (p RetryPolicy) pause(failed int) time.Duration {
	base, longest := p.Base, p.Max
	if base <= 0 {
		base = 100 * time.Millisecond
	}
	if longest <= 0 {
		longest = 5 * time.Second
	}
	d := base
	for i := 1; i < failed && d < longest; i++ {
		d *= 2
	}
	d = min(d, longest)
	return d/2 + rand.N(d/2+1)
}

// retryable reports whether a try that ended in err may be repeated.
func retryable(err error, harmless bool) bool {
	var conn *ConnectionError
	if errors.As(err, &conn) {
		return !conn.Sent || harmless
	}
	var e *Error
	if !errors.As(err, &e) || e.Code == CodeNoAgents {
		return false
	}
	switch e.Status {
	case http.StatusTooManyRequests:
		return true // the server refused before it did anything
	case http.StatusServiceUnavailable: // likewise, unless it names what goes on, or a proxy spoke
		return harmless || !e.foreign && !e.goesOn()
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return harmless // a proxy spoke: the request may have been worked on
	}
	return false
}

// unsure reports whether a try that ended in err may have done what it asked for.
func unsure(err error) bool {
	var conn *ConnectionError
	if errors.As(err, &conn) {
		return conn.Sent
	}
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Status {
	case http.StatusServiceUnavailable:
		return e.foreign || e.goesOn()
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retry calls try until it succeeds, fails for good, or the policy's time is over.
func (c *Client) retry(ctx context.Context, harmless bool, try func() error) error {
	start := c.opts.Now()
	for failed := 1; ; failed++ {
		err := try()
		if err == nil || ctx.Err() != nil || c.opts.Retry.MaxElapsed <= 0 || !retryable(err, harmless) {
			return err
		}
		pause := c.opts.Retry.pause(failed)
		var e *Error
		if errors.As(err, &e) && e.RetryAfter > pause {
			pause = e.RetryAfter
		}
		if c.opts.Now().Add(pause).Sub(start) > c.opts.Retry.MaxElapsed {
			return err
		}
		if c.opts.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// connectionError wraps a transport error, keeping the caller's own cancellation as it is.
func (c *Client) connectionError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var op *net.OpError
	var untrusted *tls.CertificateVerificationError
	sent := !(errors.As(err, &op) && op.Op == "dial") && !errors.As(err, &untrusted) && !errors.Is(err, http.ErrSchemeMismatch)
	err = unwrapURLError(err)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // io.EOF is the name of a stream's proper end
	}
	return &ConnectionError{Server: c.BaseURL(), Sent: sent, Err: err}
}
