package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/orgchart"
)

// topicApproval is the topic of a prompt that asks leave to use a tool. Rules and topic routes may send it to a
// role; without one it goes to people, because a manager must not give leave by default.
const topicApproval = "tool_approval"

// wantsReply reports whether a message waits for an answer. Prompts always do.
func wantsReply(kind core.QuestionKind, messageType string) bool {
	return kind != core.QuestionMessage || orgchart.WantsReply(messageType)
}

// route decides where an exchange goes first.
func (r *chartRun) route(l *exchange) orgchart.Target {
	chart := r.chart.Chart()
	m := orgchart.Message{From: l.Role, Topic: l.Topic, Type: l.MessageType, To: l.Wish}
	switch l.Kind {
	case core.QuestionLogin:
		return orgchart.Target{Behavior: core.BehaviorSurface, Reason: "a login needs people"}
	case core.QuestionApproval:
		explicit := *chart
		explicit.Escalation.Default = core.BehaviorSurface
		return orgchart.Route(&explicit, orgchart.Message{From: l.Role, Topic: topicApproval})
	}
	return orgchart.Route(chart, m)
}

// sendFirst sends an exchange for the first time.
func (r *chartRun) sendFirst(c *change, l *exchange) {
	target := r.route(l)
	l.Reason = target.Reason
	var inst *instance
	var wait bool
	if target.Role != "" {
		l.To = target.Role
		inst, wait = r.pick(l, target.Role, "")
		if inst != nil {
			l.ToAgentID = inst.agent
		}
	}
	l.since = c.now
	r.event(c, core.EventMessageSent, &l.sentData)
	switch {
	case inst != nil:
		r.ask(c, l, inst)
	case !l.WantsReply:
		l.closed = true // who is told, and is not there, is not waited for
	case target.Role == "":
		r.behave(c, l, target)
	case wait:
		r.call(l)
	default:
		r.climb(c, l, fmt.Sprintf("%s has no agent to ask", l.To))
	}
	if !l.WantsReply {
		l.Content = nil
	}
}

// pick chooses the agent of a role that is asked: an idle one first, then the one with the least to answer, never
// the asker itself nor the agent but. Without any, wait reports whether one may be bound.
func (r *chartRun) pick(l *exchange, key, but string) (inst *instance, wait bool) {
	inst, wait = r.find(l, key, but)
	if inst != nil && l.WantsReply && r.parked() {
		return nil, true // with the slot that the execution is to have first
	}
	return inst, wait
}

// find is pick whether the execution has a slot or not.
func (r *chartRun) find(l *exchange, key, but string) (inst *instance, wait bool) {
	role := r.role(key)
	if role == nil {
		return nil, false
	}
	others := 0
	for _, i := range role.instances {
		if i.gone || i.agent == but {
			continue
		}
		if i.agent == l.AgentID {
			others++
			continue
		}
		if inst == nil || (inst.leaf != nil && i.leaf == nil) || (inst.leaf == nil) == (i.leaf == nil) && i.asked < inst.asked {
			inst = i
		}
	}
	switch {
	case inst != nil:
		return inst, false
	case others > 0:
		return nil, false
	case len(role.spawning) > 0:
		return nil, true
	}
	can, only, _ := r.eng.spawnable(role.role)
	return nil, can || !only && r.eng.agents.CountCapable(role.need) > 0
}

// ask sends an exchange to an agent, once the change is durable.
func (r *chartRun) ask(c *change, l *exchange, inst *instance) {
	r.stopAsking(l)
	l.asked = append(l.asked, askedRole{l.To, inst.agent})
	m := core.AgentMessage{
		MessageID: l.MessageID, ExecutionID: r.exec.ID, TaskID: l.TaskID, From: l.Role,
		MessageType: l.MessageType, Topic: l.Topic, Content: l.shown(), WantsReply: l.WantsReply,
	}
	if l.WantsReply {
		l.asking = inst
		inst.asked++
	}
	carrier, agent := r.eng.carrier(inst.managed), inst.agent
	c.after = append(c.after, func() {
		if !c.over && !carrier.Ask(agent, m) { // it may have been lost before it was bound, when this run did not serve it yet
			r.inbox.put(message{kind: msgLost, agent: agent})
		}
	})
}

