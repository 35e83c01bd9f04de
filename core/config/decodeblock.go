package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// deepest is how far the keys of a block may nest.
const deepest = 32

// block decodes the settings of a plugin and lays them over what an earlier file said.
func (d *decoder) block(f *field, block *Block, line int, node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" {
		return // all its keys are commented out
	}
	if node.Kind != yaml.MappingNode {
		d.add(line, f.key, "is a section and wants keys below it, not %s", describeNode(node))
		return
	}
	before := len(d.problems)
	root := d.tree(f.key, false, node, 1)
	if len(d.problems) > before {
		return
	}
	block.root = merge(block.root, root)
	d.config.origins[f.key] = origin{d.file, line}
}

// tree decodes a mapping of a block; secret tells that nothing in it must be shown.
func (d *decoder) tree(key string, secret bool, node *yaml.Node, depth int) map[string]any {
	if depth > deepest {
		d.add(node.Line, key, "nests deeper than %d levels", deepest)
		return nil
	}
	out := make(map[string]any, len(node.Content)/2)
	d.pairs(key, node, func(name, value *yaml.Node) {
		out[name.Value] = d.branch(join(key, name.Value), secret || secretName.MatchString(name.Value), value, depth)
	})
	return out
}

// branch decodes one value of a block; secret tells that it must not be shown.
func (d *decoder) branch(key string, secret bool, node *yaml.Node, depth int) any {
	if !d.plain(key, node) {
		return nil
	}
	switch node.Kind {
	case yaml.MappingNode:
		return d.tree(key, secret, node, depth+1)
	case yaml.SequenceNode:
		if depth >= deepest {
			d.add(node.Line, key, "nests deeper than %d levels", deepest)
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
		d.add(node.Line, key, "%s", err)
		return nil
	}
	if secret || fromOutside {
		return sealed{NewSecret(string(encode(value)))}
	}
	return value
}

// leaf decodes a scalar of a block. One that refers to the environment is text if it stands in quotes, else
// what its value looks like.
func (d *decoder) leaf(node *yaml.Node) (value any, fromOutside bool, err error) {
	tag, text := node.ShortTag(), node.Value
	if strings.Contains(text, "${") {
		if text, err = interpolateSecret(text, d.lookup); err != nil {
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
		return json.Number(encode(x)), nil
	case "!!str":
		if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
			return nil, errors.New("holds a NUL character or bytes that are not text")
		}
		return text, nil
	}
	return nil, errors.New("is of a type that is not supported; put it in quotes if it is text")
}

// env decodes environment variables and lays them over what an earlier file said.
func (d *decoder) env(f *field, env *Env, line int, node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" {
		return
	}
	if node.Kind != yaml.MappingNode {
		d.add(line, f.key, "wants variables such as NAME: value below it, not %s", describeNode(node))
		return
	}
	next := Env{}
	for name, value := range *env {
		next[name] = value
	}
	d.pairs(f.key, node, func(name, value *yaml.Node) {
		key := join(f.key, shorten(name.Value))
		if !d.plain(key, value) {
			return
		}
		secret, err := d.secret(value)
		if err == nil {
			err = checkEnvName(name.Value)
		}
		if err != nil {
			d.add(value.Line, key, "%s", err)
			return
		}
		next[name.Value] = secret
	})
	*env = next
	d.config.origins[f.key] = origin{d.file, line}
}

// secret decodes a scalar that must not be shown; numbers and the like are the text as it was written.
func (d *decoder) secret(node *yaml.Node) (Secret, error) {
	if node.Kind != yaml.ScalarNode || node.ShortTag() == "!!null" {
		return Secret{}, errors.New("wants a single value")
	}
	text, err := interpolateSecret(node.Value, d.lookup)
	if err != nil {
		return Secret{}, err
	}
	if strings.ContainsRune(text, 0) {
		return Secret{}, errors.New("holds a NUL character")
	}
	return NewSecret(text), nil
}
