package schema

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AnyName is the name of a field whose entries stand among the other keys of its struct, and stands for the name of an
// entry in a dotted path.
const AnyName = "*"

// Rule is what is asked of a text beyond its type.
type Rule struct {
	Words []string                // the texts that are allowed; nil: any
	Check func(text string) error // nil: nothing more
	Clean func(text string) string
}

// Rules are the rules of check:"is=..." by their name.
type Rules map[string]Rule

// IsSection reports whether the field is a struct with keys of its own.
func (f *Field) IsSection() bool { return f.Type.Kind() == reflect.Struct && !f.readsItself() }

// IsEntries reports whether the field is a map from names that people choose to structs: map[string]*T.
func (f *Field) IsEntries() bool {
	return f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Pointer
}

// IsStructs reports whether the field is a list of structs.
func (f *Field) IsStructs() bool {
	return f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct
}

func (f *Field) readsItself() bool { return reflect.PointerTo(f.Type).Implements(nodeReaderType) }

// Words returns the texts that the field may be, nil for any; "" among them is not named to people.
func (r Rules) Words(f *Field) []string {
	words := f.Enum
	if f.Rule != "" && len(words) == 0 {
		words = r.of(f).Words
	}
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == "" })
}

func (r Rules) of(f *Field) Rule {
	rule, ok := r[f.Rule]
	if f.Rule != "" && !ok {
		panic(fmt.Sprintf("schema: %s asks for the unknown rule %q", f.Source, f.Rule))
	}
	return rule
}

// CheckText says what is wrong with a text, or with one of a list or map.
func (r Rules) CheckText(f *Field, text string) error {
	if words := r.Words(f); len(words) > 0 {
		if slices.Contains(words, text) || slices.Contains(f.Enum, text) {
			return nil
		}
		return fmt.Errorf("%s", notOneOf(words, text))
	}
	if strings.ContainsRune(text, 0) {
		return fmt.Errorf("holds a NUL character")
	}
	if check := r.of(f).Check; check != nil {
		return check(text)
	}
	return nil
}

// notOneOf says that a text is none of the words that are allowed.
func notOneOf(words []string, text string) string {
	reason := fmt.Sprintf("must be one of %s, not %q", strings.Join(words, ", "), Clip(text))
	if near := Nearest(text, words); near != "" {
		reason += fmt.Sprintf("; did you mean %s?", near)
	}
	return reason
}

// decimal is a whole number as everybody reads it. YAML has more notations: 010 is eight there.
var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// Set checks a scalar and puts it into target. The tag is the type that the YAML parser saw; empty for a text from
// elsewhere, which is whatever the field wants.
func (r Rules) Set(f *Field, target reflect.Value, tag, text string) error {
	isText := tag == "" || tag == "!!str"
	switch {
	case f.Type == durationType:
		if !isText {
			return fmt.Errorf("must be a duration such as 30s, 24h or 7d, not %s", Describe(tag, text))
		}
		d, err := ParseDuration(text)
		if err != nil {
			return err
		}
		target.SetInt(int64(d))
		return f.CheckNumber(int64(d))
	case f.Size:
		if !isText && (tag != "!!int" || !decimal.MatchString(text)) {
			return fmt.Errorf("must be a size such as 512k, 10MiB or 4096, not %s", Describe(tag, text))
		}
		n, err := ParseSize(text)
		if err != nil {
			return err
		}
		target.SetInt(n)
		return f.CheckNumber(n)
	}
	switch f.Type.Kind() {
	case reflect.String:
		text, err := r.text(f, tag, text)
		target.SetString(text)
		return err
	case reflect.Bool:
		if (tag != "" && tag != "!!bool") || (text != "true" && text != "false") {
			return fmt.Errorf("must be true or false, not %s", Describe(tag, text))
		}
		target.SetBool(text == "true")
		return nil
	case reflect.Int, reflect.Int64:
		// A number that is too large for an integer has the tag of a float.
		if (tag != "" && tag != "!!int" && tag != "!!float") || !decimal.MatchString(text) {
			return fmt.Errorf("must be a whole number in plain digits, not %s", Describe(tag, text))
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%s is too large", Clip(text))
		}
		target.SetInt(n)
		return f.CheckNumber(n)
	}
	return fmt.Errorf("must be a list, not %s", Describe(tag, text))
}

// text checks and cleans a text.
func (r Rules) text(f *Field, tag, text string) (string, error) {
	if tag != "" && tag != "!!str" {
		return "", fmt.Errorf("must be text, not %s; put it in quotes if it is meant", Describe(tag, text))
	}
	if err := r.CheckText(f, text); err != nil {
		return "", err
	}
	if clean := r.of(f).Clean; clean != nil {
		text = clean(text)
	}
	return text, nil
}

