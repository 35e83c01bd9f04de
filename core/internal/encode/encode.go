// Package encode writes our own structs as JSON, as encoding/json would, for less: an execution is written a dozen times
// in its life, and that was an eighth of what it cost. It owns how public and stored types become text, in two styles:
// as they are stored, and as they are answered. Reading is schema's and encoding/json's. core/api, core/store and
// core/engine call it.
package encode

import (
	"encoding"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// A Style is how values are written. Both write strings without the escapes for HTML that encoding/json has by default,
// and JSON that is held as such without space between its tokens.
type Style struct {
	// answer: times are in UTC with milliseconds, and what is not left out when it is empty is never null, so that a list
	// without rows is [], but for a string that is marked check:"nullable": that is null. JSON that is held as such was
	// checked when it came.
	answer bool
	plans  sync.Map // of reflect.Type to encoder
}

// Stored and Answered are the styles. Stored has what encoding/json reads back, and refuses JSON that is none. A plan of
// how a type is written is made once for each type.
var (
	Stored   = &Style{}
	Answered = &Style{answer: true}
)

// encoder appends a value of the type that it was made for. It panics with a failure.
type encoder func(b []byte, v reflect.Value) []byte

// failure is an error on its way to Append.
type failure struct{ error }

// Append appends a value. The error is that of a value that is no JSON: of a type that marshals itself, a number that
// JSON has not, or malformed JSON that is held as such. Values behind a pointer are written for less. It may be called
// concurrently.
func (s *Style) Append(b []byte, value any) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(failure)
			if !ok {
				panic(p)
			}
			out, err = b, f.error
		}
	}()
	if value == nil {
		return append(b, "null"...), nil
	}
	v := reflect.ValueOf(value)
	return s.encoderOf(v.Type())(b, v), nil
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxKept bounds the buffers that are kept, in bytes.
const maxKept = 64 << 10

// Marshal returns a value as Append has it, in memory of its own.
func (s *Style) Marshal(value any) ([]byte, error) {
	buf := buffers.Get().(*[]byte)
	b, err := s.Append((*buf)[:0], value)
	var out []byte
	if err == nil {
		out = append(make([]byte, 0, len(b)), b...)
	}
	if cap(b) <= maxKept {
		*buf = b[:0]
		buffers.Put(buf)
	}
	return out, err
}

var (
	timeType   = reflect.TypeFor[time.Time]()
	rawType    = reflect.TypeFor[json.RawMessage]()
	jsonType   = reflect.TypeFor[json.Marshaler]()
	textType   = reflect.TypeFor[encoding.TextMarshaler]()
	numberType = reflect.TypeFor[json.Number]()
	objectType = reflect.TypeFor[map[string]any]()
	zeroType   = reflect.TypeFor[interface{ IsZero() bool }]()
)

// encoderOf returns the encoder of a type, which may contain itself.
func (s *Style) encoderOf(t reflect.Type) encoder {
	if e, ok := s.plans.Load(t); ok {
		return e.(encoder)
	}
	var (
		ready sync.WaitGroup
		made  encoder
	)
	ready.Add(1)
	// Whoever needs it meanwhile, the type itself too, waits until it is made.
	e, loaded := s.plans.LoadOrStore(t, encoder(func(b []byte, v reflect.Value) []byte {
		ready.Wait()
		return made(b, v)
	}))
	if loaded {
		return e.(encoder)
	}
	made = s.make(t)
	ready.Done()
	s.plans.Store(t, made)
	return made
}

func (s *Style) make(t reflect.Type) encoder {
	switch {
	case t == timeType:
		return s.appendTime
	case t == rawType:
		return s.appendRaw
	case t == numberType:
		return appendMarshaled
	case t.Implements(jsonType) && t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface:
		return appendMarshaled
	case reflect.PointerTo(t).Implements(jsonType) || t.Implements(textType) || reflect.PointerTo(t).Implements(textType):
		if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
			return appendMarshaled
		}
	}
	switch t.Kind() {
	case reflect.Pointer:
		elem := s.encoderOf(t.Elem())
		return func(b []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(b, "null"...)
			}
			return elem(b, v.Elem())
		}
	case reflect.Interface:
		return func(b []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(b, "null"...)
			}
			return s.encoderOf(v.Elem().Type())(b, v.Elem())
		}
	case reflect.Struct:
		if fields, ok := FieldsOf(t); ok {
			return s.structOf(fields)
		}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return s.listOf(s.encoderOf(t.Elem()))
		}
	case reflect.Map:
		return s.appendMap
	case reflect.String:
		return func(b []byte, v reflect.Value) []byte { return rawjson.AppendString(b, v.String()) }
	case reflect.Bool:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendBool(b, v.Bool()) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendInt(b, v.Int(), 10) }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendUint(b, v.Uint(), 10) }
	case reflect.Float64:
		return appendFloat
	}
	return appendMarshaled
}

// appendMarshaled leaves a value to encoding/json: rare types, and those that marshal themselves.
func appendMarshaled(b []byte, v reflect.Value) []byte {
	if v.CanAddr() {
		v = v.Addr()
	}
	encoded, err := json.Marshal(v.Interface())
	if err != nil {
		panic(failure{err})
	}
	return append(b, rawjson.Plain(encoded)...)
}

func appendFloat(b []byte, v reflect.Value) []byte {
	f := v.Float()
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) || f != f {
		return appendMarshaled(b, v) // with an exponent, or none of JSON
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}

