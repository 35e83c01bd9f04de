package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// Bounds of the messages that wait for a handler. Others are dropped; the server sends them again after a
// reconnect, or asks somebody else once their time is over.
const (
	maxWaitingMessages = 1024
	maxWaitingBytes    = 32 << 20
)

// Incoming is a message of another role, or of a person. The fields are those of the wire; a handler must not
// change them.
type Incoming struct {
	protocol.MessageDelivery
}

// Bind decodes the message's content into v.
func (m *Incoming) Bind(v any) error {
	if err := json.Unmarshal(m.Content, v); err != nil {
		return fmt.Errorf("agent: content of message %s: %w", m.MessageID, err)
	}
	return nil
}

// letter is a message on its way through the inbox. Guarded by inbox.mu.
type letter struct {
	incoming Incoming
	answer   *answer // known before: it is only to be sent again; or nil
	repeated bool    // it came again meanwhile
	dropped  bool    // the session was lost for good
	cancel   context.CancelCauseFunc
}

// inbox knows the messages of other roles from their arrival to their answer, and the latest answers. Safe for
// concurrent use.
type inbox struct {
	limit int // handlers at once

	mu       sync.Mutex         // guards all below, and each letter
	known    map[string]*letter // by message id: waiting or at work
	queue    []*letter          // waiting, oldest first
	bytes    int                // of the content that waits
	running  int
	answered recentAnswers // by message id
	closed   bool
}

func newInbox(limit int) *inbox { return &inbox{limit: limit, known: make(map[string]*letter)} }

// admit takes a message and returns it if it is to be worked on now. full tells that it was dropped.
func (b *inbox) admit(m protocol.MessageDelivery) (now *letter, full bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || m.MessageID == "" {
		return nil, false
	}
	if l := b.known[m.MessageID]; l != nil {
		l.repeated = true
		return nil, false
	}
	if len(b.queue) >= maxWaitingMessages || b.bytes > maxWaitingBytes {
		return nil, true
	}
	l := &letter{incoming: Incoming{m}, answer: b.answered.find(m.MessageID)}
	b.known[m.MessageID] = l
	if b.running < b.limit {
		b.running++
		return l, false
	}
	b.enqueue(l)
	return nil, false
}

// started makes a letter at work one that can be cancelled.
func (b *inbox) started(l *letter, cancel context.CancelCauseFunc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.cancel = cancel
	if l.dropped {
		cancel(ErrReassigned)
	}
}

// handled notes the answer of a letter, nil if there is none, and returns whether it is to be sent.
func (b *inbox) handled(l *letter, a *answer) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.cancel = nil
	if l.dropped || a == nil {
		return false
	}
	l.answer = a
	b.answered.add(a)
	return true
}

// next is done with a letter and returns the one that takes its place, or nil. A letter that came again while it
// was worked on is answered again: its first answer may have gone into a connection that broke.
func (b *inbox) next(l *letter) *letter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !l.dropped {
		delete(b.known, l.incoming.MessageID)
		if l.repeated && l.answer != nil && !b.closed {
			again := &letter{incoming: l.incoming, answer: l.answer}
			b.known[l.incoming.MessageID] = again
			b.enqueue(again)
		}
	}
	if len(b.queue) == 0 {
		b.running--
		return nil
	}
	first := b.queue[0]
	b.queue[0] = nil
	b.queue = b.queue[1:]
	b.bytes -= len(first.incoming.Content)
	return first
}

// enqueue has a letter wait. Called with mu held.
func (b *inbox) enqueue(l *letter) {
	b.queue = append(b.queue, l)
	b.bytes += len(l.incoming.Content)
}

// reset drops all messages: they were for an agent that the server has forgotten.
func (b *inbox) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.known {
		l.dropped = true
		if l.cancel != nil {
			l.cancel(ErrReassigned)
		}
	}
	clear(b.known)
	b.queue, b.bytes = nil, 0
}

// close takes nothing new. Cancelling what runs is up to the agent.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.queue, b.bytes = true, nil, 0
}

// take takes a message that arrived. It is called by the reading goroutine.
func (a *Agent) take(work context.Context, m protocol.MessageDelivery) {
	l, full := a.inbox.admit(m)
	if full {
		a.opts.Logger.Warn("agent dropped a message: too many wait", "agent", a.ID(), "message", m.MessageID)
	}
	if l == nil {
		return
	}
	a.handlers.Go(func() {
		for l != nil {
			a.answer(work, l)
			l = a.inbox.next(l)
		}
	})
}

// answer answers one message.
func (a *Agent) answer(work context.Context, l *letter) {
	ans := l.answer // set before the letter was shared with this goroutine
	if ans == nil {
		ctx, cancel := context.WithCancelCause(work)
		a.inbox.started(l, cancel)
		ans = a.consider(ctx, &l.incoming)
		cancel(nil)
		if !a.inbox.handled(l, ans) {
			return
		}
	}
	if !a.maxFrame.fits(len(ans.result)) {
		a.opts.Logger.Warn("agent has a reply that the server does not take any more", "agent", a.ID(), "message", ans.taskID)
		return
	}
	if wait := a.ledger.turn(); wait > 0 {
		select {
		case <-time.After(wait):
		case <-work.Done():
			return
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.online != nil { // else the message comes again with the next session
		pushFrame(a.online, protocol.TypeMessageReply, "", protocol.MessageReply{MessageID: ans.taskID, Content: ans.result})
	}
}

// consider calls the handler and makes an answer of what it returns; nil if there is none.
func (a *Agent) consider(ctx context.Context, m *Incoming) *answer {
	ans := &answer{taskID: m.MessageID}
	if a.opts.OnMessage == nil {
		if m.WantsReply {
			a.opts.Logger.Warn("agent got a question and has no handler for messages", "agent", a.ID(), "message", m.MessageID)
			return nil
		}
		return ans
	}
	value, err := a.callMessage(ctx, m)
	if err == nil && m.WantsReply {
		ans.result, err = encodeResult(value)
		if err == nil && !a.maxFrame.fits(len(ans.result)) {
			err = fmt.Errorf("the reply has %d bytes, the server takes frames of %d", len(ans.result), a.maxFrame.Load())
		}
	}
	switch {
	case err == nil:
		return ans
	case ctx.Err() == nil || !errors.Is(err, ctx.Err()):
		a.opts.Logger.Warn("agent has no reply to a message", "agent", a.ID(), "message", m.MessageID, "error", err)
	}
	return nil
}

// callMessage calls the handler. A panic becomes an error.
func (a *Agent) callMessage(ctx context.Context, m *Incoming) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			a.opts.Logger.Error("agent message handler panicked", "message", m.MessageID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the handler panicked: %v", p)
		}
	}()
	return a.opts.OnMessage(ctx, m)
}
