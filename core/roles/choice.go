package roles

import (
	"encoding/json"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Choices that every approval has.
const (
	choiceAllow = "allow"
	choiceDeny  = "deny"
)

// answers makes of a reply what a prompt takes: the id of an option when the content names one, by its id or label,
// else text. An approval is given by its words alone: any other text denies, and is the reason.
func answers(p *prompt, content json.RawMessage) []core.ManagedAgentAnswer {
	said, reason := words(content)
	answer := core.ManagedAgentAnswer{PromptID: p.ID, Choice: option(p, said)}
	if p.Kind == wire.PromptApproval {
		switch {
		case answer.Choice == "":
			answer.Choice, answer.Text = choiceDeny, said
		case answer.Choice != choiceAllow:
			answer.Text = reason
		}
		return []core.ManagedAgentAnswer{answer}
	}
	asText := core.ManagedAgentAnswer{PromptID: p.ID, Text: said}
	switch {
	case said == "":
		asText.Text = noAnswer
		return []core.ManagedAgentAnswer{asText}
	case answer.Choice == "":
		return []core.ManagedAgentAnswer{asText}
	}
	return []core.ManagedAgentAnswer{answer, asText}
}

// option finds the option that a text names; "" if none or several do.
func option(p *prompt, said string) string {
	said = strings.TrimSpace(said)
	if said == "" {
		return ""
	}
	for _, o := range p.Options {
		if o.ID == said {
			return o.ID
		}
	}
	if p.Kind == wire.PromptApproval {
		for _, id := range []string{choiceAllow, choiceDeny} {
			if strings.EqualFold(said, id) {
				return id
			}
		}
	}
	found := ""
	for _, o := range p.Options {
		if strings.EqualFold(o.ID, said) || strings.EqualFold(strings.TrimSpace(o.Label), said) {
			if found != "" {
				return ""
			}
			found = o.ID
		}
	}
	return found
}

// words returns what a reply comes to: its text, or that of an object which holds it, with the reason that it gives.
func words(content json.RawMessage) (said, reason string) {
	var object struct {
		Choice string `json:"choice"`
		Answer string `json:"answer"`
		Text   string `json:"text"`
		Reason string `json:"reason"`
	}
	if json.Unmarshal(content, &object) != nil || object.Choice+object.Answer+object.Text == "" {
		return text(content), ""
	}
	said = first(object.Choice, object.Answer, object.Text)
	if reason = object.Reason; reason == "" && said != object.Text {
		reason = object.Text
	}
	return said, reason
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// text is a JSON value as text: of a string what it says, of anything else its JSON.
func text(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	return string(content)
}
