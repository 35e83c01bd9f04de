package threads

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
	"github.com/wardroom/wardroom/core/threads/rules"
	"github.com/wardroom/wardroom/sdk/wire"
)

// isQuestion reports whether a prompt is a question that an org chart surfaced: its agent does not wait in its terminal.
func isQuestion(promptID string) bool { return core.ValidID(core.PrefixQuestion, promptID) }

// Approver answers prompts by the operator's policy, within a bounded time. It is safe for concurrent use.
type Approver interface {
	// Decide returns false where the policy has nothing to say. The answer ask leaves the prompt to people, whatever rules
	// say.
	Decide(ctx context.Context, q core.PromptQuestion) (core.PromptRuling, bool)
}

// decide returns how the open prompt of a thread is answered without people, or that a policy wants them asked; nil when
// nothing is said of it. The policy counts first, then rules and the preset. For agents of roles only the policy does,
// and package roles gives its answer; the engine asks for them otherwise.
func (t *thread) decide(r *core.ThreadRecord) *core.PromptRuling {
	p, err := rules.ReadPrompt(r.Prompt)
	if err != nil || len(r.Prompt) == 0 || isQuestion(p.ID) {
		return nil
	}
	if approver := t.s.opts.Approver; approver != nil && p.Kind != wire.PromptLogin {
		if ruling, ok := approver.Decide(t.ctx, t.question(r, p)); ok {
			if ruling.Answer != core.RulingAsk && !p.Takes(ruling.Answer) {
				ruling.Answer, ruling.Reason = core.RulingAsk, "the prompt does not take the answer of the policy"
			}
			return &ruling
		}
	}
	configured := t.s.rules.Load()
	if configured == nil || t.rules == nil || r.Kind == core.ThreadKindRole {
		return nil // a rule that cannot be read may be one that denies
	}
	dir := ""
	if r.Workspace != nil {
		dir = r.Workspace.Path
	}
	d, ok := rules.Join(t.rules, configured).Decide(r.Preparation.Approval, dir, p)
	if !ok {
		return nil
	}
	ruling := &core.PromptRuling{PromptID: p.ID, Answer: d.Answer, Rule: d.Rule, By: core.RulingByConfiguration}
	switch {
	case d.Preset:
		ruling.By = core.RulingByPreset
	case strings.HasPrefix(d.Rule, threadRules):
		ruling.By = core.RulingByThread
	}
	return ruling
}

// threadRules is where the rules of a thread stand.
const threadRules = "policy.autoAnswer"

// question is what a policy is asked about a prompt of the thread.
func (t *thread) question(r *core.ThreadRecord, p rules.Prompt) core.PromptQuestion {
	q := core.PromptQuestion{
		PromptID: p.ID, Kind: p.Kind, Text: p.Text, Tool: p.Tool, Input: p.Input,
		AgentID: r.ManagedAgentID, ThreadID: r.ID, ExecutionID: r.ExecutionID, Name: r.Name, Role: r.Role, AgentType: r.AgentType,
		Preset: cmp.Or(r.Preparation.Approval, rules.Standard), Owner: r.CreatedBy, Time: t.s.clock.Now(),
	}
	for _, o := range p.Options {
		q.Options = append(q.Options, o.ID)
	}
	if s := r.Preparation.Workspace; s != nil {
		q.Repository, q.Branch = s.Repo, s.Branch
	}
	if w := r.Workspace; w != nil {
		q.Repository, q.Branch, q.Workspace = w.Repo, w.Branch, w.Path
	}
	return q
}

// RulePrompt returns what the policy says of a prompt of an agent that serves a role; false if that is nothing. It does not
// answer.
func (s *Service) RulePrompt(managedAgentID string, prompt json.RawMessage) (core.PromptRuling, bool) {
	s.mu.Lock()
	t := s.crew[managedAgentID]
	s.mu.Unlock()
	p, err := rules.ReadPrompt(prompt)
	if t == nil || s.opts.Approver == nil || err != nil || p.Kind == wire.PromptLogin {
		return core.PromptRuling{}, false
	}
	return s.opts.Approver.Decide(t.ctx, t.question(t.record(), p))
}

