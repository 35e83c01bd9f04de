package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

// maxAnswer bounds an answer that is read as a whole, in bytes.
const maxAnswer = 64 << 20

// call is one request.
type call struct {
	method  string
	address string
	body    any           // or nil
	wait    time.Duration // on top of the time of a call, for what it waits for by itself
	accept  string
	// once marks a call that must not be repeated blindly: a failure after it was sent is DELIVERY_UNKNOWN.
	once bool
}

// do calls and decodes the answer into result, unless that is nil.
func (c *Client) do(ctx context.Context, call call, result any) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.CallTimeout+call.wait)
	defer cancel()
	response, err := c.open(ctx, call)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return c.failure(ctx, call, true, err)
	}
	if len(data) > maxAnswer {
		return runtime.Errorf(runtime.CodeInternal, "the runtime server's answer is larger than %d bytes", maxAnswer)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(data, result); err != nil {
		return runtime.Errorf(runtime.CodeInternal, "the runtime server's answer is not what its API says")
	}
	return nil
}

// open calls and returns an answer that is a success. Its caller closes the body.
func (c *Client) open(ctx context.Context, call call) (*http.Response, error) {
	var body io.Reader
	if call.body != nil {
		data, err := json.Marshal(call.body)
		if err != nil {
			return nil, runtime.Errorf(runtime.CodeInvalidArgument, "the request cannot be written as JSON")
		}
		body = bytes.NewReader(data)
	}
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	request, err := http.NewRequestWithContext(ctx, call.method, call.address, body)
	if err != nil {
		return nil, runtime.Errorf(runtime.CodeInvalidArgument, "the request cannot be made")
	}
	request.Header = c.header()
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if call.accept != "" {
		request.Header.Set("Accept", call.accept)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.failure(ctx, call, sent.Load(), err)
	}
	if response.StatusCode < 300 {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	data, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	return nil, terminal.ResponseError(response.StatusCode, data)
}

func (c *Client) header() http.Header {
	header := http.Header{}
	if c.o.Token != "" {
		header.Set("Authorization", "Bearer "+c.o.Token)
	}
	return header
}

// failure makes an error of a call without an answer.
func (c *Client) failure(ctx context.Context, call call, sent bool, err error) error {
	if sent && call.once {
		return runtime.Errorf(runtime.CodeDeliveryUnknown, "the connection to the runtime server ended before its answer")
	}
	if ctx.Err() != nil {
		return terminal.ContextError(ctx)
	}
	e := runtime.Errorf(runtime.CodeUnavailable, "the runtime server at %s cannot be reached", c.base.Host)
	if op, ok := errors.AsType[*net.OpError](err); ok {
		e.Message += ": " + op.Err.Error()
	}
	e.Retry = true
	return e
}
