package api

import (
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// threadInput reads and checks the body of a send.
func (c *call) threadInput() (core.ThreadInput, []core.SanitizedField, error) {
	var req wire.ThreadInput
	if err := c.decode(&req); err != nil {
		return core.ThreadInput{}, nil, err
	}
	if err := exactlyOne(req.Message, req.Raw, req.Keys); err != nil {
		return core.ThreadInput{}, nil, err
	}
	texts, given := c.texts(), req.Message
	texts.Text("message", &req.Message)
	if err := leftOver("message", given, req.Message); err != nil {
		return core.ThreadInput{}, nil, err
	}
	return core.ThreadInput{
		Message: req.Message, Raw: req.Raw, Keys: req.Keys,
		ExpectResponse: req.ExpectResponse, Timeout: time.Duration(req.Timeout) * time.Millisecond,
	}, texts.Changes, nil
}

// leftOver refuses a text of which nothing was left.
func leftOver(field, given, left string) error {
	if given != "" && strings.TrimSpace(left) == "" {
		return core.Invalid(field, "holds nothing but what security.inputValidation.sanitize takes out")
	}
	return nil
}

// sendThread gives input to a thread. The service claims an Idempotency-Key together with the message that it stores.
// What is typed is stored nowhere, so its key is claimed here, before.
func (s *Server) sendThread(c *call) (answer, error) {
	in, sanitized, err := c.threadInput()
	if err != nil {
		return answer{}, err
	}
	id, ctx := c.param("threadId"), c.detached()
	if claim := core.IdempotencyFrom(ctx); claim != nil && in.Message == "" {
		if _, err := s.opts.Threads.FindThread(c.ctx, id); err != nil {
			return answer{}, err
		}
		err := s.opts.Idempotency.Update(ctx, func(tx core.Tx) error {
			return tx.ClaimIdempotency(claim, id, s.opts.Clock.Now())
		})
		if err != nil {
			return answer{}, err
		}
		ctx = core.WithIdempotency(ctx, nil)
	}
	if in.ExpectResponse {
		ctx = c.ctx // the wait ends when the client leaves
	}
	receipt, err := s.opts.Threads.SendThread(ctx, id, in)
	if err != nil {
		return answer{}, err
	}
	receipt.Sanitized = sanitized
	return ok(receipt), nil
}

// recoverThreadSend answers a repeated send whose first answer was never given. Where a response is expected it waits on for
// the turn of the message that was stored then.
func (s *Server) recoverThreadSend(c *call, resourceID string) (answer, error) {
	id := c.param("threadId")
	in, sanitized, err := c.threadInput()
	if err != nil {
		return answer{}, err
	}
	if in.ExpectResponse && resourceID != id {
		receipt, err := s.opts.Threads.AwaitThreadInput(c.ctx, id, resourceID, in.Timeout)
		if err != nil {
			return answer{}, err
		}
		receipt.Sanitized = sanitized
		return ok(receipt), nil
	}
	if resourceID == id {
		return answer{}, core.Conflict("thread", id, "",
			"it is not known whether the input of this Idempotency-Key was typed; look at the terminal, and use a new key")
	}
	t, err := s.opts.Threads.FindThread(c.ctx, id)
	if err != nil {
		return answer{}, err
	}
	return ok(core.ThreadReceipt{ThreadID: id, InputID: resourceID, Sent: true, Queued: t.QueuedInputs, Sanitized: sanitized}), nil
}

func (s *Server) answerThread(c *call) (answer, error) {
	var req wire.ThreadAnswer
	if err := c.decode(&req); err != nil {
		return answer{}, err
	}
	if req.Choice == "" && req.Text == "" {
		return answer{}, core.Invalid("choice", "give choice, text, or both")
	}
	texts, given := c.texts(), req.Text
	texts.Text("text", &req.Text)
	if err := leftOver("text", given, req.Text); err != nil {
		return answer{}, err
	}
	t, err := s.opts.Threads.AnswerThread(c.detached(), c.param("threadId"), core.ThreadAnswer{PromptID: req.PromptID, Choice: req.Choice, Text: req.Text})
	if err == nil && texts.Changes != nil {
		told := *t
		told.Sanitized = slices.Concat(t.Sanitized, texts.Changes)
		t = &told
	}
	return threadAnswer(t, err)
}
