package engine

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// answerOf is an answer as the asker takes it: where there are options the id of one, with the reason if one was
// given as {choice, reason}. It returns false when the answer does not name exactly one.
func (l *exchange) answerOf(content json.RawMessage) (json.RawMessage, bool) {
	if len(l.Options) == 0 {
		return content, true
	}
	id, ok := chooseOption(l.Options, content)
	if !ok {
		return nil, false
	}
	var said struct {
		Reason string `json:"reason"`
	}
	var answer any = id
	if json.Unmarshal(content, &said) == nil && said.Reason != "" {
		answer = map[string]string{"choice": id, "reason": said.Reason}
	}
	raw, err := json.Marshal(answer)
	return raw, err == nil
}

// answerOfPeople is answerOf, and lets people answer a dialog in words of their own, as {text}.
func (l *exchange) answerOfPeople(content json.RawMessage) (json.RawMessage, bool) {
	if raw, ok := l.answerOf(content); ok {
		return raw, true
	}
	var own struct {
		Text string `json:"text"`
	}
	if l.Kind == core.QuestionDialog && json.Unmarshal(content, &own) == nil && strings.TrimSpace(own.Text) != "" {
		return content, true
	}
	return nil, false
}

func listOptions(options []core.QuestionOption) string {
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = fmt.Sprintf("%q (%s)", o.ID, o.Label)
	}
	return strings.Join(names, ", ")
}

// chooseOption finds the option that an answer names: by its id, by its label, or by words of yes and no. Where two
// could be meant it returns false: leave that nobody gave must not be read into an answer.
func chooseOption(options []core.QuestionOption, content json.RawMessage) (string, bool) {
	text, ok := answerText(content, 0)
	if !ok {
		return "", false
	}
	text = strings.Trim(text, " \t\r\n\"'`*_.!")
	if text == "" {
		return "", false
	}
	for _, same := range []func(o core.QuestionOption) bool{
		func(o core.QuestionOption) bool { return o.ID == text },
		func(o core.QuestionOption) bool { return strings.EqualFold(o.ID, text) },
		func(o core.QuestionOption) bool { return strings.EqualFold(strings.Trim(o.Label, " ."), text) },
		func(o core.QuestionOption) bool { return namedOption(o, text) },
	} {
		if id, found := onlyOption(options, same); found > 0 {
			return id, found == 1
		}
	}
	return optionByWords(options, text)
}

// onlyOption counts the options that match and returns the last one's id.
func onlyOption(options []core.QuestionOption, match func(core.QuestionOption) bool) (id string, found int) {
	for _, o := range options {
		if match(o) {
			id = o.ID
			found++
		}
	}
	return id, found
}

// namedOption reports whether text is "option 2", "2. the label" or the like.
func namedOption(o core.QuestionOption, text string) bool {
	text = strings.ToLower(text)
	id, label := strings.ToLower(o.ID), strings.ToLower(strings.Trim(o.Label, " ."))
	for _, lead := range []string{"option ", "choice ", "answer ", "number ", "#", "no. "} {
		if rest, ok := strings.CutPrefix(text, lead); ok {
			text = rest
			break
		}
	}
	rest, ok := strings.CutPrefix(text, id)
	if !ok {
		return false
	}
	trimmed := strings.TrimLeft(rest, " .:)-")
	return trimmed == "" || trimmed != rest && trimmed == label
}

// answerText returns the text of an answer: a string, a number, yes or no, or that in an object's usual places.
func answerText(content json.RawMessage, depth int) (string, bool) {
	const deepest = 4
	var value any
	if depth > deepest || rawjson.Decode(content, &value) != nil {
		return "", false
	}
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		if v {
			return "yes", true
		}
		return "no", true
	case json.Number:
		return numberText(v), true
	case map[string]any:
		for _, name := range []string{"option", "optionId", "choice", "id", "answer", "value", "content", "text", "approved", "decision"} {
			if inner, ok := v[name]; ok {
				raw, err := json.Marshal(inner)
				if err != nil {
					return "", false
				}
				return answerText(raw, depth+1)
			}
		}
	}
	return "", false
}

// numberText is a number as a person writes it: 3.0 is 3, and every digit stays that a float64 has no room for.
func numberText(n json.Number) string {
	if f, err := n.Float64(); err == nil {
		if text := strconv.FormatFloat(f, 'f', -1, 64); rawjson.Equal([]byte(text), []byte(n)) {
			return text
		}
	}
	return string(n)
}

// Words that give and refuse leave, and those that make an answer more than either.
var (
	wordsOfYes = wordSet("yes y yep yeah ok okay sure allow allowed approve approved accept accepted agree agreed " +
		"proceed true confirm confirmed granted")
	wordsOfNo = wordSet("no n nope deny denied reject rejected refuse refused decline declined disallow cancel " +
		"abort stop false disagree forbid forbidden not don't dont cannot can't never won't")
	wordsOfIf = wordSet("but if unless except only until when after before first maybe perhaps depends instead " +
		"always also unsure later wait whether or either neither")
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// maxWordsText is up to how many bytes an answer is read for words of yes and no: a longer one says more.
const maxWordsText = 200

func optionByWords(options []core.QuestionOption, text string) (string, bool) {
	if len(text) > maxWordsText {
		return "", false
	}
	yes, no := false, false
	for _, w := range wordsOf(text) {
		switch {
		case wordsOfIf[w]:
			return "", false
		case wordsOfYes[w]:
			yes = true
		case wordsOfNo[w]:
			no = true
		}
	}
	if yes == no {
		return "", false
	}
	set := wordsOfYes
	if no {
		set = wordsOfNo
	}
	leads := func(o core.QuestionOption) bool {
		return leadsWith(o.Label, set) || o.Label == "" && leadsWith(o.ID, set)
	}
	id, found := onlyOption(options, leads)
	if found > 1 { // the plain one: it gives no more than was said
		id, found = onlyOption(options, func(o core.QuestionOption) bool { return leads(o) && len(wordsOf(o.Label)) <= 1 })
	}
	return id, found == 1
}

func leadsWith(text string, set map[string]bool) bool {
	words := wordsOf(text)
	return len(words) > 0 && set[words[0]]
}

// wordsOf returns the words of a text, in lower case.
func wordsOf(text string) []string {
	text = strings.ReplaceAll(strings.ToLower(text), "’", "'")
	return strings.FieldsFunc(text, func(r rune) bool { return r != '\'' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
