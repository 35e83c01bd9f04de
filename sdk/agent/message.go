package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// Message is a message that a handler sends to another role of an org chart while it works on a task.
type Message struct {
	// Type is the type that the chart routes on: question, escalation, task, feedback, or another word. Default:
	// question for Ask, feedback for Tell.
	Type string
	// Topic is the topic that the chart routes on first.
	Topic string
	// To names a role. Empty: as the chart routes it.
	To string
	// Content is the message, encoded as JSON.
	Content any
}

// Reply is the answer to a message.
type Reply struct {
	MessageID string
	From      string // the role that answered, or user
	Content   json.RawMessage
}

// Bind decodes the reply's content into v.
func (r *Reply) Bind(v any) error {
	if err := json.Unmarshal(r.Content, v); err != nil {
		return fmt.Errorf("agent: reply %s: %w", r.MessageID, err)
	}
	return nil
}

// Ask sends a message to another role and waits for the reply: seconds from an agent, days from a person. The task's
// time stands still meanwhile. It outlives lost connections. It returns ctx's cause when ctx ends, the cause of the task's end
// (a *CancelledError, ErrReassigned, ErrStopped or ErrTaskOver) when the task ends first, and a *MessageError when
// the message goes nowhere. Messages of one agent are sent at most 40 a second, or slower as the server tells.
func (t *Task) Ask(ctx context.Context, m Message) (*Reply, error) {
	a := t.agent
	switch {
	case a.opts.Inline:
		return nil, ErrInline
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	payload, err := t.message(m, "question")
	if err != nil {
		return nil, err
	}
	q := newQuestion(t, a.asked.next(), payload)
	if err := a.ledger.ask(q); err != nil {
		return nil, err
	}
	defer a.ledger.forget(q)
	var due <-chan time.Time // or nil while nothing is to be sent
	for {
		select {
		case wait := <-q.again:
			if due == nil {
				due = time.After(max(wait, a.ledger.turn()))
			}
		case <-due:
			due = nil
			a.ledger.sendQuestion(q)
		case out := <-q.outcome:
			return out.reply, out.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Tell sends a message that needs no reply. It waits only for its turn, see Ask. While there is no connection the
// message is kept, up to 64 of them, and what was told in the last minute is sent again after a lost connection,
// which the server notices, and while the handler runs when the server dropped it for its rate. A refusal by the server is
// logged. It returns errors as Ask does.
func (t *Task) Tell(ctx context.Context, m Message) error {
	payload, err := t.message(m, "feedback")
	if err != nil {
		return err
	}
	l := t.agent.ledger
	if wait := l.turn(); wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return l.tell(&telling{task: t, id: t.agent.asked.next(), payload: payload})
}

// message encodes the payload of a message frame.
func (t *Task) message(m Message, usual string) ([]byte, error) {
	content, err := encodeResult(m.Content)
	if err != nil {
		if bad, ok := errors.AsType[*Error](err); ok {
			err = &MessageError{Code: "VALIDATION_ERROR", Message: "content: " + bad.Message}
		}
		return nil, err
	}
	m.Type = cmp.Or(m.Type, usual)
	payload, err := json.Marshal(protocol.Message{
		TaskID: t.TaskID, MessageType: m.Type, Topic: m.Topic, To: m.To, Content: content,
	})
	if err != nil {
		return nil, &MessageError{Code: "VALIDATION_ERROR", Message: err.Error()}
	}
	if !t.agent.maxFrame.fits(len(payload)) {
		return nil, t.agent.maxFrame.refusal(len(payload))
	}
	return payload, nil
}

// messageIDs makes the ids of messages. A new process must not use those of an earlier one: the server takes a
// known id for the same message.
type messageIDs struct {
	prefix string
	count  *atomic.Uint64
}

func newMessageIDs() messageIDs {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the process rather
	return messageIDs{prefix: "ask-" + hex.EncodeToString(b[:]) + "-", count: new(atomic.Uint64)}
}

func (m messageIDs) next() string { return m.prefix + strconv.FormatUint(m.count.Add(1), 10) }
