package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// replayExchanges takes in one event of the journal; those of other matters are passed over. It is called in the order of
// the journal, before resumeExchanges.
func (r *chartRun) replayExchanges(ev core.Event) error {
	switch ev.Type {
	case core.EventMessageSent:
		l := &exchange{since: ev.Time}
		if err := json.Unmarshal(ev.Data, &l.sentData); err != nil {
			return err
		}
		l.reached()
		r.file(l)
	case core.EventMessageEscalated:
		var d escalatedData
		return r.replayExchange(ev, &d, func() string { return d.MessageID }, func(l *exchange) { l.replayEscalated(ev, d) })
	case core.EventMessageReplied:
		d := &repliedData{}
		return r.replayExchange(ev, d, func() string { return d.MessageID }, func(l *exchange) {
			r.replayClosed(l)
			l.reply = d
		})
	case core.EventMessageClosed:
		var d messageClosedData
		return r.replayExchange(ev, &d, func() string { return d.MessageID }, func(l *exchange) {
			r.replayClosed(l)
			l.closed = true
		})
	case core.EventQuestionAsked:
		var d askedData
		return r.replayExchange(ev, &d, func() string { return d.Question.MessageID }, func(l *exchange) {
			l.question, l.surfaced = &d.Question, true
			r.exchanges.questions[d.Question.ID] = l
			r.freeze(ev.Time)
		})
	case core.EventQuestionAnswered:
		var d answeredData
		return r.replayExchange(ev, &d, func() string { return d.MessageID }, func(l *exchange) {
			r.replayClosed(l)
			l.answer = d.Answer
		})
	case core.EventQuestionExpired:
		var d expiredData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return err
		}
		if l := r.exchanges.questions[d.QuestionID]; l != nil {
			r.replayClosed(l)
			l.expired = true
		}
	}
	return nil
}

// replayExchange reads an event's data and takes it in if its exchange is known.
func (r *chartRun) replayExchange(ev core.Event, into any, id func() string, take func(*exchange)) error {
	if err := json.Unmarshal(ev.Data, into); err != nil {
		return err
	}
	l := r.exchanges.byID[id()]
	if l == nil {
		return fmt.Errorf("message %q was not sent", id())
	}
	take(l)
	return nil
}

// reached notes whom the journal has as asked.
func (l *exchange) reached() {
	if l.ToAgentID != "" {
		l.asked = append(l.asked, askedRole{l.To, l.ToAgentID})
	}
}

func (l *exchange) replayEscalated(ev core.Event, d escalatedData) {
	l.since, l.Depth, l.ToAgentID = ev.Time, d.Depth, d.ToAgentID
	if d.To == "" {
		l.surfaced = true
		return
	}
	l.To = d.To
	l.reached()
}

// replayClosed forgets the question of an exchange. The deadline was moved with it.
func (r *chartRun) replayClosed(l *exchange) {
	if l.question != nil {
		delete(r.exchanges.questions, l.question.ID)
		l.question = nil
		r.frozenBy--
	}
}

// resumeExchanges is called once after a restart, when instances are bound, tasks that were out are adopted and steps that
// wait are in line: what is open goes on, and what belongs to tasks that are no more is closed.
func (r *chartRun) resumeExchanges(c *change) {
	m := &r.exchanges
	all := inOrder(m.tasks)
	r.frozenAt = begunAt(c.now, r.frozenAt)
	m.list, m.tasks = nil, map[string]*taskExchanges{}
	for _, l := range all {
		of := m.tasks[l.TaskID]
		if of == nil {
			of = &taskExchanges{}
			m.tasks[l.TaskID] = of
		}
		of.exchanges = append(of.exchanges, l)
		if !l.open() {
			l.Content = nil
			continue
		}
		l.since = begunAt(c.now, l.since)
		if q := l.question; q != nil {
			l.expires = believe(c.now, q.CreatedAt, q.ExpiresAt)
		}
		of.open++
		m.list = append(m.list, l)
		if task := r.outAt(l.TaskID, l.AgentID); task != nil {
			task.pause(c.now)
		}
	}
	for _, l := range all {
		if c.over {
			return
		}
		if r.outAt(l.TaskID, l.AgentID) == nil {
			r.dropExchange(c, l)
		} else {
			r.resumeExchange(c, l)
		}
	}
}

// inOrder lists the exchanges of tasks, the oldest first.
func inOrder(tasks map[string]*taskExchanges) []*exchange {
	var list []*exchange
	for _, of := range tasks {
		list = append(list, of.exchanges...)
	}
	slices.SortFunc(list, func(a, b *exchange) int { return strings.Compare(a.MessageID, b.MessageID) })
	return list
}

// dropExchange closes an exchange whose task is not at its agent any more.
func (r *chartRun) dropExchange(c *change, l *exchange) {
	if l.open() {
		r.closeExchange(c, l, "the task is over")
	}
	r.forget(l)
	of := r.exchanges.tasks[l.TaskID]
	if of.exchanges = slices.DeleteFunc(of.exchanges, func(other *exchange) bool { return other == l }); len(of.exchanges) == 0 {
		delete(r.exchanges.tasks, l.TaskID)
	}
}

// resumeExchange goes on with an exchange whose task is at its agent.
func (r *chartRun) resumeExchange(c *change, l *exchange) {
	switch {
	case l.reply != nil:
		if r.parked() && r.exec.Waiting.For == core.WaitForSlot { // the asker may not have it
			r.holdReply(r.outAt(l.TaskID, l.AgentID), l, l.reply.Content, c)
		} else {
			r.replyAgain(c, l)
		}
		of := r.exchanges.tasks[l.TaskID]
		if of.kept += len(l.reply.Content); of.kept > maxMessageKept {
			of.kept -= len(l.reply.Content)
			l.reply = &repliedData{MessageID: l.MessageID, From: l.reply.From}
		}
	case !l.open():
	case l.expired:
		r.failEscalation(c, l, "people did not answer in time")
	case l.answer != nil:
		if content, ok := l.answerOfPeople(l.answer); ok {
			r.reply(c, l, core.FromPeople, "", content)
		}
	case l.question != nil:
	case l.To == "" || l.surfaced:
		r.behave(c, l, r.above(l))
	case l.ToAgentID == "":
		r.turnTo(c, l, "", l.To+" has no agent to ask")
	default:
		r.askAgain(c, l)
	}
}

// askAgain asks the agent that the journal has as asked, or another when it is gone. The time that it has goes on.
func (r *chartRun) askAgain(c *change, l *exchange) {
	if role := r.role(l.To); role != nil {
		for _, inst := range role.instances {
			if inst.agent == l.ToAgentID && !inst.gone {
				r.ask(c, l, inst)
				return
			}
		}
	}
	r.turnTo(c, l, "", fmt.Sprintf("the agent of %s was lost", l.To))
}
