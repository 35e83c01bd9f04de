package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// deepest is how far the keys of a block may nest.
const deepest = 32

// blockReader reads blocks out of one file.
type blockReader struct {
	*schema.YAML
	failed bool
}

func (d *blockReader) bad(path string, node *yaml.Node, format string, args ...any) {
	d.Bad(path, node, format, args...)
	d.failed = true
}

// ReadYAML implements schema.NodeReader: it lays the settings of a plugin over what an earlier file said.
func (b *Block) ReadYAML(r *schema.YAML, path string, node *yaml.Node) bool {
	if node.Kind != yaml.MappingNode {
		r.Pairs(path, node, nil)
		return false
	}
	d := &blockReader{YAML: r}
	if root := merge(b.root, d.tree(path, false, node, 1)); !d.failed && len(root) > 0 {
		b.root = root
	}
	return !d.failed
}

// tree decodes a mapping of a block; secret tells that nothing in it must be shown.
func (d *blockReader) tree(key string, secret bool, node *yaml.Node, depth int) map[string]any {
	if depth > deepest {
		d.bad(key, node, "nests deeper than %d levels", deepest)
		return nil
	}
	out := make(map[string]any, len(node.Content)/2)
	d.Pairs(key, node, func(name, value *yaml.Node) {
		out[name.Value] = d.branch(schema.Join(key, schema.Clip(name.Value)), secret || secretName.MatchString(name.Value), value, depth)
	})
	return out
}

// branch decodes one value of a block; secret tells that it must not be shown.
func (d *blockReader) branch(key string, secret bool, node *yaml.Node, depth int) any {
	if !d.Plain(key, node) {
		d.failed = true
		return nil
	}
	switch node.Kind {
	case yaml.MappingNode:
		return d.tree(key, secret, node, depth+1)
	case yaml.SequenceNode:
		if depth >= deepest {
			d.bad(key, node, "nests deeper than %d levels", deepest)
			return nil
		}
		list := make([]any, 0, len(node.Content))
		for i, item := range node.Content {
			list = append(list, d.branch(fmt.Sprintf("%s[%d]", key, i), secret, item, depth+1))
		}
		return list
	}
	value, fromOutside, err := d.leaf(node)
	if err != nil {
		d.bad(key, node, "%s", err)
		return nil
	}
	if secret || fromOutside {
		return sealed{NewSecret(string(encode(value)))}
	}
	return value
}

// leaf decodes a scalar of a block. One that refers to the environment is text if it stands in quotes, else
// what its value looks like.
func (d *blockReader) leaf(node *yaml.Node) (value any, fromOutside bool, err error) {
	tag, text := node.ShortTag(), node.Value
	if strings.Contains(text, "${") {
		if text, err = d.ExpandSecret(text); err != nil {
			return nil, false, err
		}
		fromOutside = text != strings.ReplaceAll(node.Value, "$${", "${")
		tag = "!!str"
		if node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
			tag = (&yaml.Node{Kind: yaml.ScalarNode, Value: text}).ShortTag()
			if tag != "!!int" && tag != "!!float" && tag != "!!bool" {
				tag = "!!str"
			}
		}
	}
	value, err = typed(tag, text)
	if err != nil && fromOutside { // the value did not ask to be a number
		value, err = typed("!!str", text)
	}
	return value, fromOutside, err
}

// decimal is a whole number as everybody reads it. YAML has more notations: 010 is eight there.
var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// typed gives a scalar its type. Errors do not show the text: it may be a secret.
func typed(tag, text string) (any, error) {
	switch tag {
	case "!!null":
		return nil, nil
	case "!!bool":
		if text != "true" && text != "false" {
			return nil, errors.New("wants true or false spelled so; put other words in quotes")
		}
		return text == "true", nil
	case "!!int", "!!float":
		if decimal.MatchString(text) {
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				return json.Number(strconv.FormatInt(n, 10)), nil
			}
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) || (tag == "!!int" && !decimal.MatchString(text)) {
			return nil, errors.New("is not a number in plain digits; put it in quotes if it is text")
		}
		if x == 0 {
			x = 0 // without a sign
		}
		if short := encode(x); !rawjson.IsNumber(text) || rawjson.Equal([]byte(short), []byte(text)) {
			return json.Number(short), nil
		}
		return json.Number(text), nil // which a float64 would round
	case "!!str":
		if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
			return nil, errors.New("holds a NUL character or bytes that are not text")
		}
		return text, nil
	}
	return nil, errors.New("is of a type that is not supported; put it in quotes if it is text")
}
