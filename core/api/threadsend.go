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

// sendThread gives input to a thread. The service claims an Idempotency-Key together with the message that it stores, and
// before it types what it stores nowhere.
func (s *Server) sendThread(c *call) (answer, error) {
	in, sanitized, err := c.threadInput()
	if err != nil {
		return answer{}, err
	}
	return s.sendToThread(c, in, sanitized)
}

// recoverThreadSend answers a repeated send whose first answer was never given, or was an error. Where a response is expected it
// waits on for the turn of the message that was stored then; anything else is sent again, under the id that it had.
func (s *Server) recoverThreadSend(c *call, inputID string) (answer, error) {
	id := c.param("threadId")
	in, sanitized, err := c.threadInput()
	if err != nil {
		return answer{}, err
	}
	if in.ExpectResponse {
		receipt, err := s.opts.Threads.AwaitThreadInput(c.ctx, id, inputID, in.Timeout)
		if err != nil {
			return answer{}, err
		}
		receipt.Sanitized = sanitized
		return ok(receipt), nil
	}
	if inputID == id { // an earlier version claimed it, and gave the agent no id
		return answer{}, core.Conflict("thread", id, "",
			"it is not known whether the input of this Idempotency-Key was typed; look at the terminal, and use a new key")
	}
	in.InputID = inputID
	return s.sendToThread(c, in, sanitized)
}

func (s *Server) sendToThread(c *call, in core.ThreadInput, sanitized []core.SanitizedField) (answer, error) {
	ctx := c.detached()
	if in.ExpectResponse {
		ctx = c.ctx // the wait ends when the client leaves
	}
	receipt, err := s.opts.Threads.SendThread(ctx, c.param("threadId"), in)
	if err != nil {
		return answer{}, err
	}
	receipt.Sanitized = sanitized
	return ok(receipt), nil
}

func (s *Server) answerThread(c *call, req wire.ThreadAnswer) (answer, error) {
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