// shown is the part of an exchange that a role sees; of a prompt its options too.
func (l *exchange) shown() json.RawMessage {
	if l.Kind == core.QuestionMessage {
		return l.Content
	}
	raw, err := json.Marshal(struct {
		Kind    core.QuestionKind     `json:"kind"`
		Text    string                `json:"text"`
		Options []core.QuestionOption `json:"options,omitempty"`
		Answer  string                `json:"answer,omitempty"`
		Prompt  json.RawMessage       `json:"prompt"`
	}{l.Kind, questionText(l.Content), l.Options, answerHint(l.Options), l.Content})
	if err != nil { // the content was checked
		return l.Content
	}
	return raw
}

func answerHint(options []core.QuestionOption) string {
	if len(options) == 0 {
		return ""
	}
	return "answer with the id of one option"
}

// call waits for an agent to be bound to the role.
func (r *chartRun) call(l *exchange) {
	r.stopAsking(l)
	if role := r.role(l.To); role != nil {
		l.caller = role
		role.callers++
		r.exchanges.callers++
	}
}

// answerCalls asks agents that were bound since for exchanges that wait for them.
func (r *chartRun) answerCalls(c *change) {
	if r.exchanges.callers == 0 || c.over {
		return
	}
	for _, l := range slices.Clone(r.exchanges.list) {
		if l.caller == nil {
			continue
		}
		if inst, wait := r.pick(l, l.To, ""); inst != nil {
			r.askNext(c, l, inst, "an agent was bound to "+l.To)
		} else if !wait {
			r.climb(c, l, fmt.Sprintf("%s has no agent to ask", l.To))
		}
		if c.over {
			return
		}
	}
}

// giveUpCalls has exchanges climb that waited for an agent of the role in vain.
func (r *chartRun) giveUpCalls(c *change, role *roleRun, why string) {
	for _, l := range slices.Clone(r.exchanges.list) {
		if l.caller == role && !c.over {
			r.climb(c, l, fmt.Sprintf("no agent could be spawned for %s: %s", l.To, why))
		}
	}
}

// askNext asks another agent of the role that is asked already.
func (r *chartRun) askNext(c *change, l *exchange, inst *instance, reason string) {
	l.ToAgentID, l.since = inst.agent, c.now
	r.event(c, core.EventMessageEscalated, escalatedData{
		MessageID: l.MessageID, To: l.To, ToAgentID: inst.agent, Depth: l.Depth, Reason: reason,
	})
	r.ask(c, l, inst)
}

// turnTo goes on with an exchange whose agent cannot be asked any more: with another of the role, or by climbing.
func (r *chartRun) turnTo(c *change, l *exchange, but, reason string) {
	inst, wait := r.pick(l, l.To, but)
	switch {
	case inst != nil:
		r.askNext(c, l, inst, reason)
	case wait:
		l.ToAgentID = ""
		r.call(l)
	default:
		r.climb(c, l, reason)
	}
}

// climb takes an exchange to the next manager that can be asked, or to what happens above them.
func (r *chartRun) climb(c *change, l *exchange, why string) {
	r.stopAsking(l)
	for !c.over {
		target := r.above(l)
		data := escalatedData{MessageID: l.MessageID, Depth: l.Depth, Reason: why + "; " + target.Reason}
		if target.Role == "" {
			l.surfaced = true
			r.event(c, core.EventMessageEscalated, data)
			r.behave(c, l, target)
			return
		}
		l.To, l.ToAgentID, l.since = target.Role, "", c.now
		l.Depth++
		inst, wait := r.pick(l, l.To, "")
		if inst != nil {
			l.ToAgentID = inst.agent
		}
		data.To, data.ToAgentID, data.Depth = l.To, l.ToAgentID, l.Depth
		r.event(c, core.EventMessageEscalated, data)
		switch {
		case inst != nil:
			r.ask(c, l, inst)
			return
		case wait:
			r.call(l)
			return
		}
		why = fmt.Sprintf("%s has no agent to ask", l.To)
	}
}

