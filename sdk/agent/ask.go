package agent

import (
	"time"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

const (
	// freshSession is how long a server that was just started may not know yet which tasks are at this agent.
	freshSession = 10 * time.Second
	// unknownPause is the wait before a message of a task unknown to such a server is sent again.
	unknownPause = time.Second
	// limitedPause is the wait before a message that was dropped for its rate is sent again; it doubles, and
	// limitedTries bounds it.
	limitedPause = 2 * time.Second
	limitedTries = 5

	// What was sent is sent again after a resume if it may have been on its way when the connection broke: the
	// server and this side both notice a dead connection well within toldFor.
	toldFor      = time.Minute
	maxTold      = 64
	maxToldBytes = 4 << 20
)

// question is a message that waits for its reply. Its goroutine, that of Ask, sends it; the ledger says when.
type question struct {
	id      string
	task    *Task
	payload []byte
	again   chan time.Duration // how long to wait before it is sent, the first time included; capacity 1
	outcome chan outcome       // capacity 1, and written once

	sent    time.Time // the last time, or zero; guarded by ledger.mu
	limited int       // how often it was refused for the rate; guarded by ledger.mu
}

// outcome is what became of a question.
type outcome struct {
	reply *Reply
	err   error
}

func newQuestion(t *Task, id string, payload []byte) *question {
	return &question{id: id, task: t, payload: payload, again: make(chan time.Duration, 1), outcome: make(chan outcome, 1)}
}

// send has the question sent after a wait. One that is about to be sent needs no second word.
func (q *question) send(wait time.Duration) {
	select {
	case q.again <- wait:
	default:
	}
}

// telling is a message that needs no reply.
type telling struct {
	task    *Task
	id      string
	payload []byte
	at      time.Time

	sent    time.Time   // the last time, or zero; guarded by ledger.mu, as are those below
	limited int         // how often it was refused for the rate
	timer   *time.Timer // of the next time, or nil while none is planned
}

// ask takes a question, and has it sent. It returns why the task asks nothing any more.
func (l *ledger) ask(q *question) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.over(q.task); err != nil {
		return err
	}
	l.questions[q.id] = q
	if q.task.entry.questions++; q.task.entry.questions == 1 {
		q.task.entry.clock.pause()
	}
	q.send(0)
	return nil
}

// over returns why a task says nothing any more, or nil. Called with mu held.
func (l *ledger) over(t *Task) error {
	switch {
	case l.closed:
		return ErrStopped
	case t.entry.dropped || t.entry.state != stateRunning:
		return ErrTaskOver
	}
	return nil
}

// forget drops a question whose asker waits no more.
func (l *ledger) forget(q *question) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(q)
}

// turn reserves a place in the row of messages and returns the time until it comes.
func (l *ledger) turn() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pace.turn(l.now(), l.perSecond)
}

// sendQuestion sends a question, if there is a session; a new session has it sent again.
func (l *ledger) sendQuestion(q *question) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out == nil || l.questions[q.id] != q {
		return
	}
	q.sent = l.now()
	l.pushMessage(q.id, q.payload)
}

// pushMessage puts a message frame into the outbox of the present session. Called with mu held.
func (l *ledger) pushMessage(id string, payload []byte) {
	l.out.push(false, func(b []byte) []byte {
		return protocol.AppendTail(append(appendHead(b, protocol.TypeMessage, id, l.now()), payload...))
	})
}

// replied ends a question with its reply. A reply to anything else is one that came twice, or too late.
func (l *ledger) replied(id string, r Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := l.questions[id]; q != nil {
		l.endQuestion(q, outcome{reply: &r})
	}
}

// refused ends a question that the server refused, or has it sent again when that may help, as it has what was told. It returns
// false if the error is about something else.
func (l *ledger) refused(id string, e protocol.Error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if e.Code == codeRateLimited {
		// The server names one of the frames that it drops in a second: others may be gone too.
		for _, other := range l.questions {
			if other.id != id && !other.sent.IsZero() && now.Sub(other.sent) < limitedPause {
				other.send(limitedPause)
			}
		}
	}
	again := l.toldRefused(id, e)
	q := l.questions[id]
	if q == nil {
		return again
	}
	switch {
	case e.Code == codeRateLimited && q.limited < limitedTries:
		q.send(limitedPause << q.limited)
		q.limited++
	case e.Code == codeNotFound && now.Sub(l.attached) < freshSession:
		q.send(unknownPause)
	default:
		l.endQuestion(q, outcome{err: &MessageError{Code: e.Code, Message: e.Message}})
	}
	return true
}

