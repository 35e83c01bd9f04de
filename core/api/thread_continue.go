package api

import (
	"net/http"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (s *Server) continueThread(c *call, req wire.ThreadContinue) (answer, error) {
	if err := core.InvalidAll("invalid request body", core.CheckEnv("env", req.Env)); err != nil {
		return answer{}, err
	}
	texts := c.texts()
	texts.Text("message", &req.Message)
	t, err := s.opts.Threads.ContinueThread(c.detached(), c.param("threadId"), core.ThreadContinue{
		Message: req.Message, Env: req.Env, DiscardQueued: req.DiscardQueued, Sanitized: texts.Changes,
	})
	if err != nil {
		return answer{}, err
	}
	return s.threadContinued(c, t, &req)
}

// recoverThreadContinue answers a repeated continue whose first answer was never given. Where a response is expected it waits
// on for the turn of the message that was stored then.
func (s *Server) recoverThreadContinue(c *call, id string) (answer, error) {
	var req wire.ThreadContinue
	if err := c.decode(&req); err != nil {
		return answer{}, err
	}
	t, err := s.spawnedThread(c, id)
	if err != nil {
		return answer{}, err
	}
	return s.threadContinued(c, t, &req)
}

// threadContinuedBody is the new thread, and the turn that was waited for.
type threadContinuedBody struct {
	wire.Thread
	Response *wire.TurnResponse `json:"response,omitempty" doc:"How the turn of the message ended, with expectResponse."`
}

func (s *Server) threadContinued(c *call, t *core.Thread, req *wire.ThreadContinue) (answer, error) {
	if !req.ExpectResponse {
		return created(threadPath(t.ID), threadContinuedBody{Thread: newThreadBody(t)}), nil
	}
	// The wait ends with its client's connection.
	receipt, err := s.opts.Threads.AwaitThreadInput(c.ctx, t.ID, "", time.Duration(req.Timeout)*time.Millisecond)
	if err != nil {
		return answer{}, err
	}
	if t, err = s.opts.Threads.FindThread(c.ctx, t.ID); err != nil {
		return answer{}, err
	}
	return created(threadPath(t.ID), threadContinuedBody{Thread: newThreadBody(t), Response: receipt.Response}), nil
}

func (s *Server) listThreadQueue(c *call) (answer, error) {
	return shown(s.opts.Threads.QueuedThreadInputs(c.ctx, c.param("threadId"), uint64(c.query.integer("after")), int(c.query.integer("limit"))))
}

func (s *Server) withdrawThreadInput(c *call) (answer, error) {
	if err := s.opts.Threads.WithdrawThreadInput(c.detached(), c.param("threadId"), c.param("inputId")); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusNoContent}, nil
}

func (s *Server) diffThread(c *call) (answer, error) {
	id := c.param("threadId")
	d, err := s.opts.Threads.DiffThread(c.ctx, id, int(c.query.integer("maxBytes")))
	if err != nil {
		return answer{}, err
	}
	return ok(wire.ThreadDiff{ThreadID: id, WorkspaceDiff: *d}), nil
}

func (s *Server) mergeThread(c *call) (answer, error) { return s.updateThread(c, core.WorkspaceMerge) }

func (s *Server) rebaseThread(c *call) (answer, error) {
	return s.updateThread(c, core.WorkspaceRebase)
}

func (s *Server) updateThread(c *call, how core.WorkspaceUpdateMethod) (answer, error) {
	return shown(s.opts.Threads.UpdateThread(c.detached(), c.param("threadId"), how))
}
