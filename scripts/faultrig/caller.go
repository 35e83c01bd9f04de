package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// caller is a client of the core that bears it being away.
type caller struct {
	base string
	http *http.Client
}

func newCaller(base string) *caller {
	return &caller{base: base, http: &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 64, DialContext: (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
	}}}
}

// reply is an answer of the core.
type reply struct {
	status int
	body   []byte
	code   string // of an error
	sent   time.Time
	got    time.Time
}

// into decodes the body.
func (r reply) into(v any) error {
	if err := json.Unmarshal(r.body, v); err != nil {
		return fmt.Errorf("answer %d %.200s: %w", r.status, r.body, err)
	}
	return nil
}

// errLost says that the core died over a request: it is not known whether it was accepted.
var errLost = errors.New("the connection was lost over the request")

// unexpectedError is an answer that no fault explains.
type unexpectedError struct {
	what  string
	reply reply
}

func (e *unexpectedError) Error() string {
	return fmt.Sprintf("%s was answered %d: %.300s", e.what, e.reply.status, e.reply.body)
}

// once sends a request once. lost tells a broken connection from one that was never made.
func (c *caller) once(ctx context.Context, method, path, key string, body []byte) (r reply, lost bool, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return r, false, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	// Without it the transport may send a request again by itself, and hide from us that it was lost.
	req.GetBody = nil
	r.sent = time.Now()
	res, err := c.http.Do(req)
	if err != nil {
		var op *net.OpError
		return r, !errors.As(err, &op) || op.Op != "dial", err
	}
	defer res.Body.Close()
	r.status = res.StatusCode
	if r.body, err = io.ReadAll(res.Body); err != nil {
		return r, true, err
	}
	r.got = time.Now()
	if r.status >= 400 {
		r.code = errorCode(r.body)
	}
	return r, false, nil
}

func errorCode(body []byte) string {
	var envelope struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &envelope) // no envelope is no code
	return envelope.Error.Code
}

// accepted reports whether an answer that the core shuts down names the execution that waits for its restart: the
// request was taken, and sent again it would make another one.
func accepted(body []byte) bool {
	var envelope struct {
		Error struct {
			Details struct {
				ExecutionID string `json:"executionId"`
			} `json:"details"`
		} `json:"error"`
	}
	return json.Unmarshal(body, &envelope) == nil && envelope.Error.Details.ExecutionID != ""
}

// call sends a request until the core gives an answer that is not about its being away or busy. Without a
// key, and when it is not safe to send it twice, it returns errLost once that is not known.
func (c *caller) call(ctx context.Context, method, path, key string, body []byte) (reply, error) {
	safe := key != "" || method == http.MethodGet
	for {
		r, lost, err := c.once(ctx, method, path, key, body)
		switch {
		case err != nil && ctx.Err() != nil:
			return r, fmt.Errorf("%s %s: no answer in time: %w", method, path, ctx.Err())
		case err != nil && lost && !safe:
			return r, errLost
		case err == nil && r.status == http.StatusServiceUnavailable && !safe && accepted(r.body):
			return r, errLost
		case err == nil && r.status != http.StatusServiceUnavailable && r.status != http.StatusTooManyRequests:
			return r, nil
		}
		if !pause(ctx, 20*time.Millisecond) {
			return r, fmt.Errorf("%s %s: no answer in time, last %d %.200s", method, path, r.status, r.body)
		}
	}
}

// get reads a resource; found is false for 404.
func (c *caller) get(ctx context.Context, path string, v any) (r reply, found bool, err error) {
	r, err = c.call(ctx, http.MethodGet, path, "", nil)
	switch {
	case err != nil:
		return r, false, err
	case r.status == http.StatusNotFound:
		return r, false, nil
	case r.status != http.StatusOK:
		return r, false, &unexpectedError{"GET " + path, r}
	}
	return r, true, r.into(v)
}

// pause waits for d and returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool { return testbed.Pause(ctx, d) == nil }
