package client

import (
	"context"
	"net/http"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// ManagedAgentInput is exactly one of a message, raw terminal input, keys and an interrupt.
type ManagedAgentInput struct {
	Message        string        // submitted when the agent is idle
	Raw            string        // typed as it is
	Keys           []string      // names of keys, such as ENTER, ESC, CTRL_C
	Interrupt      bool          // stop the turn that runs
	ExpectResponse bool          // of a message: wait for the end of the turn
	Timeout        time.Duration // whole milliseconds; 0: the server's 120 s
	// IdempotencyKey makes it safe to send the request again: see NewIdempotencyKey.
	IdempotencyKey string
}

// ManagedAgentReply is the outcome of a send.
type ManagedAgentReply struct {
	Meta
	wire.ManagedAgentReply
}

// ManagedAgentAnswer answers the prompt of a blocked agent.
type ManagedAgentAnswer = wire.ManagedAgentAnswer

// SendManagedAgent gives input to an agent and returns once the agent took it, or with ExpectResponse once it
// answered. CONFLICT when the agent is stopped or blocked; TIMEOUT.
func (c *Client) SendManagedAgent(ctx context.Context, id string, in ManagedAgentInput) (*ManagedAgentReply, error) {
	body := wire.ManagedAgentInput{
		Message: in.Message, Raw: in.Raw, Keys: in.Keys, Interrupt: in.Interrupt, ExpectResponse: in.ExpectResponse,
		Timeout: wire.MillisOf(in.Timeout),
	}
	r := request{method: http.MethodPost, path: managedAgentPath(id) + "/send", body: body, key: in.IdempotencyKey}
	return ask[ManagedAgentReply](ctx, c, r)
}

// AnswerManagedAgent answers the open prompt and returns the agent. CONFLICT when there is none.
func (c *Client) AnswerManagedAgent(ctx context.Context, id string, answer ManagedAgentAnswer) (*ManagedAgent, error) {
	r := request{method: http.MethodPost, path: managedAgentPath(id) + "/answer", body: answer}
	return ask[ManagedAgent](ctx, c, r)
}
