package agents

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// maxWordLen bounds message types, topics and roles, in bytes.
const maxWordLen = 128

// Ask implements core.TaskCarrier.
func (s *Service) Ask(agentID string, m core.AgentMessage) bool {
	return s.post(agentID, &outbound{message: &m})
}

// Reply implements core.TaskCarrier.
func (s *Service) Reply(agentID string, r core.AgentReply) bool {
	return s.post(agentID, &outbound{reply: &r})
}

// post keeps an outbound and sends it, now or after a resume. It returns false when the agent is gone.
func (s *Service) post(agentID string, l *outbound) bool {
	a := s.find(agentID)
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.presence == gone {
		return false
	}
	a.resend.add(l)
	if a.session != nil {
		l.sent = s.sendLocked(a, l.append(nil, s.clock.Now()))
	}
	return true
}

// said runs a message frame. A repeat of a message that was answered gets the answer again; any other goes to
// the sink, which knows its doubles.
func (s *session) said(a *agent, f *frame, now time.Time) error {
	var p protocol.Message
	if err := f.into(&p); err != nil {
		return err
	}
	id := string(f.id)
	if err := checkMessage(id, &p); err != nil {
		return err
	}
	a.mu.Lock()
	_, holds := a.tasks[p.TaskID]
	answer := a.resend.answerTo(p.TaskID, id)
	if answer != nil && a.session == s {
		answer.sent = s.svc.sendLocked(a, answer.append(nil, now))
	}
	a.mu.Unlock()
	switch {
	case answer != nil:
	case !holds: // most likely it was cancelled a moment ago
		s.sendError(f.id, core.CodeNotFound, "taskId: this agent does not have the task", false)
	default:
		s.svc.sink.MessageReceived(core.TaskMessage{
			AgentID: a.id, TaskID: p.TaskID, AskID: id, Kind: core.QuestionMessage,
			MessageType: p.MessageType, Topic: p.Topic, To: p.To, Content: p.Content,
			Refuse: once(func(err *core.Error) {
				if err.Code == core.CodeNotFound || err.Code == core.CodeRateLimited {
					s.svc.tell(a, id, err) // the same message may fare better later: nothing is kept
					return
				}
				s.svc.post(a.id, &outbound{refusal: &refusal{taskID: p.TaskID, askID: id, code: err.Code, reason: err.Message}})
			}),
		})
	}
	return nil
}

// replied runs a message_reply frame. The sink also receives replies to messages that are not kept here: it
// knows what became of them.
func (s *session) replied(a *agent, f *frame) error {
	var p protocol.MessageReply
	if err := f.into(&p); err != nil {
		return err
	}
	if p.MessageID == "" || len(p.MessageID) > maxIDLen || !printable(p.MessageID) {
		return errors.New("messageId: must be the id of a message of this server")
	}
	a.mu.Lock()
	m, i := a.resend.message(p.MessageID)
	missing := len(p.Content) == 0 && m != nil && m.WantsReply
	if m != nil && !missing {
		a.resend.remove(i)
	}
	a.mu.Unlock()
	switch {
	case missing:
		return errors.New("content: is missing, and the message wants a reply")
	case len(p.Content) == 0: // it says only that the message arrived
		return nil
	}
	id := string(f.id)
	s.svc.sink.MessageReplied(core.MessageReply{
		AgentID: a.id, MessageID: p.MessageID, Content: p.Content,
		Refuse: once(func(err *core.Error) { s.svc.tell(a, id, err) }),
	})
	return nil
}

// tell sends an error frame for the frame with that id on the agent's present session, if it has one.
func (s *Service) tell(a *agent, frameID string, err *core.Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session != nil {
		a.session.sendError([]byte(frameID), err.Code, err.Message, false)
	}
}

// once lets the first call of refuse pass.
func once(refuse func(*core.Error)) func(*core.Error) {
	var done atomic.Bool
	return func(err *core.Error) {
		if !done.Swap(true) {
			refuse(err)
		}
	}
}

// checkMessage checks a message frame with that envelope id. The error's text is meant for the agent.
func checkMessage(id string, p *protocol.Message) error {
	switch {
	case id == "":
		return errors.New("id: is missing; the envelope id of a message names it for ever")
	case len(id) > maxIDLen || !printable(id):
		return fmt.Errorf("id: must be 1 to %d printable bytes", maxIDLen)
	case p.TaskID == "":
		return errors.New("taskId: is missing")
	case len(p.TaskID) > maxIDLen:
		return errors.New("taskId: must be an id of this server")
	case p.MessageType == "" || len(p.MessageType) > maxWordLen || !printable(p.MessageType):
		return fmt.Errorf("messageType: must be 1 to %d printable bytes", maxWordLen)
	case len(p.Topic) > maxWordLen || !printable(p.Topic):
		return fmt.Errorf("topic: must be at most %d printable bytes", maxWordLen)
	case len(p.To) > maxWordLen || !printable(p.To):
		return fmt.Errorf("to: must be the name of a role, at most %d printable bytes", maxWordLen)
	case len(p.Content) == 0:
		return errors.New("content: is missing")
	}
	return nil
}
