package config

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// endpointKey is the dotted key of an endpoint, or of one of its keys.
func endpointKey(i int, name string) string {
	key := fmt.Sprintf("webhooks.endpoints[%d]", i)
	if name == "" {
		return key
	}
	return join(key, name)
}

// bind makes the field of one endpoint.
func (f *endpointField) bind(i int, e *Endpoint) *field {
	bound := f.field
	bound.key = endpointKey(i, f.key)
	bound.ref = func(*Config) any { return f.of(e) }
	return &bound
}

// endpoints decodes a list of endpoints; it replaces what an earlier file said.
func (d *decoder) endpoints(f *field, list *[]Endpoint, line int, node *yaml.Node) {
	if node.Kind != yaml.SequenceNode {
		d.add(line, f.key, "wants a list of endpoints, not %s", describeNode(node))
		return
	}
	if len(node.Content) > maxEndpoints {
		d.add(line, f.key, "has %d endpoints; at most %d are allowed", len(node.Content), maxEndpoints)
		return
	}
	for key := range d.config.origins {
		if strings.HasPrefix(key, f.key+"[") {
			delete(d.config.origins, key)
		}
	}
	endpoints := make([]Endpoint, len(node.Content))
	for i, item := range node.Content {
		endpoints[i] = newEndpoint()
		key := endpointKey(i, "")
		d.config.origins[key] = origin{d.file, item.Line}
		if !d.plain(key, item) {
			continue
		}
		if item.Kind != yaml.MappingNode {
			d.add(item.Line, key, "wants keys such as url, events and secret, not %s", describeNode(item))
			continue
		}
		d.endpoint(i, &endpoints[i], "", item)
	}
	*list = endpoints
	d.config.origins[f.key] = origin{d.file, line}
}

// endpoint decodes the keys of an endpoint, or those below one of its sections.
func (d *decoder) endpoint(i int, e *Endpoint, section string, node *yaml.Node) {
	d.pairs(endpointKey(i, section), node, func(name, value *yaml.Node) {
		below := join(section, name.Value)
		for _, f := range endpointFields {
			switch {
			case f.key == below:
				d.endpointValue(f.bind(i, e), name.Line, value)
				return
			case strings.HasPrefix(f.key, below+"."):
				key := endpointKey(i, below)
				switch {
				case !d.plain(key, value) || value.ShortTag() == "!!null":
				case value.Kind != yaml.MappingNode:
					d.add(value.Line, key, "is a section and wants keys below it, not %s", describeNode(value))
				default:
					d.endpoint(i, e, below, value)
				}
				return
			}
		}
		d.add(name.Line, endpointKey(i, join(section, shorten(name.Value))), "unknown key; %s", suggestEndpointKey(i, section, name.Value))
	})
}

// endpointValue decodes what stands behind a key of an endpoint.
func (d *decoder) endpointValue(f *field, line int, node *yaml.Node) {
	switch ref := f.ref(d.config).(type) {
	case *Headers:
		*ref = Headers{}
		d.named(f, line, node, func(name string, value *yaml.Node) error {
			secret, err := d.secret(value)
			if err == nil {
				err = checkHeader(name, secret.Reveal())
			}
			(*ref)[name] = secret
			return err
		})
	case *map[string]string:
		*ref = map[string]string{}
		d.named(f, line, node, func(name string, value *yaml.Node) error {
			tag, text, err := d.scalar(value)
			if err == nil && (value.Kind != yaml.ScalarNode || tag != "" && tag != "!!str") {
				err = fmt.Errorf("wants text, not %s; put it in quotes if it is meant", describeNode(value))
			}
			if err == nil {
				err = checkLabel(name, text)
			}
			(*ref)[name] = text
			return err
		})
	default:
		d.value(f, line, node)
	}
}

// named decodes a mapping from names that the operator chose.
func (d *decoder) named(f *field, line int, node *yaml.Node, set func(name string, value *yaml.Node) error) {
	if !d.plain(f.key, node) || node.ShortTag() == "!!null" {
		return
	}
	if node.Kind != yaml.MappingNode {
		d.add(line, f.key, "wants names with values below it, not %s", describeNode(node))
		return
	}
	d.pairs(f.key, node, func(name, value *yaml.Node) {
		key := join(f.key, shorten(name.Value))
		if !d.plain(key, value) {
			return
		}
		if err := set(name.Value, value); err != nil {
			d.add(value.Line, key, "%s", err)
		}
	})
	d.config.origins[f.key] = origin{d.file, line}
}