// answers reports whether a ruling answers a prompt.
func answers(r *core.PromptRuling) bool {
	return r != nil && r.Answer != core.RulingAsk && r.By != core.RulingByPerson
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
// was answered is not open any more. The answer to one of a hosted thread, of a rule or a person, it hands over again after
// a crash, and whenever the host comes back.
func (t *thread) answerPrompts(ctx context.Context) {
	last, seen := "", t.backs()
	for t.await(ctx, nil, func(r *core.ThreadRecord) bool {
		p, ok := readPrompt(r.Prompt)
		if r.Status != core.ThreadBlocked || !ok {
			last = ""
		}
		return r.Status == core.ThreadBlocked && ok && r.Ending == nil &&
			(p.ID != last || r.Answer != nil && t.backs() != seen || t.isRemote() && r.Answer == nil && ruleAnswers(r, p.ID))
	}) {
		backs := t.backs()
		r := t.record()
		p, ok := readPrompt(r.Prompt)
		if !ok {
			continue
		}
		fresh := p.ID != last || t.isRemote() // whose record holds what was answered: the prompt may have come again
		last, seen = p.ID, backs
		switch {
		case r.Answer != nil:
			if a, err := t.reply(r); err != nil {
				t.log.Warn("an answer was lost: people are asked again", "prompt", p.ID, "error", err)
				t.reopen(ctx, r.Answer.InputID, core.AsError(err).Message)
			} else if err := t.toHost(r, r.Answer.InputID, a); err != nil {
				t.log.Info("an answer was not handed over; it is once the host is back", "prompt", p.ID, "error", err)
			}
		case fresh && ruleAnswers(r, p.ID):
			t.answerPrompt(ctx, p.ID, r.Ruling.Answer)
		}
	}
}

// ruleAnswers reports whether a rule answers the prompt of a thread, and the thread gives the answer to its agent.
func ruleAnswers(r *core.ThreadRecord, promptID string) bool {
	return r.Kind != core.ThreadKindRole && answers(r.Ruling) && r.Ruling.PromptID == promptID
}

// backs returns how often the host came back with the thread.
func (t *thread) backs() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remote.backs
}

