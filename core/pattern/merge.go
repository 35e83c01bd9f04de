package pattern

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// mergeAnswers folds answers into one value, in their order: the later one wins where both say something
// that cannot be joined. Objects are merged field by field, at every depth except with shallow. Arrays
// replace each other with deep and shallow, are joined with concat, and joined without doubles with union.
// Without answers the result is null.
func mergeAnswers(method string, answers []answer) json.RawMessage {
	if len(answers) == 0 {
		return null
	}
	m := merger{method: method}
	size := 0
	root := m.adopt(answers[0].raw)
	for _, a := range answers[1:] {
		size += len(a.raw)
		m.join(root, a.raw, 0)
	}
	return root.append(make([]byte, 0, size+len(answers[0].raw)))
}

type merger struct {
	method string
}

// merged is a value under construction: raw until something is joined to it.
type merged struct {
	kind   rawjson.Kind
	raw    []byte // the value, while nothing was joined to it
	fields []mergedField
	byKey  map[string]int // index into fields, once there are many
	items  [][]byte       // of an array
	known  map[string]struct{}
}

type mergedField struct {
	key   []byte // quoted
	value *merged
}

// adopt takes a value in. For union even a value that no other answer names loses the doubles of its arrays, so
// that merging a value with itself changes nothing.
func (m *merger) adopt(raw []byte) *merged {
	v := &merged{kind: rawjson.KindOf(raw), raw: raw}
	if m.method == union && (v.kind == rawjson.Object || v.kind == rawjson.Array) {
		m.open(v)
	}
	return v
}

// open takes a raw object or array apart.
func (m *merger) open(v *merged) {
	if v.raw == nil {
		return
	}
	raw := v.raw
	v.raw = nil
	for it := rawjson.Walk(raw); it.Next(); {
		if v.kind == rawjson.Object {
			v.put(it.Key, m.adopt(it.Value))
		} else {
			m.push(v, it.Value)
		}
	}
}

func (m *merger) push(v *merged, item []byte) {
	if m.method == union {
		if v.known == nil {
			v.known = make(map[string]struct{})
		}
		var buf [128]byte
		key := rawjson.AppendCanonical(buf[:0], item)
		if _, double := v.known[string(key)]; double {
			return
		}
		v.known[string(key)] = struct{}{}
	}
	v.items = append(v.items, item)
}

// join merges raw into v.
func (m *merger) join(v *merged, raw []byte, depth int) {
	kind := rawjson.KindOf(raw)
	switch {
	case kind == rawjson.Object && v.kind == kind && (m.method != shallow || depth == 0):
		m.open(v)
		for it := rawjson.Walk(raw); it.Next(); {
			if i := v.index(it.Key); i >= 0 {
				m.join(v.fields[i].value, it.Value, depth+1)
			} else {
				v.put(it.Key, m.adopt(it.Value))
			}
		}
	case kind == rawjson.Array && v.kind == kind && (m.method == concat || m.method == union):
		m.open(v)
		for it := rawjson.Walk(raw); it.Next(); {
			m.push(v, it.Value)
		}
	default:
		*v = *m.adopt(raw)
	}
}

// manyFields is the number of fields from which they are found by a map.
const manyFields = 8

func (v *merged) put(key []byte, value *merged) {
	v.fields = append(v.fields, mergedField{key, value})
	if v.byKey != nil {
		v.byKey[string(rawjson.Unquote(key))] = len(v.fields) - 1
	} else if len(v.fields) > manyFields {
		v.byKey = make(map[string]int, 2*len(v.fields))
		for i, f := range v.fields {
			v.byKey[string(rawjson.Unquote(f.key))] = i
		}
	}
}

func (v *merged) index(key []byte) int {
	name := rawjson.Unquote(key)
	if v.byKey != nil {
		if i, ok := v.byKey[string(name)]; ok {
			return i
		}
		return -1
	}
	for i, f := range v.fields {
		if string(rawjson.Unquote(f.key)) == string(name) {
			return i
		}
	}
	return -1
}

func (v *merged) append(dst []byte) []byte {
	if v.raw != nil {
		return append(dst, v.raw...)
	}
	if v.kind == rawjson.Array {
		dst = append(dst, '[')
		for i, item := range v.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, item...)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for i, f := range v.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, f.key...), ':')
		dst = f.value.append(dst)
	}
	return append(dst, '}')
}
