package client

import (
	"context"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

// Attach implements runtime.Runtime.
func (c *Client) Attach(ctx context.Context, id string, opts runtime.AttachOptions) (runtime.Terminal, error) {
	t, err := terminal.Dial(ctx, c.address(nil, "ws", "agents", id, "terminal"), opts, terminal.DialOptions{
		Header: c.header(), TLS: c.o.TLS, Timeout: c.o.DialTimeout + c.o.CallTimeout/2, Dial: c.dial, Silence: c.o.Silence,
	})
	if err != nil {
		return nil, err // not t: a nil *Terminal is no nil runtime.Terminal
	}
	return t, nil
}
