package roles

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/wardroom/wardroom/core"
)

// Ask implements core.TaskCarrier: the message is a turn of its own, once the agent's task is over.
func (s *Service) Ask(agentID string, m core.AgentMessage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.find(agentID)
	if a == nil {
		return false
	}
	if slices.Contains(a.known, m.MessageID) {
		return true
	}
	if len(a.asks) >= maxAsks {
		// Who asks hears nothing in time, and the chart's escalation takes it from there.
		s.log.Warn("a message is dropped: too many wait for the agent", "agent", a.id, "message", m.MessageID)
		return true
	}
	if a.known = append(a.known, m.MessageID); len(a.known) > maxKnown {
		a.known = slices.Delete(a.known, 0, len(a.known)-maxKnown)
	}
	j := newJob(a)
	j.message, j.key = &m, m.MessageID
	a.asks = append(a.asks, j)
	a.touch()
	return true
}

// doAsk has the turn of a message and hands over what the agent says to it. A turn that fails is no answer: the
// asker's role waits in vain, and the next one is asked.
func (s *Service) doAsk(a *agent, j *job) {
	s.surface(a)
	got, err := s.turn(j.ctx, a, messageText(j.message), j.key)
	if got.usage != nil {
		s.sink.MessageUsed(j.message.ExecutionID, a.id, j.message.MessageID, got.usage)
	}
	switch {
	case j.ctx.Err() != nil || errors.Is(err, errGone):
		return
	case err != nil:
		s.log.Info("a message to a role was not answered", "agent", a.id, "message", j.message.MessageID, "error", err)
		return
	case !j.message.WantsReply:
		return
	}
	content, err := json.Marshal(got.text)
	if err != nil {
		return // text always encodes
	}
	id := j.message.MessageID
	s.sink.MessageReplied(core.MessageReply{AgentID: a.id, MessageID: id, Content: content, Refuse: func(err *core.Error) {
		s.log.Debug("an answer is not needed any more", "agent", a.id, "message", id, "error", err)
	}})
}
