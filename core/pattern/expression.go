package pattern

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// expression makes a JSON value from an execution's variables. It is compiled once and evaluated often.
type expression interface {
	// append writes the value as compact JSON. A variable that cannot be resolved is reported to e, and
	// null is written.
	append(dst []byte, e *evaluation) []byte
}

// literal is a value that needs no variables: its JSON.
type literal []byte

func (l literal) append(dst []byte, _ *evaluation) []byte { return append(dst, l...) }

// reference is a variable with a path into it: $vote.result.
type reference struct {
	root string
	path path
	at   string // where it stands in the definition, for messages

	// In org charts, which write ${root.path}:
	line int    // in the definition; 0 in flat patterns
	step string // path of the step whose result it is, or ""
}

func (r *reference) String() string {
	if r.line > 0 {
		return "${" + append(path{{key: r.root, index: -1}}, r.path...).String() + "}"
	}
	if len(r.path) == 0 {
		return "$" + r.root
	}
	tail := r.path.String()
	if tail[0] != '[' {
		tail = "." + tail
	}
	return "$" + r.root + tail
}

func (r *reference) append(dst []byte, e *evaluation) []byte {
	if e.taken > maxTaken {
		return append(dst, "null"...) // said already
	}
	value, ok := e.resolve(r)
	if !ok {
		if len(e.problems) < maxUnresolved {
			e.problems = append(e.problems, core.Problem{Path: r.at, Line: r.line, Reason: r.String() + " has no value" + e.why(r)})
		}
		return append(dst, "null"...)
	}
	if !e.take(r, value) {
		return append(dst, "null"...)
	}
	return rawjson.AppendCompact(dst, value)
}

// template is text with references in it: "label ${vote.result}".
type template []templatePart

type templatePart struct {
	text string
	ref  *reference // or nil
}

func (t template) append(dst []byte, e *evaluation) []byte {
	var buf [128]byte
	return rawjson.AppendString(dst, t.appendText(buf[:0], e))
}

// appendText appends the text as it is, not as JSON.
func (t template) appendText(text []byte, e *evaluation) []byte {
	for _, part := range t {
		if part.ref == nil {
			text = append(text, part.text...)
			continue
		}
		var scratch [64]byte
		value := part.ref.append(scratch[:0], e)
		if rawjson.KindOf(value) == rawjson.String {
			value = rawjson.Unquote(value)
		}
		text = append(text, value...)
	}
	return text
}

// object is a map of expressions; keys are quoted JSON with their colon.
type object []member

type member struct {
	key   []byte
	value expression
}

func (o object) append(dst []byte, e *evaluation) []byte {
	dst = append(dst, '{')
	for i, m := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, m.key...)
		dst = m.value.append(dst, e)
	}
	return append(dst, '}')
}

// array is a list of expressions.
type array []expression

func (a array) append(dst []byte, e *evaluation) []byte {
	dst = append(dst, '[')
	for i, item := range a {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item.append(dst, e)
	}
	return append(dst, ']')
}

// names reports whether the expression refers to one of the variables.
func names(x expression, variables ...string) bool {
	switch x := x.(type) {
	case *reference:
		return slices.Contains(variables, x.root)
	case template:
		return slices.ContainsFunc(x, func(p templatePart) bool { return p.ref != nil && names(p.ref, variables...) })
	case object:
		return slices.ContainsFunc(x, func(m member) bool { return names(m.value, variables...) })
	case array:
		return slices.ContainsFunc(x, func(item expression) bool { return names(item, variables...) })
	}
	return false
}

// compiler turns the values of a definition into expressions, and reports what can never be resolved.
type compiler struct {
	*problems
	scope *vocabulary
}

// compile reads the expression at n.
func (c compiler) compile(at string, n *node) expression {
	switch n.kind {
	case textNode:
		return c.text(at, n)
	case listNode:
		a := make(array, len(n.items))
		for i, item := range n.items {
			a[i] = c.compile(fmt.Sprintf("%s[%d]", at, i), item)
		}
		return a
	case mapNode:
		o := make(object, len(n.keys))
		for i, e := range n.keys {
			o[i] = member{append(rawjson.AppendString(nil, e.key), ':'), c.compile(join(at, e.key), e.value)}
		}
		return o
	}
	return literal(n.appendJSON(nil))
}

func (c compiler) text(at string, n *node) expression {
	parts, err := parseText(n.text)
	if err != nil {
		c.add(at, n.line, "%s", err)
		return literal("null")
	}
	for _, part := range parts {
		if part.ref != nil {
			part.ref.at = at
			if reason := c.scope.check(part.ref); reason != "" {
				c.add(at, n.line, "%s %s", part.ref, reason)
			}
		}
	}
	switch {
	case len(parts) == 0:
		return literal(`""`)
	case len(parts) == 1 && parts[0].ref != nil:
		return parts[0].ref
	case len(parts) == 1:
		return literal(rawjson.AppendString(nil, parts[0].text))
	}
	return parts
}

// parseText splits text into literal parts and references. Text that begins with $ and a name is one
// reference as a whole; elsewhere ${path} is one, $$ is a dollar sign where a reference could begin
// (at the start of the text, and before a brace), and any other $ stands for itself.
func parseText(text string) (template, error) {
	if strings.HasPrefix(text, "$") && !strings.HasPrefix(text, "${") && !strings.HasPrefix(text, "$$") {
		ref, err := parseReference(text[1:])
		if err != nil {
			return nil, fmt.Errorf("%q %w; write $$ for a dollar sign, ${name} inside text", clip(text, 64), err)
		}
		return template{{ref: ref}}, nil
	}
	var parts template
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			parts = append(parts, templatePart{text: plain.String()})
			plain.Reset()
		}
	}
	for i := 0; i < len(text); {
		rest := text[i:]
		switch {
		case strings.HasPrefix(rest, "$${"), i == 0 && strings.HasPrefix(rest, "$$"):
			plain.WriteByte('$')
			i += 2
		case strings.HasPrefix(rest, "${"):
			end := closing(rest, 2, '}')
			if end < 0 {
				return nil, fmt.Errorf("%q lacks a closing brace", clip(rest, 64))
			}
			ref, err := parseReference(strings.TrimPrefix(strings.TrimSpace(rest[2:end]), "$"))
			if err != nil {
				return nil, fmt.Errorf("%q %w", clip(rest[:end+1], 64), err)
			}
			flush()
			parts = append(parts, templatePart{ref: ref})
			i += end + 1
		default:
			plain.WriteByte(rest[0])
			i++
		}
	}
	flush()
	return parts, nil
}

// closing returns the index of the first end at or after from that is not in a quoted key; -1 if there is none.
func closing(text string, from int, end byte) int {
	quote := byte(0)
	for i := from; i < len(text); i++ {
		switch b := text[i]; {
		case quote != 0 && b == '\\':
			i++
		case b == quote:
			quote = 0
		case quote == 0 && (b == '"' || b == '\''):
			quote = b
		case b == end && quote == 0:
			return i
		}
	}
	return -1
}

func parseReference(text string) (*reference, error) {
	p, err := parsePath(text)
	if err != nil {
		return nil, err
	}
	return &reference{root: p[0].key, path: p[1:]}, nil
}
