package config

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
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
	defaults := Default()
	root := sectionSchema("Configuration of Wardroom.")
	root.Schema, root.ID, root.Title = "https://json-schema.org/draft/2020-12/schema", schemaID, "Wardroom configuration"
	sections := map[string]*schemaNode{"": root}
	for _, f := range fields {
		section(sections, parentOf(f.key)).Properties.add(f.name(), f.schema(defaults))
	}
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, core.AsError(err)
	}
	return append(data, '\n'), nil
}

func section(sections map[string]*schemaNode, key string) *schemaNode {
	if node, ok := sections[key]; ok {
		return node
	}
	node := sectionSchema(sectionDocs[key])
	parent, name := section(sections, parentOf(key)), key[strings.LastIndex(key, ".")+1:]
	if name == anyName {
		parent.Names = &schemaNode{Pattern: "^" + entryNamePattern + "$"}
		if fixed := unlikeEntries(parent); len(fixed) > 0 {
			parent.Names = &schemaNode{AnyOf: []*schemaNode{parent.Names, {Enum: fixed}}}
		}
		if reserved := sortedReserved(findCollection(parentOf(key)), parent); len(reserved) > 0 {
			parent.Names.Not = &schemaNode{Enum: reserved}
		}
		parent.Additional = node
	} else {
		parent.Properties.add(name, node)
	}
	sections[key] = node
	return node
}

// unlikeEntries returns the keys of a section that no entry could be called.
func unlikeEntries(section *schemaNode) []string {
	return slices.DeleteFunc(slices.Clone(section.Properties.names), entryName.MatchString)
}

// sortedReserved returns the names that an entry may not have and that are no keys of the section either.
func sortedReserved(l *collection, section *schemaNode) []string {
	var names []string
	for name := range l.reserved {
		if _, isKey := section.Properties.nodes[name]; !isKey {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
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
func (f *field) schema(defaults *Config) *schemaNode {
	node := &schemaNode{Description: f.help()}
	referring := &schemaNode{Type: "string", Pattern: reference}
	if f.in != nil {
		f = f.bind(anyName) // no entry has this name, so the defaults are those of a new one
	}
	switch ref := f.ref(defaults).(type) {
	case *string:
		node.Type = "string"
		node.Default = *ref
		if len(f.enum) > 0 {
			node.Type = nil
			node.AnyOf = []*schemaNode{{Type: "string", Enum: f.enum}, referring}
		}
	case *bool:
		node.Default = *ref
		node.AnyOf = []*schemaNode{{Type: "boolean"}, referring}
	case *int:
		node.Default = *ref
		node.AnyOf = []*schemaNode{f.integer(), referring}
	case *int64:
		node.Default = f.text(defaults)
		size := &schemaNode{Type: "string", Pattern: `^[0-9]+ *([bB]|[kKmMgGtT]([iI][bB])?)?$|` + reference}
		node.AnyOf = []*schemaNode{f.integer(), size}
	case *time.Duration:
		node.Default = f.text(defaults)
		node.Type = "string"
		node.Pattern = `^[0-9]+d$|^([0-9]+d)?([0-9.]+(ns|us|µs|μs|ms|s|m|h))+$|^([0-9]+d)?0$|` + reference
	case *[]string:
		node.Default = append([]string{}, *ref...)
		node.Type = "array"
		node.Items = &schemaNode{Type: "string"}
	case *[]core.AutoAnswerRule:
		node.Default = []string{}
		node.Type = "array"
		node.Items = rulesSchema()
	case *[]Endpoint:
		node.Default = []string{}
		node.Type = "array"
		node.Items = endpointsSchema()
	case *Secret:
		node.Type = []string{"string", "number", "boolean"}
	case *Env:
		node.Type = []string{"object", "null"}
		node.Names = &schemaNode{Pattern: `^[A-Za-z_][A-Za-z0-9_]*$`}
		node.Additional = &schemaNode{Type: []string{"string", "number", "boolean"}}
	case *Block:
		node.Type = []string{"object", "null"}
	}
	return node
}

func (f *field) integer() *schemaNode {
	node := &schemaNode{Type: "integer", Minimum: &f.min}
	if f.max > 0 {
		node.Maximum = &f.max
	}
	return node
}
