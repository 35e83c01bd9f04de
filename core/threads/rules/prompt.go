package rules

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Answers that any approval takes. They are ids of options as well.
const (
	Allow = "allow"
	Deny  = "deny"
)

// Prompt asks a person for the answer that a blocked agent waits for.
type Prompt wire.Prompt

// ReadPrompt reads a prompt as events carry it.
func ReadPrompt(raw json.RawMessage) (Prompt, error) {
	var p Prompt
	err := json.Unmarshal(raw, &p)
	return p, err
}

// Takes reports whether an answer is one that the prompt offers. An approval without options is one of agents that
// offer none: it takes yes and no.
func (p Prompt) Takes(answer string) bool {
	if len(p.Options) == 0 {
		return p.Kind == wire.PromptApproval && (answer == Allow || answer == Deny)
	}
	return slices.ContainsFunc(p.Options, func(o wire.QuestionOption) bool { return o.ID == answer })
}

// subjectKeys are the parts of a tool's input that the text of a prompt shows, the first one that is there.
var subjectKeys = []string{"command", "file_path", "path", "url", "query", "pattern", "plan", "title"}

// subject is the part of the input that the text shows, whole; "" when there is none of its own.
func (p Prompt) subject() string {
	for _, key := range subjectKeys {
		switch v := p.Input[key].(type) {
		case string:
			if v != "" {
				return v
			}
		case []any:
			if words, ok := words(v); ok && len(words) > 0 {
				return strings.Join(words, " ")
			}
		}
	}
	return ""
}

// words returns a list of strings, and false if there is something else in it.
func words(list []any) ([]string, bool) {
	out := make([]string, len(list))
	for i, item := range list {
		s, ok := item.(string)
		if !ok {
			return nil, false
		}
		out[i] = s
	}
	return out, true
}

// shown is what people judge a prompt by.
func (p Prompt) shown() []string {
	list := []string{p.Text}
	if s := p.subject(); s != "" {
		return append(list, s)
	}
	return append(list, leaves(map[string]any(p.Input), nil, false)...)
}

// leaves appends every string within v, and every number as it was written where numbers is set. However deep one lies, it counts: an
// agent could hide it from a rule otherwise. How deep an input may be is up to who reads it from a wire.
func leaves(v any, list []string, numbers bool) []string {
	switch v := v.(type) {
	case string:
		list = append(list, v)
	case json.Number:
		if numbers {
			list = append(list, string(v))
		}
	case []any:
		for _, item := range v {
			list = leaves(item, list, numbers)
		}
	case map[string]any:
		for _, item := range v {
			list = leaves(item, list, numbers)
		}
	}
	return list
}
