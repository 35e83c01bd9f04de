package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// Shape is what is known of a struct from the tags of its fields:
//
//	json:"name,omitempty"            its name in the text; omitempty, omitzero: not always in an answer
//	check:"required,min=1,max=50"    bounds: of a number, of the characters of a string, of the items of a list
//	check:"min=1s" check:"size,min=4KiB"  bounds of a duration, and of an int64 that is a number of bytes
//	check:"any"                      a json.RawMessage that may be any value but null, not just an object
//	check:"nullable"                 it may be null in an answer, as an empty string is there
//	check:"is=host"                  a text, or each of a list or map, to which a named Rule applies
//	check:"max=512,variables"        a map of texts: its keys are names of environment variables, so many at most. Readers leave
//	                                 both to their callers
//	check:"path"                     a path, which is made absolute
//	enum:"low,normal"                the texts that it may be
//	default:"30s"                    what it is when nothing is given
//	entry:"a plugin"                 what an entry of map[string]*T is; the name is AnyName where keys stand beside entries
//	reserved:"a,b: why"              names that no entry may have
//	doc:"..." example:"..."          for the JSON Schema
type Shape struct {
	Fields []Field
	byName map[string]int
}

// Field is one field of a Shape. It is read-only.
type Field struct {
	Name     string
	Index    []int // as reflect.Value.FieldByIndex takes it
	Type     reflect.Type
	Tag      reflect.StructTag // for what only the owner of the struct knows
	Source   string            // its type and name in Go
	Required bool
	Optional bool // omitempty or omitzero: may be absent from an answer
	Size     bool // a number of bytes
	Path     bool
	Min, Max *int64 // inclusive: a number, bytes, nanoseconds, characters or items
	Enum     []string
	Rule     string // name of the rule
	Default  string
	Doc      string
	Example  string

	kind      rawjson.Kind // of the JSON value
	raw       bool         // json.RawMessage that must be an object, unless any
	any       bool         // of raw: whatever but null, which is the same as absent
	rawList   bool         // []json.RawMessage of objects
	nullable  bool         // may be null in an answer
	variables bool         // the keys are names of environment variables
}

// Find returns the field of a name, or nil.
func (s *Shape) Find(name string) *Field {
	if i, ok := s.byName[name]; ok {
		return &s.Fields[i]
	}
	return nil
}

// Names returns the names of all fields.
func (s *Shape) Names() []string {
	names := make([]string, len(s.Fields))
	for i := range s.Fields {
		names[i] = s.Fields[i].Name
	}
	return names
}

// known returns the names of all fields that people can write.
func (s *Shape) known() []string {
	return slices.DeleteFunc(s.Names(), func(name string) bool { return name == AnyName })
}

var shapes sync.Map // of reflect.Type to *Shape; a cache of pure values

var (
	durationType = reflect.TypeFor[time.Duration]()
	timeType     = reflect.TypeFor[time.Time]()

	rawType     = reflect.TypeFor[json.RawMessage]()
	rawListType = reflect.TypeFor[[]json.RawMessage]()

	textListType = reflect.TypeFor[[]string]()
	textMapType  = reflect.TypeFor[map[string]string]()
)

// Of returns the shape of a struct type.
func Of(t reflect.Type) *Shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*Shape)
	}
	s := &Shape{byName: map[string]int{}}
	s.collect(t, nil)
	if len(s.Fields) > 64 {
		panic(fmt.Sprintf("schema: %s has more fields than the decoder can tell apart", t))
	}
	stored, _ := shapes.LoadOrStore(t, s)
	return stored.(*Shape)
}

// collect adds the fields of t, and those of structs embedded in it as encoding/json does. at is where t
// lies in the outermost struct.
func (s *Shape) collect(t reflect.Type, at []int) {
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
		f := Field{
			Name: name, Index: index, Type: sf.Type, Tag: sf.Tag, Source: t.Name() + "." + sf.Name, Optional: opts != "",
			Default: sf.Tag.Get("default"), Doc: sf.Tag.Get("doc"), Example: sf.Tag.Get("example"),
			kind: kindOf(sf.Type), raw: sf.Type == rawType, rawList: sf.Type == rawListType,
		}
		if list := sf.Tag.Get("enum"); list != "" {
			f.Enum = strings.Split(list, ",")
		}
		for rule := range strings.SplitSeq(sf.Tag.Get("check"), ",") {
			switch key, value, _ := strings.Cut(rule, "="); key {
			case "":
			case "required":
				f.Required = true
			case "nullable":
				f.nullable = true
			case "any":
				f.any = true
			case "size":
				f.Size = true
			case "variables":
				f.variables = true
			case "path":
				f.Path = true
			case "is":
				f.Rule = value
			case "min":
				f.Min = f.bound(t, value)
			case "max":
				f.Max = f.bound(t, value)
			default:
				panic(fmt.Sprintf("schema: %s.%s has the unknown check %q", t, sf.Name, key))
			}
		}
		s.byName[name] = len(s.Fields)
		s.Fields = append(s.Fields, f)
	}
}

// bound reads a bound in the unit of the field.
func (f *Field) bound(t reflect.Type, text string) *int64 {
	var n int64
	var err error
	switch {
	case f.Type == durationType:
		var d time.Duration
		d, err = ParseDuration(text)
		n = int64(d)
	case f.Size:
		n, err = ParseSize(text)
	default:
		n, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil {
		panic(fmt.Sprintf("schema: %s.%s has the bound %q", t, f.Name, text))
	}
	return &n
}

// kindOf is the JSON kind that a Go type is read from.
func kindOf(t reflect.Type) rawjson.Kind {
	switch t {
	case rawType:
		return rawjson.Object
	case timeType:
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
