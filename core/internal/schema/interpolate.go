package schema

import (
	"errors"
	"fmt"
	"strings"
)

// Lookup finds an environment variable, as os.LookupEnv does.
type Lookup func(name string) (value string, ok bool)

// interpolate replaces ${NAME} and ${NAME:-default} in one decoded scalar. The default is taken when the
// variable is unset or empty, as in a shell; $${ stands for a literal ${. The outcome is never parsed as
// YAML, so a variable can change a value but not the structure around it.
func interpolate(text string, lookup Lookup) (string, error) {
	var out strings.Builder
	for {
		at := strings.Index(text, "${")
		if at < 0 {
			out.WriteString(text)
			return out.String(), nil
		}
		if at > 0 && text[at-1] == '$' { // $${
			out.WriteString(text[:at-1] + "${")
			text = text[at+2:]
			continue
		}
		out.WriteString(text[:at])
		body, rest, closed := strings.Cut(text[at+2:], "}")
		if !closed {
			return "", fmt.Errorf("the reference %q has no closing brace; write $${ for a literal ${", text[at:])
		}
		value, err := resolve(body, lookup)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		text = rest
	}
}

// resolve gives the value of what stands between the braces.
func resolve(body string, lookup Lookup) (string, error) {
	name, fallback, hasDefault := strings.Cut(body, ":-")
	if !IsVariable(name) {
		return "", fmt.Errorf("the reference ${%s} is malformed; write ${NAME} or ${NAME:-default}", body)
	}
	if strings.Contains(fallback, "${") {
		return "", fmt.Errorf("the default of ${%s} holds another reference; they do not nest", name)
	}
	value, ok := lookup(name)
	switch {
	case hasDefault && value == "":
		return fallback, nil
	case !ok:
		return "", &unsetError{name}
	}
	return value, nil
}

// unsetError is a reference to a variable that is not there.
type unsetError struct{ name string }

func (e *unsetError) Error() string {
	return fmt.Sprintf("the environment variable %s is not set; set it or write ${%s:-default}", e.name, e.name)
}

// interpolateSecret is interpolate for a value that an error must not quote.
func interpolateSecret(text string, lookup Lookup) (string, error) {
	out, err := interpolate(text, lookup)
	var unset *unsetError
	if err != nil && !errors.As(err, &unset) {
		return "", errors.New("holds a malformed reference; write ${NAME} or ${NAME:-default}, and $${ for a literal ${")
	}
	return out, err
}

// IsVariable reports whether name is that of an environment variable.
func IsVariable(name string) bool {
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// Escape is the reverse of interpolate for text without references.
func Escape(text string) string { return strings.ReplaceAll(text, "${", "$${") }
