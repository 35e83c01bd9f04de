package config

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// Show renders the effective configuration, every key included, as YAML that Load reads back to the same
// values. Secrets are shown as ***.
func Show(c *Config) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(tree("", c.keys())); err != nil {
		return nil, core.AsError(err)
	}
	return out.Bytes(), nil
}

// tree renders keys below a path. What may be left out, and is, is not shown.
func tree(path string, keys []key) *yaml.Node {
	root := &yaml.Node{Kind: yaml.MappingNode}
	sections := map[string]*yaml.Node{path: root}
	var section func(path string) *yaml.Node
	section = func(path string) *yaml.Node {
		if sections[path] == nil {
			sections[path] = &yaml.Node{Kind: yaml.MappingNode}
			parent := section(parentOf(path))
			parent.Content = append(parent.Content, textNode(path[strings.LastIndex(path, ".")+1:]), sections[path])
		}
		return sections[path]
	}
	for _, k := range keys {
		if k.section || k.Optional && k.value.IsZero() {
			continue
		}
		parent := section(parentOf(k.path))
		parent.Content = append(parent.Content, textNode(k.name()), k.node())
	}
	return root
}

// node renders the value of the key.
func (k *key) node() *yaml.Node {
	switch value := k.value.Interface().(type) {
	case []string:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, text := range value {
			list.Content = append(list.Content, textNode(schema.Escape(text)))
		}
		return flowed(list)
	case Secret:
		return textNode(k.text())
	case Env:
		return namesNode(value.Names(), func(string) string { return redacted })
	case Headers:
		return namesNode(Env(value).Names(), func(string) string { return redacted })
	case map[string]string:
		return namesNode(sortedKeys(value), func(name string) string { return schema.Escape(value[name]) })
	case Block:
		return value.node()
	}
	switch {
	case k.IsStructs():
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range k.value.Len() {
			list.Content = append(list.Content, tree("", keysIn("", false, k.value.Index(i))))
		}
		return flowed(list)
	case k.Type.Kind() == reflect.String:
		return textNode(schema.Escape(k.text()))
	case k.Type.Kind() == reflect.Int64 && !k.Size:
		return textNode(k.text())
	}
	// Plain, so that a size in whole bytes reads as a number and one with a unit as text.
	return &yaml.Node{Kind: yaml.ScalarNode, Value: k.text()}
}

// flow renders a list of structs in one line.
func (k *key) flow() string {
	if k.value.Len() == 0 {
		return ""
	}
	list := k.node()
	list.Style = yaml.FlowStyle
	data, err := yaml.Marshal(list)
	if err != nil {
		panic("config: a list holds texts and numbers: " + err.Error())
	}
	return string(bytes.ReplaceAll(bytes.TrimSpace(data), []byte("\n    "), []byte(" ")))
}

func namesNode(names []string, value func(name string) string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range names {
		node.Content = append(node.Content, textNode(name), textNode(value(name)))
	}
	return flowed(node)
}

// flowed makes an empty list or mapping [] or {}.
func flowed(node *yaml.Node) *yaml.Node {
	if len(node.Content) == 0 {
		node.Style = yaml.FlowStyle
	}
	return node
}

func textNode(text string) *yaml.Node {
	var node yaml.Node
	node.SetString(text)
	return &node
}

func sortedKeys[T any](m map[string]T) []string {
	return slices.Sorted(maps.Keys(m))
}
