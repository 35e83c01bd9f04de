package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Bounds of what agents say to each other.
const (
	maxMessageContent  = 256 << 10 // bytes of a message, a reply or an answer
	maxMessageWord     = 128       // bytes of a message type, a topic or the name of a role
	maxMessageOpen     = 100       // messages of one task that wait for a reply
	maxMessageTask     = 1000      // messages of one task in all
	maxMessagesPending = 32 << 20  // bytes that wait for one execution, while its store is slow
	messageOverhead    = 512       // bytes that a message counts beside its content
)

// exchangeMessage is the content of a message of kind msgExchange in the inbox.
type exchangeMessage struct{ item exchangeItem }

// exchangeItem is one thing that happened to the messages of an execution.
type exchangeItem interface {
	handle(r *chartRun, c *change)
	refuse(r *run) // the execution is over
	abandon()      // the engine stops
}

// refuse answers one that came after the end of its execution.
func (m *exchangeMessage) refuse(r *run) { m.item.refuse(r) }

// abandon answers one that came while the engine stops.
func (m *exchangeMessage) abandon() { m.item.abandon() }

// handleExchange takes messages of the inbox that are not the run's own: those of messages and questions.
func (r *chartRun) handleExchange(m message, c *change) { m.exchange.item.handle(r, c) }

// MessageReceived implements core.TaskSink.
func (e *Engine) MessageReceived(m core.TaskMessage) {
	if m.Refuse == nil {
		m.Refuse = func(*core.Error) {}
	}
	r := e.runOfTask(m.TaskID)
	if r == nil {
		m.Refuse(taskNotOut(m.TaskID))
		return
	}
	chart, ok := r.body.(*chartRun)
	if !ok {
		m.Refuse(core.Invalid("taskId", "belongs to a flat pattern; only org charts route messages"))
		return
	}
	completeMessage(&m)
	if err := checkMessage(&m); err != nil {
		m.Refuse(err)
		return
	}
	size := int64(len(m.Content)) + messageOverhead
	if chart.exchanges.pending.Add(size) > maxMessagesPending {
		chart.exchanges.pending.Add(-size)
		m.Refuse(messageLimit(maxMessagesPending, "bytes of messages wait for the execution already; send it again later"))
		return
	}
	if !r.inbox.put(message{kind: msgExchange, exchange: exchangeMessage{&received{m, size}}}) && !e.stopping() {
		m.Refuse(taskNotOut(m.TaskID))
	}
}

func taskNotOut(id string) *core.Error {
	return core.NotFound("task", id)
}

func messageLimit(limit int, what string) *core.Error {
	return core.RateLimited(int64(limit), 0, 0, "%d %s", limit, what)
}

// completeMessage names what a spawned agent's prompt is when the prompt does not say.
func completeMessage(m *core.TaskMessage) {
	switch m.Kind {
	case core.QuestionDialog:
		m.MessageType = cmp.Or(m.MessageType, "question")
	case core.QuestionApproval:
		m.MessageType = cmp.Or(m.MessageType, string(core.QuestionApproval))
		m.Topic = cmp.Or(m.Topic, topicApproval)
	case core.QuestionLogin:
		m.MessageType = cmp.Or(m.MessageType, string(core.QuestionLogin))
	default:
		m.Kind = core.QuestionMessage
	}
}

// checkMessage judges a message by itself.
func checkMessage(m *core.TaskMessage) *core.Error {
	switch {
	case m.AskID == "" || len(m.AskID) > 2*maxMessageWord:
		return core.Invalid("id", "must be 1 to %d bytes that name the message for ever", 2*maxMessageWord)
	case m.MessageType == "":
		return core.Invalid("messageType", "is missing; send question, escalation, task, feedback or another word")
	case !isWord(m.MessageType):
		return core.Invalid("messageType", "must be a word of at most %d bytes", maxMessageWord)
	case !isWord(m.Topic):
		return core.Invalid("topic", "must be a word of at most %d bytes", maxMessageWord)
	case !isWord(m.To):
		return core.Invalid("to", "must be the key of a role, at most %d bytes", maxMessageWord)
	}
	return checkContent("content", m.Content)
}

