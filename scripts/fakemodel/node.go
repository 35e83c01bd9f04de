package fakemodel

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object that is about to be written.
type object = map[string]any

// node is a place in a decoded JSON document. Its methods never fail: what is not there, or is of another
// type, reads as nothing. The programs send a hundred fields, of which a few matter here.
type node struct{ v any }

func (n node) get(key string) node {
	fields, ok := n.v.(map[string]any)
	if !ok {
		return node{}
	}
	return node{fields[key]}
}

func (n node) has(key string) bool {
	fields, ok := n.v.(map[string]any)
	if !ok {
		return false
	}
	_, ok = fields[key]
	return ok
}

func (n node) list() []node {
	values, ok := n.v.([]any)
	if !ok {
		return nil
	}
	nodes := make([]node, len(values))
	for i, v := range values {
		nodes[i] = node{v}
	}
	return nodes
}

func (n node) text() string {
	text, ok := n.v.(string)
	if !ok {
		return ""
	}
	return text
}

// str is the string itself, with ok false when it is another type.
func (n node) str() (text string, ok bool) {
	text, ok = n.v.(string)
	return text, ok
}

func (n node) isTrue() bool { return n.v == true }

func (n node) isObject() bool {
	_, ok := n.v.(map[string]any)
	return ok
}

// compact is the JSON text of the place.
func (n node) compact() string { return compact(n.v) }

// compact writes values that came from JSON or were built for it, which cannot fail. Commands stay readable: <
// and & are not escaped.
func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("fakemodel: a value that is not JSON: " + err.Error())
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// first is the first text of a list that is not empty.
func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
