package cmd

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/wardroom/wardroom/sdk/client"
)

// eventText returns a line for people about an event.
func eventText(event client.Event, d client.EventData) string {
	switch event.Type {
	case client.EventStarted:
		return clean(d.ExecutionID)
	case client.EventAgentResult:
		return clean(withStep(d.AgentID, d.Step)) + "  " + compact(d.Result, 160)
	case client.EventAgentProgress:
		text := shorten(clean(d.Text), 160)
		if text == "" {
			text = compact(d.Data, 160)
		}
		return clean(withStep(d.AgentID, d.Step)) + "  " + text
	case client.EventStepCompleted:
		text := words(d.Step, d.Type, d.Branch) + "  " + compact(d.Result, 160)
		if d.Confidence != nil {
			text += fmt.Sprintf("  confidence %.2f", *d.Confidence)
		}
		return text
	case client.EventCompleted:
		return compact(d.Result, 0)
	case client.EventFailed:
		if d.Error != nil {
			return clean(d.Error.String())
		}
	case client.EventCancelled:
		return clean(d.Reason)
	}
	if text, known := chartEventText(event, d); known {
		return text
	}
	return compact(event.Data, 160)
}

// chartEventText is eventText for the events of an org chart; known is false for others.
func chartEventText(event client.Event, d client.EventData) (text string, known bool) {
	switch event.Type {
	case client.EventStepStarted:
		again := ""
		if d.Round > 0 {
			again = fmt.Sprintf("run %d", d.Round+1)
		}
		return words(d.Step, d.Type, quoted(d.Name), d.Role, again), true
	case client.EventRoleBound:
		e := client.TimelineEntry{AgentID: d.AgentID, Name: d.AgentName, Type: d.AgentType}
		return words(d.Role, cmp.Or(d.AgentName, d.AgentID)+by(&e)), true
	case client.EventRoleReleased:
		return words(d.Role, d.AgentID, d.Reason), true
	case client.EventMessageSent:
		return words(d.Role+arrow(" -> ", d.To), d.MessageType, d.Topic, compact(d.Content, 120)), true
	case client.EventMessageEscalated:
		return words(d.MessageID+arrow(" -> ", d.To), d.Reason), true
	case client.EventMessageReplied:
		return words(d.MessageID, d.From, compact(d.Content, 120)), true
	case client.EventMessageClosed:
		return words(d.MessageID, d.QuestionID, d.Reason), true
	case client.EventQuestionAsked:
		q, err := event.Question()
		if err != nil {
			return "", false
		}
		return words(q.ID, q.Role, shorten(strings.TrimSpace(q.Text), 160)) + "\n  answer it: " + answerCommand(q), true
	case client.EventQuestionAnswered:
		return words(d.QuestionID, d.AnsweredBy, compact(d.Answer, 120)), true
	case client.EventQuestionExpired:
		return words(d.QuestionID), true
	}
	return "", false
}

// words joins what there is of texts.
func words(texts ...string) string {
	var have []string
	for _, text := range texts {
		if text != "" {
			have = append(have, clean(text))
		}
	}
	return strings.Join(have, "  ")
}

func withStep(agent, step string) string {
	if step == "" {
		return agent
	}
	return agent + " (" + step + ")"
}
