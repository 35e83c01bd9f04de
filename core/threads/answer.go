package threads

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
	"github.com/wardroom/wardroom/core/threads/rules"
)

// isQuestion tells whether a prompt is a question that an org chart surfaced: its agent does not wait in its terminal.
func isQuestion(promptID string) bool { return core.ValidID(core.PrefixQuestion, promptID) }

// decide returns the answer that a rule gives to the open prompt of a thread, if one does. Agents of roles are asked
// for by the engine.
func (t *thread) decide(r *core.ThreadRecord) (answer string, ok bool) {
	p, err := rules.ReadPrompt(r.Prompt)
	if err != nil || len(r.Prompt) == 0 || r.Kind == core.ThreadKindRole || isQuestion(p.ID) {
		return "", false
	}
	configured := t.s.rules.Load()
	if configured == nil || t.rules == nil {
		return "", false // a rule that cannot be read may be one that denies
	}
	dir := ""
	if r.Workspace != nil {
		dir = r.Workspace.Path
	}
	return rules.Join(t.rules, configured).Decide(r.Preparation.Approval, dir, p)
}

// compileRules compiles rules that were checked when they came. It returns nil when they are wrong nevertheless.
func compileRules(list []core.AutoAnswerRule, at string, log hclog.Logger) *rules.Rules {
	compiled, problems := rules.Compile(list, at)
	if len(problems) > 0 {
		log.Warn("the rules for prompts are wrong: people are asked", "problem", problems[0].String())
		return nil
	}
	return compiled
}

// answerPrompts answers the prompts that rules answer, until ctx ends. After a crash it does so again: a prompt that
// was answered is not open any more.
func (t *thread) answerPrompts(ctx context.Context) {
	last := ""
	for t.await(ctx, nil, func(r *core.ThreadRecord) bool {
		p, ok := readPrompt(r.Prompt)
		if r.Status != core.ThreadBlocked || !ok {
			last = ""
		}
		return r.Status == core.ThreadBlocked && ok && p.ID != last && r.Ending == nil
	}) {
		r := t.record()
		p, ok := readPrompt(r.Prompt)
		if !ok {
			continue
		}
		last = p.ID
		if answer, auto := t.decide(r); auto {
			t.answerPrompt(ctx, p.ID, answer)
		}
	}
}

// answerPrompt answers a prompt for a rule. When the agent does not take the answer, people are asked.
func (t *thread) answerPrompt(ctx context.Context, prompt, answer string) {
	var retry pause.Backoff
	for tries := 1; ; tries++ {
		err := t.giveAnswer(ctx, core.ThreadAnswer{PromptID: prompt, Choice: answer})
		code := runtimecode.Of(err)
		if err == nil || ctx.Err() != nil || code == runtimecode.NoPrompt || runtimecode.NoAgent(err) {
			return
		}
		t.log.Info("the answer of a rule is not taken", "prompt", prompt, "answer", answer, "error", err)
		if !runtimecode.Passing(err) && tries >= maxTries || core.ErrorCode(err) == core.CodeValidation {
			t.must(ctx, func(c *change) error {
				if p, ok := readPrompt(c.rec.Prompt); !ok || p.ID != prompt || c.rec.Ending != nil {
					return errUnchanged
				}
				c.event(core.EventThreadBlocked, blockedData{Prompt: c.rec.Prompt})
				c.noticeBlocked()
				return nil
			})
			return
		}
		if !t.s.pause(ctx, retry.Next()) {
			return
		}
	}
}

// giveAnswer hands an answer to the agent.
func (t *thread) giveAnswer(ctx context.Context, a core.ThreadAnswer) error {
	r := t.record()
	if t.isRemote() {
		ok := t.s.opts.Hosts.InputThread(r.AgentID, core.RemoteInput{
			ThreadID: t.id, InputID: t.s.opts.IDs.New(core.PrefixInput), PromptID: a.PromptID, Choice: a.Choice, Text: a.Text,
		})
		if !ok {
			return core.Conflict("thread", t.id, string(r.Status), "the agent that hosts the thread is gone")
		}
		return nil
	}
	if a.PromptID == promptLogin { // the code of a login is a message
		_, err := t.s.opts.ManagedAgents.SendManagedAgent(ctx, r.ManagedAgentID, core.ManagedAgentInput{Message: a.Text})
		return err
	}
	_, err := t.s.opts.ManagedAgents.AnswerManagedAgent(ctx, r.ManagedAgentID, core.ManagedAgentAnswer(a))
	return err
}

// AnswerThread implements core.ThreadService.
func (s *Service) AnswerThread(ctx context.Context, id string, a core.ThreadAnswer) (*core.Thread, error) {
	if a.Choice == "" && strings.TrimSpace(a.Text) == "" {
		return nil, core.Invalid("choice", "is missing: give the id of an option, or text")
	}
	t, err := s.active(ctx, id)
	if err != nil {
		return nil, err
	}
	r := t.record()
	p, ok := readPrompt(r.Prompt)
	if !ok {
		return nil, core.Conflict("thread", id, string(r.Status), "the thread does not wait for an answer")
	}
	if a.PromptID != "" && a.PromptID != p.ID {
		return nil, core.Conflict("thread", id, string(r.Status), "the thread waits for an answer to the prompt %s, not to %s", p.ID, clip.Text(a.PromptID, 100))
	}
	if err := p.check(a); err != nil {
		return nil, err
	}
	a.PromptID = p.ID
	if isQuestion(p.ID) {
		err = s.answerQuestion(ctx, r, p, a)
	} else {
		err = t.giveAnswer(ctx, a)
	}
	if err != nil {
		return nil, ofThread(err, r)
	}
	// What the answer does is told by an event, mostly at once: callers like to see it.
	due, stop := s.after(answerWait)
	defer stop()
	t.await(ctx, due, func(r *core.ThreadRecord) bool {
		open, ok := readPrompt(r.Prompt)
		return !ok || open.ID != p.ID
	})
	return view(t.record()), nil
}

// check tells whether a prompt takes an answer.
func (p promptView) check(a core.ThreadAnswer) error {
	switch {
	case p.Kind == promptLogin && (a.Choice != "" || strings.TrimSpace(a.Text) == ""):
		return core.Invalid("text", "is missing: give the code of the login as text")
	case a.Choice == "":
		return nil
	case p.Kind == promptApproval && (a.Choice == rules.Allow || a.Choice == rules.Deny):
		return nil
	}
	known := make([]string, 0, len(p.Options))
	for _, o := range p.Options {
		if o.ID == a.Choice {
			return nil
		}
		known = append(known, o.ID)
	}
	if len(known) == 0 && p.Kind == promptApproval {
		known = []string{rules.Allow, rules.Deny}
	}
	if len(known) == 0 {
		return core.Invalid("choice", "the prompt has no options; answer it with text")
	}
	return core.Invalid("choice", "must be one of %s", listed(known))
}

// answerQuestion answers a question of an org chart.
func (s *Service) answerQuestion(ctx context.Context, r *core.ThreadRecord, p promptView, a core.ThreadAnswer) error {
	if s.questions == nil {
		return core.Conflict("thread", r.ID, string(r.Status), "the question is answered at "+
			"/api/executions/%s/questions/%s/answer", r.ExecutionID, p.ID)
	}
	answer := a.Text
	if a.Choice != "" {
		answer = a.Choice
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	_, err = s.questions.AnswerQuestion(ctx, r.ExecutionID, p.ID, raw)
	return err
}