func suggestEndpointKey(i int, section, name string) string {
	var names []string
	for _, f := range endpointFields {
		below, ok := f.key, true
		if section != "" {
			below, ok = strings.CutPrefix(f.key, section+".")
		}
		first, _, _ := strings.Cut(below, ".")
		if ok && !slices.Contains(names, first) {
			names = append(names, first)
		}
	}
	if near := schema.Nearest(name, names); near != "" {
		return "did you mean " + endpointKey(i, join(section, near)) + "?"
	}
	return "known keys here are " + strings.Join(names, ", ")
}

// endpointsNode renders endpoints as YAML, secrets and values of headers as ***.
func endpointsNode(endpoints []Endpoint) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	if len(endpoints) == 0 {
		list.Style = yaml.FlowStyle // []
	}
	for i := range endpoints {
		node := &yaml.Node{Kind: yaml.MappingNode}
		sections := map[string]*yaml.Node{"": node}
		for _, f := range endpointFields {
			if !f.must && reflect.ValueOf(f.of(&endpoints[i])).Elem().IsZero() {
				continue
			}
			parent := sectionNode(sections, parentOf(f.key))
			parent.Content = append(parent.Content, textNode(f.name()), f.bind(i, &endpoints[i]).endpointNode())
		}
		list.Content = append(list.Content, node)
	}
	return list
}

func (f *field) endpointNode() *yaml.Node {
	switch ref := f.ref(nil).(type) {
	case *Headers:
		return namesNode(sortedNames(*ref), func(string) string { return redacted })
	case *map[string]string:
		return namesNode(sortedNames(*ref), func(name string) string { return escape((*ref)[name]) })
	}
	return f.node(nil)
}

func namesNode(names []string, value func(name string) string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	if len(names) == 0 {
		node.Style = yaml.FlowStyle // {}
	}
	for _, name := range names {
		node.Content = append(node.Content, textNode(name), textNode(value(name)))
	}
	return node
}

func sortedNames[T any](m map[string]T) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// endpointsText renders endpoints in one line.
func endpointsText(endpoints []Endpoint) string {
	if len(endpoints) == 0 {
		return ""
	}
	list := endpointsNode(endpoints)
	list.Style = yaml.FlowStyle
	data, err := yaml.Marshal(list)
	if err != nil {
		panic("config: endpoints are texts and numbers: " + err.Error())
	}
	return string(bytes.ReplaceAll(bytes.TrimSpace(data), []byte("\n    "), []byte(" ")))
}

// equalEndpoints compares with secrets; an empty list is equal to none.
func equalEndpoints(a, b []Endpoint) bool {
	return slices.EqualFunc(a, b, func(a, b Endpoint) bool {
		if !a.Secret.Equal(b.Secret) || !Env(a.Headers).equal(Env(b.Headers)) || !sameLabels(a.Filters.Metadata, b.Filters.Metadata) ||
			!slices.Equal(a.Events, b.Events) || !slices.Equal(a.Filters.Pattern, b.Filters.Pattern) {
			return false
		}
		a.Secret, a.Headers, a.Events, a.Filters = b.Secret, b.Headers, b.Events, b.Filters
		return reflect.DeepEqual(a, b)
	})
}

func sameLabels(a, b map[string]string) bool {
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b)
}

// endpointsSchema describes one endpoint.
func endpointsSchema() *schemaNode {
	node := sectionSchema("One endpoint.")
	node.Type = "object"
	e := newEndpoint()
	filters := sectionSchema("Which of these events it gets.")
	for _, f := range endpointFields {
		parent := node
		if parentOf(f.key) != "" {
			parent = filters
		}
		bound := f.bind(0, &e)
		bound.doc = f.doc
		var text *schemaNode
		switch f.of(&e).(type) {
		case *Headers:
			text = &schemaNode{Description: f.doc, Type: []string{"object", "null"}, Additional: &schemaNode{Type: []string{"string", "number", "boolean"}}}
		case *map[string]string:
			text = &schemaNode{Description: f.doc, Type: []string{"object", "null"}, Additional: &schemaNode{Type: "string"}}
		default:
			text = bound.schema(nil)
		}
		if f.must && (f.key == "url" || f.key == "events" || f.key == "secret") {
			node.Required = append(node.Required, f.key)
			text.Default = nil
		}
		parent.Properties.add(f.name(), text)
	}
	node.Properties.add("filters", filters)
	return node
}
