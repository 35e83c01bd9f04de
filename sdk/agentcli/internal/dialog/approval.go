// Package dialog turns what a CLI asks its user into prompts, and answers into what was chosen.
//
// It owns the meaning: approvals with their choices, questions with their options, and which answers fit. It does
// not own how an answer reaches the CLI, by a hook or by keys: the adapters of sdk/agentcli, which call it, do.
package dialog

import (
	"encoding/json"
	"strings"

	"github.com/wardroom/wardroom/sdk/internal/clip"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// ChoiceAlways allows a tool now and in similar cases, for as long as the CLI itself remembers it.
const ChoiceAlways = "allow_always"

// maxText bounds the text of a prompt; the whole input is in Prompt.Input.
const maxText = 2000

// ApprovalPrompt makes the prompt of a tool that wants to run. With always, it offers ChoiceAlways as well.
func ApprovalPrompt(id, tool string, input map[string]any, always bool) *runtime.Prompt {
	p := &runtime.Prompt{
		ID: id, Kind: runtime.PromptApproval, Text: describe(tool, input), Tool: tool, Input: input,
		Options: []runtime.Option{{ID: runtime.ChoiceAllow, Label: "Allow"}},
	}
	if always {
		p.Options = append(p.Options, runtime.Option{ID: ChoiceAlways, Label: "Allow, and do not ask again for this"})
	}
	p.Options = append(p.Options, runtime.Option{ID: runtime.ChoiceDeny, Label: "Deny"})
	return p
}

// describe says in one line what a tool would do: the part of its input that people look at first.
func describe(tool string, input map[string]any) string {
	if tool == "" {
		return "The agent asks for an approval: see its terminal."
	}
	for _, key := range []string{"command", "file_path", "path", "url", "query", "pattern", "plan", "title"} {
		switch v := input[key].(type) {
		case string:
			if v != "" {
				return clip.Marked(tool+": "+v, maxText, "...")
			}
		case []any:
			words := make([]string, len(v))
			for i, w := range v {
				words[i] = text(w)
			}
			return clip.Marked(tool+": "+strings.Join(words, " "), maxText, "...")
		}
	}
	if len(input) == 0 {
		return tool
	}
	b, err := json.Marshal(input)
	if err != nil {
		return tool
	}
	return clip.Marked(tool+": "+string(b), maxText, "...")
}

// Choice reads the answer to an approval. INVALID_ARGUMENT.
func Choice(p *runtime.Prompt, a runtime.Answer) (string, error) {
	ids := make([]string, len(p.Options))
	for i, o := range p.Options {
		ids[i] = o.ID
		if o.ID != a.Choice {
			continue
		}
		if a.Text != "" && a.Choice != runtime.ChoiceDeny {
			return "", invalid("text", "a text goes only with %q, as the reason for the agent", runtime.ChoiceDeny)
		}
		return a.Choice, nil
	}
	if a.Choice == "" {
		return "", invalid("choice", "an approval needs a choice: one of %s", strings.Join(ids, ", "))
	}
	return "", invalid("choice", "%q is not a choice of this prompt; the choices are %s", a.Choice, strings.Join(ids, ", "))
}

func invalid(field, format string, args ...any) *runtime.Error {
	err := runtime.Errorf(runtime.CodeInvalidArgument, format, args...)
	err.Field = field
	return err
}
