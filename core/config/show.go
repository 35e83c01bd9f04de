package config

import (
	"bytes"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// Show renders the effective configuration, every key included, as YAML that Load reads back to the same
// values. Secrets are shown as ***.
func Show(c *Config) ([]byte, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	sections := map[string]*yaml.Node{"": root}
	for _, f := range fieldsOf(c) {
		parent := sectionNode(sections, parentOf(f.key))
		parent.Content = append(parent.Content, textNode(f.name()), f.node(c))
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return nil, core.AsError(err)
	}
	return out.Bytes(), nil
}

// sectionNode returns the mapping of a section, making it and those above it where they are missing.
func sectionNode(sections map[string]*yaml.Node, key string) *yaml.Node {
	if node, ok := sections[key]; ok {
		return node
	}
	node := &yaml.Node{Kind: yaml.MappingNode}
	parent := sectionNode(sections, parentOf(key))
	parent.Content = append(parent.Content, textNode(key[strings.LastIndex(key, ".")+1:]), node)
	sections[key] = node
	return node
}

// node renders the value of the key in c.
func (f *field) node(c *Config) *yaml.Node {
	switch ref := f.ref(c).(type) {
	case *string:
		return textNode(escape(*ref))
	case *[]string:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		if len(*ref) == 0 {
			list.Style = yaml.FlowStyle // []
		}
		for _, text := range *ref {
			list.Content = append(list.Content, textNode(escape(text)))
		}
		return list
	case *time.Duration:
		return textNode(schema.FormatDuration(*ref))
	case *Secret:
		return textNode(f.text(c))
	case *Env:
		node := &yaml.Node{Kind: yaml.MappingNode}
		if len(*ref) == 0 {
			node.Style = yaml.FlowStyle // {}
		}
		for _, name := range ref.Names() {
			node.Content = append(node.Content, textNode(name), textNode(redacted))
		}
		return node
	case *Block:
		return ref.node()
	case *[]core.AutoAnswerRule:
		return rulesNode(*ref)
	case *[]Endpoint:
		return endpointsNode(*ref)
	case *int64:
		// Plain, so that a size in whole bytes reads as a number and one with a unit as text.
		return &yaml.Node{Kind: yaml.ScalarNode, Value: schema.FormatSize(*ref)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: f.text(c)}
}

func textNode(text string) *yaml.Node {
	var node yaml.Node
	node.SetString(text)
	return &node
}

// parentOf returns the section of a dotted key, "" at the top.
func parentOf(key string) string {
	if at := strings.LastIndex(key, "."); at >= 0 {
		return key[:at]
	}
	return ""
}