func (s *Style) appendMap(b []byte, v reflect.Value) []byte {
	switch {
	case v.IsNil() && !s.answer:
		return append(b, "null"...)
	case v.Len() == 0:
		return append(b, "{}"...)
	case !s.answer && v.Type() == objectType:
		return s.appendObject(b, v.Interface().(map[string]any))
	}
	return appendMarshaled(b, v)
}

// appendObject appends an object of details or metadata, in the order of its keys.
func (s *Style) appendObject(b []byte, object map[string]any) []byte {
	b = append(b, '{')
	var few [8]string
	keys := slices.AppendSeq(few[:0], maps.Keys(object))
	slices.Sort(keys)
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendString(b, key), ':')
		switch value := object[key].(type) {
		case nil:
			b = append(b, "null"...)
		case string:
			b = rawjson.AppendString(b, value)
		case int:
			b = strconv.AppendInt(b, int64(value), 10)
		default:
			v := reflect.ValueOf(value)
			b = s.encoderOf(v.Type())(b, v)
		}
	}
	return append(b, '}')
}

// checked is how deep JSON that is held as such is looked into. What encoding/json reads back is nested half as deep, which
// its owner sees to.
const checked = 20_000

func (s *Style) appendRaw(b []byte, v reflect.Value) []byte {
	raw := v.Bytes()
	if len(raw) == 0 {
		return append(b, "null"...)
	}
	if !s.answer {
		if err := rawjson.CheckWithin(raw, checked); err != nil {
			panic(failure{err})
		}
	}
	return rawjson.AppendCompact(b, raw)
}

// answerLayout is that of times in answers.
const answerLayout = `"2006-01-02T15:04:05.000Z"`

func (s *Style) appendTime(b []byte, v reflect.Value) []byte {
	at := timeOf(v)
	if s.answer {
		return at.UTC().AppendFormat(b, answerLayout)
	}
	if year := at.Year(); year < 0 || year > 9999 {
		return appendMarshaled(b, v) // which says why not
	}
	return append(at.AppendFormat(append(b, '"'), time.RFC3339Nano), '"')
}

// timeOf returns the time in a value, without a copy on the heap where that is possible.
func timeOf(v reflect.Value) time.Time {
	if v.CanAddr() {
		return *v.Addr().Interface().(*time.Time)
	}
	return v.Interface().(time.Time)
}

func (s *Style) listOf(elem encoder) encoder {
	return func(b []byte, v reflect.Value) []byte {
		if v.IsNil() && !s.answer {
			return append(b, "null"...)
		}
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = elem(b, v.Index(i))
		}
		return append(b, ']')
	}
}

func (s *Style) structOf(fields []Field) encoder {
	encoders := make([]encoder, len(fields))
	for i, f := range fields {
		encoders[i] = s.encoderOf(f.Type)
	}
	return func(b []byte, v reflect.Value) []byte {
		b = append(b, '{')
		first := len(b)
		for i := range fields {
			f := &fields[i]
			value := v.Field(f.Index[0])
			for _, at := range f.Index[1:] {
				value = value.Field(at)
			}
			if f.omitEmpty && isEmpty(value) || f.omitZero && f.isZero(value) {
				continue
			}
			if len(b) > first {
				b = append(b, ',')
			}
			b = append(b, f.key...)
			if s.answer && f.nullable && value.Len() == 0 {
				b = append(b, "null"...)
				continue
			}
			b = encoders[i](b, value)
		}
		return append(b, '}')
	}
}

// Field is a field of a struct as JSON has it.
type Field struct {
	Name  string
	Index []int // as of reflect.Value.FieldByIndex, through no pointer
	Type  reflect.Type

	key                          string // with quotes and colon
	omitEmpty, omitZero, hasZero bool
	nullable                     bool // a string that is null in answers when it is empty
}

// isZero reports whether omitzero leaves a value out.
func (f *Field) isZero(v reflect.Value) bool {
	switch {
	case f.Type == timeType:
		return timeOf(v).IsZero()
	case f.hasZero:
		return v.Interface().(interface{ IsZero() bool }).IsZero()
	}
	return v.IsZero()
}

// FieldsOf returns the fields of a struct, those of embedded ones in their place. It reports false where only
// encoding/json knows: names that stand twice, embedded pointers, and numbers in strings.
func FieldsOf(t reflect.Type) ([]Field, bool) {
	seen := map[string]bool{}
	return appendFields(nil, t, nil, seen)
}

func appendFields(list []Field, t reflect.Type, path []int, seen map[string]bool) ([]Field, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, opts, _ := strings.Cut(tag, ",")
		index := append(path[:len(path):len(path)], i)
		switch {
		case tag == "-":
			continue
		case f.Anonymous && name == "":
			if f.Type.Kind() != reflect.Struct {
				return nil, false
			}
			var ok bool
			if list, ok = appendFields(list, f.Type, index, seen); !ok {
				return nil, false
			}
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		if seen[name] || strings.Contains(opts, "string") {
			return nil, false
		}
		seen[name] = true
		list = append(list, Field{
			Name: name, Index: index, Type: f.Type, key: string(rawjson.AppendString(nil, name)) + ":",
			omitEmpty: strings.Contains(opts, "omitempty"), omitZero: strings.Contains(opts, "omitzero"),
			nullable: f.Type.Kind() == reflect.String && slices.Contains(strings.Split(f.Tag.Get("check"), ","), "nullable"),
			hasZero:  f.Type.Implements(zeroType) && f.Type.Kind() != reflect.Pointer && f.Type.Kind() != reflect.Interface,
		})
	}
	return list, true
}

// isEmpty reports whether omitempty leaves a value out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