// CheckNumber says that a number is out of the bounds of the field, in its unit.
func (f *Field) CheckNumber(n int64) error {
	if reason := f.OutOf(n); reason != "" {
		return fmt.Errorf("%s, not %s", reason, f.Show(n))
	}
	return nil
}

// OutOf returns the bounds that n is out of, or "".
func (f *Field) OutOf(n int64) string {
	if (f.Min == nil || n >= *f.Min) && (f.Max == nil || n <= *f.Max) {
		return ""
	}
	switch {
	case f.Max == nil:
		return "must be at least " + f.Show(*f.Min)
	case f.Min == nil:
		return "must be at most " + f.Show(*f.Max)
	}
	return "must be from " + f.Show(*f.Min) + " to " + f.Show(*f.Max)
}

// Show writes a number in the unit of the field.
func (f *Field) Show(n int64) string {
	switch {
	case f.Type == durationType:
		return FormatDuration(time.Duration(n))
	case f.Size:
		return FormatSize(n)
	}
	return strconv.FormatInt(n, 10)
}

// Text writes a scalar or a list of texts as it stands in a file.
func (f *Field) Text(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int64:
		return f.Show(v.Int())
	}
	if list, ok := v.Interface().([]string); ok {
		return strings.Join(list, ", ")
	}
	return fmt.Sprint(v.Interface())
}

// SetDefaults gives a struct, and the sections in it, the defaults of its tags.
func (r Rules) SetDefaults(v reflect.Value) {
	shape := Of(v.Type())
	for i := range shape.Fields {
		f := &shape.Fields[i]
		target := v.FieldByIndex(f.Index)
		switch {
		case f.IsSection():
			r.SetDefaults(target)
		case f.Default == "":
		case f.Type == textListType:
			target.Set(reflect.ValueOf(strings.Split(f.Default, ",")))
		default:
			if err := r.Set(f, target, "", f.Default); err != nil {
				panic(fmt.Sprintf("schema: the default of %s %s", f.Source, err))
			}
		}
	}
}

// named is implemented by entries whose defaults depend on their name.
type named interface{ SetDefaults(name string) }

// Entry returns the entry of a name in a map of entries. One that is not there is made, with its defaults.
func (r Rules) Entry(entries reflect.Value, name string) reflect.Value {
	if entries.IsNil() {
		entries.Set(reflect.MakeMap(entries.Type()))
	}
	key := reflect.ValueOf(name)
	entry := entries.MapIndex(key)
	if !entry.IsValid() {
		entry = reflect.New(entries.Type().Elem().Elem())
		r.SetDefaults(entry.Elem())
		if n, ok := entry.Interface().(named); ok {
			n.SetDefaults(name)
		}
		entries.SetMapIndex(key, entry)
	}
	return entry.Elem()
}

// EntryName is the pattern of the names of entries. Names stand in file names, labels and URLs.
const EntryName = `[a-z][a-z0-9_-]{0,62}`

var entryName = regexp.MustCompile(`^` + EntryName + `$`)

// IsEntryName reports whether an entry may be called so.
func IsEntryName(name string) bool { return entryName.MatchString(name) }

// CheckEntry says what is wrong with the name of an entry, whose tag reserved has names that are taken, and why.
func (f *Field) CheckEntry(name string) error {
	names, why := f.Reserved()
	switch {
	case slices.Contains(names, name):
		return fmt.Errorf("may not be declared: %s", why)
	case !IsEntryName(name):
		return fmt.Errorf("is not a name for %s; use lower-case letters, digits, - and _, a letter first, at most 63 of them", f.Tag.Get("entry"))
	}
	return nil
}

// Reserved returns the names that an entry may not have, and why.
func (f *Field) Reserved() (names []string, why string) {
	list, why, ok := strings.Cut(f.Tag.Get("reserved"), ": ")
	if !ok {
		return nil, ""
	}
	return strings.Split(list, ","), why
}

// Describe names a scalar for a problem.
func Describe(tag, text string) string {
	text = Clip(text)
	switch tag {
	case "", "!!str":
		return fmt.Sprintf("the text %q", text)
	case "!!int", "!!float":
		return "the number " + text
	case "!!bool":
		return text
	case "!!null":
		return "nothing"
	}
	return fmt.Sprintf("%s of type %s", text, strings.TrimPrefix(tag, "!!"))
}
