package engine

import (
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/core"
)

// maxMessageKept is up to how many bytes of replies are kept for each task, for messages that are sent again. Others
// are read from the journal.
const maxMessageKept = 1 << 20

// exchanges holds the messages between roles and the questions to people of a run of an org chart.
type exchanges struct {
	pending atomic.Int64 // bytes that wait in the inbox

	byID      map[string]*exchange      // of tasks that are out, by message id
	byAsk     map[askKey]*exchange      // the same, by what the agent calls them
	tasks     map[string]*taskExchanges // by task
	list      []*exchange               // those that wait for a reply, the oldest first
	questions map[string]*exchange      // those that people are asked, by question id
	callers   int                       // exchanges that wait for an agent to be bound
	used      map[askKey]struct{}       // turns for messages whose usage counts, by agent and message
	held      []heldReply               // while the execution is parked

	touched []*core.Question // put in the change at hand
	by      *change          // that change
}

// askKey identifies a message of an agent: by its task, and the id that the agent gave it.
type askKey struct{ task, ask string }

// taskExchanges holds the exchanges of one task.
type taskExchanges struct {
	exchanges []*exchange
	open      int
	kept      int // bytes of replies
}

// exchange is one message, from its arrival until its task is over.
type exchange struct {
	sentData
	since time.Time // when the one who is asked now was asked
	// expires is when a question expires that was asked before a restart; zero: when the question says.
	expires time.Time
	asked   []askedRole
	asking  *instance // that is asked now
	caller  *roleRun  // that it waits for an agent of

	question *core.Question  // that people are asked now
	answer   json.RawMessage // of people, read in the journal, while the reply is not journaled
	surfaced bool            // it left the roles
	expired  bool            // its question did, read in the journal
	reply    *repliedData
	closed   bool
}

// askedRole is an agent that was asked.
type askedRole struct{ role, agent string }

// open reports whether it waits for a reply.
func (l *exchange) open() bool { return l.WantsReply && l.reply == nil && !l.closed }

// askedOf returns the role in which an agent was asked.
func (l *exchange) askedOf(agent string) (string, bool) {
	for _, a := range slices.Backward(l.asked) {
		if a.agent == agent {
			return a.role, true
		}
	}
	return "", false
}

// outAt returns a task that is out at that agent, or nil.
func (r *chartRun) outAt(task, agent string) *leaf {
	l := r.leaves[task]
	if l == nil || l.state != attemptOut || l.agent != agent {
		return nil
	}
	return l
}

// file keeps an exchange.
func (r *chartRun) file(l *exchange) {
	m := &r.exchanges
	if m.byID == nil {
		m.byID, m.byAsk, m.tasks = map[string]*exchange{}, map[askKey]*exchange{}, map[string]*taskExchanges{}
		m.questions = map[string]*exchange{}
	}
	m.byID[l.MessageID] = l
	m.byAsk[askKey{l.TaskID, l.AskID}] = l
	of := m.tasks[l.TaskID]
	if of == nil {
		of = &taskExchanges{}
		m.tasks[l.TaskID] = of
	}
	of.exchanges = append(of.exchanges, l)
	if l.open() {
		of.open++
		m.list = append(m.list, l)
	}
	r.eng.exchanges.Store(l.MessageID, r)
}

// unlist takes an exchange, which was open, from those that wait for a reply.
func (r *chartRun) unlist(l *exchange, now time.Time) {
	r.stopAsking(l)
	m := &r.exchanges
	m.list = slices.DeleteFunc(m.list, func(other *exchange) bool { return other == l })
	if of := m.tasks[l.TaskID]; of != nil {
		of.open--
	}
	if task := r.outAt(l.TaskID, l.AgentID); task != nil {
		task.unpause(now)
	}
}

// stopAsking notes that no answer to the message is waited for any more.
func (r *chartRun) stopAsking(l *exchange) {
	if l.asking != nil {
		l.asking.asked--
		l.asking = nil
	}
	if l.caller != nil {
		l.caller.callers--
		r.exchanges.callers--
		l.caller = nil
	}
}

