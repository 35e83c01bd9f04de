package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// origin is the place in a file where a key was set.
type origin struct {
	file string
	line int
}

// decoder walks the nodes of one file against the table of fields and writes what it finds into the
// config. Files applied one after the other give the deep merge: sections join, scalars and lists replace.
// It never stops at a problem.
type decoder struct {
	config   *Config
	file     string // for messages
	dir      string // relative paths are relative to it
	lookup   Lookup
	problems []Problem
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

func (d *decoder) decode(data []byte) {
	parser := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := parser.Decode(&document); err != nil {
		if !errors.Is(err, io.EOF) { // an empty file changes nothing
			d.syntax(err)
		}
		return
	}
	if len(document.Content) == 1 {
		d.section("", "", document.Content[0])
	}
	var second yaml.Node
	switch err := parser.Decode(&second); {
	case err == nil:
		d.add(second.Line, "", "a second YAML document begins here; a configuration file holds one")
	case !errors.Is(err, io.EOF):
		d.syntax(err)
	}
}

// syntax reports text that is not YAML. The parser names the line inside its message.
func (d *decoder) syntax(err error) {
	match := yamlLine.FindStringSubmatch(err.Error())
	line, _ := strconv.Atoi(match[1])
	d.add(line, "", "is not YAML: %s", strings.TrimPrefix(err.Error(), match[0]))
}

func (d *decoder) add(line int, key, format string, args ...any) {
	d.problems = append(d.problems, Problem{File: d.file, Line: line, Key: key, Reason: fmt.Sprintf(format, args...)})
}

// section decodes the mapping of a section; key is "" at the top. The pattern is the key as the table has it,
// with a * for the name of an entry.
func (d *decoder) section(key, pattern string, node *yaml.Node) {
	if !d.plain(key, node) {
		return
	}
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" {
		return // all its keys are commented out
	}
	if node.Kind != yaml.MappingNode {
		what := "the file wants sections such as server:"
		if key != "" {
			what = "is a section and wants keys below it"
		}
		d.add(node.Line, key, "%s, not %s", what, describeNode(node))
		return
	}
	d.pairs(key, node, func(name, value *yaml.Node) { d.entry(key, pattern, name, value) })
}

// pairs visits the keys of a mapping, those that are no plain names or come twice left out.
func (d *decoder) pairs(key string, node *yaml.Node, visit func(name, value *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		if name.Kind != yaml.ScalarNode || name.ShortTag() != "!!str" {
			d.add(name.Line, key, "has a key that is not a plain name")
			continue
		}
		dotted := join(key, name.Value)
		if first, ok := seen[name.Value]; ok {
			d.add(name.Line, dotted, "is given twice; the first is on line %d", first)
			continue
		}
		seen[name.Value] = name.Line
		visit(name, value)
	}
}

// entry decodes one key of a section.
func (d *decoder) entry(section, pattern string, name, value *yaml.Node) {
	key, match := join(section, name.Value), join(pattern, name.Value)
	if f := findField(match); f != nil {
		if f.in != nil {
			f = f.bind(entryOf(section, pattern))
		}
		d.value(f, name.Line, value)
		return
	}
	if _, ok := sectionDocs[match]; ok {
		d.section(key, match, value)
		return
	}
	if l := findCollection(pattern); l != nil {
		d.member(l, name, value)
		return
	}
	d.add(name.Line, join(section, shorten(name.Value)), "unknown key; %s", suggestKey(section, pattern, name.Value))
}

// member decodes an entry under a name that the operator chose.
func (d *decoder) member(l *collection, name, value *yaml.Node) {
	key := join(l.section, shorten(name.Value))
	if err := l.check(name.Value); err != nil {
		d.add(name.Line, key, "%s", err)
		return
	}
	if value.Kind != yaml.MappingNode && value.ShortTag() != "!!null" && value.Kind != yaml.AliasNode {
		reason := fmt.Sprintf("is %s and wants keys below it, not %s", l.what, describeNode(value))
		if near := schema.Nearest(name.Value, children(l.section)); near != "" {
			reason += "; did you mean " + join(l.section, near) + "?"
		}
		d.add(name.Line, key, "%s", reason)
		return
	}
	l.add(d.config, name.Value)
	if _, known := d.config.origins[key]; !known {
		d.config.origins[key] = origin{d.file, name.Line}
	}
	d.section(key, l.entryPattern(), value)
}

