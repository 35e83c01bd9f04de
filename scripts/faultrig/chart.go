package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
	"github.com/wardroom/wardroom/sdk/agent"
)

// chartPattern is an org chart with a step of every kind. Agents ask each other and people while they work, and what
// they are answered is part of the result: a reply that is lost or altered shows in it.
const chartPattern = "rig-chart"

const chartSource = "name: " + chartPattern + `
version: 1.0.0
structure:
  roles:
    lead: {capabilities: [review]}
    worker: {capabilities: [work], reportsTo: lead, minInstances: 2, maxInstances: 3}
  routing:
    - {from: worker, to: lead, messageTypes: [question]}
  escalation: {defaultBehavior: surface_to_user, timeoutMs: 3000, maxDepth: 2, onMaxDepth: surface_to_user}
workflow:
  input:
    text: {type: string, required: true}
    delay: {type: integer, required: true}
    flaky: {type: boolean, required: true}
  steps:
    - type: parallel
      steps:
        - &draft
          type: assign
          role: worker
          timeout: 60000
          task: '{"text":"${input.text}","delay":${input.delay},"flaky":${input.flaky}}'
        - *draft
        - *draft
    - {type: aggregate, method: majority, output: draft}
    - type: condition
      check: draft != null && draft != 'none'
      then:
        type: assign
        role: worker
        timeout: 60000
        task: '{"text":"${draft}","delay":${input.delay},"ask":"question"}'
      else: {type: assign, role: worker, task: never}
      output: asked
    - {type: review, reviewer: lead, timeout: 60000, subject: {text: "${asked.digest}", delay: "${input.delay}"}, output: review}
    - type: sequential
      output: people
      steps:
        - type: assign
          role: worker
          timeout: 60000
          task: '{"text":"${review.feedback}","delay":${input.delay},"ask":"escalation"}'
    - {type: approve, approver: lead, timeout: 60000, subject: {text: "${people[0].digest}", delay: "${input.delay}"}, output: gate}
  output: {draft: "${draft}", digest: "${gate.feedback}"}
`

// chartTask is the input of a task of the org chart.
type chartTask struct {
	taskInput
	Ask string `json:"ask"` // type of the message that is sent before the answer, or empty
}

// readTask reads the input of a task: that of a flat pattern, or the text or subject of one of the org chart.
func readTask(input json.RawMessage) (t chartTask, kind string, err error) {
	var in struct {
		Type    string          `json:"type"`
		Task    string          `json:"task"`
		Subject json.RawMessage `json:"subject"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return t, "", err
	}
	raw := input
	switch in.Type {
	case "":
	case "assign":
		raw = json.RawMessage(in.Task)
	default:
		raw = in.Subject
	}
	return t, in.Type, json.Unmarshal(raw, &t)
}

// spoken is what everybody answers to a text, agents and people: the same for the same text.
func spoken(text string) string { return digest(json.RawMessage(quote(text))) }

// chartAnswer is an agent's answer to a task of the org chart. It does not name the agent: the answers of several are
// compared.
func chartAnswer(kind, text string) json.RawMessage {
	if kind == "assign" {
		return json.RawMessage(fmt.Sprintf(`{"digest":%q,"confidence":0.9}`, spoken(text)))
	}
	return json.RawMessage(fmt.Sprintf(`{"verdict":"approve","confidence":0.9,"feedback":%q}`, spoken(text)))
}

// ask asks before the answer, if the task says so, and returns the text that is to be answered.
func (t chartTask) ask(ctx context.Context, task *agent.Task) (string, error) {
	if t.Ask == "" {
		return t.Text, nil
	}
	reply, err := task.Ask(ctx, agent.Message{Type: t.Ask, Content: t.Text})
	if err != nil {
		return "", err
	}
	var said string
	if err := reply.Bind(&said); err != nil {
		return "", err
	}
	return t.Text + said, nil
}

// hear answers the message of another role.
func (w *worker) hear(_ context.Context, m *agent.Incoming) (any, error) {
	var text string
	if err := m.Bind(&text); err != nil {
		return nil, err
	}
	return spoken(text), nil
}

// expectChart returns the result that the org chart must have.
func expectChart(in taskInput) any {
	draft := spoken(in.Text)
	asked := spoken(draft + spoken(draft))
	review := spoken(asked)
	people := spoken(review + spoken(review))
	return map[string]any{"draft": draft, "digest": spoken(people)}
}

// talk counts what org charts had to say in a round.
func talk(e *proof.Evidence) (charts, replies int) {
	for id, x := range e.Executions {
		if x.Pattern.Name != chartPattern {
			continue
		}
		charts++
		for _, ev := range e.Journals[id] {
			if ev.Type == "message.replied" {
				replies++
			}
		}
	}
	return charts, replies
}
