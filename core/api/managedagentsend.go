package api

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// input reads and translates the body of a send.
func (c *call) input() (core.ManagedAgentInput, []core.SanitizedField, error) {
	var req wire.ManagedAgentInput
	if err := c.decode(&req); err != nil {
		return core.ManagedAgentInput{}, nil, err
	}
	// The service says so, too, but a key must not be claimed for what cannot be sent.
	if req.Interrupt && (req.Message != "" || req.Raw != "" || len(req.Keys) > 0) {
		return core.ManagedAgentInput{}, nil, core.Invalid("interrupt", "goes with nothing else")
	}
	if !req.Interrupt {
		if err := exactlyOne(req.Message, req.Raw, req.Keys); err != nil {
			return core.ManagedAgentInput{}, nil, err
		}
	}
	texts, given := c.texts(), req.Message
	texts.Text("message", &req.Message)
	if err := leftOver("message", given, req.Message); err != nil {
		return core.ManagedAgentInput{}, nil, err
	}
	return core.ManagedAgentInput{
		Message: req.Message, Raw: req.Raw, Keys: req.Keys, Interrupt: req.Interrupt, ExpectResponse: req.ExpectResponse,
		Timeout: time.Duration(req.Timeout) * time.Millisecond,
	}, texts.Changes, nil
}

// exactlyOne checks that an input is one of the three that there are.
func exactlyOne(message, raw string, keys []string) error {
	given := 0
	for _, there := range []bool{message != "", raw != "", len(keys) > 0} {
		if there {
			given++
		}
	}
	if given != 1 {
		return core.Invalid("message", "give exactly one of message, raw and keys")
	}
	return nil
}

// sendManagedAgent gives input to an agent. With an Idempotency-Key the claim is stored before the agent gets
// anything: whatever happens after, a repeat reaches the runtime with the same id, and the runtime knows whether
// it has delivered it.
func (s *Server) sendManagedAgent(c *call) (answer, error) {
	in, sanitized, err := c.input()
	if err != nil {
		return answer{}, err
	}
	id := c.param("agentId")
	if claim := core.IdempotencyFrom(c.ctx); claim != nil {
		if _, err := s.opts.ManagedAgents.FindManagedAgent(c.ctx, id); err != nil {
			return answer{}, err
		}
		err := s.opts.Idempotency.Update(c.detached(), func(tx core.Tx) error {
			return tx.ClaimIdempotency(claim, id, s.opts.Clock.Now())
		})
		// To interrupt a turn twice does no more than once, and an agent has to be stopped on a full disk too.
		if err != nil && !(in.Interrupt && core.AsError(err).Unavailable) {
			return answer{}, err
		}
		in.Key = inputKey(claim)
	}
	return s.send(c, id, in, sanitized)
}

// recoverSend repeats a send whose first answer was never given.
func (s *Server) recoverSend(c *call, id string) (answer, error) {
	in, sanitized, err := c.input()
	if err != nil {
		return answer{}, err
	}
	key, err := c.idempotencyKey()
	if err != nil {
		return answer{}, err
	}
	in.Key = inputKey(c.claim(key))
	return s.send(c, id, in, sanitized)
}

// inputKey names an input at its runtime: keys of different callers must not meet there.
func inputKey(claim *core.IdempotencyClaim) string {
	sum := sha256.Sum256([]byte(claim.Scope + "\n" + claim.Key))
	return hex.EncodeToString(sum[:16])
}

func (s *Server) send(c *call, id string, in core.ManagedAgentInput, sanitized []core.SanitizedField) (answer, error) {
	ctx := c.detached()
	if in.ExpectResponse {
		ctx = c.ctx // the wait ends when the client leaves
	}
	reply, err := s.opts.ManagedAgents.SendManagedAgent(ctx, id, in)
	if err != nil {
		return answer{}, err
	}
	return ok(wire.ManagedAgentReply{Sent: reply.Sent, Response: reply.Response, Sanitized: sanitized}), nil
}

func (s *Server) answerManagedAgent(c *call, req wire.ManagedAgentAnswer) (answer, error) {
	texts, given := c.texts(), req.Text
	texts.Text("text", &req.Text)
	if err := leftOver("text", given, req.Text); err != nil {
		return answer{}, err
	}
	a, err := s.opts.ManagedAgents.AnswerManagedAgent(c.detached(), c.param("agentId"),
		core.ManagedAgentAnswer{PromptID: req.PromptID, Choice: req.Choice, Text: req.Text})
	if err == nil && texts.Changes != nil {
		told := *a
		told.Sanitized = texts.Changes
		a = &told
	}
	return managedAgentAnswer(a, err)
}
