package agents

import (
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// Bounds of what may be sent again to one agent. Beyond them the oldest is dropped: the engine's own time limits
// cover what is lost so.
const (
	maxOutbound      = 1000
	maxOutboundBytes = 8 << 20
)

// outbound is anything but a task that the engine sends to an agent. One of message, reply and refusal is set.
type outbound struct {
	message *core.AgentMessage
	reply   *core.AgentReply
	refusal *refusal
	sent    bool // on the present session of the agent, or an earlier one
}

// refusal says that a message of the agent goes nowhere.
type refusal struct {
	taskID, askID string
	code          core.Code
	reason        string
}

// outboundOverhead is a fair estimate of what an outbound takes besides its content.
const outboundOverhead = 512

func (l *outbound) size() int {
	switch {
	case l.message != nil:
		return outboundOverhead + len(l.message.Content)
	case l.reply != nil:
		return outboundOverhead + len(l.reply.Content)
	}
	return outboundOverhead + len(l.refusal.reason)
}

// same reports whether both have the same content.
func (l *outbound) same(other *outbound) bool {
	if l.message != nil && other.message != nil {
		return l.message.MessageID == other.message.MessageID
	}
	taskID, askID := other.answers()
	return other.message == nil && l.answersTo(taskID, askID)
}

// answers returns the task and the message that a reply or refusal is about.
func (l *outbound) answers() (taskID, askID string) {
	switch {
	case l.reply != nil:
		return l.reply.TaskID, l.reply.AskID
	case l.refusal != nil:
		return l.refusal.taskID, l.refusal.askID
	}
	return "", ""
}

func (l *outbound) answersTo(taskID, askID string) bool {
	t, ask := l.answers()
	return l.message == nil && t == taskID && ask == askID
}

// append appends its frame.
func (l *outbound) append(b []byte, now time.Time) []byte {
	switch {
	case l.message != nil:
		return appendMessage(b, l.message, now)
	case l.reply != nil:
		return appendReply(b, l.reply, now)
	}
	return appendFrame(b, protocol.TypeError, l.refusal.askID, now,
		protocol.Error{Code: string(l.refusal.code), Message: l.refusal.reason})
}

// resend is what may have to be sent to an agent again: messages of others until it answers them, replies and
// refusals until its task ends. agent.mu guards it.
type resend struct {
	list  []*outbound // oldest first
	bytes int
}

// add keeps an outbound, in the place of one that says the same.
func (m *resend) add(l *outbound) {
	if i := slices.IndexFunc(m.list, l.same); i >= 0 {
		m.remove(i)
	}
	m.list = append(m.list, l)
	m.bytes += l.size()
	for len(m.list) > maxOutbound || (m.bytes > maxOutboundBytes && len(m.list) > 1) {
		m.remove(0)
	}
}

func (m *resend) remove(i int) {
	m.bytes -= m.list[i].size()
	m.list = slices.Delete(m.list, i, i+1)
}

// answerTo returns the reply to a message of the agent, or its refusal, or nil.
func (m *resend) answerTo(taskID, askID string) *outbound {
	for _, l := range m.list {
		if l.answersTo(taskID, askID) {
			return l
		}
	}
	return nil
}

// message returns a message that the agent has not answered, and its place, or nil.
func (m *resend) message(id string) (*core.AgentMessage, int) {
	for i, l := range m.list {
		if l.message != nil && l.message.MessageID == id {
			return l.message, i
		}
	}
	return nil, -1
}

// taskEnded drops what the agent needs no more once its task is over.
func (m *resend) taskEnded(taskID string) {
	kept := m.list[:0]
	for _, l := range m.list {
		if t, _ := l.answers(); l.message == nil && t == taskID {
			m.bytes -= l.size()
			continue
		}
		kept = append(kept, l)
	}
	clear(m.list[len(kept):])
	m.list = kept
}
