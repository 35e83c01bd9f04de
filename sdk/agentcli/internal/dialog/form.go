package dialog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/sdk/internal/clip"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// What the user of a Form does with it, as the protocol of MCP names it.
const (
	FormAccept  = "accept"
	FormDecline = "decline"
	FormCancel  = "cancel"
)

// maxFields bounds the fields of a form: of more, nothing is read.
const maxFields = 32

// Form is what an MCP server asks the user of a CLI: values for fields, to open an address, or a yes.
type Form struct {
	Server  string  `json:"server"`
	Message string  `json:"message"`
	URL     string  `json:"url,omitempty"`
	Fields  []Field `json:"fields,omitempty"`
}

// ReadFields reads the fields of a form from its JSON schema, in their order. An error where it has a field that is not understood.
func ReadFields(schema []byte) ([]Field, error) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if len(bytes.TrimSpace(schema)) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("dialog: the schema of a form: %w", err)
	}
	if len(s.Properties) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(s.Properties))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("dialog: the properties of a form are no object")
	}
	var fields []Field
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("dialog: the fields of a form: %w", err)
		}
		f, err := readField(fmt.Sprint(name), dec, s.Required)
		if err != nil {
			return nil, err
		}
		if fields = append(fields, f); len(fields) > maxFields {
			return nil, fmt.Errorf("dialog: a form has more than %d fields", maxFields)
		}
	}
	return fields, nil
}

// Prompt returns the form as a question. Where it has one field with a list, or none, it has options; the ids of a list are places,
// from 1.
func (f *Form) Prompt(id string) *runtime.Prompt {
	lines := []string{f.Server + " asks: " + f.Message}
	if f.URL != "" {
		lines = append(lines, f.URL)
	}
	p := &runtime.Prompt{ID: id, Kind: runtime.PromptQuestion}
	switch len(f.Fields) {
	case 0:
		p.Options = append(p.Options, runtime.Option{ID: FormAccept, Label: "Accept"})
	case 1:
		for i, label := range f.Fields[0].Options {
			p.Options = append(p.Options, runtime.Option{ID: strconv.Itoa(i + 1), Label: label})
		}
		lines = append(lines, f.Fields[0].describe())
	default:
		for i := range f.Fields {
			lines = append(lines, strconv.Itoa(i+1)+". "+f.Fields[i].describe())
		}
		lines = append(lines, "Answer with a line of text for each.")
	}
	if f.declines() {
		p.Options = append(p.Options, runtime.Option{ID: FormDecline, Label: "Decline"})
	}
	p.Text = clip.Marked(strings.Join(lines, "\n"), maxText, "...")
	return p
}

// declines reports whether FormDecline is a choice, and none of the values of the only field.
func (f *Form) declines() bool {
	if len(f.Fields) != 1 {
		return true
	}
	_, taken := f.Fields[0].chosen(FormDecline, true)
	return !taken
}

// Answer reads an answer: what the user does with the form, and the values of its fields. INVALID_ARGUMENT.
func (f *Form) Answer(a runtime.Answer) (action string, content map[string]any, err error) {
	if a.Choice != "" && a.Text != "" {
		return "", nil, invalid("text", "a form takes a choice or a text, not both")
	}
	if a.Choice == FormDecline && f.declines() {
		return FormDecline, nil, nil
	}
	content = map[string]any{}
	switch len(f.Fields) {
	case 0:
		if a.Choice != FormAccept {
			return "", nil, invalid("choice", "the choices are %s and %s", FormAccept, FormDecline)
		}
		return FormAccept, content, nil
	case 1:
		said := a.Text
		if a.Choice != "" {
			said = a.Choice
		}
		err = f.Fields[0].put(content, strings.TrimSpace(said), a.Choice != "")
		return FormAccept, content, err
	}
	if a.Choice != "" {
		return "", nil, invalid("choice", "%q is not a choice of this form: answer with a line of text for each of its %d fields, or choose %s",
			a.Choice, len(f.Fields), FormDecline)
	}
	lines := strings.Split(strings.TrimRight(a.Text, "\r\n"), "\n")
	if len(lines) > len(f.Fields) {
		return "", nil, invalid("text", "the form has %d fields, and the text %d lines: one is for each", len(f.Fields), len(lines))
	}
	for i := range f.Fields {
		line := "" // what is not there is left out
		if i < len(lines) {
			line = strings.TrimSpace(lines[i])
		}
		if err := f.Fields[i].put(content, line, false); err != nil {
			return "", nil, err
		}
	}
	return FormAccept, content, nil
}