// forgetAnswer drops an answer whose prompt is not open any more.
func (c *change) forgetAnswer() {
	if a := c.rec.Answer; a != nil {
		if p, ok := readPrompt(c.rec.Prompt); !ok || p.ID != a.PromptID {
			c.rec.Answer = nil
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
		if t.isRemote() && core.ErrorCode(err) == core.CodeConflict { // a person was first, or is asked now
			return
		}
		t.log.Info("the answer of a rule is not taken", "prompt", prompt, "answer", answer, "error", err)
		if !runtimecode.Passing(err) && tries >= maxTries || core.ErrorCode(err) == core.CodeValidation {
			t.must(ctx, func(c *change) error {
				if p, ok := readPrompt(c.rec.Prompt); !ok || p.ID != prompt || c.rec.Ending != nil {
					return errUnchanged
				}
				c.askPeople("the agent did not take the answer " + answer)
				return nil
			})
			return
		}
		if !t.s.pause(ctx, retry.Next()) {
			return
		}
	}
}

// askPeople asks people about the open prompt, whose answer was not taken.
func (c *change) askPeople(reason string) {
	if former := c.rec.Ruling; former != nil {
		asks := *former
		asks.Answer, asks.Reason = core.RulingAsk, reason
		c.ruled(c.rec.Prompt, &asks)
	}
	c.rec.Ruling = nil
	c.event(core.EventThreadBlocked, blockedData{Prompt: c.rec.Prompt})
	c.noticeBlocked()
}

// answeredWith reports whether the host has an answer to the open prompt under the id of an input.
func answeredWith(r *core.ThreadRecord, inputID string) bool {
	return r.Answer != nil && r.Answer.InputID == inputID
}

// reopen takes an answer back that the host of the thread did not take, so that people can give another one. It returns
// false when ctx ended.
func (t *thread) reopen(ctx context.Context, inputID, reason string) bool {
	return t.must(ctx, func(c *change) error {
		if !answeredWith(c.rec, inputID) || c.rec.Ending != nil {
			return errUnchanged
		}
		c.rec.Answer = nil
		c.askPeople(reason)
		return nil
	})
}

// giveAnswer hands an answer to the agent.
func (t *thread) giveAnswer(ctx context.Context, a core.ThreadAnswer) error {
	r := t.record()
	if t.isRemote() {
		return t.replyHosted(ctx, a)
	}
	_, err := t.s.opts.ManagedAgents.AnswerManagedAgent(ctx, r.ManagedAgentID, core.ManagedAgentAnswer(a))
	if a.PromptID == wire.PromptLogin && runtimecode.Of(err) == runtimecode.NoPrompt {
		// A runtime that was built before logins took answers: there the code is a message.
		_, err = t.s.opts.ManagedAgents.SendManagedAgent(ctx, r.ManagedAgentID, core.ManagedAgentInput{Message: a.Text})
	}
	return err
}

// toHost hands an answer to the host of the thread, under an id that it takes once.
func (t *thread) toHost(r *core.ThreadRecord, inputID string, a core.ThreadAnswer) error {
	ok := t.s.opts.Hosts.InputThread(r.AgentID, core.RemoteInput{
		ThreadID: t.id, InputID: inputID, PromptID: a.PromptID, Choice: a.Choice, Text: a.Text,
	})
	if !ok {
		return core.Conflict("thread", t.id, string(r.Status), "the agent that hosts the thread is gone")
	}
	return nil
}

// reply returns the answer that the record has for the host.
func (t *thread) reply(r *core.ThreadRecord) (core.ThreadAnswer, error) {
	a := core.ThreadAnswer{PromptID: r.Answer.PromptID, Choice: r.Answer.Choice}
	if sealed := r.Answer.SealedText; len(sealed) > 0 && !t.s.seal.Open(t.id, sealed, &a.Text) {
		return a, core.Conflict("thread", t.id, string(r.Status), "the answer cannot be read any more: the key that sealed it (threads.key) was "+
			"replaced; answer again")
	}
	return a, nil
}

// replyHosted stores the answer of a rule or a person to a prompt of a hosted thread, and hands it over: the host may be away,
// and what was acknowledged outlives us. The first answer counts, until the host refuses it; of a login the latest one does,
// since a code may be wrong.
func (t *thread) replyHosted(ctx context.Context, a core.ThreadAnswer) error {
	reply := &core.ThreadReply{InputID: t.s.opts.IDs.New(core.PrefixInput), PromptID: a.PromptID, Choice: a.Choice}
	if a.Text != "" {
		var err error
		if reply.SealedText, err = t.s.seal.Seal(t.id, a.Text); err != nil {
			return err
		}
	}
	err := t.change(ctx, func(c *change) error {
		p, ok := readPrompt(c.rec.Prompt)
		switch {
		case !ok || p.ID != a.PromptID || c.rec.Ending != nil:
			return noPrompt(c.rec, a.PromptID)
		case c.rec.Answer != nil && p.Kind != wire.PromptLogin:
			return answered(c.rec, p.ID)
		}
		c.rec.Answer = reply
		c.answeredBy(core.PrincipalFrom(ctx), c.rec.Prompt, a)
		return nil
	})
	if err != nil {
		return err
	}
	r := t.record()
	if !answeredWith(r, reply.InputID) { // the prompt was closed, or answered anew, meanwhile
		return nil
	}
	if err = t.toHost(r, reply.InputID, a); err != nil {
		t.reopen(ctx, reply.InputID, core.AsError(err).Message)
	}
	return err
}

// answered is the error of an answer to a prompt that has one. It names who gave that, where it is known.
func answered(r *core.ThreadRecord, promptID string) error {
	text := "the prompt " + promptID + " is answered already"
	if g := r.Ruling; answeredByPerson(r, promptID) {
		text += " by " + g.Person + " (" + g.Answer + ")"
	}
	return core.Conflict("thread", r.ID, string(r.Status), "%s", text)
}

// answeredByPerson reports whether the latest prompt is the one with the id, and is known to be answered by a person.
func answeredByPerson(r *core.ThreadRecord, promptID string) bool {
	g := r.Ruling
	return g != nil && promptID != "" && g.PromptID == promptID && g.By == core.RulingByPerson
}

// noPrompt is the error of an answer to a prompt that is not open; promptID is "" for whichever is.
func noPrompt(r *core.ThreadRecord, promptID string) error {
	if answeredByPerson(r, promptID) {
		return answered(r, promptID)
	}
	return core.Conflict("thread", r.ID, string(r.Status), "the thread does not wait for an answer")
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
		return nil, noPrompt(r, a.PromptID)
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
	} else if err = t.giveAnswer(ctx, a); err == nil && !t.isRemote() {
		t.answeredBy(ctx, r.Prompt, a)
	}
	if err != nil {
		return nil, ofThread(err, r)
	}
	// An event reports what the answer does, mostly at once: callers like to see it.
	due, stop := s.after(answerWait)
	defer stop()
	t.await(ctx, due, func(r *core.ThreadRecord) bool {
		open, ok := readPrompt(r.Prompt)
		return !ok || open.ID != p.ID
	})
	return view(t.record()), nil
}

