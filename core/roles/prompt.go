package roles

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Message types and the topic of what agents ask on their own.
const (
	typeQuestion  = "question"
	typeApproval  = "approval"
	typeLogin     = "login"
	topicApproval = "tool_approval"
)

// The answer to an agent when there are no people to ask.
const (
	noLeave  = "Nobody can give leave now. Go on without it."
	noAnswer = "Nobody can answer now. Go on with your best judgement."
)

// askID is the id of what the agent waits for: its prompt, or a login; "" for neither.
func (st *state) askID() string {
	switch {
	case st.prompt != nil:
		return st.prompt.ID
	case st.login:
		return "login-" + strconv.FormatUint(st.loginSeq, 10)
	}
	return ""
}

// surface reports to the sink what the agent asks while it works on a task, once, and what it asks no more. What the operator's
// policy answers is answered, whatever the agent does. What else it asks while it answers another role is declined, and a login
// ends that turn: it has no task that could wait.
func (s *Service) surface(a *agent) {
	s.mu.Lock()
	j := a.current
	if j == nil || a.over || !a.state.read {
		s.mu.Unlock()
		return
	}
	ask := a.state.askID()
	var withdrawn []string
	for id, answered := range j.told {
		if id != ask {
			delete(j.told, id)
			if !answered {
				withdrawn = append(withdrawn, id)
			}
		}
	}
	if j.task != nil { // reported before a restart, and answered during it
		withdrawn = append(withdrawn, slices.DeleteFunc(a.state.past, func(id string) bool { return id == ask })...)
		a.state.past = nil
	}
	_, told := j.told[ask]
	if fresh := ask != "" && !told; fresh {
		j.told[ask] = false
	} else {
		ask = ""
	}
	p := a.state.prompt
	m := message(&a.state)
	s.mu.Unlock()
	if j.task != nil {
		for _, id := range withdrawn {
			s.sink.MessageWithdrawn(a.id, j.task.ID, id)
		}
	}
	switch {
	case ask == "" || p != nil && s.ruled(a, j, p):
		return
	case j.task != nil:
	case p != nil:
		s.decline(a, p, "")
		return
	default: // a login takes a person, whom the next task asks
		s.log.Info("a message to a role is given up: its agent wants a login", "agent", a.id, "message", j.message.MessageID)
		j.cancel()
		return
	}
	m.AgentID, m.TaskID, m.AskID = a.id, j.task.ID, ask
	m.Refuse = func(err *core.Error) {
		s.log.Info("what an agent asked goes nowhere", "agent", a.id, "ask", ask, "error", err)
		if p != nil {
			s.decline(a, p, err.Message)
		}
	}
	s.sink.MessageReceived(m)
}

// ruled has a prompt answered by the operator's policy, and reports whether that has an answer.
func (s *Service) ruled(a *agent, j *job, p *prompt) bool {
	if s.opts.Approve == nil || p.Kind != wire.PromptApproval {
		return false
	}
	ruling, ok := s.opts.Approve(a.id, p.raw)
	if !ok || ruling.Answer == core.RulingAsk {
		return false
	}
	s.log.Info("a prompt is answered by the policy", "agent", a.id, "prompt", p.ID, "answer", ruling.Answer, "rule", ruling.Rule)
	s.mu.Lock()
	j.told[p.ID] = true
	s.mu.Unlock()
	s.tasks.Go(func() { s.answer(a, []core.ManagedAgentAnswer{{PromptID: p.ID, Choice: ruling.Answer}}) })
	return true
}

