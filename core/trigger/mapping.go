package trigger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// Bounds of mappings and bodies.
const (
	maxMapping = 100 // fields
	maxPath    = 256 // bytes
	maxSteps   = 16
	maxDepth   = 64 // of a body
)

// headerMark is what paths begin with that name a header.
const headerMark = "header:"

// secretHeaders never become a part of an input. GitHub signs once more for receivers that know SHA-1 only.
var secretHeaders = []string{
	"authorization", "cookie", "proxy-authorization", strings.ToLower(headerGitLab), strings.ToLower(headerSignature), strings.ToLower(headerGitHub),
	"x-hub-signature",
}

// step is one step into a value: a key, or an index.
type step struct {
	key   string
	index int // -1: a key
}

// path is where a value of an input comes from: a header, or the steps into the body.
type path struct {
	header string
	steps  []step
}

// parsePath reads a path such as $.repository.full_name, commits[0].id, $ for the whole body, or header:X-GitHub-Event.
func parsePath(text string) (path, error) {
	if len(text) > maxPath {
		return path{}, fmt.Errorf("is longer than %d bytes", maxPath)
	}
	if name, ok := strings.CutPrefix(text, headerMark); ok {
		bad := func(c rune) bool {
			return c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
		}
		switch {
		case name == "" || strings.ContainsFunc(name, bad):
			return path{}, errors.New("names no header")
		case slices.Contains(secretHeaders, strings.ToLower(name)):
			return path{}, errors.New("names a header that holds a secret")
		}
		return path{header: name}, nil
	}
	var p path
	rest := strings.TrimPrefix(text, "$")
	if rest == text && text != "" && text[0] != '[' && text[0] != '.' {
		rest = "." + rest
	}
	if text == "" {
		return p, errors.New("is empty; $ is the whole body")
	}
	for rest != "" {
		if len(p.steps) == maxSteps {
			return p, fmt.Errorf("has more than %d steps", maxSteps)
		}
		end := cmp.Or(strings.IndexAny(rest[1:], ".[")+1, len(rest))
		part := rest[1:end]
		switch {
		case rest[0] == '.' && part != "" && !strings.Contains(part, "]"):
			p.steps = append(p.steps, step{part, -1})
		case rest[0] == '[' && strings.HasSuffix(part, "]"):
			n, err := strconv.Atoi(strings.TrimSuffix(part, "]"))
			if err != nil || n < 0 || n > 1_000_000 {
				return p, errors.New("has an index that is no number")
			}
			p.steps = append(p.steps, step{"", n})
		default:
			return p, errors.New("is no path such as $.repository.name or commits[0].id")
		}
		rest = rest[end:]
	}
	return p, nil
}

// find returns the value at a path; ok is false where there is none.
func (p path) find(body any, header func(string) string) (value any, ok bool) {
	if p.header != "" {
		text := header(p.header)
		return strings.ToValidUTF8(text, "?"), text != ""
	}
	for _, s := range p.steps {
		if s.index < 0 {
			object, _ := body.(map[string]any)
			if body, ok = object[s.key]; !ok {
				return nil, false
			}
			continue
		}
		list, _ := body.([]any)
		if s.index >= len(list) {
			return nil, false
		}
		body = list[s.index]
	}
	return body, true
}

// decode reads a body with the digits of its numbers. VALIDATION_ERROR.
func decode(body []byte) (map[string]any, error) {
	if err := checkDepth(body); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, core.Invalid("body", "is not JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, core.Invalid("body", "must be one JSON object, and nothing behind it")
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, core.Invalid("body", "must be a JSON object")
	}
	return object, nil
}

// checkDepth refuses a body that nests too deep, before it is decoded.
func checkDepth(body []byte) error {
	depth, inText, escaped := 0, false, false
	for _, c := range body {
		switch {
		case escaped:
			escaped = false
		case inText:
			escaped = c == '\\'
			inText = c != '"'
		case c == '"':
			inText = true
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return core.Invalid("body", "must not nest more than %d levels deep", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// input makes the input of an execution: the fields of the target, which the body cannot set, and those of the body.
func input(t *core.Trigger, body map[string]any, header func(string) string) (json.RawMessage, error) {
	fields := map[string]any{}
	if len(t.Mapping) == 0 {
		fields = body
	}
	for field, text := range t.Mapping {
		p, err := parsePath(text)
		if err != nil {
			return nil, err // it was checked before it was stored
		}
		if value, ok := p.find(body, header); ok {
			fields[field] = value
		}
	}
	if base := t.Target.Execution.Input; len(base) > 0 {
		own, err := decode(base)
		if err != nil {
			return nil, err
		}
		maps.Copy(fields, own)
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, core.Invalid("body", "cannot be written as JSON")
	}
	return raw, nil
}

// objectiveField is the field of a mapping that a thread has.
const objectiveField = "objective"

// objective makes the objective of a thread: that of the target, with the text of the body below it.
func objective(t *core.Trigger, body map[string]any, header func(string) string) string {
	text := t.Target.Thread.Objective
	p, err := parsePath(t.Mapping[objectiveField])
	if err != nil {
		return text
	}
	value, ok := p.find(body, header)
	if !ok {
		return text
	}
	more, isText := value.(string)
	if !isText {
		raw, err := json.Marshal(value)
		if err != nil {
			return text
		}
		more = string(raw)
	}
	return strings.TrimSpace(text + "\n\n" + more)
}
