package dialog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Field is one field of a Form. Options are the labels of its list, and Values what stands for them; without a list it takes a text
// or a number.
type Field struct {
	Name     string   `json:"name"`
	Title    string   `json:"title,omitempty"`
	Kind     string   `json:"kind"` // string, number, integer, boolean, array
	Required bool     `json:"required,omitempty"`
	Options  []string `json:"options,omitempty"`
	Values   []string `json:"values,omitempty"`
}

// titled is a value of a list with its label.
type titled struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// fieldList is where a schema has the values of a list.
type fieldList struct {
	Enum  []string `json:"enum"`
	Names []string `json:"enumNames"`
	OneOf []titled `json:"oneOf"`
	AnyOf []titled `json:"anyOf"`
}

func readField(name string, dec *json.Decoder, required []string) (Field, error) {
	var s struct {
		fieldList
		Type  string    `json:"type"`
		Title string    `json:"title"`
		Items fieldList `json:"items"`
	}
	if err := dec.Decode(&s); err != nil {
		return Field{}, fmt.Errorf("dialog: the field %q of a form: %w", name, err)
	}
	f := Field{Name: name, Title: s.Title, Kind: s.Type, Required: slices.Contains(required, name)}
	switch s.Type {
	case "string":
		f.take(s.fieldList)
	case "boolean":
		f.Options, f.Values = []string{"yes", "no"}, []string{"true", "false"}
	case "array":
		f.take(s.Items)
		if len(f.Values) == 0 {
			return f, fmt.Errorf("dialog: the field %q of a form is a list without values", name)
		}
	case "number", "integer":
	default:
		return f, fmt.Errorf("dialog: the field %q of a form has the unknown type %q", name, s.Type)
	}
	return f, nil
}

// take takes the values of a list.
func (f *Field) take(l fieldList) {
	f.Values, f.Options = l.Enum, slices.Clone(l.Enum)
	if len(l.Names) == len(l.Enum) {
		copy(f.Options, l.Names)
	}
	for _, v := range append(l.OneOf, l.AnyOf...) {
		f.Values, f.Options = append(f.Values, v.Const), append(f.Options, cmp.Or(v.Title, v.Const))
	}
}

// describe returns the field as a line for people.
func (f *Field) describe() string {
	line := cmp.Or(f.Title, f.Name)
	if len(f.Options) > 0 {
		line += " (" + strings.Join(f.Options, " / ") + ")"
	}
	if f.Kind == "array" {
		line += ", several separated by commas"
	}
	if !f.Required {
		line += ", optional"
	}
	return line
}

// chosen returns the place of an option, by its id or its label, or else by its value.
func (f *Field) chosen(s string, byID bool) (int, bool) {
	if i, ok := option(f.Options, s, byID); ok {
		return i, true
	}
	i := slices.Index(f.Values, s)
	return i, i >= 0
}

// put puts the value that is said into the content of a form. INVALID_ARGUMENT.
func (f *Field) put(content map[string]any, said string, byID bool) error {
	at := "text"
	if byID {
		at = "choice"
	}
	switch {
	case said == "" && f.Required:
		return invalid(at, "the field %q needs a value", f.Name)
	case said == "":
	case f.Kind == "array":
		chosen, ways, bad := several(said, slices.Concat(f.Options, f.Values), func(s string) (int, bool) { return f.chosen(s, byID) })
		if i, ok := f.chosen(said, byID); ok && byID {
			chosen, ways = []int{i}, 1
		}
		switch ways {
		case 0:
			return invalid(at, "%q is not an option of %q; the options are %s", bad, f.Name, list(f.Options))
		case 2:
			return inSeveralWays(at, said, f.Options)
		}
		values := make([]string, len(chosen))
		for i, place := range chosen {
			values[i] = f.Values[place]
		}
		content[f.Name] = values
	case len(f.Options) > 0:
		i, ok := f.chosen(said, byID)
		if !ok {
			return invalid(at, "%q is not an option of %q; the options are %s", said, f.Name, list(f.Options))
		}
		content[f.Name] = f.Values[i]
		if f.Kind == "boolean" {
			content[f.Name] = i == 0
		}
	case f.Kind == "number", f.Kind == "integer":
		_, err := strconv.ParseInt(said, 10, 64)
		if f.Kind == "number" {
			_, err = strconv.ParseFloat(said, 64)
		}
		if err != nil || !json.Valid([]byte(said)) {
			return invalid(at, "the field %q takes a number (%s), and not %q", f.Name, f.Kind, said)
		}
		content[f.Name] = json.Number(said)
	default:
		content[f.Name] = said
	}
	return nil
}
