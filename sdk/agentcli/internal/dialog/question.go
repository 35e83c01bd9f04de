package dialog

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// Question is one question of a tool with which a model asks its user. All three CLIs use the same fields.
type Question struct {
	ID      string // of codex; else empty
	Header  string
	Text    string
	Options []string // labels; empty: free text only
	Multi   bool     // several options may be chosen
}

// Questions reads the input of such a tool. Entries that are not questions are left out.
func Questions(input map[string]any) []Question {
	list, _ := input["questions"].([]any)
	var qs []Question
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		q := Question{ID: text(m["id"]), Header: text(m["header"]), Text: text(m["question"])}
		q.Multi, _ = m["multiSelect"].(bool)
		options, _ := m["options"].([]any)
		for _, o := range options {
			if om, ok := o.(map[string]any); ok {
				q.Options = append(q.Options, text(om["label"]))
			}
		}
		if q.Text != "" || len(q.Options) > 0 {
			qs = append(qs, q)
		}
	}
	return qs
}

// QuestionPrompt makes the prompt of one or more questions. The options are those of the only question, with
// their numbers as ids; the options of several questions are in Text and Input.
func QuestionPrompt(id, tool string, input map[string]any) *runtime.Prompt {
	qs := Questions(input)
	p := &runtime.Prompt{ID: id, Kind: runtime.PromptQuestion, Tool: tool, Input: input}
	if len(qs) == 1 {
		p.Text = qs[0].Text
		for i, label := range qs[0].Options {
			p.Options = append(p.Options, runtime.Option{ID: strconv.Itoa(i + 1), Label: label})
		}
		return p
	}
	lines := make([]string, 0, len(qs))
	for i, q := range qs {
		line := strconv.Itoa(i+1) + ". " + q.Text
		if len(q.Options) > 0 {
			line += " (" + strings.Join(q.Options, " / ") + ")"
		}
		lines = append(lines, line)
	}
	p.Text = cmp.Or(strings.Join(lines, "\n"), "The agent asks a question: see its terminal.")
	return p
}

// Reply is the answer to one question: the chosen options, from 0, or a text of one's own.
type Reply struct {
	Options []int
	Text    string // without Options
}

// Replies reads the answer to a prompt's questions: the id or the label of an option, several separated by
// commas where the question allows it, or free text. Several questions take one line of Answer.Text each.
// INVALID_ARGUMENT.
func Replies(qs []Question, a runtime.Answer) ([]Reply, error) {
	if len(qs) == 0 {
		return nil, invalid("choice", "this question is not understood; answer it in the agent's terminal")
	}
	if len(qs) > 1 {
		lines := strings.Split(strings.TrimSpace(a.Text), "\n")
		if a.Choice != "" || len(lines) != len(qs) {
			return nil, invalid("text", "the prompt has %d questions: answer with that many lines of text, one for each", len(qs))
		}
		replies := make([]Reply, len(qs))
		for i, q := range qs {
			r, err := reply(q, strings.TrimSpace(lines[i]))
			if err != nil {
				return nil, err
			}
			replies[i] = r
		}
		return replies, nil
	}
	q := qs[0]
	if a.Choice != "" {
		if a.Text != "" {
			return nil, invalid("text", "a question takes a choice or a text, not both")
		}
		chosen, ok, err := choose(q, a.Choice, true)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, invalid("choice", "%q is not an option; the options are %s", a.Choice, list(q.Options))
		}
		return []Reply{{Options: chosen}}, nil
	}
	r, err := reply(q, strings.TrimSpace(a.Text))
	if err != nil {
		return nil, err
	}
	return []Reply{r}, nil
}

func reply(q Question, s string) (Reply, error) {
	if s == "" {
		return Reply{}, invalid("text", "%q needs an answer: a choice or a text", q.Text)
	}
	chosen, ok, err := choose(q, s, false)
	switch {
	case err != nil:
		return Reply{}, err
	case ok:
		return Reply{Options: chosen}, nil
	}
	return Reply{Text: s}, nil
}

// choose finds one option, or several separated by commas, by number or label. INVALID_ARGUMENT where a text can be read in more than
// one way.
func choose(q Question, s string, byID bool) (chosen []int, ok bool, err error) {
	i, whole := option(q.Options, s, byID)
	if whole && (byID || !q.Multi) {
		return []int{i}, true, nil
	}
	if !q.Multi {
		return nil, false, nil
	}
	chosen, ways, _ := several(s, q.Options, func(s string) (int, bool) { return option(q.Options, s, byID) })
	if ways > 1 {
		field := "text"
		if byID {
			field = "choice"
		}
		return nil, false, inSeveralWays(field, s, q.Options)
	}
	return chosen, ways == 1, nil
}

// option finds an option by its id or its label. The id goes first in a choice, where a page gives it for a click, and the label in a
// text.
func option(labels []string, s string, byID bool) (int, bool) {
	n, err := strconv.Atoi(s)
	isID := err == nil && n >= 1 && n <= len(labels)
	i := slices.IndexFunc(labels, func(label string) bool { return strings.EqualFold(label, s) })
	if i >= 0 && !(byID && isID) {
		return i, true
	}
	return n - 1, isID
}

func list(labels []string) string {
	parts := make([]string, len(labels))
	for i, l := range labels {
		parts[i] = strconv.Itoa(i+1) + " (" + l + ")"
	}
	return strings.Join(parts, ", ")
}

func text(v any) string { s, _ := v.(string); return s }
