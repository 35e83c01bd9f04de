package threads

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// watch follows one execution as long as it has threads that are not over: they end when it is cancelled, and those
// of roles show the questions of its org chart.
type watch struct {
	threads int
	ctx     context.Context
	cancel  context.CancelFunc
}

// watchLocked begins to follow the execution of a thread. The caller holds mu.
func (s *Service) watchLocked(r *core.ThreadRecord) {
	if w := s.watches[r.ExecutionID]; w != nil {
		w.threads++
		// What was reported before the thread was there is not reported again: the execution may be over by now.
		s.tasks.Go(func() { s.review(w.ctx, r.ExecutionID) })
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.watches[r.ExecutionID] = &watch{threads: 1, ctx: ctx, cancel: cancel}
	execution := r.ExecutionID
	s.tasks.Go(func() {
		defer cancel()
		for !s.guard("following an execution", execution, func() { s.follow(ctx, execution) }) && s.pause(ctx, maxRetry) {
			s.log.Info("following an execution is begun anew", "execution", execution)
		}
	})
}

// unwatchLocked ends that with the last thread. The caller holds mu.
func (s *Service) unwatchLocked(r *core.ThreadRecord) {
	w := s.watches[r.ExecutionID]
	if w == nil {
		return
	}
	if w.threads--; w.threads == 0 {
		delete(s.watches, r.ExecutionID)
		w.cancel()
	}
}

// follow follows an execution until ctx ends.
func (s *Service) follow(ctx context.Context, execution string) {
	var retry pause.Backoff
	for ctx.Err() == nil {
		at := s.opts.Store.LastSeq()
		err := s.catchUp(ctx, execution)
		if err == nil {
			err = s.consume(ctx, execution, at, &retry)
		}
		if ctx.Err() != nil {
			return
		}
		s.log.Debug("an execution cannot be followed yet", "execution", execution, "error", err)
		if !s.pause(ctx, retry.Next()) {
			return
		}
	}
}

// review does what follows from the state of an execution that is followed. It tries until that is known, or ctx ends.
func (s *Service) review(ctx context.Context, execution string) {
	var retry pause.Backoff
	for ctx.Err() == nil && s.catchUp(ctx, execution) != nil && s.pause(ctx, retry.Next()) {
		continue
	}
}

// catchUp does what follows from the state of an execution.
func (s *Service) catchUp(ctx context.Context, execution string) error {
	e, err := s.opts.Store.FindExecution(ctx, execution)
	if errors.Is(err, core.ErrUnreadable) { // nobody goes on with it
		s.endRoles(execution)
		return nil
	}
	if err != nil {
		return err
	}
	if e.Status == core.ExecutionCancelled {
		s.stopAll(execution, e.CancelledBy)
		return nil
	}
	if e.Status.Terminal() {
		s.endRoles(execution)
		return nil
	}
	if !e.Chart {
		return nil
	}
	return s.catchUpQuestions(ctx, execution)
}

// consume does what follows from the events of an execution.
func (s *Service) consume(ctx context.Context, execution string, at uint64, retry *pause.Backoff) error {
	stream, err := s.opts.Streams.Follow(ctx, execution, at)
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			return err
		}
		retry.Reset()
		switch e.Type {
		case core.EventExecutionCancelled:
			s.stopAll(execution, e.By)
		case core.EventExecutionCompleted, core.EventExecutionFailed:
			s.endRoles(execution)
		case core.EventQuestionAsked:
			var data struct {
				Question core.Question `json:"question"`
			}
			if json.Unmarshal(e.Data, &data) == nil {
				s.asked(ctx, &data.Question)
			}
		case core.EventQuestionAnswered, core.EventQuestionExpired, core.EventMessageClosed:
			var data struct {
				QuestionID string `json:"questionId"`
			}
			if json.Unmarshal(e.Data, &data) == nil && data.QuestionID != "" {
				s.questionClosed(ctx, execution, data.QuestionID)
			}
		}
	}
}

// of returns the threads of an execution that are not over.
func (s *Service) of(execution string) []*thread {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*thread
	for _, t := range s.live {
		if t.execution == execution {
			list = append(list, t)
		}
	}
	return list
}

// stopAll decides that all threads of an execution stop, because somebody cancelled it.
func (s *Service) stopAll(execution, by string) {
	for _, t := range s.of(execution) {
		s.tasks.Go(func() {
			t.catchUp(t.work)
			t.must(core.OnBehalf(t.work, by), func(c *change) error {
				c.end(core.ThreadEnding{Status: core.ThreadStopped, State: core.CompletionPartial, Reason: core.ThreadReasonExecution})
				return nil
			})
		})
	}
}

// endRoles ends the threads of the roles of an execution that is over.
func (s *Service) endRoles(execution string) {
	for _, t := range s.of(execution) {
		if t.record().Kind == core.ThreadKindRole {
			s.tasks.Go(t.endRole)
		}
	}
}
