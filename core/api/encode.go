package api

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// encode writes a body as JSON.
//
// The public types of sdk/wire are stored as well as answered, and answers differ in two things: times are in UTC with
// milliseconds, and what is not left out when it is empty is never null, so that a list without rows is [].
func encode(buf *bytes.Buffer, body any) {
	// What is stored as JSON passes the encoder as it is, with what was escaped when it was stored.
	buf.Write(rawjson.Plain(appendValue(buf.AvailableBuffer(), body)))
}

// appendValue appends a part of an otherwise hand-encoded body as encode has it.
func appendValue(b []byte, v any) []byte { return appendAnswer(b, reflect.ValueOf(v)) }

var (
	timeType      = reflect.TypeFor[time.Time]()
	rawType       = reflect.TypeFor[json.RawMessage]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
)

// appendAnswer appends a value of an answer. What is neither a struct, a list nor a pointer to them is left to
// encoding/json, like types that marshal themselves; they do so by value.
func appendAnswer(b []byte, v reflect.Value) []byte {
	switch {
	case v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface:
		if v.IsNil() {
			return append(b, "null"...)
		}
		return appendAnswer(b, v.Elem())
	case v.Type() == timeType:
		return timestamp(v.Interface().(time.Time)).append(b)
	case v.Type() == rawType: // JSON that was read strictly, or that we wrote
		if v.Len() == 0 {
			return append(b, "null"...)
		}
		return rawjson.AppendCompact(b, v.Bytes())
	case v.Type().Implements(marshalerType):
		return appendMarshaled(b, v.Interface())
	}
	switch v.Kind() {
	case reflect.Struct:
		return appendStruct(b, v)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			break
		}
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendAnswer(b, v.Index(i))
		}
		return append(b, ']')
	case reflect.Map:
		if v.IsNil() {
			return append(b, "{}"...)
		}
	case reflect.String:
		return rawjson.AppendString(b, v.String())
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10)
	}
	return appendMarshaled(b, v.Interface())
}

func appendMarshaled(b []byte, v any) []byte {
	encoded, err := json.Marshal(v)
	if err != nil {
		panic(err) // bodies are our own types; the recovery of serve makes it a 500
	}
	return append(b, encoded...)
}

func appendStruct(b []byte, v reflect.Value) []byte {
	b = append(b, '{')
	first := len(b)
	for _, m := range membersOf(v.Type()) {
		f := v.FieldByIndex(m.index)
		if m.omitEmpty && isEmpty(f) || m.omitZero && f.IsZero() {
			continue
		}
		if len(b) > first {
			b = append(b, ',')
		}
		b = appendAnswer(append(b, m.key...), f)
	}
	return append(b, '}')
}

// isEmpty reports whether omitempty leaves a value out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	case reflect.Struct, reflect.Array:
		return false
	}
	return v.IsZero()
}

// member is a field of a struct as JSON has it.
type member struct {
	key                 string // with quotes and colon
	index               []int
	omitEmpty, omitZero bool
}

var members sync.Map // of reflect.Type to []member; a cache of pure values

func membersOf(t reflect.Type) []member {
	if list, ok := members.Load(t); ok {
		return list.([]member)
	}
	var list []member
	for _, f := range reflect.VisibleFields(t) {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" { // an embedded struct, whose fields follow, or one that stays here
			continue
		}
		list = append(list, member{
			key: string(rawjson.AppendString(nil, name)) + ":", index: f.Index,
			omitEmpty: strings.Contains(opts, "omitempty"), omitZero: strings.Contains(opts, "omitzero"),
		})
	}
	stored, _ := members.LoadOrStore(t, list)
	return stored.([]member)
}
