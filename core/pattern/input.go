package pattern

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// fieldTypes are the types an input field may have.
var fieldTypes = shapeOf[fieldText]().Find("type").Enum

// Bounds of what a definition may declare.
const (
	maxFields      = 1000
	maxFieldName   = 256
	maxPatternText = 1000
	// maxInstructions bounds all regular expressions of a definition: 1000 bytes of text make half a million, of which each takes
	// microseconds and 48 bytes.
	maxInstructions = 500_000
)

// additionalKey says, with true or false, whether members that are not declared are passed on. With a type it is a field.
const additionalKey = "additional"

// readFields reads a map of field declarations.
func (p *problems) readFields(path string, n *node) *fields {
	fs := &fields{}
	if n.kind != mapNode {
		p.add(path, n.line, "must be a map of field names, not %s", n.kind)
		return fs
	}
	if len(n.keys) > maxFields {
		p.add(path, n.line, "declares %d fields; at most %d are allowed", len(n.keys), maxFields)
		return fs
	}
	for _, e := range n.keys {
		at := join(path, e.key)
		if e.key == additionalKey && e.value.kind == boolNode {
			fs.closed = e.value.text == "false"
			continue
		}
		if e.key == "" || len(e.key) > maxFieldName {
			p.add(at, e.line, "must have a name of 1 to %d bytes", maxFieldName)
			continue
		}
		fs.add(p.readField(at, e.key, e.line, e.value))
	}
	return fs
}

// readField reads the type name or the full declaration of a field.
func (p *problems) readField(path, name string, line int, n *node) *field {
	f := &field{name: name, kind: "any", long: -1}
	f.quotedWithColon = append(rawjson.AppendString(nil, name), ':')
	if n.kind == textNode {
		if !slices.Contains(fieldTypes, n.text) {
			p.add(path, n.line, "must be one of %s, not %s%s", strings.Join(fieldTypes, ", "), describe(n), hint(n.text, fieldTypes))
			return f
		}
		f.kind = n.text
		return f
	}
	if n.kind != mapNode {
		p.add(path, line, "must be a type or a map with the key type, not %s", n.kind)
		return f
	}
	before := len(p.list)
	s, _ := p.section(path, n, shapeOf[fieldText]())
	f.kind = s.choice("type", "any")
	f.required = s.boolean("required", false)
	s.text("description")
	f.readBounds(s)
	f.readParts(s)
	f.readEnum(s)
	if n := s.get("default"); n != nil && len(p.list) == before {
		f.missing = n.appendJSON(nil)
		x := inspection{}
		if s.mostToMatch > 0 { // all defaults of a new definition together
			x.matching = s.matched
		}
		f.check(&x, f.missing, func() string { return s.at("default") })
		s.matched = x.matching
		for _, problem := range x.problems {
			p.add(problem.Path, n.line, "%s", problem.Reason)
		}
		f.missing = f.fill(nil, f.missing)
	}
	return f
}

// readBounds reads the limits of numbers, strings and arrays.
func (f *field) readBounds(s section) {
	f.low, f.high = f.bound(s, "min"), f.bound(s, "max")
	if f.low != nil && f.high != nil && compareNumbers(f.low, f.high) > 0 {
		s.wrong("max", "is below min")
	}
	f.belongs(s, "minLength", "string", "array")
	f.belongs(s, "maxLength", "string", "array")
	f.short = s.integer("minLength", 0)
	f.long = s.integer("maxLength", -1)
	if f.long >= 0 && f.short > f.long {
		s.wrong("maxLength", "is below minLength")
	}
	f.belongs(s, "pattern", "string")
	text := s.text("pattern")
	if len(text) > maxPatternText {
		s.wrong("pattern", "is longer than %d bytes", maxPatternText)
	} else if text != "" {
		f.readPattern(s, text)
	}
}

