package api

import (
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

var (
	textListType = reflect.TypeFor[[]string]()
	textMapType  = reflect.TypeFor[map[string]string]()
)

// textList reads a list of strings.
func (d *decoder) textList(path string, at int, f *field, target reflect.Value) {
	list := []string{}
	d.array(func(i int) {
		if text, ok := d.element(fmt.Sprintf("%s[%d]", path, i)); ok {
			list = append(list, text)
		}
	})
	if d.err == nil {
		f.bounds(int64(len(list)), func(format string, args ...any) {
			d.problem(path, at, format+" items, not %d", append(args, len(list))...)
		})
		target.Set(reflect.ValueOf(list))
	}
}

// structList reads a list of objects into a slice of structs.
func (d *decoder) structList(path string, at int, f *field, target reflect.Value) {
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
		f.bounds(int64(list.Len()), func(format string, args ...any) {
			d.problem(path, at, format+" items, not %d", append(args, list.Len())...)
		})
		target.Set(list)
	}
}

// textMap reads an object of strings. Its values may be secret and stay out of the problems.
func (d *decoder) textMap(path string, target reflect.Value) {
	texts := map[string]string{}
	d.object(func(key []byte, _ int) {
		name := string(key)
		if text, ok := d.element(join(path, clip(name))); ok {
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
		d.problem(path, at, "must be a number that a computer can hold, not %s", clip(text))
		return
	}
	target.SetFloat(x)
}
