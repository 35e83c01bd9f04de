package config

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
	"github.com/wardroom/wardroom/sdk/wire"
)

// schemaID names the published schema; it is an identity and need not resolve.
const schemaID = "https://github.com/wardroom/wardroom/raw/main/configs/wardroom.schema.json"

// reference is the part of a pattern that lets a value hold an environment reference, which a schema
// cannot look behind.
const reference = `\$\{`

// schemaNode is the subset of JSON Schema that is needed, with the members in the order they are written.
type schemaNode struct {
	Schema      string         `json:"$schema,omitempty"`
	ID          string         `json:"$id,omitempty"`
	Title       string         `json:"title,omitempty"`
	Description string         `json:"description,omitempty"`
	Type        any            `json:"type,omitempty"` // a name, or a list of them
	Default     any            `json:"default,omitempty"`
	Enum        []string       `json:"enum,omitempty"`
	Pattern     string         `json:"pattern,omitempty"`
	Minimum     *int64         `json:"minimum,omitempty"`
	Maximum     *int64         `json:"maximum,omitempty"`
	AnyOf       []*schemaNode  `json:"anyOf,omitempty"`
	Not         *schemaNode    `json:"not,omitempty"`
	Items       *schemaNode    `json:"items,omitempty"`
	Required    []string       `json:"required,omitempty"`
	Properties  *orderedSchema `json:"properties,omitzero"`
	Names       *schemaNode    `json:"propertyNames,omitempty"`
	Additional  any            `json:"additionalProperties,omitempty"` // false, or the schema of an entry
}

// orderedSchema keeps properties in the order of the table instead of the alphabet.
type orderedSchema struct {
	names []string
	nodes map[string]*schemaNode
}

// MarshalJSON implements json.Marshaler.
func (o *orderedSchema) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, name := range o.names {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(o.nodes[name])
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

func (o *orderedSchema) add(name string, node *schemaNode) {
	o.names = append(o.names, name)
	o.nodes[name] = node
}

// Schema returns the JSON Schema (2020-12) of the configuration file, for editors. It is as strict as the
// loader about keys and types; what needs more than one key, or the environment, only the loader checks.
func Schema() ([]byte, error) {
	root := sectionSchema("Configuration of Wardroom.")
	root.Schema, root.ID, root.Title = "https://json-schema.org/draft/2020-12/schema", schemaID, "Wardroom configuration"
	c := sample()
	addKeys(root, "", c.keys())
	for _, l := range c.collections() { // every key of their sections is known now
		section := root
		for name := range strings.SplitSeq(l.path, ".") {
			section = section.Properties.nodes[name]
		}
		section.addNames(&l)
	}
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, core.AsError(err)
	}
	return append(data, '\n'), nil
}

// addKeys adds keys to the section at path that they are below.
func addKeys(root *schemaNode, path string, keys []key) {
	sections := map[string]*schemaNode{path: root}
	for _, k := range keys {
		parent := sections[parentOf(k.path)]
		switch {
		case !k.section:
			parent.Properties.add(k.name(), k.schema())
			if k.missing() != "" && len(path) == 0 && root.Type == "object" {
				parent.Required = append(parent.Required, k.name())
			}
		case k.name() == schema.AnyName:
			sections[k.path] = sectionSchema(k.doc)
			parent.Additional = sections[k.path]
		default:
			sections[k.path] = sectionSchema(k.doc)
			parent.Properties.add(k.name(), sections[k.path])
		}
	}
}

// addNames says what the entries of a section may be called.
func (n *schemaNode) addNames(l *collection) {
	n.Names = &schemaNode{Pattern: "^" + schema.EntryName + "$"}
	if fixed := slices.DeleteFunc(slices.Clone(n.Properties.names), schema.IsEntryName); len(fixed) > 0 {
		n.Names = &schemaNode{AnyOf: []*schemaNode{n.Names, {Enum: fixed}}}
	}
	reserved, _ := l.Reserved()
	reserved = slices.DeleteFunc(reserved, func(name string) bool { return slices.Contains(l.beside, name) })
	if len(reserved) > 0 {
		n.Names.Not = &schemaNode{Enum: reserved}
	}
}

// sectionSchema makes a closed object; a section whose keys are all commented out is null.
func sectionSchema(doc string) *schemaNode {
	return &schemaNode{
		Description: doc,
		Type:        []string{"object", "null"},
		Properties:  &orderedSchema{nodes: map[string]*schemaNode{}},
		Additional:  false,
	}
}

// schema describes one key.
func (k *key) schema() *schemaNode {
	node := &schemaNode{Description: k.help()}
	referring := &schemaNode{Type: "string", Pattern: reference}
	switch value := k.value.Interface().(type) {
	case string:
		node.Type, node.Default = "string", value
		if len(k.Enum) > 0 {
			node.Type = nil
			node.AnyOf = []*schemaNode{{Type: "string", Enum: k.Enum}, referring}
		}
	case bool:
		node.Default = value
		node.AnyOf = []*schemaNode{{Type: "boolean"}, referring}
	case int:
		node.Default = value
		node.AnyOf = []*schemaNode{k.integer(), referring}
	case int64:
		node.Default = k.text()
		size := &schemaNode{Type: "string", Pattern: `^[0-9]+ *([bB]|[kKmMgGtT]([iI][bB])?)?$|` + reference}
		node.AnyOf = []*schemaNode{k.integer(), size}
	case time.Duration:
		node.Default = k.text()
		node.Type = "string"
		node.Pattern = `^[0-9]+d$|^([0-9]+d)?([0-9.]+(ns|us|µs|μs|ms|s|m|h))+$|^([0-9]+d)?0$|` + reference
	case []string:
		node.Type, node.Default = "array", append([]string{}, value...)
		node.Items = &schemaNode{Type: "string"}
	case Secret:
		node.Type = []string{"string", "number", "boolean"}
	case Env:
		node.Type = []string{"object", "null"}
		node.Names = &schemaNode{Pattern: wire.EnvNamePattern}
		node.Additional = &schemaNode{Type: []string{"string", "number", "boolean"}}
	case Headers:
		node.Type = []string{"object", "null"}
		node.Additional = &schemaNode{Type: []string{"string", "number", "boolean"}}
	case map[string]string:
		node.Type = []string{"object", "null"}
		node.Additional = &schemaNode{Type: "string"}
	case Block:
		node.Type = []string{"object", "null"}
	default: // a list of structs
		node.Type, node.Default = "array", []string{}
		item := reflect.New(k.Type.Elem()).Elem()
		rules.SetDefaults(item)
		node.Items = sectionSchema(k.Tag.Get("each"))
		node.Items.Type = "object"
		addKeys(node.Items, "", keysIn("", false, item))
	}
	if k.missing() != "" {
		node.Default = nil
	}
	return node
}

func (k *key) integer() *schemaNode {
	return &schemaNode{Type: "integer", Minimum: k.Min, Maximum: k.Max}
}
