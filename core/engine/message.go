package engine

import "github.com/wardroom/wardroom/core"

// MessageReceived implements core.TaskSink.
func (e *Engine) MessageReceived(m core.TaskMessage) {
	if m.Refuse != nil {
		m.Refuse(core.Errorf(core.CodeNotFound, "task %s is not out", m.TaskID))
	}
}

// MessageReplied implements core.TaskSink.
func (e *Engine) MessageReplied(r core.MessageReply) {
	if r.Refuse != nil {
		r.Refuse(core.Errorf(core.CodeNotFound, "message %s is not open", r.MessageID))
	}
}

// MessageWithdrawn implements core.TaskSink.
func (e *Engine) MessageWithdrawn(agentID, taskID, askID string) {}
