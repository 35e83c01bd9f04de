package holder

import (
	"bytes"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// Hooks yields the calls of hooks, those that waited for a client first. It is closed with the connection.
func (c *Client) Hooks() <-chan *agentcli.HookCall { return c.hooks }

// called yields a call once, however often the holder tells of it.
func (c *Client) called(m wire.HookCall) {
	done := make(chan struct{})
	c.mu.Lock()
	_, known := c.calls[m.Call]
	if !known {
		c.calls[m.Call] = done
	}
	c.mu.Unlock()
	if known {
		return
	}
	number := m.Call
	call := agentcli.NewHookCall(m.Name, bytes.Clone(m.Payload), done, func(body []byte) {
		if len(body) > wire.MaxPayload {
			body = nil
		}
		c.abandoned(number)
		_ = c.send(wire.HookAnswer{What: wire.KindHookAnswer, Call: number, Body: body})
	})
	select {
	case c.hooks <- call:
	default: // there is no consumer: the CLI must not wait for one
		call.Answer(nil)
	}
}

// abandoned tells the consumer that the caller of the hook is gone.
func (c *Client) abandoned(number uint64) {
	c.mu.Lock()
	done, known := c.calls[number]
	delete(c.calls, number)
	c.mu.Unlock()
	if known {
		close(done)
	}
}