// readPattern compiles the regular expression of a string, unless those of the definition are too large together.
func (f *field) readPattern(s section, text string) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		s.wrong("pattern", "is not a regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return
	}
	if s.matching += weigh(parsed); s.mostToMatch > 0 && s.matching > s.mostToMatch {
		s.wrong("pattern", "makes the expressions of the definition longer than %d instructions, which repetitions such as {1000} multiply, "+
			"those of large classes such as \\p{L} most of all; maxLength bounds a text for less", s.mostToMatch)
		return
	}
	expression, err := regexp.Compile(text)
	if err != nil {
		s.wrong("pattern", "is not a regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return
	}
	f.pattern, f.patternSize = expression, instructionsOf(parsed)
}

// weigh returns about how many instructions an expression is compiled to, without doing so. The ranges of a class count too, as
// repetitions may copy them.
func weigh(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n += weigh(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass:
		return 1 + len(re.Rune)/8
	case syntax.OpRepeat:
		return (n + 1) * max(re.Min+1, re.Max, 1)
	case syntax.OpCapture:
		return n + 2
	}
	return n + max(1, len(re.Sub)-1)
}

// instructionsOf returns how long a regular expression is once it is compiled: a few bytes of text make many of them.
func instructionsOf(parsed *syntax.Regexp) int {
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 1
	}
	return len(program.Inst)
}

// bound returns the number at key as JSON, with every digit, or nil.
func (f *field) bound(s section, key string) []byte {
	n := s.get(key)
	if n == nil {
		return nil
	}
	f.belongs(s, key, "number", "integer")
	before := len(s.list)
	if s.numberIn(key, 0, -1e308, 1e308); len(s.list) > before {
		return nil
	}
	return []byte(n.text)
}

// belongs reports a key that has no meaning for the field's type.
func (f *field) belongs(s section, key string, kinds ...string) {
	if s.get(key) != nil && f.kind != "any" && !slices.Contains(kinds, f.kind) {
		s.wrong(key, "has no meaning for the type %s", f.kind)
	}
}

// readParts reads what an array or an object holds.
func (f *field) readParts(s section) {
	f.belongs(s, "items", "array")
	if n := s.get("items"); n != nil {
		f.items = s.readField(s.at("items"), "items", n.line, n)
	}
	f.belongs(s, "properties", "object")
	if n := s.get("properties"); n != nil {
		f.properties = s.readFields(s.at("properties"), n)
	}
}

func (f *field) readEnum(s section) {
	n := s.get("enum")
	if n == nil {
		return
	}
	if n.kind != listNode || len(n.items) == 0 || len(n.items) > maxFields {
		s.wrong("enum", "must be a list of 1 to %d values", maxFields)
		return
	}
	f.enum = make(map[string]bool, len(n.items))
	words := make([]string, 0, len(n.items))
	for i, item := range n.items {
		raw := item.appendJSON(nil)
		if !f.fits(rawjson.KindOf(raw), raw) {
			s.add(fmt.Sprintf("%s[%d]", s.at("enum"), i), item.line, "must be %s, not %s", kindName(f.kind), item.kind)
		}
		f.enum[string(rawjson.AppendCanonical(nil, raw))] = true
		words = append(words, string(raw))
	}
	f.choices = clip(strings.Join(words, ", "), 200)
}

// checkInput is Plan.CheckInput. declared is nil if the definition declares no input: then any object
// will do.
func checkInput(declared *fields, input json.RawMessage) (json.RawMessage, error) {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	if err := rawjson.Check(input); err != nil {
		reason := "is not JSON"
		if syntax, ok := errors.AsType[*rawjson.SyntaxError](err); ok {
			reason = fmt.Sprintf("is not acceptable JSON: %s", syntax)
		}
		return nil, core.InvalidAll("input", []core.Problem{{Path: "input", Reason: reason}})
	}
	if kind := rawjson.KindOf(input); kind != rawjson.Object {
		return nil, core.InvalidAll("input", []core.Problem{{Path: "input", Reason: "must be an object, not " + kind.String()}})
	}
	if declared == nil {
		return rawjson.Compact(input), nil
	}
	var x inspection
	declared.check(&x, input, func() string { return "input" })
	if len(x.problems) > 0 {
		return nil, core.InvalidAll("input", x.problems)
	}
	if x.filled {
		return declared.fill(make([]byte, 0, len(input)+128), input), nil
	}
	return rawjson.Compact(input), nil
}
