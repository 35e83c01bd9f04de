package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"regexp"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// Block is a part of the configuration whose keys belong to somebody else: the settings of a plugin. It is a
// tree of keys, lists, texts, numbers, true, false and null. Values that came from the environment, and those
// whose key says that they are secret, are shown as ***; JSON alone gives them out. The zero value is empty.
type Block struct {
	root map[string]any // leaves: string, json.Number, bool, nil or sealed
}

// sealed is a leaf that must not be shown; the secret is its JSON text.
type sealed struct{ Secret }

// MarshalJSON covers the Secret's.
func (s sealed) MarshalJSON() ([]byte, error) { return []byte(s.Reveal()), nil }

// secretName tells from the last part of a key that its value should not be shown. Keys such as tokenFile or
// secretPath only name a place.
var secretName = regexp.MustCompile(`(?i)(password|passwd|passphrase|secret|token|credentials?|api_?key|private_?key|access_?key)$`)

var (
	_ fmt.Formatter  = Block{}
	_ slog.LogValuer = Block{}
)

// IsZero reports whether the block has no keys.
func (b Block) IsZero() bool { return len(b.root) == 0 }

// JSON returns the block as a JSON object with its secrets; "{}" when it is empty. Callers hand it to the
// plugin and keep no copy.
func (b Block) JSON() json.RawMessage {
	if b.IsZero() {
		return json.RawMessage("{}")
	}
	return encode(b.root)
}

// Secrets returns the texts that must not be shown, so that they can be blotted out of what a plugin says.
func (b Block) Secrets() []string {
	var texts []string
	var walk func(value any)
	walk = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			for _, item := range value {
				walk(item)
			}
		case []any:
			for _, item := range value {
				walk(item)
			}
		case sealed:
			var text string
			if json.Unmarshal([]byte(value.Reveal()), &text) != nil {
				text = value.Reveal() // a number, such as one of digits alone that stands without quotes
			}
			if text != "" {
				texts = append(texts, text)
			}
		}
	}
	walk(b.root)
	sort.Strings(texts)
	return texts
}

// String renders the block as JSON with *** in place of what must not be shown.
func (b Block) String() string {
	if b.IsZero() {
		return "{}"
	}
	return string(encode(redact(b.root)))
}

// Format implements fmt.Formatter, which takes every verb.
func (b Block) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, b.String()) }

// MarshalJSON implements json.Marshaler; it shows no secret.
func (b Block) MarshalJSON() ([]byte, error) { return []byte(b.String()), nil }

// MarshalYAML implements yaml.Marshaler; it shows no secret.
func (b Block) MarshalYAML() (any, error) { return b.node(), nil }

// LogValue implements slog.LogValuer.
func (b Block) LogValue() slog.Value { return slog.StringValue(b.String()) }

// encode writes a tree of a block, with sorted keys. It cannot fail for what the decoder puts into one.
func encode(value any) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(fmt.Sprintf("config: a block holds what JSON cannot: %T", value))
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

// redact copies a tree with *** for its sealed leaves.
func redact(value any) any {
	switch value := value.(type) {
	case map[string]any:
		next := make(map[string]any, len(value))
		for key, item := range value {
			next[key] = redact(item)
		}
		return next
	case []any:
		next := make([]any, len(value))
		for i, item := range value {
			next[i] = redact(item)
		}
		return next
	case sealed:
		return redacted
	}
	return value
}

// merge lays over what a later file said: keys join, everything else replaces.
func merge(under, over map[string]any) map[string]any {
	next := make(map[string]any, len(under)+len(over))
	maps.Copy(next, under)
	for key, value := range over {
		below, isMap := next[key].(map[string]any)
		if above, ok := value.(map[string]any); ok && isMap {
			value = merge(below, above)
		}
		next[key] = value
	}
	return next
}

// node renders the block as YAML.
func (b Block) node() *yaml.Node { return treeNode(b.root) }

func treeNode(value any) *yaml.Node {
	switch value := value.(type) {
	case map[string]any:
		node := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range sortedKeys(value) {
			node.Content = append(node.Content, textNode(key), treeNode(value[key]))
		}
		return flowed(node)
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range value {
			node.Content = append(node.Content, treeNode(item))
		}
		return flowed(node)
	case string:
		return textNode(schema.Escape(value))
	case sealed:
		return textNode(redacted)
	}
	// Numbers, true, false and null read the same in YAML as in JSON.
	return &yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(string(encode(value)))}
}