// isWord reports whether s is printable and not too long; the empty text is.
func isWord(s string) bool {
	return len(s) <= maxMessageWord && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// checkContent judges the JSON of a message, a reply or an answer.
func checkContent(field string, content json.RawMessage) *core.Error {
	switch {
	case len(content) == 0:
		return core.Invalid(field, "is missing; send any JSON value")
	case len(content) > maxMessageContent:
		return core.Invalid(field, "is %d bytes long; at most %d are taken", len(content), maxMessageContent)
	case !json.Valid(content):
		return core.Invalid(field, "must be JSON")
	}
	return nil
}

// MessageReplied implements core.TaskSink.
func (e *Engine) MessageReplied(m core.MessageReply) {
	if m.Refuse == nil {
		m.Refuse = func(*core.Error) {}
	}
	if err := checkContent("content", m.Content); err != nil {
		m.Refuse(err)
		return
	}
	found, ok := e.exchanges.Load(m.MessageID)
	if !ok {
		m.Refuse(core.NotFound("message", m.MessageID))
		return
	}
	r := found.(*chartRun)
	size := int64(len(m.Content)) + messageOverhead
	if r.exchanges.pending.Add(size) > maxMessagesPending {
		r.exchanges.pending.Add(-size)
		m.Refuse(messageLimit(maxMessagesPending, "bytes of messages wait for the execution already; send it again later"))
		return
	}
	r.inbox.put(message{kind: msgExchange, exchange: exchangeMessage{&replied{m, size}}})
}

// MessageUsed implements core.RoleSink.
func (e *Engine) MessageUsed(executionID, agentID, messageID string, usage *wire.Usage) {
	r := e.activeRun(executionID)
	if r == nil || usage == nil {
		return
	}
	if _, ok := r.body.(*chartRun); ok {
		r.inbox.put(message{kind: msgExchange, exchange: exchangeMessage{&used{usedData{messageID, agentID, usage}}}})
	}
}

// used holds the usage of a turn in which an agent got a message.
type used struct{ usedData }

func (m *used) refuse(*run) {}
func (m *used) abandon()    {}

func (m *used) handle(r *chartRun, c *change) {
	if !c.over && r.usedBy(m.usedData) {
		r.event(c, core.EventMessageUsed, m.usedData)
	}
}

// usedBy adds the usage of a message's turn to the sum and reports whether it is news: after a restart an agent is asked
// again, and tells of the same turn.
func (r *chartRun) usedBy(d usedData) bool {
	key := askKey{d.AgentID, d.MessageID}
	if _, known := r.exchanges.used[key]; known {
		return false
	}
	if r.exchanges.used == nil {
		r.exchanges.used = map[askKey]struct{}{}
	}
	r.exchanges.used[key] = struct{}{}
	r.uses(d.Usage)
	return true
}

// MessageWithdrawn implements core.TaskSink.
func (e *Engine) MessageWithdrawn(agentID, taskID, askID string) {
	r := e.runOfTask(taskID)
	if r == nil {
		return
	}
	if _, ok := r.body.(*chartRun); ok {
		r.inbox.put(message{kind: msgExchange, exchange: exchangeMessage{&withdrawn{agentID, askKey{taskID, askID}}}})
	}
}

// received is a message of an agent.
type received struct {
	core.TaskMessage
	size int64
}

func (m *received) refuse(*run) { m.Refuse(taskNotOut(m.TaskID)) }

// abandon says nothing: the agent sends it again after the restart.
func (m *received) abandon() {}

func (m *received) handle(r *chartRun, c *change) {
	r.exchanges.pending.Add(-m.size)
	task := r.outAt(m.TaskID, m.AgentID)
	if c.over || task == nil {
		m.Refuse(taskNotOut(m.TaskID))
		return
	}
	if old := r.exchanges.byAsk[askKey{m.TaskID, m.AskID}]; old != nil {
		if old.reply != nil {
			r.replyAgain(c, old)
		}
		return
	}
	of := r.exchanges.tasks[m.TaskID]
	switch {
	case of == nil:
	case len(of.exchanges) >= maxMessageTask:
		m.Refuse(core.Invalid("taskId", "%d messages were sent for this task; no more are taken", maxMessageTask))
		return
	case of.open >= maxMessageOpen:
		m.Refuse(messageLimit(maxMessageOpen, "messages of this task wait for a reply; wait for one of them"))
		return
	}
	l := &exchange{sentData: sentData{
		MessageID: r.eng.ids.New(core.PrefixMessage), AskID: m.AskID, TaskID: m.TaskID, Step: task.step.Path,
		Role: task.role.role.Key, AgentID: m.AgentID, Kind: m.Kind, MessageType: m.MessageType, Topic: m.Topic,
		Content: m.Content, Options: m.Options, URL: m.URL, Wish: m.To, WantsReply: wantsReply(m.Kind, m.MessageType),
	}}
	r.file(l)
	if l.open() {
		task.pause(c.now)
	}
	r.sendFirst(c, l)
}

// replied is the answer of an agent to a message.
type replied struct {
	core.MessageReply
	size int64
}

func (m *replied) refuse(*run) { m.Refuse(core.NotFound("message", m.MessageID)) }

// abandon says nothing: the agent is asked again after the restart.
func (m *replied) abandon() {}

// handle takes the first answer of any agent that was asked. A later one is worth no word.
func (m *replied) handle(r *chartRun, c *change) {
	r.exchanges.pending.Add(-m.size)
	l := r.exchanges.byID[m.MessageID]
	role, ok := "", false
	if l != nil {
		role, ok = l.askedOf(m.AgentID)
	}
	if c.over || !ok {
		m.Refuse(core.NotFound("message", m.MessageID))
		return
	}
	if !l.open() {
		return
	}
	content, ok := l.answerOf(m.Content)
	if !ok {
		if l.asking != nil && l.asking.agent == m.AgentID {
			r.climb(c, l, fmt.Sprintf("the answer of %s names none of the options", role))
		}
		return
	}
	r.reply(c, l, role, m.AgentID, content)
}

// withdrawn says that a message needs no answer any more.
type withdrawn struct {
	agent string
	key   askKey
}

func (m *withdrawn) refuse(*run) {}
func (m *withdrawn) abandon()    {}

func (m *withdrawn) handle(r *chartRun, c *change) {
	if l := r.exchanges.byAsk[m.key]; !c.over && l != nil && l.AgentID == m.agent && l.open() {
		r.closeExchange(c, l, "its asker needs no answer any more")
	}
}
