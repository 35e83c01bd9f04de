package threads

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// catchUpQuestions shows the open questions of an execution at the threads of its roles, and takes those back that
// are not open any more.
func (s *Service) catchUpQuestions(ctx context.Context, execution string) error {
	open := make(map[string]bool)
	filter := core.QuestionFilter{ExecutionID: execution, Status: core.QuestionOpen}
	filter.Limit = readPage
	for {
		page, info, err := s.opts.Store.FindQuestions(ctx, filter)
		if err != nil {
			return err
		}
		for _, q := range page {
			open[q.ID] = true
			s.asked(ctx, q)
		}
		if !info.HasMore || info.NextCursor == "" {
			break
		}
		filter.Cursor = info.NextCursor
	}
	for _, t := range s.of(execution) {
		if p, ok := readPrompt(t.record().Prompt); ok && isQuestion(p.ID) && !open[p.ID] {
			s.questionClosed(ctx, execution, p.ID)
		}
	}
	return nil
}

// asked shows a question that an agent of a role asks people by a message. What it asks in its terminal, its own
// events tell.
func (s *Service) asked(ctx context.Context, q *core.Question) {
	if q.Kind != core.QuestionMessage || q.Status != core.QuestionOpen {
		return
	}
	s.mu.Lock()
	t := s.crew[q.AgentID]
	s.mu.Unlock()
	if t == nil {
		return
	}
	prompt := prompt{ID: q.ID, Kind: wire.PromptQuestion, Text: q.Text, Options: q.Options}.encode()
	t.must(ctx, func(c *change) error {
		r := c.rec
		if p, ok := readPrompt(r.Prompt); ok && p.ID == q.ID || r.Ending != nil || r.Status.Terminal() {
			return errUnchanged
		}
		r.Status, r.StatusReason, r.Prompt, r.LastActivityAt = core.ThreadBlocked, "", prompt, c.now
		c.event(core.EventThreadBlocked, blockedData{Prompt: prompt})
		c.noticeBlocked()
		c.after = append(c.after, func() { s.observer.PromptBlocked(false) })
		return nil
	})
}

// questionClosed takes a question back that needs no answer any more.
func (s *Service) questionClosed(ctx context.Context, execution, id string) {
	for _, t := range s.of(execution) {
		if p, ok := readPrompt(t.record().Prompt); !ok || p.ID != id {
			continue
		}
		t.must(ctx, func(c *change) error {
			if p, ok := readPrompt(c.rec.Prompt); !ok || p.ID != id || c.rec.Ending != nil {
				return errUnchanged
			}
			c.rec.LastActivityAt = c.now
			c.unblock()
			return nil
		})
	}
}
