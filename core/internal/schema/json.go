package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/wire"
)

// DecodeJSON reads the body of a request into the struct that into points to. A body that is no JSON is refused at its
// first fault; otherwise every problem is reported at once: unknown fields with the nearest known one,
// wrong types, values out of their bounds, missing required fields. A null is the same as an absent
// field. Raw values alias data.
func DecodeJSON(data []byte, into any) error {
	d := decoder{scanner: scanner{data: data}}
	target := reflect.ValueOf(into).Elem()
	if k := d.peek(); d.err == nil && k != rawjson.Object {
		d.problem("body", d.pos, "must be an object, not %s", k)
		d.raw()
	} else if d.err == nil {
		d.structure("", target)
	}
	d.finish()
	if d.err != nil {
		return d.err
	}
	return core.InvalidAll("invalid request body", d.problems)
}

// MaxProblems bounds an error answer; the rest is the client's to find in the next try.
const MaxProblems = 50

type decoder struct {
	scanner
	problems []core.Problem
}

func (d *decoder) problem(path string, at int, format string, args ...any) {
	if len(d.problems) >= MaxProblems {
		return
	}
	line, column := position(d.data, at)
	d.problems = append(d.problems, core.Problem{Path: path, Line: line, Column: column, Reason: fmt.Sprintf(format, args...)})
}

// structure reads an object into a struct.
func (d *decoder) structure(path string, target reflect.Value) {
	shape := Of(target.Type())
	var seen uint64
	start := d.pos
	d.object(func(key []byte, at int) {
		i, ok := shape.byName[string(key)]
		if !ok {
			name := Clip(string(key))
			d.problem(Join(path, name), at, "unknown field%s", Hint(path, name, shape.Names()))
			d.raw()
			return
		}
		f := &shape.Fields[i]
		if d.peek() == rawjson.Null {
			d.literal("null")
			return
		}
		if d.err == nil {
			seen |= 1 << i
			d.value(Join(path, f.Name), f, target.FieldByIndex(f.Index))
		}
	})
	if d.err != nil {
		return
	}
	for i := range shape.Fields {
		if f := &shape.Fields[i]; f.Required && seen&(1<<i) == 0 {
			d.problem(Join(path, f.Name), start, "is required")
		}
	}
}

// value reads the value at pos into a field.
func (d *decoder) value(path string, f *Field, target reflect.Value) {
	at, got := d.pos, d.peek()
	if d.err != nil {
		return
	}
	if got != f.kind && !f.any {
		d.problem(path, at, "must be %s, not %s", f.kind, got)
		d.raw()
		return
	}
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	switch {
	case f.raw:
		target.SetBytes(d.raw())
	case f.rawList:
		d.rawList(path, f, target)
	case f.Type == textListType:
		d.textList(path, at, f, target)
	case f.Type == textMapType:
		d.textMap(path, target)
	case f.kind == rawjson.Array:
		d.structList(path, at, f, target)
	case f.kind == rawjson.Object && target.Kind() == reflect.Struct:
		d.structure(path, target)
	case f.kind == rawjson.Object:
		if raw := d.raw(); raw != nil {
			var free core.Metadata
			var beyond *wire.NumberRangeError
			if errors.As(json.Unmarshal(raw, &free), &beyond) { // the scanner found it well-formed
				d.problem(path, at, "%s", beyond)
			}
			target.Set(reflect.ValueOf(map[string]any(free)))
		}
	case f.kind == rawjson.String:
		d.text(path, at, f, target)
	case f.kind == rawjson.Bool:
		target.SetBool(d.data[d.pos] == 't')
		d.raw()
	case target.Kind() == reflect.Float64:
		d.float(path, at, target)
	case f.kind == rawjson.Number:
		d.integer(path, at, f, target)
	}
}

func (d *decoder) rawList(path string, f *Field, target reflect.Value) {
	list := []json.RawMessage{}
	at := d.pos
	d.array(func(i int) {
		from, got := d.pos, d.peek()
		if d.err != nil {
			return
		}
		if got != rawjson.Object {
			d.problem(fmt.Sprintf("%s[%d]", path, i), from, "must be an object, not %s", got)
		}
		list = append(list, d.raw())
	})
	if d.err == nil {
		d.items(path, at, f, len(list))
		target.Set(reflect.ValueOf(list))
	}
}

