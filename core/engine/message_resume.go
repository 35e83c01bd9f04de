package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// replayMail takes in one event of the journal; those of other matters are passed over. It is called in the order of
// the journal, before resumeMail.
func (r *chartRun) replayMail(ev core.Event) error {
	switch ev.Type {
	case core.EventMessageSent:
		l := &letter{since: ev.Time}
		if err := json.Unmarshal(ev.Data, &l.sentData); err != nil {
			return err
		}
		l.reached()
		r.file(l)
	case core.EventMessageEscalated:
		var d escalatedData
		return r.replayLetter(ev, &d, func() string { return d.MessageID }, func(l *letter) { l.replayEscalated(ev, d) })
	case core.EventMessageReplied:
		d := &repliedData{}
		return r.replayLetter(ev, d, func() string { return d.MessageID }, func(l *letter) {
			r.replayClosed(l)
			l.reply = d
		})
	case core.EventMessageClosed:
		var d messageClosedData
		return r.replayLetter(ev, &d, func() string { return d.MessageID }, func(l *letter) {
			r.replayClosed(l)
			l.closed = true
		})
	case core.EventQuestionAsked:
		var d askedData
		return r.replayLetter(ev, &d, func() string { return d.Question.MessageID }, func(l *letter) {
			l.question, l.surfaced = &d.Question, true
			r.mail.questions[d.Question.ID] = l
			r.freeze(ev.Time)
		})
	case core.EventQuestionAnswered:
		var d answeredData
		return r.replayLetter(ev, &d, func() string { return d.MessageID }, func(l *letter) {
			r.replayClosed(l)
			l.answer = d.Answer
		})
	case core.EventQuestionExpired:
		var d expiredData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return err
		}
		if l := r.mail.questions[d.QuestionID]; l != nil {
			r.replayClosed(l)
			l.expired = true
		}
	}
	return nil
}

// replayLetter reads an event's data and takes it in if its letter is known.
func (r *chartRun) replayLetter(ev core.Event, into any, id func() string, take func(*letter)) error {
	if err := json.Unmarshal(ev.Data, into); err != nil {
		return err
	}
	l := r.mail.letters[id()]
	if l == nil {
		return fmt.Errorf("message %q was not sent", id())
	}
	take(l)
	return nil
}

// reached notes whom the journal has as asked.
func (l *letter) reached() {
	if l.ToAgentID != "" {
		l.asked = append(l.asked, askedRole{l.To, l.ToAgentID})
	}
}

func (l *letter) replayEscalated(ev core.Event, d escalatedData) {
	l.since, l.Depth, l.ToAgentID = ev.Time, d.Depth, d.ToAgentID
	if d.To == "" {
		l.surfaced = true
		return
	}
	l.To = d.To
	l.reached()
}

// replayClosed forgets the question of a letter. The deadline was moved with it.
func (r *chartRun) replayClosed(l *letter) {
	if l.question != nil {
		delete(r.mail.questions, l.question.ID)
		l.question = nil
		r.frozenBy--
	}
}

// resumeMail is called once after a restart, when instances are bound, tasks that were out are adopted and steps that
// wait are in line: what is open goes on, and what belongs to tasks that are no more is closed.
func (r *chartRun) resumeMail(c *change) {
	m := &r.mail
	all := inOrder(m.tasks)
	m.list, m.tasks = nil, map[string]*taskMail{}
	for _, l := range all {
		of := m.tasks[l.TaskID]
		if of == nil {
			of = &taskMail{}
			m.tasks[l.TaskID] = of
		}
		of.letters = append(of.letters, l)
		if !l.open() {
			l.Content = nil
			continue
		}
		if l.since.After(c.now) { // the clock was set back
			l.since = c.now
		}
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
			r.dropLetter(c, l)
		} else {
			r.resumeLetter(c, l)
		}
	}
}

// inOrder lists the letters of tasks, the oldest first.
func inOrder(tasks map[string]*taskMail) []*letter {
	var list []*letter
	for _, of := range tasks {
		list = append(list, of.letters...)
	}
	slices.SortFunc(list, func(a, b *letter) int { return strings.Compare(a.MessageID, b.MessageID) })
	return list
}

// dropLetter closes a letter whose task is not at its agent any more.
func (r *chartRun) dropLetter(c *change, l *letter) {
	if l.open() {
		r.closeLetter(c, l, "the task is over")
	}
	r.forget(l)
	of := r.mail.tasks[l.TaskID]
	if of.letters = slices.DeleteFunc(of.letters, func(other *letter) bool { return other == l }); len(of.letters) == 0 {
		delete(r.mail.tasks, l.TaskID)
	}
}

// resumeLetter goes on with a letter whose task is at its agent.
func (r *chartRun) resumeLetter(c *change, l *letter) {
	switch {
	case l.reply != nil:
		if r.parked() && r.exec.Waiting.For == core.WaitForSlot { // the asker may not have it
			r.holdReply(r.outAt(l.TaskID, l.AgentID), l, l.reply.Content, c)
		} else {
			r.replyAgain(c, l)
		}
		of := r.mail.tasks[l.TaskID]
		if of.kept += len(l.reply.Content); of.kept > maxMailKept {
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
func (r *chartRun) askAgain(c *change, l *letter) {
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
