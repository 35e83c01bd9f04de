package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// field describes one key. The pointer that ref returns carries the key's type: *string, *bool, *int,
// *int64 (a size in bytes), *time.Duration, *[]string, *Secret, *Env, *Block, *[]core.AutoAnswerRule or
// *[]Endpoint.
type field struct {
	key string // dotted; a part * stands for the name of an entry
	doc string // for operators, in the schema and the packaged file
	ref func(*Config) any
	in  func(c *Config, name string) any // instead of ref, for a key with a *

	min, max int64               // inclusive bounds: a count, bytes or nanoseconds; max 0 is no bound
	enum     []string            // allowed texts
	check    func(string) error  // further rule for a text, or for each text of a list
	clean    func(string) string // brings a checked text into its one form
	path     bool                // a file system path: made absolute, relative to its file
	live     bool                // part of Reloadable
}

// name is the last part of the key.
func (f *field) name() string { return f.key[strings.LastIndex(f.key, ".")+1:] }

// set parses a scalar into the config. plain is its text after interpolation; tag is the YAML type that
// the parser saw, or empty for an interpolated value, whose type is whatever the key wants.
func (f *field) set(c *Config, tag, plain string) error {
	switch ref := f.ref(c).(type) {
	case *string:
		if tag != "" && tag != "!!str" {
			return fmt.Errorf("wants text, not %s; put it in quotes if it is meant", describe(tag, plain))
		}
		if err := f.checkText(plain); err != nil {
			return err
		}
		if f.clean != nil {
			plain = f.clean(plain)
		}
		*ref = plain
	case *bool:
		if (tag != "" && tag != "!!bool") || (plain != "true" && plain != "false") {
			return fmt.Errorf("wants true or false, not %s", describe(tag, plain))
		}
		*ref = plain == "true"
	case *int:
		n, err := f.parseInt(tag, plain)
		if err != nil {
			return err
		}
		*ref = n
	case *int64:
		if tag != "" && tag != "!!str" && (tag != "!!int" || !decimal.MatchString(plain)) {
			return fmt.Errorf("wants a size such as 512k, 10MiB or 4096, not %s", describe(tag, plain))
		}
		n, err := schema.ParseSize(plain)
		if err != nil {
			return err
		}
		if err := f.checkNumber(n, schema.FormatSize); err != nil {
			return err
		}
		*ref = n
	case *time.Duration:
		if tag != "" && tag != "!!str" {
			return fmt.Errorf("wants a duration such as 30s, 24h or 7d, not %s", describe(tag, plain))
		}
		d, err := schema.ParseDuration(plain)
		if err != nil {
			return err
		}
		if err := f.checkNumber(int64(d), func(n int64) string { return schema.FormatDuration(time.Duration(n)) }); err != nil {
			return err
		}
		*ref = d
	case *[]string, *[]core.AutoAnswerRule, *[]Endpoint:
		return fmt.Errorf("wants a list, not %s", describe(tag, plain))
	}
	return nil
}

// zero returns a pointer to a value of the key's type.
func (f *field) zero() any {
	if f.in != nil {
		return f.in(&Config{}, "")
	}
	return f.ref(&Config{})
}

// decimal is a whole number as everybody reads it. YAML has more notations: 010 is eight there.
var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

func (f *field) parseInt(tag, plain string) (int, error) {
	// A number that is too large for an integer has the tag of a float.
	if (tag != "" && tag != "!!int" && tag != "!!float") || !decimal.MatchString(plain) {
		return 0, fmt.Errorf("wants a whole number in plain digits, not %s", describe(tag, plain))
	}
	n, err := strconv.ParseInt(plain, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is too large", plain)
	}
	return int(n), f.checkNumber(n, func(n int64) string { return strconv.FormatInt(n, 10) })
}

func (f *field) checkText(text string) error {
	if len(f.enum) > 0 {
		for _, allowed := range f.enum {
			if text == allowed {
				return nil
			}
		}
		reason := fmt.Sprintf("%q is not one of %s", text, strings.Join(f.words(), ", "))
		if near := schema.Nearest(text, f.words()); near != "" {
			reason += fmt.Sprintf("; did you mean %s?", near)
		}
		return fmt.Errorf("%s", reason)
	}
	if strings.ContainsRune(text, 0) {
		return fmt.Errorf("holds a NUL character")
	}
	if f.check != nil {
		return f.check(text)
	}
	return nil
}

func (f *field) checkNumber(n int64, format func(int64) string) error {
	upper := f.max
	if upper == 0 {
		upper = math.MaxInt64
	}
	switch {
	case n < f.min && f.max == 0:
		return fmt.Errorf("must be at least %s, not %s", format(f.min), format(n))
	case n < f.min || n > upper:
		return fmt.Errorf("must be between %s and %s, not %s", format(f.min), format(upper), format(n))
	}
	return nil
}

// text renders the value of the key in c as it would be written in the file; lists are handled by value.
func (f *field) text(c *Config) string {
	switch ref := f.ref(c).(type) {
	case *string:
		return *ref
	case *bool:
		return strconv.FormatBool(*ref)
	case *int:
		return strconv.Itoa(*ref)
	case *int64:
		return schema.FormatSize(*ref)
	case *time.Duration:
		return schema.FormatDuration(*ref)
	case *[]string:
		return strings.Join(*ref, ", ")
	case *Secret:
		if ref.IsZero() {
			return ""
		}
		return redacted
	case *Env:
		vars := make([]string, 0, len(*ref))
		for _, name := range ref.Names() {
			vars = append(vars, name+"="+redacted)
		}
		return strings.Join(vars, " ")
	case *Block:
		return ref.String()
	case *[]core.AutoAnswerRule:
		return rulesText(*ref)
	case *[]Endpoint:
		return endpointsText(*ref)
	}
	return ""
}

// describe names a scalar for a message.
func describe(tag, plain string) string {
	switch tag {
	case "", "!!str":
		return fmt.Sprintf("the text %q", plain)
	case "!!int", "!!float":
		return "the number " + plain
	case "!!bool":
		return plain
	case "!!null":
		return "nothing"
	}
	return fmt.Sprintf("%s of type %s", plain, strings.TrimPrefix(tag, "!!"))
}