// message returns the prompt that the agent waits with as a message.
func message(st *state) core.TaskMessage {
	p := st.prompt
	if p == nil {
		text := "The agent needs a login."
		if st.loginURL != "" {
			text += " Open the address, and answer with the code that it shows; or log in at the agent's terminal."
		}
		content, _ := json.Marshal(map[string]string{"kind": typeLogin, "text": text, "url": st.loginURL}) // texts always encode
		return core.TaskMessage{Kind: core.QuestionLogin, MessageType: typeLogin, Content: content, URL: st.loginURL}
	}
	m := core.TaskMessage{Kind: core.QuestionDialog, MessageType: typeQuestion, Content: p.raw, Options: p.Options, URL: p.URL}
	if p.Kind == wire.PromptApproval {
		m.Kind, m.MessageType, m.Topic = core.QuestionApproval, typeApproval, topicApproval
	}
	return m
}

// Reply implements core.TaskCarrier. The agent drops an answer to what it does not ask any more.
func (s *Service) Reply(agentID string, r core.AgentReply) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.find(agentID)
	if a == nil {
		return false
	}
	if j := a.task; j != nil {
		if _, told := j.told[r.AskID]; told {
			j.told[r.AskID] = true
		}
	}
	s.tasks.Go(func() { s.reply(a, r) })
	return true
}

func (s *Service) reply(a *agent, r core.AgentReply) {
	if s.await(a.ctx, a, 0, func() bool { return a.state.read }) != nil {
		return
	}
	s.mu.Lock()
	st := a.state
	s.mu.Unlock()
	switch {
	case st.askID() != r.AskID:
		s.log.Debug("an agent does not ask any more what was answered", "agent", a.id, "ask", r.AskID)
	case st.prompt == nil:
		code, _ := words(r.Content)
		s.login(a, code)
	default:
		s.answer(a, answers(st.prompt, r.Content))
	}
}

// login types the code that a login asks for.
func (s *Service) login(a *agent, code string) {
	var retry pause.Backoff
	for code != "" {
		_, err := s.agents.SendManagedAgent(a.ctx, a.id, core.ManagedAgentInput{Message: code})
		if err == nil {
			return
		}
		if !runtimecode.Passing(err) || !s.pause(a.ctx, retry.Next()) {
			s.log.Warn("a login was not answered", "agent", a.id, "error", err)
			return
		}
	}
}

// decline answers a prompt that gets no other answer, so that the agent goes on.
func (s *Service) decline(a *agent, p *prompt, why string) {
	answer := core.ManagedAgentAnswer{PromptID: p.ID, Text: noAnswer}
	if p.Kind == wire.PromptApproval {
		answer.Choice, answer.Text = choiceDeny, noLeave
	}
	if why != "" {
		answer.Text += " (" + clip.Text(why, 500) + ")"
	}
	s.tasks.Go(func() { s.answer(a, []core.ManagedAgentAnswer{answer}) })
}

// answer gives the first of the answers that the agent takes. It tries as long as the prompt is open.
func (s *Service) answer(a *agent, list []core.ManagedAgentAnswer) {
	var retry pause.Backoff
	for len(list) > 0 {
		_, err := s.agents.AnswerManagedAgent(a.ctx, a.id, list[0])
		code := runtimecode.Of(err)
		switch {
		case err == nil, code == runtimecode.NoPrompt, runtimecode.NoAgent(err), a.ctx.Err() != nil:
			return
		case core.ErrorCode(err) == core.CodeValidation:
			s.log.Warn("an answer was not taken by the agent", "agent", a.id, "prompt", list[0].PromptID, "error", err)
			list = list[1:]
			continue
		}
		s.log.Debug("a prompt is not answered yet", "agent", a.id, "error", err)
		if !s.pause(a.ctx, retry.Next()) {
			return
		}
	}
	s.log.Warn("a prompt stays unanswered: the agent took no answer", "agent", a.id)
	s.interruptBlocked(a)
}

// interruptBlocked ends a turn that waits for an answer that it does not take.
func (s *Service) interruptBlocked(a *agent) {
	_, err := s.agents.SendManagedAgent(a.ctx, a.id, core.ManagedAgentInput{Interrupt: true})
	if err != nil && a.ctx.Err() == nil {
		s.log.Warn("a turn was not interrupted", "agent", a.id, "error", err)
	}
}
