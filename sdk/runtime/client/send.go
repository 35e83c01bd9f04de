package client

import (
	"context"
	"net/http"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// Send implements runtime.Runtime. Without an answer it cannot tell whether the agent took the input:
// DELIVERY_UNKNOWN, and with Input.ID the caller may ask again.
func (c *Client) Send(ctx context.Context, id string, in runtime.Input) (runtime.SendResult, error) {
	body := struct {
		runtime.Input
		Timeout int64 `json:"timeout,omitempty"`
	}{Input: in}
	wait := in.Timeout
	if wait <= 0 {
		wait = sendTimeout
	} else {
		body.Timeout = max(1, wait.Milliseconds())
	}
	var result runtime.SendResult
	err := c.do(ctx, call{
		method: http.MethodPost, address: c.address(nil, "agents", id, "send"), body: body, wait: wait, once: true,
	}, &result)
	return result, err
}

// Answer implements runtime.Runtime.
func (c *Client) Answer(ctx context.Context, id string, answer runtime.Answer) error {
	return c.do(ctx, call{
		method: http.MethodPost, address: c.address(nil, "agents", id, "answer"), body: answer, once: true,
	}, nil)
}
