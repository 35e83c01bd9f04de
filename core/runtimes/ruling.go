package runtimes

import (
	"context"
	"encoding/json"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Approver answers prompts by the operator's policy, within a bounded time. It is safe for concurrent use.
type Approver interface {
	// Decide returns false where the policy has nothing to say. The answer ask leaves the prompt to people.
	Decide(ctx context.Context, q core.PromptQuestion) (core.PromptRuling, bool)
}

// maxAnswerTries is how often an answer of a policy is given that the agent does not take.
const maxAnswerTries = 5

// rule returns what the policy says of a prompt that an agent shows; nil if that is nothing. Threads ask for theirs.
func (s *Service) rule(ctx context.Context, r *core.ManagedAgentRecord, e *runtime.Event) *core.PromptRuling {
	p := boundPrompt(e.Prompt)
	if s.opts.Approver == nil || p == nil || p.ID == "" || r.Spec.Labels[labelThread] != "" ||
		e.Type != runtime.EventBlocked && e.Type != runtime.EventQuestion {
		return nil
	}
	q := core.PromptQuestion{
		PromptID: p.ID, Kind: p.Kind, Text: p.Text, Tool: p.Tool, Input: p.Input, AgentID: r.ID, ExecutionID: r.Spec.Labels[labelExecution],
		Name: r.Name, AgentType: r.Type, Preset: r.Spec.Approval, Owner: r.CreatedBy, Workspace: r.Workdir, Time: s.opts.Clock.Now(),
	}
	for _, o := range p.Options {
		q.Options = append(q.Options, o.ID)
	}
	ruling, ok := s.opts.Approver.Decide(ctx, q)
	if !ok {
		return nil
	}
	if ruling.Answer != core.RulingAsk && p.Kind != runtime.PromptApproval {
		ruling.Answer, ruling.Reason = core.RulingAsk, "the prompt does not take the answer of the policy"
	}
	return &ruling
}

// left returns the ruling of a prompt that an agent shows again, as one that was out of reach does, if the prompt is left to
// people: the policy does not come before them a second time. open is the prompt of before the event.
func left(r *core.ManagedAgentRecord, open json.RawMessage, e *runtime.Event) *core.PromptRuling {
	var p runtime.Prompt
	if r.Ruling == nil || r.Ruling.By != core.RulingByPolicy || r.Ruling.Answer != core.RulingAsk || e.Prompt == nil ||
		json.Unmarshal(open, &p) != nil || p.ID == "" || p.ID != e.Prompt.ID || p.ID != r.Ruling.PromptID {
		return nil
	}
	return r.Ruling
}

// ruled reports whether the open prompt of an agent is answered by a policy.
func ruled(r *core.ManagedAgentRecord) bool {
	var p runtime.Prompt
	return r.Ruling != nil && r.Ruling.By == core.RulingByPolicy && r.Ruling.Answer != core.RulingAsk && json.Unmarshal(r.Prompt, &p) == nil && p.ID == r.Ruling.PromptID
}

// answerRuled gives an agent the answer of the policy, on a goroutine that Close waits for, unless one is at it. It is called from
// one of those. When the agent does not take it, people are asked.
func (s *Service) answerRuled(id string, ruling core.PromptRuling) {
	s.mu.Lock()
	at := s.answering[id] == ruling.PromptID
	s.answering[id] = ruling.PromptID
	s.mu.Unlock()
	if at {
		return
	}
	s.wg.Go(func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.answering[id] == ruling.PromptID {
				delete(s.answering, id)
			}
		}()
		retry := pause.Backoff{First: defaultRetry, Most: maxRetry}
		for tries := 1; s.ctx.Err() == nil; tries++ {
			_, err := s.AnswerManagedAgent(s.ctx, id, core.ManagedAgentAnswer{PromptID: ruling.PromptID, Choice: ruling.Answer})
			code := runtimecode.Of(err)
			if err == nil || s.ctx.Err() != nil || code == runtimecode.NoPrompt || runtimecode.NoAgent(err) {
				return
			}
			s.log.Info("the answer of the policy is not taken", "agent", id, "prompt", ruling.PromptID, "rule", ruling.Rule, "error", err)
			if !runtimecode.Passing(err) && tries >= maxAnswerTries || core.ErrorCode(err) == core.CodeValidation {
				s.askPeople(id, ruling)
				return
			}
			due, stop := pause.After(s.opts.Clock, retry.Next())
			select {
			case <-s.ctx.Done():
			case <-due:
			}
			stop()
		}
	})
}

// askPeople leaves a prompt to people that the policy answered in vain.
func (s *Service) askPeople(id string, ruling core.PromptRuling) {
	_, err := s.change(s.ctx, id, func(r *core.ManagedAgentRecord) ([]core.Event, bool) {
		if !ruled(r) || r.Ruling.PromptID != ruling.PromptID {
			return nil, false
		}
		ruling.Answer, ruling.Reason = core.RulingAsk, "the agent did not take the answer of the policy"
		r.Ruling = &ruling
		var p runtime.Prompt
		_ = json.Unmarshal(r.Prompt, &p) // ruled has read it
		now := s.opts.Clock.Now()
		return s.withNotice(r, core.Event{
			Type: core.EventManagedBlocked, Time: now, Subject: id,
			Data: encode(eventData{AgentID: id, Status: r.Status, Source: runtime.SourceHost, Prompt: &p, Ruling: &ruling, OccurredAt: now}),
		}), true
	})
	if err != nil && s.ctx.Err() == nil {
		s.log.Warn("it was not stored that people are to answer", "agent", id, "error", err)
	}
}
