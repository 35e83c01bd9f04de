package agents

import (
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// Bounds of the mail of one agent. Beyond them the oldest letters are dropped: the engine's own time limits
// cover what is lost so.
const (
	maxLetters     = 1000
	maxLetterBytes = 8 << 20
)

// letter is what the engine says to an agent besides tasks. One of message, reply and refusal is set.
type letter struct {
	message *core.AgentMessage
	reply   *core.AgentReply
	refusal *refusal
	sent    bool // on the present session of the agent, or an earlier one
}

// refusal tells that a message of the agent goes nowhere.
type refusal struct {
	taskID, askID string
	code          core.Code
	reason        string
}

// letterOverhead is a fair estimate of what a letter takes besides its content.
const letterOverhead = 512

func (l *letter) size() int {
	switch {
	case l.message != nil:
		return letterOverhead + len(l.message.Content)
	case l.reply != nil:
		return letterOverhead + len(l.reply.Content)
	}
	return letterOverhead + len(l.refusal.reason)
}

// same tells whether both letters say the same thing.
func (l *letter) same(other *letter) bool {
	if l.message != nil && other.message != nil {
		return l.message.MessageID == other.message.MessageID
	}
	taskID, askID := other.answers()
	return other.message == nil && l.answersTo(taskID, askID)
}

// answers returns the task and the message that a reply or refusal is about.
func (l *letter) answers() (taskID, askID string) {
	switch {
	case l.reply != nil:
		return l.reply.TaskID, l.reply.AskID
	case l.refusal != nil:
		return l.refusal.taskID, l.refusal.askID
	}
	return "", ""
}

func (l *letter) answersTo(taskID, askID string) bool {
	t, ask := l.answers()
	return l.message == nil && t == taskID && ask == askID
}

// append appends the letter's frame.
func (l *letter) append(b []byte, now time.Time) []byte {
	switch {
	case l.message != nil:
		return appendMessage(b, l.message, now)
	case l.reply != nil:
		return appendReply(b, l.reply, now)
	}
	return appendFrame(b, protocol.TypeError, l.refusal.askID, now,
		protocol.Error{Code: string(l.refusal.code), Message: l.refusal.reason})
}

// mail is what may have to be sent to an agent again: messages of others until it answers them, replies and
// refusals until its task ends. agent.mu guards it.
type mail struct {
	letters []*letter // oldest first
	bytes   int
}

// add keeps a letter, in the place of one that says the same.
func (m *mail) add(l *letter) {
	if i := slices.IndexFunc(m.letters, l.same); i >= 0 {
		m.remove(i)
	}
	m.letters = append(m.letters, l)
	m.bytes += l.size()
	for len(m.letters) > maxLetters || (m.bytes > maxLetterBytes && len(m.letters) > 1) {
		m.remove(0)
	}
}

func (m *mail) remove(i int) {
	m.bytes -= m.letters[i].size()
	m.letters = slices.Delete(m.letters, i, i+1)
}

// answerTo returns the reply to a message of the agent, or its refusal, or nil.
func (m *mail) answerTo(taskID, askID string) *letter {
	for _, l := range m.letters {
		if l.answersTo(taskID, askID) {
			return l
		}
	}
	return nil
}

// message returns a message that the agent has not answered, and its place, or nil.
func (m *mail) message(id string) (*core.AgentMessage, int) {
	for i, l := range m.letters {
		if l.message != nil && l.message.MessageID == id {
			return l.message, i
		}
	}
	return nil, -1
}

// taskEnded drops what the agent needs no more once its task is over.
func (m *mail) taskEnded(taskID string) {
	kept := m.letters[:0]
	for _, l := range m.letters {
		if t, _ := l.answers(); l.message == nil && t == taskID {
			m.bytes -= l.size()
			continue
		}
		kept = append(kept, l)
	}
	clear(m.letters[len(kept):])
	m.letters = kept
}
