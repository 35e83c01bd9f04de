package schema

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Object is a JSON Schema, or a part of one.
type Object = map[string]any

// Described is implemented by types that encode themselves: JSONSchema returns a value of the struct whose fields
// say what comes out, or the Object that does.
type Described interface{ JSONSchema() any }

// Set collects the JSON Schemas of types.
type Set struct {
	Defs  Object                  // by name; structs are here, and referred to from elsewhere
	Names map[reflect.Type]string // of structs whose name is another than in Go
	// InRequests are the names of structs that are called otherwise where they are a request, or a part of one.
	InRequests map[reflect.Type]string
	Refs       string // what references to definitions begin with; empty: those of an OpenAPI document
}

// Of returns the schema of a type; structs become references to definitions. In a request a field is
// required when its check says so, in an answer unless it is marked omitempty.
func (s *Set) Of(t reflect.Type, request bool) Object {
	if d, ok := reflect.Zero(t).Interface().(Described); ok && t.Kind() == reflect.Struct {
		says := d.JSONSchema()
		if o, ok := says.(Object); ok {
			return o
		}
		return s.Of(reflect.TypeOf(says), request)
	}
	switch t {
	case timeType:
		return Object{"type": "string", "format": "date-time", "pattern": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`}
	case textMapType:
		return Object{"type": "object", "additionalProperties": Object{"type": "string"}}
	case rawType:
		if request {
			return Object{"type": "object"}
		}
		return Object{}
	}
	switch t.Kind() {
	case reflect.String:
		return Object{"type": "string"}
	case reflect.Bool:
		return Object{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return Object{"type": "integer"}
	case reflect.Float64:
		return Object{"type": "number"}
	case reflect.Slice:
		return Object{"type": "array", "items": s.Of(t.Elem(), request)}
	case reflect.Map:
		return Object{"type": "object"}
	case reflect.Pointer:
		return s.Of(t.Elem(), request)
	case reflect.Struct:
		name := s.nameOf(t, request)
		if _, ok := s.Defs[name]; !ok {
			s.Defs[name] = Object{} // taken, in case the type refers to itself
			s.Defs[name] = s.structure(t, request)
		}
		return Object{"$ref": cmp.Or(s.Refs, "#/components/schemas/") + name}
	}
	panic("schema: no schema for " + t.String())
}

func (s *Set) nameOf(t reflect.Type, request bool) string {
	if name, ok := s.InRequests[t]; request && ok {
		return name
	}
	if name, ok := s.Names[t]; ok {
		return name
	}
	name := strings.TrimSuffix(t.Name(), "Schema")
	return strings.ToUpper(name[:1]) + name[1:]
}

func (s *Set) structure(t reflect.Type, request bool) Object {
	properties, required := Object{}, []string{}
	shape := Of(t)
	for i := range shape.Fields {
		f := &shape.Fields[i]
		properties[f.Name] = s.property(f, request)
		if request && f.Required || !request && !f.Optional {
			required = append(required, f.Name)
		}
	}
	return Object{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	}
}

func (s *Set) property(f *Field, request bool) Object {
	p := s.Of(f.Type, request)
	if f.any && request {
		p["type"] = []any{"object", "array", "string", "number", "boolean"}
	}
	switch {
	case f.nullable && p["type"] != nil:
		p["type"] = []any{p["type"], "null"}
	case f.nullable && p["$ref"] != nil:
		p = Object{"anyOf": []any{p, Object{"type": "null"}}}
	}
	if len(f.Enum) > 0 {
		p["enum"] = f.Enum
	}
	low, high := "minimum", "maximum"
	switch f.kind {
	case rawjson.String:
		low, high = "minLength", "maxLength"
	case rawjson.Array:
		low, high = "minItems", "maxItems"
	case rawjson.Object:
		low, high = "minProperties", "maxProperties"
	}
	if f.variables {
		p["propertyNames"] = Object{"pattern": wire.EnvNamePattern, "not": Object{"pattern": wire.ReservedEnvPattern}}
	}
	if f.Min != nil {
		p[low] = *f.Min
	}
	if f.Max != nil {
		p[high] = *f.Max
	}
	if f.Doc != "" {
		p["description"] = f.Doc
	}
	if f.Example != "" {
		p["examples"] = []any{exampleValue(f.Example)}
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