// entryOf returns the name of the entry that a section belongs to.
func entryOf(section, pattern string) string {
	parts := strings.Split(section, ".")
	for i, part := range strings.Split(pattern, ".") {
		if part == anyName {
			return parts[i]
		}
	}
	return ""
}

// value decodes what stands behind a key of the table.
func (d *decoder) value(f *field, line int, node *yaml.Node) {
	if !d.plain(f.key, node) {
		return
	}
	if node.Line > 0 {
		line = node.Line
	}
	switch ref := f.ref(d.config).(type) {
	case *[]string:
		if node.Kind == yaml.SequenceNode {
			d.list(f, ref, line, node)
			return
		}
	case *Block:
		d.block(f, ref, line, node)
		return
	case *Env:
		d.env(f, ref, line, node)
		return
	case *[]core.AutoAnswerRule:
		d.rules(f, ref, line, node)
		return
	case *[]Endpoint:
		d.endpoints(f, ref, line, node)
		return
	case *Secret:
		secret, err := d.secret(node)
		if err != nil {
			d.add(line, f.key, "%s", err)
			return
		}
		*ref = secret
		d.config.origins[f.key] = origin{d.file, line}
		return
	}
	if node.Kind != yaml.ScalarNode {
		d.add(line, f.key, "wants a single value, not %s", describeNode(node))
		return
	}
	if node.ShortTag() == "!!null" {
		d.add(line, f.key, "has no value; give one, or remove the key to get the default")
		return
	}
	tag, text, err := d.scalar(node)
	if err == nil {
		if f.path && text != "" && !filepath.IsAbs(text) {
			text = filepath.Join(d.dir, text)
		}
		err = f.set(d.config, tag, text)
	}
	if err != nil {
		d.add(line, f.key, "%s", err)
		return
	}
	d.config.origins[f.key] = origin{d.file, line}
}

// list decodes a list of texts; it replaces what an earlier file said.
func (d *decoder) list(f *field, list *[]string, line int, node *yaml.Node) {
	values := make([]string, 0, len(node.Content))
	for i, item := range node.Content {
		key := fmt.Sprintf("%s[%d]", f.key, i)
		if !d.plain(key, item) {
			continue
		}
		if item.Kind != yaml.ScalarNode {
			d.add(item.Line, key, "wants text, not %s", describeNode(item))
			continue
		}
		tag, text, err := d.scalar(item)
		if err == nil && tag != "" && tag != "!!str" {
			err = fmt.Errorf("wants text, not %s; put it in quotes if it is meant", describe(tag, text))
		}
		if err == nil {
			err = f.checkText(text)
		}
		if err != nil {
			d.add(item.Line, key, "%s", err)
			continue
		}
		if f.clean != nil {
			text = f.clean(text)
		}
		values = append(values, text)
	}
	*list = values
	d.config.origins[f.key] = origin{d.file, line}
}

// scalar interpolates a scalar. The tag is empty when there was something to interpolate: the parser
// could not know the type then, so the key decides.
func (d *decoder) scalar(node *yaml.Node) (tag, text string, err error) {
	if !strings.Contains(node.Value, "${") {
		return node.ShortTag(), node.Value, nil
	}
	text, err = interpolate(node.Value, d.lookup)
	return "", text, err
}

// plain refuses what YAML can do and a configuration should not: anchors, aliases and explicit types.
func (d *decoder) plain(key string, node *yaml.Node) bool {
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		d.add(node.Line, key, "anchors and aliases are not supported; write the value out")
	case node.Style&yaml.TaggedStyle != 0:
		d.add(node.Line, key, "explicit types such as %s are not supported; write the plain value", shorten(node.Tag))
	default:
		return true
	}
	return false
}

// describeNode names a node for a message.
func describeNode(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a section of keys"
	case yaml.SequenceNode:
		return "a list"
	}
	return describe(node.ShortTag(), shorten(node.Value))
}

// shorten keeps a hostile text from filling the terminal.
func shorten(text string) string {
	const longest = 60
	text = strings.ToValidUTF8(text, "?")
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "..."
	}
	return text
}

func findField(key string) *field {
	for _, f := range fields {
		if f.key == key {
			return f
		}
	}
	return nil
}
