package apitest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Contract reads what an OpenAPI document promises, to compare it with an interface.
type Contract struct{ Root map[string]any }

// At follows a path and the references on it; nil if there is nothing.
func (c Contract) At(in map[string]any, path ...string) map[string]any {
	for _, step := range path {
		if in == nil {
			return nil
		}
		in, _ = in[step].(map[string]any)
		in = c.resolved(in)
	}
	return in
}

func (c Contract) resolved(in map[string]any) map[string]any {
	for {
		ref, ok := in["$ref"].(string)
		if !ok {
			break
		}
		in = c.At(c.Root, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	// A nullable object is one of two.
	for _, word := range []string{"oneOf", "anyOf"} {
		list, _ := in[word].([]any)
		for _, v := range list {
			if one := c.resolved(v.(map[string]any)); one["type"] != "null" {
				return one
			}
		}
	}
	return in
}

// Field finds a field of a schema by its path NAME:TYPE, and checks its type. A list has [] after its name. An answer must
// have what is not marked with ?, and may leave out what is.
func (c Contract) Field(schema map[string]any, path string, answer bool) error {
	path, typ, _ := strings.Cut(path, ":")
	for step := range strings.SplitSeq(path, ".") {
		name, list := strings.CutSuffix(step, "[]")
		name, optional := strings.CutSuffix(name, "?")
		next := c.At(schema, "properties", name)
		if next == nil {
			return fmt.Errorf("there is no %s", name)
		}
		required, _ := schema["required"].([]any)
		if has := slices.Contains(required, any(name)); answer && has == optional {
			return fmt.Errorf("%s: that an answer must have it is %v", name, has)
		}
		if list {
			if next["type"] != "array" {
				return fmt.Errorf("%s is no list", name)
			}
			next = c.At(next, "items")
		}
		schema = next
	}
	return c.typed(schema, typ)
}

func (c Contract) typed(schema map[string]any, want string) error {
	types := []any{schema["type"]}
	if list, ok := schema["type"].([]any); ok {
		types = list
	}
	fits := map[string][]any{
		"string": {"string"}, "time": {"string"}, "number": {"integer", "number"}, "boolean": {"boolean"}, "object": {"object"},
	}[want]
	switch {
	case want == "time" && schema["format"] != "date-time":
		return fmt.Errorf("is no time: %v", schema)
	case want == "any":
		return nil
	case !slices.ContainsFunc(types, func(t any) bool { return slices.Contains(fits, t) }):
		return fmt.Errorf("is %v, and not %s", types, want)
	}
	return nil
}

// Parameter finds NAME:TYPE=DEFAULT<MAXIMUM among the parameters of a query.
func (c Contract) Parameter(op map[string]any, want string) error {
	want, most, _ := strings.Cut(want, "<")
	want, def, _ := strings.Cut(want, "=")
	name, typ, _ := strings.Cut(want, ":")
	list, _ := op["parameters"].([]any)
	for _, v := range list {
		p := c.resolved(v.(map[string]any))
		if p["in"] != "query" || p["name"] != name {
			continue
		}
		schema := c.At(p, "schema")
		if err := c.typed(schema, typ); err != nil {
			return err
		}
		if has, _ := json.Marshal(schema["default"]); def != "" && string(has) != def {
			return fmt.Errorf("its default is %s", has)
		}
		if has, _ := json.Marshal(schema["maximum"]); most != "" && string(has) != most {
			return fmt.Errorf("its maximum is %s", has)
		}
		return nil
	}
	return fmt.Errorf("there is no such parameter")
}
