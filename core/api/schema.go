package api

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// schemaSet collects the JSON Schemas of body types.
type schemaSet struct{ defs object }

// described is implemented by bodies that encode themselves: schema returns a value of the type whose
// fields say what comes out.
type described interface{ schema() any }

// of returns the schema of a type; structs become references to definitions. In a request a field is
// required when its check says so, in an answer unless it is marked omitempty.
func (s *schemaSet) of(t reflect.Type, request bool) object {
	if d, ok := reflect.Zero(t).Interface().(described); ok && t.Kind() == reflect.Struct {
		return s.of(reflect.TypeOf(d.schema()), request)
	}
	switch t {
	case timestampType, timeType:
		return object{"type": "string", "format": "date-time",
			"pattern": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`}
	case textMapType:
		return object{"type": "object", "additionalProperties": object{"type": "string"}}
	case rawType:
		if request {
			return object{"type": "object"}
		}
		return object{}
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem(), request)}
	case reflect.Map:
		return object{"type": "object"}
	case reflect.Pointer:
		return s.of(t.Elem(), request)
	case reflect.Struct:
		name := schemaName(t)
		if _, ok := s.defs[name]; !ok {
			s.defs[name] = object{} // taken, in case the type refers to itself
			s.defs[name] = s.structure(t, request)
		}
		return object{"$ref": "#/components/schemas/" + name}
	}
	panic("api: no schema for " + t.String())
}

func schemaName(t reflect.Type) string {
	if name, ok := schemaNames[t]; ok {
		return name
	}
	name := strings.TrimSuffix(t.Name(), "Schema")
	return strings.ToUpper(name[:1]) + name[1:]
}

func (s *schemaSet) structure(t reflect.Type, request bool) object {
	properties, required := object{}, []string{}
	shape := shapeOf(t)
	for i := range shape.fields {
		f := &shape.fields[i]
		properties[f.name] = s.property(f, request)
		if request && f.required || !request && !f.optional {
			required = append(required, f.name)
		}
	}
	return object{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	}
}

func (s *schemaSet) property(f *field, request bool) object {
	p := s.of(f.typ, request)
	if f.any && request {
		p["type"] = []any{"object", "array", "string", "number", "boolean"}
	}
	switch {
	case f.nullable && p["type"] != nil:
		p["type"] = []any{p["type"], "null"}
	case f.nullable && p["$ref"] != nil:
		p = object{"anyOf": []any{p, object{"type": "null"}}}
	}
	if len(f.enum) > 0 {
		p["enum"] = f.enum
	}
	low, high := "minimum", "maximum"
	switch f.kind {
	case rawjson.String:
		low, high = "minLength", "maxLength"
	case rawjson.Array:
		low, high = "minItems", "maxItems"
	}
	if f.min != nil {
		p[low] = *f.min
	}
	if f.max != nil {
		p[high] = *f.max
	}
	if f.doc != "" {
		p["description"] = f.doc
	}
	if f.example != "" {
		p["examples"] = []any{exampleValue(f.example)}
	}
	return p
}

// exampleValue reads an example tag: JSON if it is, else text.
func exampleValue(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		return v
	}
	return text
}
