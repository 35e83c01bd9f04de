package client

import (
	"context"
	"net/http"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What is asked of threads, see package wire.
type (
	ThreadInput  = wire.ThreadInput
	ThreadAnswer = wire.ThreadAnswer
	ThreadClose  = wire.ThreadClose
)

// ThreadReceipt tells what became of an input.
type ThreadReceipt struct {
	Meta
	wire.ThreadReceipt
}

// SendThread gives input to a thread. CONFLICT when it is over; RATE_LIMITED when too much waits.
func (c *Client) SendThread(ctx context.Context, id string, in ThreadInput) (*ThreadReceipt, error) {
	out := new(ThreadReceipt)
	r := request{method: http.MethodPost, path: threadPath(id) + "/send", body: in, key: in.IdempotencyKey}
	return result(out, c.do(ctx, r, out))
}

// AnswerThread answers the open prompt, or gives the code of a login, and returns the thread. CONFLICT when nothing is
// asked.
func (c *Client) AnswerThread(ctx context.Context, id string, answer ThreadAnswer) (*Thread, error) {
	out := new(Thread)
	r := request{method: http.MethodPost, path: threadPath(id) + "/answer", body: answer}
	return result(out, c.do(ctx, r, out))
}

// CompleteThread ends a thread with an outcome, with its finish actions. CONFLICT when it is over.
func (c *Client) CompleteThread(ctx context.Context, id string, in ThreadClose) (*Thread, error) {
	out := new(Thread)
	r := request{method: http.MethodPost, path: threadPath(id) + "/complete", body: in}
	return result(out, c.do(ctx, r, out))
}
