package api

import (
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (s *Server) continueThread(c *call) (answer, error) {
	var req wire.ThreadContinue
	if err := c.decode(&req); err != nil {
		return answer{}, err
	}
	var problems []core.Problem
	checkEnv("env", req.Env, func(path, reason string) { problems = append(problems, core.Problem{Path: path, Reason: reason}) })
	if err := core.InvalidAll("invalid request body", problems); err != nil {
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
	return created(threadPath(t.ID), newThreadBody(t)), nil
}

func (s *Server) listThreadQueue(c *call) (answer, error) {
	queue, err := s.opts.Threads.QueuedThreadInputs(c.ctx, c.param("threadId"), uint64(c.query.integer("after")), int(c.query.integer("limit")))
	if err != nil {
		return answer{}, err
	}
	return ok(queue), nil
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
	done, err := s.opts.Threads.UpdateThread(c.detached(), c.param("threadId"), how)
	if err != nil {
		return answer{}, err
	}
	return ok(done), nil
}
