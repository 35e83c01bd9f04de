package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// ruleKeys are the keys of a rule of threads.autoAnswer, in the order they are shown.
var ruleKeys = []struct {
	name, doc string
	ref       func(*core.AutoAnswerRule) *string
	enum      []string
	check     func(string) error
}{
	{
		name: "preset", ref: func(r *core.AutoAnswerRule) *string { return &r.Preset },
		enum: []string{"readonly", "standard", "permissive", "autonomous"},
		doc:  "approvalPreset that the rule holds for. Left out: all.",
	},
	{
		name: "kind", ref: func(r *core.AutoAnswerRule) *string { return &r.Kind }, check: checkPromptKind,
		doc: "Kind of the prompt: approval or question. Left out: all.",
	},
	{
		name: "tool", ref: func(r *core.AutoAnswerRule) *string { return &r.Tool }, check: checkRuleGlob,
		doc: "Glob on the name of the tool. Left out: all.",
	},
	{
		name: "match", ref: func(r *core.AutoAnswerRule) *string { return &r.Match }, check: checkPattern,
		doc: "Regular expression on the text of the prompt and the input of the tool. Left out: all.",
	},
	{
		name: "answer", ref: func(r *core.AutoAnswerRule) *string { return &r.Answer }, check: checkNotEmpty,
		doc: "allow, deny, or the id of an option.",
	},
}

// Bounds of rules, those of core/threads/rules, which would leave out what is beyond them.
const (
	maxRules     = 100
	maxRuleText  = 200  // bytes of a glob or an answer
	maxRuleMatch = 2000 // bytes of an expression
)

// answerKey is the key that every rule has.
const answerKey = "answer"

var promptKind = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

func checkPromptKind(text string) error {
	switch {
	case text == "login":
		return errors.New("a login is never answered by a rule")
	case !promptKind.MatchString(text):
		return fmt.Errorf("%q is not a kind of prompt such as approval or question", text)
	}
	return nil
}

func checkRuleGlob(text string) error {
	if _, err := path.Match(text, ""); err != nil {
		return fmt.Errorf("%q is not a glob: a [ without its ], or a \\ at the end", text)
	}
	return nil
}

// ruleField describes one key of a rule in the terms of a field.
func ruleField(name string) *field {
	for _, k := range ruleKeys {
		if k.name == name {
			return &field{key: name, doc: k.doc, enum: k.enum, check: k.check}
		}
	}
	return nil
}

func ruleNames() []string {
	names := make([]string, len(ruleKeys))
	for i, k := range ruleKeys {
		names[i] = k.name
	}
	return names
}

// checkRule tells what is wrong with a rule: the key and why.
func checkRule(rule core.AutoAnswerRule) (name string, err error) {
	for _, k := range ruleKeys {
		text := *k.ref(&rule)
		if text == "" && k.name != answerKey {
			continue
		}
		if err := checkRuleSize(k.name, text); err != nil {
			return k.name, err
		}
		if err := ruleField(k.name).checkText(text); err != nil {
			return k.name, err
		}
	}
	return "", nil
}

func checkRuleSize(name, text string) error {
	most := maxRuleText
	if name == "match" {
		most = maxRuleMatch
	}
	if len(text) > most {
		return fmt.Errorf("is longer than %d bytes", most)
	}
	return nil
}

// rules decodes a list of rules; it replaces what an earlier file said.
func (d *decoder) rules(f *field, list *[]core.AutoAnswerRule, line int, node *yaml.Node) {
	if node.Kind != yaml.SequenceNode {
		d.add(line, f.key, "wants a list of rules, not %s", describeNode(node))
		return
	}
	if len(node.Content) > maxRules {
		d.add(line, f.key, "has %d rules; at most %d are allowed", len(node.Content), maxRules)
		return
	}
	rules := make([]core.AutoAnswerRule, 0, len(node.Content))
	for i, item := range node.Content {
		key := fmt.Sprintf("%s[%d]", f.key, i)
		if !d.plain(key, item) {
			continue
		}
		if item.Kind != yaml.MappingNode {
			d.add(item.Line, key, "wants keys such as tool and answer, not %s", describeNode(item))
			continue
		}
		rules = append(rules, d.rule(key, item))
	}
	*list = rules
	d.config.origins[f.key] = origin{d.file, line}
}

func (d *decoder) rule(key string, node *yaml.Node) core.AutoAnswerRule {
	var rule core.AutoAnswerRule
	given := map[string]bool{}
	d.pairs(key, node, func(name, value *yaml.Node) {
		at := join(key, shorten(name.Value))
		given[name.Value] = true
		f := ruleField(name.Value)
		if f == nil {
			d.add(name.Line, at, "unknown key; %s", suggestRuleKey(key, name.Value))
			return
		}
		if !d.plain(at, value) {
			return
		}
		if value.Kind != yaml.ScalarNode {
			d.add(value.Line, at, "wants text, not %s", describeNode(value))
			return
		}
		tag, text, err := d.scalar(value)
		if err == nil && tag != "" && tag != "!!str" {
			err = fmt.Errorf("wants text, not %s; put it in quotes if it is meant", describe(tag, text))
		}
		if err == nil && text == "" && name.Value != answerKey {
			return // the same as left out
		}
		if err == nil {
			err = checkRuleSize(name.Value, text)
		}
		if err == nil {
			err = f.checkText(text)
		}
		if err != nil {
			d.add(value.Line, at, "%s", err)
			return
		}
		for _, k := range ruleKeys {
			if k.name == name.Value {
				*k.ref(&rule) = text
			}
		}
	})
	if !given[answerKey] {
		d.add(node.Line, join(key, answerKey), "is missing: say allow, deny or the id of an option")
	}
	return rule
}

func suggestRuleKey(rule, name string) string {
	if near := schema.Nearest(name, ruleNames()); near != "" {
		return "did you mean " + join(rule, near) + "?"
	}
	return "known keys here are " + strings.Join(ruleNames(), ", ")
}

// rulesText renders rules in one line.
func rulesText(rules []core.AutoAnswerRule) string {
	if len(rules) == 0 {
		return ""
	}
	data, err := json.Marshal(rules)
	if err != nil {
		panic("config: rules are texts: " + err.Error())
	}
	return string(data)
}

// rulesNode renders rules as YAML.
func rulesNode(rules []core.AutoAnswerRule) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	if len(rules) == 0 {
		list.Style = yaml.FlowStyle // []
	}
	for _, rule := range rules {
		node := &yaml.Node{Kind: yaml.MappingNode}
		for _, k := range ruleKeys {
			if text := *k.ref(&rule); text != "" {
				node.Content = append(node.Content, textNode(k.name), textNode(escape(text)))
			}
		}
		list.Content = append(list.Content, node)
	}
	return list
}

// rulesSchema describes one rule.
func rulesSchema() *schemaNode {
	node := sectionSchema("One rule.")
	node.Type, node.Required = "object", []string{answerKey}
	for _, k := range ruleKeys {
		text := &schemaNode{Description: k.doc, Type: "string"}
		if len(k.enum) > 0 {
			text.Type = nil
			text.AnyOf = []*schemaNode{{Type: "string", Enum: append([]string{""}, k.enum...)}, {Type: "string", Pattern: reference}}
		}
		node.Properties.add(k.name, text)
	}
	return node
}
