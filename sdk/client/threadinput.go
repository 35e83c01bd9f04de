package client

import (
	"context"
	"net/http"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// ThreadInput is exactly one of a message, raw terminal input and keys.
type ThreadInput struct {
	Message        string        // stored, and given to the agent when its turn comes
	Raw            string        // typed at once, as it is
	Keys           []string      // names of keys, such as ENTER, ESC, CTRL_C
	ExpectResponse bool          // of a message: wait for the end of its turn
	Timeout        time.Duration // of that wait, whole milliseconds; 0: the server's 120 s
	// IdempotencyKey makes it safe to send the request again, and finds the turn of its message: see NewIdempotencyKey.
	IdempotencyKey string
}

// What the API says of bodies for threads.
type (
	ThreadAnswer = wire.ThreadAnswer
	ThreadClose  = wire.ThreadClose
)

// ThreadReceipt says what became of an input.
type ThreadReceipt struct {
	Meta
	wire.ThreadReceipt
}

// SendThread gives input to a thread. CONFLICT when it is over; RATE_LIMITED when too much waits; TIMEOUT when a response is
// expected and the turn did not end in time.
func (c *Client) SendThread(ctx context.Context, id string, in ThreadInput) (*ThreadReceipt, error) {
	body := wire.ThreadInput{
		Message: in.Message, Raw: in.Raw, Keys: in.Keys, ExpectResponse: in.ExpectResponse, Timeout: in.Timeout.Milliseconds(),
	}
	r := request{method: http.MethodPost, path: threadPath(id) + "/send", body: body, key: in.IdempotencyKey}
	return ask[ThreadReceipt](ctx, c, r)
}

// AnswerThread answers the open prompt, or gives the code of a login, and returns the thread. CONFLICT when nothing is
// asked.
func (c *Client) AnswerThread(ctx context.Context, id string, answer ThreadAnswer) (*Thread, error) {
	r := request{method: http.MethodPost, path: threadPath(id) + "/answer", body: answer}
	return ask[Thread](ctx, c, r)
}

// CompleteThread ends a thread with an outcome, with its finish actions. CONFLICT when it is over.
func (c *Client) CompleteThread(ctx context.Context, id string, in ThreadClose) (*Thread, error) {
	r := request{method: http.MethodPost, path: threadPath(id) + "/complete", body: in}
	return ask[Thread](ctx, c, r)
}
