package pattern

import (
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// nodeKind is the type of a value in a definition.
type nodeKind byte

const (
	nullNode nodeKind = iota
	boolNode
	numberNode
	textNode
	listNode
	mapNode
)

var nodeKindNames = [...]string{"nothing", "a boolean", "a number", "text", "a list", "a map"}

func (k nodeKind) String() string { return nodeKindNames[k] }

// node is a value of a definition with the line it stands in. Aliases and merge keys are resolved, so a
// node is always a tree.
type node struct {
	kind  nodeKind
	line  int
	text  string  // of a scalar: the string, the number as JSON text, true or false
	plain string  // of a scalar: the characters as they were written
	block bool    // of text: it begins in the line after line, and keeps its lines
	keys  []entry // of a map, in the order written
	items []*node // of a list
}

// entry is one key of a map.
type entry struct {
	key   string
	line  int
	value *node
}

// get returns the value of a key, or nil.
func (n *node) get(key string) *node {
	for i := range n.keys {
		if n.keys[i].key == key {
			return n.keys[i].value
		}
	}
	return nil
}

// keyLine returns the line in which a key stands, or the map's own.
func (n *node) keyLine(key string) int {
	for i := range n.keys {
		if n.keys[i].key == key {
			return n.keys[i].line
		}
	}
	return n.line
}

// appendJSON appends the value as compact JSON, keys in the order written.
func (n *node) appendJSON(dst []byte) []byte {
	switch n.kind {
	case nullNode:
		return append(dst, "null"...)
	case boolNode, numberNode:
		return append(dst, n.text...)
	case textNode:
		return rawjson.AppendString(dst, n.text)
	case listNode:
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.appendJSON(dst)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for i, e := range n.keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, e.key)
		dst = append(dst, ':')
		dst = e.value.appendJSON(dst)
	}
	return append(dst, '}')
}