// items checks the length of a list.
func (d *decoder) items(path string, at int, f *Field, n int) {
	if reason := f.OutOf(int64(n)); reason != "" {
		d.problem(path, at, "%s items, not %d", reason, n)
	}
}

func (d *decoder) text(path string, pos int, f *Field, target reflect.Value) {
	text := string(d.str())
	if d.err != nil {
		return
	}
	if target.Type() == timeType {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil || at.Year() < 1970 {
			d.problem(path, pos, "must be a time of RFC 3339 such as 2026-12-01T08:00:00Z, from 1970 on")
			return
		}
		target.Set(reflect.ValueOf(at.UTC()))
		return
	}
	if len(f.Enum) > 0 && !slices.Contains(f.Enum, text) {
		d.problem(path, pos, "%s", notOneOf(Rules(nil).Words(f), text))
		return
	}
	if reason := f.OutOf(int64(utf8.RuneCountInString(text))); reason != "" {
		d.problem(path, pos, "%s characters long", reason)
	}
	target.SetString(text)
}

func (d *decoder) integer(path string, at int, f *Field, target reflect.Value) {
	text := string(d.number())
	if d.err != nil {
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		// 1e3 and 2.0 are whole numbers too, as long as they are exact.
		x, ferr := strconv.ParseFloat(text, 64)
		if ferr != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			d.problem(path, at, "must be a whole number, not %s", Clip(text))
			return
		}
		n = int64(x)
	}
	if err := f.CheckNumber(n); err != nil {
		d.problem(path, at, "%s", err)
	}
	target.SetInt(n)
}

// textList reads a list of strings.
func (d *decoder) textList(path string, at int, f *Field, target reflect.Value) {
	list := []string{}
	d.array(func(i int) {
		if text, ok := d.element(fmt.Sprintf("%s[%d]", path, i)); ok {
			list = append(list, text)
		}
	})
	if d.err == nil {
		d.items(path, at, f, len(list))
		target.Set(reflect.ValueOf(list))
	}
}

// structList reads a list of objects into a slice of structs.
func (d *decoder) structList(path string, at int, f *Field, target reflect.Value) {
	list := reflect.MakeSlice(target.Type(), 0, 0)
	d.array(func(i int) {
		here, from, got := fmt.Sprintf("%s[%d]", path, i), d.pos, d.peek()
		if d.err != nil {
			return
		}
		if got != rawjson.Object {
			d.problem(here, from, "must be %s, not %s", rawjson.Object, got)
			d.raw()
			return
		}
		item := reflect.New(target.Type().Elem()).Elem()
		d.structure(here, item)
		list = reflect.Append(list, item)
	})
	if d.err == nil {
		d.items(path, at, f, list.Len())
		target.Set(list)
	}
}

// textMap reads an object of strings. Its values may be secret and stay out of the problems.
func (d *decoder) textMap(path string, target reflect.Value) {
	texts := map[string]string{}
	d.object(func(key []byte, _ int) {
		name := string(key)
		if text, ok := d.element(Join(path, Clip(name))); ok {
			texts[name] = text
		}
	})
	if d.err == nil {
		target.Set(reflect.ValueOf(texts))
	}
}

// element reads one string of a list or map.
func (d *decoder) element(path string) (string, bool) {
	at, got := d.pos, d.peek()
	if d.err != nil {
		return "", false
	}
	if got != rawjson.String {
		d.problem(path, at, "must be %s, not %s", rawjson.String, got)
		d.raw()
		return "", false
	}
	text := string(d.str())
	return text, d.err == nil
}

// float reads a number that may have a fraction.
func (d *decoder) float(path string, at int, target reflect.Value) {
	text := string(d.number())
	if d.err != nil {
		return
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(x, 0) {
		d.problem(path, at, "must be a number that a computer can hold, not %s", Clip(text))
		return
	}
	target.SetFloat(x)
}