// Codes of the server that sending again may help against.
const (
	codeRateLimited = "RATE_LIMITED"
	codeNotFound    = "NOT_FOUND"
)

// endQuestion tells the asker what became of its question. Called with mu held.
func (l *ledger) endQuestion(q *question, out outcome) {
	l.remove(q)
	q.outcome <- out
}

// remove takes a question off the books, once. Called with mu held.
func (l *ledger) remove(q *question) {
	if l.questions[q.id] == q {
		delete(l.questions, q.id)
		if q.task.entry.questions--; q.task.entry.questions == 0 {
			q.task.entry.clock.resume()
		}
	}
}

// endQuestions ends the questions of a task that is over. Called with mu held.
func (l *ledger) endQuestions(t *Task, cause error) {
	if t.entry.questions == 0 {
		return
	}
	for _, q := range l.questions {
		if q.task == t {
			l.endQuestion(q, outcome{err: cause})
		}
	}
}

// tell sends a message that needs no reply, and keeps it for a while.
func (l *ledger) tell(m *telling) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.over(m.task); err != nil {
		return err
	}
	m.at = l.now()
	l.told = append(l.told, m)
	size := 0
	for i := len(l.told) - 1; i >= 0; i-- {
		size += len(l.told[i].payload)
		if len(l.told)-i > maxTold || size > maxToldBytes || m.at.Sub(l.told[i].at) > toldFor {
			rest := copy(l.told, l.told[i+1:])
			clear(l.told[rest:])
			l.told = l.told[:rest]
			break
		}
	}
	l.sendTelling(m)
	return nil
}

// sendTelling sends a message that needs no reply, if there is a session. Called with mu held.
func (l *ledger) sendTelling(m *telling) {
	if l.out != nil {
		m.sent = l.now()
		l.pushMessage(m.id, m.payload)
	}
}

// tellLater sends what was told once more after a pause, if it is worth it then. One that is about to be sent needs no second
// word. Called with mu held.
func (l *ledger) tellLater(m *telling, pause time.Duration) {
	if m.timer != nil || l.closed {
		return
	}
	m.timer = time.AfterFunc(pause, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		m.timer = nil
		if l.over(m.task) == nil && l.worthTelling(m) {
			l.sendTelling(m)
		}
	})
}

// worthTelling reports whether a message may be sent once more. Called with mu held.
func (l *ledger) worthTelling(m *telling) bool {
	return l.now().Sub(m.at) <= toldFor && l.tasks[m.task.TaskID] == m.task && l.frames.fits(len(m.payload))
}

// toldRefused has what was told sent again when that may help. It returns false if the error is about something else, or for
// good. Called with mu held.
func (l *ledger) toldRefused(id string, e protocol.Error) (again bool) {
	now := l.now()
	for _, m := range l.told {
		switch {
		case m.id == id && e.Code == codeRateLimited && m.limited < limitedTries:
			l.tellLater(m, limitedPause<<m.limited)
			m.limited++
			again = true
		case m.id == id && e.Code == codeNotFound && now.Sub(l.attached) < freshSession:
			l.tellLater(m, unknownPause)
			again = true
		case m.id != id && e.Code == codeRateLimited && !m.sent.IsZero() && now.Sub(m.sent) < limitedPause:
			l.tellLater(m, limitedPause)
		}
	}
	return again
}

// tellAgain sends what was sent lately once more. Called with mu held, in a new session.
func (l *ledger) tellAgain() {
	for _, m := range l.told {
		if l.worthTelling(m) {
			l.sendTelling(m)
		}
	}
}

// pace spreads frames over time: a second's worth at once, then evenly.
type pace struct {
	next time.Time // when the frames up to now would be sent, evenly spread
}

// turn returns how long the next frame has to wait.
func (p *pace) turn(now time.Time, perSecond int) time.Duration {
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Second / time.Duration(perSecond))
	return max(0, p.next.Sub(now)-time.Second)
}