// above decides where an exchange goes that the role asked last did not answer.
func (r *chartRun) above(l *exchange) orgchart.Target {
	switch {
	case l.To == "":
		return r.route(l)
	case l.Kind == core.QuestionApproval:
		return orgchart.Target{Behavior: core.BehaviorSurface, Reason: "people decide"}
	}
	return orgchart.Climb(r.chart.Chart(), l.Role, l.To, l.Depth)
}

// behave does what the chart says of an exchange that no role answers.
func (r *chartRun) behave(c *change, l *exchange, target orgchart.Target) {
	l.surfaced = true
	switch target.Behavior {
	case core.BehaviorFail:
		what := "nobody answered"
		if l.To == "" {
			what = "no role is to answer"
		}
		r.failEscalation(c, l, what)
	case core.BehaviorBestEffort:
		r.bestEffort(c)
	default:
		r.askPeople(c, l)
	}
}

// failEscalation ends the execution because an exchange has no answer.
func (r *chartRun) failEscalation(c *change, l *exchange, what string) {
	about := ""
	if l.Topic != "" {
		about = fmt.Sprintf(" on topic %q", l.Topic)
	}
	way := ""
	switch {
	case l.To == "":
		way = " (" + l.Reason + ")"
	case l.Depth > 0:
		way = "; managers it climbed to: " + strconv.Itoa(l.Depth)
	}
	text := fmt.Sprintf("%s a message of type %q%s that role %q sent in step %s%s",
		what, l.MessageType, about, l.Role, l.Step, way)
	details := map[string]any{
		"role": l.Role, "step": l.Step, "messageId": l.MessageID, "messageType": l.MessageType, "depth": l.Depth,
	}
	if l.Topic != "" {
		details["topic"] = l.Topic
	}
	r.fail(c, core.CodeEscalationFailed, text, details)
}

// exchangeDue is the next instant at which exchangesOverdue has something to do; zero: none.
func (r *chartRun) exchangeDue() time.Time {
	var next time.Time
	for _, l := range r.exchanges.list {
		next = sooner(next, r.dueOf(l))
	}
	return next
}

// dueOf is when an open exchange climbs, or its question expires.
func (r *chartRun) dueOf(l *exchange) time.Time {
	switch {
	case l.question != nil && l.expires.IsZero():
		return l.question.ExpiresAt
	case l.question != nil:
		return l.expires
	}
	return l.since.Add(r.chart.Chart().Escalation.Timeout)
}

// exchangesOverdue lets messages climb, and questions expire.
func (r *chartRun) exchangesOverdue(c *change) {
	for _, l := range slices.Clone(r.exchanges.list) {
		if c.over {
			return
		}
		if c.now.Before(r.dueOf(l)) {
			continue
		}
		if l.question != nil {
			r.expire(c, l)
			continue
		}
		r.climb(c, l, fmt.Sprintf("no reply of %s within %d ms", l.To, r.chart.Chart().Escalation.Timeout.Milliseconds()))
	}
}

// instanceOver is called for each instance that is lost; it is not in its role's list any more.
func (r *chartRun) instanceOver(c *change, inst *instance) {
	if inst.asked == 0 {
		return
	}
	for _, l := range slices.Clone(r.exchanges.list) {
		if l.asking == inst && !c.over {
			r.turnTo(c, l, inst.agent, fmt.Sprintf("the agent of %s was lost", l.To))
		}
	}
}