// reply ends an exchange with its answer, which goes to the asker.
func (r *chartRun) reply(c *change, l *exchange, from, agent string, content json.RawMessage) {
	data := &repliedData{MessageID: l.MessageID, From: from, AgentID: agent, Content: content}
	if l.question != nil {
		data.QuestionID = l.question.ID
		r.closeQuestion(c, l, core.QuestionCancelled)
	}
	r.event(c, core.EventMessageReplied, data)
	r.unlist(l, c.now)
	l.reply, l.Content = data, nil
	if task := r.outAt(l.TaskID, l.AgentID); task != nil {
		if r.parked() {
			r.holdReply(task, l, content, c)
		} else {
			r.carryReply(c, l, task.instance.managed, content)
		}
	}
	if of := r.exchanges.tasks[l.TaskID]; of != nil {
		if of.kept += len(content); of.kept > maxMessageKept {
			of.kept -= len(content)
			l.reply = &repliedData{MessageID: l.MessageID, From: from}
		}
	}
}

// carryReply gives the answer to the asker, once the change is durable.
func (r *chartRun) carryReply(c *change, l *exchange, managed bool, content json.RawMessage) {
	answer := core.AgentReply{MessageID: l.MessageID, AskID: l.AskID, TaskID: l.TaskID, From: l.reply.From, Content: content}
	carrier, agent := r.eng.carrier(managed), l.AgentID
	c.after = append(c.after, func() {
		if _, out := r.stepOf(agent, answer.TaskID); out && !c.over {
			carrier.Reply(agent, answer) // an asker that is gone is reported as lost
		}
	})
}

// replyAgain gives the answer to an asker that asks again.
func (r *chartRun) replyAgain(c *change, l *exchange) {
	task := r.outAt(l.TaskID, l.AgentID)
	if task == nil || r.holds(l) {
		return
	}
	content := l.reply.Content
	if content == nil {
		if content = r.journaledReply(l.MessageID); content == nil {
			return
		}
	}
	r.carryReply(c, l, task.instance.managed, content)
}

// journaledReply reads the content of a reply, or returns nil.
func (r *chartRun) journaledReply(messageID string) json.RawMessage {
	events, err := r.eng.journal(r.eng.detached(), r.exec.ID)
	if err != nil {
		r.eng.log.Warn("a reply cannot be read", "execution", r.exec.ID, "message", messageID, "error", err)
		return nil
	}
	for _, ev := range slices.Backward(events) {
		var d repliedData
		if ev.Type == core.EventMessageReplied && json.Unmarshal(ev.Data, &d) == nil && d.MessageID == messageID {
			return d.Content
		}
	}
	return nil
}

// closeExchange ends an open exchange without an answer, and its question with it.
func (r *chartRun) closeExchange(c *change, l *exchange, reason string) {
	data := messageClosedData{MessageID: l.MessageID, Reason: reason}
	if l.question != nil {
		data.QuestionID = l.question.ID
		r.closeQuestion(c, l, core.QuestionCancelled)
	}
	r.event(c, core.EventMessageClosed, data)
	r.unlist(l, c.now)
	l.closed, l.Content = true, nil
}

// taskOver is called for each attempt at a task that is over, whatever its end: what it asked is closed.
func (r *chartRun) taskOver(c *change, over *leaf) {
	of := r.exchanges.tasks[over.id]
	if of == nil {
		return
	}
	for _, l := range of.exchanges {
		if l.open() {
			r.closeExchange(c, l, "the task is over")
		}
		r.forget(l)
	}
	delete(r.exchanges.tasks, over.id)
}

// forget drops an exchange that is not open.
func (r *chartRun) forget(l *exchange) {
	delete(r.exchanges.byID, l.MessageID)
	delete(r.exchanges.byAsk, askKey{l.TaskID, l.AskID})
	r.eng.exchanges.Delete(l.MessageID)
}

// endExchanges is called at the end of the execution, whatever it is, before its event: open questions are cancelled.
func (r *chartRun) endExchanges(c *change) {
	m := &r.exchanges
	if m.by == c && len(c.questions) == 0 {
		// The store refused the change for good, and with it what became of questions: they were open before.
		for _, q := range m.touched {
			if q.Status != core.QuestionOpen {
				at := c.now
				q.Status, q.Answer, q.AnsweredBy, q.ClosedAt = core.QuestionCancelled, nil, "", &at
				copied := *q
				c.questions = append(c.questions, &copied)
			}
		}
	}
	for _, l := range m.list {
		if l.question != nil && l.question.Status == core.QuestionOpen {
			at := c.now
			l.question.Status, l.question.ClosedAt = core.QuestionCancelled, &at
			r.putQuestion(c, l.question)
		}
	}
	if len(m.byID) > 0 {
		c.after = append(c.after, func() {
			for id := range m.byID {
				r.eng.exchanges.Delete(id)
			}
		})
	}
}
