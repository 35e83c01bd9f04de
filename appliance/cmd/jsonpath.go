package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// jsonPath picks values out of a document: members and elements by name and number, * for all of them. It is the part of
// JSONPath that tells where something is, without filters and scripts.
type jsonPath struct {
	steps []string // a name, a number, or "*"
}

// parseJSONPath reads a path such as .executions[*].executionId. It may begin with $ and lie in braces, as other tools
// want it.
func parseJSONPath(text string) (*jsonPath, error) {
	rest := text
	if inner, ok := strings.CutPrefix(rest, "{"); ok {
		if rest, ok = strings.CutSuffix(inner, "}"); !ok {
			return nil, fmt.Errorf("%q has no closing brace", text)
		}
	}
	rest = strings.TrimPrefix(rest, "$")
	p := new(jsonPath)
	for rest != "" {
		step, quoted := "", false
		switch {
		case rest == "." && len(p.steps) == 0:
			return p, nil // all of it
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			step, rest = rest[1:1+end], rest[1+end:]
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return nil, fmt.Errorf("%q has no closing bracket", text)
			}
			step, rest = rest[1:end], rest[end+1:]
			for _, quote := range []string{"'", `"`} {
				if inner, ok := strings.CutPrefix(step, quote); ok {
					if step, ok = strings.CutSuffix(inner, quote); !ok {
						return nil, fmt.Errorf("%q has no closing quote", text)
					}
					quoted = true
				}
			}
			if _, err := strconv.Atoi(step); err != nil && step != "*" && !quoted {
				return nil, fmt.Errorf("in %q, [%s] is neither a number, * nor a quoted name", text, step)
			}
		default:
			return nil, fmt.Errorf("%q must begin with a dot, such as .id or .executions[*].status", text)
		}
		if step == "" {
			return nil, fmt.Errorf("%q has a step without a name", text)
		}
		p.steps = append(p.steps, step)
	}
	if len(p.steps) == 0 {
		return nil, fmt.Errorf("the path is missing; give one such as .id or .executions[*].status")
	}
	return p, nil
}

// pick returns the values at the path, in their order; none where there is nothing.
func (p *jsonPath) pick(body json.RawMessage) []json.RawMessage {
	found := []json.RawMessage{bytes.TrimSpace(body)}
	for _, step := range p.steps {
		var next []json.RawMessage
		for _, value := range found {
			next = append(next, pickStep(value, step)...)
		}
		found = next
	}
	return found
}

func pickStep(value json.RawMessage, step string) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) == nil {
		if step == "*" {
			return list
		}
		i, err := strconv.Atoi(step)
		if i < 0 {
			i += len(list) // from the end
		}
		if err != nil || i < 0 || i >= len(list) {
			return nil
		}
		return list[i : i+1]
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil {
		return nil
	}
	if step == "*" {
		for _, key := range orderedKeys(value) {
			list = append(list, members[key])
		}
		return list
	}
	if member, ok := members[step]; ok {
		return []json.RawMessage{member}
	}
	return nil
}

// printPath writes the values at the path of --output, each on a line: texts as they are, anything else as JSON.
func (c *cli) printPath(body json.RawMessage) error {
	var out strings.Builder
	for _, value := range c.path.pick(body) {
		var text string
		if json.Unmarshal(value, &text) != nil {
			var part bytes.Buffer
			if err := json.Compact(&part, value); err != nil {
				return err
			}
			text = string(escaped(part.Bytes(), jsonEscape))
		} else if isTerminal(c.deps.Stdout) {
			text = clean(text)
		}
		out.WriteString(text + "\n")
	}
	_, err := c.deps.Stdout.Write([]byte(out.String()))
	return err
}
