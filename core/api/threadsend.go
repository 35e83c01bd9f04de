package api

import "github.com/wardroom/wardroom/core"

// sendThreadRequest is the input for a thread.
type sendThreadRequest struct {
	Message string   `json:"message" doc:"Given to the agent when its turn comes." example:"Also update the changelog"`
	Raw     string   `json:"raw" doc:"Typed into the terminal as it is."`
	Keys    []string `json:"keys" check:"max=1000" doc:"Names of keys, pressed in order." example:"[\"ESC\",\"ENTER\"]"`
}

// answerThreadRequest answers a prompt.
type answerThreadRequest struct {
	PromptID string `json:"promptId" check:"max=256" doc:"Default: the prompt that is open. Another one is a 409."`
	Choice   string `json:"choice" check:"max=256" doc:"Id of an option; allow or deny for an approval." example:"allow"`
	Text     string `json:"text" check:"max=262144" doc:"Free text of a question, the code of a login, or with deny the reason."`
}

// completeThreadRequest ends a thread by hand.
type completeThreadRequest struct {
	State   string `json:"state" enum:"complete,partial,failed" doc:"Default: complete."`
	Summary string `json:"summary" check:"max=65536" doc:"Default: what the agent said last."`
}

// threadInput reads and checks the body of a send.
func (c *call) threadInput() (core.ThreadInput, error) {
	var req sendThreadRequest
	if err := c.decode(&req); err != nil {
		return core.ThreadInput{}, err
	}
	if err := exactlyOne(req.Message, req.Raw, req.Keys); err != nil {
		return core.ThreadInput{}, err
	}
	return core.ThreadInput{Message: req.Message, Raw: req.Raw, Keys: req.Keys}, nil
}

// sendThread gives input to a thread. The service claims an Idempotency-Key together with the message that it stores.
// What is typed is stored nowhere, so its key is claimed here, before.
func (s *Server) sendThread(c *call) (answer, error) {
	in, err := c.threadInput()
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
	receipt, err := s.opts.Threads.SendThread(ctx, id, in)
	if err != nil {
		return answer{}, err
	}
	return ok(receipt), nil
}

// recoverThreadSend answers a repeated send whose first answer was never given.
func (s *Server) recoverThreadSend(c *call, resourceID string) (answer, error) {
	id := c.param("threadId")
	if resourceID == id {
		return answer{}, core.Conflict("thread", id, "",
			"it is not known whether the input of this Idempotency-Key was typed; look at the terminal, and use a new key")
	}
	t, err := s.opts.Threads.FindThread(c.ctx, id)
	if err != nil {
		return answer{}, err
	}
	return ok(core.ThreadReceipt{ThreadID: id, InputID: resourceID, Sent: true, Queued: t.QueuedInputs}), nil
}

func (s *Server) answerThread(c *call) (answer, error) {
	var req answerThreadRequest
	if err := c.decode(&req); err != nil {
		return answer{}, err
	}
	if req.Choice == "" && req.Text == "" {
		return answer{}, core.Invalid("choice", "give choice, text, or both")
	}
	return threadAnswer(s.opts.Threads.AnswerThread(c.detached(), c.param("threadId"),
		core.ThreadAnswer{PromptID: req.PromptID, Choice: req.Choice, Text: req.Text}))
}