// answeredBy notes who answered a prompt, where that is known. A failure to do so is no reason to say that it was not.
func (t *thread) answeredBy(ctx context.Context, prompt json.RawMessage, a core.ThreadAnswer) {
	by := core.PrincipalFrom(ctx)
	if core.IsReserved(by.ID) {
		return
	}
	err := t.change(ctx, func(c *change) error {
		if c.rec.Status.Terminal() {
			return errUnchanged
		}
		c.answeredBy(by, prompt, a)
		return nil
	})
	if err != nil {
		t.log.Warn("who answered a prompt was not stored", "prompt", a.PromptID, "principal", by.ID, "error", err)
	}
}

func (c *change) answeredBy(by core.Principal, prompt json.RawMessage, a core.ThreadAnswer) {
	if core.IsReserved(by.ID) {
		return
	}
	ruling := &core.PromptRuling{PromptID: a.PromptID, Answer: cmp.Or(a.Choice, "text"), By: core.RulingByPerson, Person: by.ID}
	// The next prompt may be there, or answered by a rule already, and has its own ruling.
	open, ok := readPrompt(c.rec.Prompt)
	if now := c.rec.Ruling; (!ok || open.ID == a.PromptID) && (now == nil || now.PromptID == a.PromptID) {
		c.rec.Ruling = ruling
	}
	c.event(core.EventThreadStatus, statusData{Status: statusAnswered, Ruling: ruling})
	c.ruled(prompt, ruling)
}

// check reports whether a prompt takes an answer.
func (p prompt) check(a core.ThreadAnswer) error {
	switch {
	case p.Kind == wire.PromptLogin && (a.Choice != "" || strings.TrimSpace(a.Text) == ""):
		return core.Invalid("text", "is missing: give the code of the login as text")
	case a.Choice == "":
		return nil
	case p.Kind == wire.PromptApproval && (a.Choice == rules.Allow || a.Choice == rules.Deny):
		return nil
	}
	known := make([]string, 0, len(p.Options))
	for _, o := range p.Options {
		if o.ID == a.Choice {
			return nil
		}
		known = append(known, o.ID)
	}
	if len(known) == 0 && p.Kind == wire.PromptApproval {
		known = []string{rules.Allow, rules.Deny}
	}
	if len(known) == 0 {
		return core.Invalid("choice", "the prompt has no options; answer it with text")
	}
	return core.Invalid("choice", "must be one of %s", listed(known))
}

// answerQuestion answers a question of an org chart.
func (s *Service) answerQuestion(ctx context.Context, r *core.ThreadRecord, p prompt, a core.ThreadAnswer) error {
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
