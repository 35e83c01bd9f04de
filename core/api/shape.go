package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// shape is what the decoder and the OpenAPI document know of a body struct. It comes from its tags:
//
//	json:"name,omitempty"            the wire name; omitempty: not always in an answer
//	check:"required,min=1,max=50"    bounds: of a number, of the characters of a string, of the items of a list
//	check:"any"                      a json.RawMessage that may be any value but null, not just an object
//	enum:"low,normal"                the values a string may have
//	doc:"..." example:"..."          for the document
type shape struct {
	fields []field
	byName map[string]int
	names  []string
}

type field struct {
	name     string
	index    []int // as reflect.Value.FieldByIndex takes it
	typ      reflect.Type
	kind     rawjson.Kind // of the JSON value
	raw      bool         // json.RawMessage that must be an object, unless any
	any      bool         // of raw: whatever but null, which is the same as absent
	rawList  bool         // []json.RawMessage of objects
	required bool
	optional bool // omitempty: may be absent from an answer
	nullable bool // may be null in an answer
	min, max *int64
	enum     []string
	doc      string
	example  string
}

// bounds calls bad with "must be at least %d" or "must be at most %d" when n is out of the field's bounds.
func (f *field) bounds(n int64, bad func(format string, args ...any)) {
	if f.min != nil && n < *f.min {
		bad("must be at least %d", *f.min)
	} else if f.max != nil && n > *f.max {
		bad("must be at most %d", *f.max)
	}
}

var shapes sync.Map // of reflect.Type to *shape; a cache of pure values

var (
	rawType     = reflect.TypeFor[json.RawMessage]()
	rawListType = reflect.TypeFor[[]json.RawMessage]()
)

// shapeOf returns the shape of a struct type.
func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := &shape{byName: map[string]int{}}
	s.collect(t, nil)
	if len(s.fields) > 64 {
		panic(fmt.Sprintf("api: %s has more fields than the decoder can tell apart", t))
	}
	stored, _ := shapes.LoadOrStore(t, s)
	return stored.(*shape)
}

// collect adds the fields of t, and those of structs embedded in it as encoding/json does. at is where t
// lies in the outermost struct.
func (s *shape) collect(t reflect.Type, at []int) {
	for i := range t.NumField() {
		sf, index := t.Field(i), append(slices.Clip(at), i)
		if sf.Anonymous {
			s.collect(sf.Type, index)
			continue
		}
		tag, ok := sf.Tag.Lookup("json")
		if !ok || tag == "-" {
			continue
		}
		name, opts, _ := strings.Cut(tag, ",")
		f := field{
			name: name, index: index, typ: sf.Type,
			raw: sf.Type == rawType, rawList: sf.Type == rawListType,
			optional: strings.Contains(opts, "omitempty"),
			doc:      sf.Tag.Get("doc"), example: sf.Tag.Get("example"),
		}
		f.kind = kindOf(sf.Type)
		if list := sf.Tag.Get("enum"); list != "" {
			f.enum = strings.Split(list, ",")
		}
		for rule := range strings.SplitSeq(sf.Tag.Get("check"), ",") {
			switch key, value, _ := strings.Cut(rule, "="); key {
			case "":
			case "required":
				f.required = true
			case "nullable":
				f.nullable = true
			case "any":
				f.any = true
			case "min":
				f.min = number(t, value)
			case "max":
				f.max = number(t, value)
			default:
				panic(fmt.Sprintf("api: %s.%s has the unknown check %q", t, sf.Name, key))
			}
		}
		s.byName[name] = len(s.fields)
		s.names = append(s.names, name)
		s.fields = append(s.fields, f)
	}
}

func number(t reflect.Type, text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("api: %s has the bound %q", t, text))
	}
	return &n
}

// kindOf is the JSON kind that a Go type is read from.
func kindOf(t reflect.Type) rawjson.Kind {
	switch {
	case t == rawType:
		return rawjson.Object
	case t == timestampType, t == timeType:
		return rawjson.String
	}
	switch t.Kind() {
	case reflect.String:
		return rawjson.String
	case reflect.Bool:
		return rawjson.Bool
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		return rawjson.Number
	case reflect.Slice:
		return rawjson.Array
	case reflect.Struct, reflect.Map:
		return rawjson.Object
	case reflect.Pointer:
		return kindOf(t.Elem())
	}
	return rawjson.Invalid
}

// suggest names the candidate nearest to a misspelt name, as the tail of an error message.
func suggest(name string, candidates []string) string {
	best, distance := "", 3
	for _, c := range candidates {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(c)); d < distance {
			best, distance = c, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("; did you mean %s?", best)
	case len(candidates) == 0:
		return "; none is known here"
	}
	return "; known are " + strings.Join(candidates, ", ")
}
