package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Place is where something stands in a file.
type Place struct {
	File         string
	Line, Column int // 1-based; 0 when the whole file is meant
}

// YAML lays the text of files over a struct, one after the other: sections join, scalars and lists replace. Scalars may
// refer to the environment. It never stops at a problem. It is for one goroutine.
type YAML struct {
	Rules  Rules
	Lookup Lookup
	Places map[string]Place // where each key was given last
	Report func(at Place, path, reason string)

	File string // that is read, for problems
	Dir  string // what relative paths in it are relative to

	keys []string // every key of the whole struct
}

// NodeReader is implemented by types that read themselves. ReadYAML reports what is wrong, and whether it took the node.
type NodeReader interface {
	ReadYAML(r *YAML, path string, node *yaml.Node) bool
}

var nodeReaderType = reflect.TypeFor[NodeReader]()

// Read lays one file over the struct that into points to.
func (r *YAML) Read(data []byte, into any) {
	target := reflect.ValueOf(into).Elem()
	if r.keys == nil {
		r.keys = allKeys("", target.Type())
		sort.Strings(r.keys)
	}
	parser := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	if err := parser.Decode(&document); err != nil {
		if !errors.Is(err, io.EOF) { // an empty file changes nothing
			r.syntax(data, err)
		}
		return
	}
	if len(document.Content) == 1 && r.mapping("", document.Content[0]) {
		r.structure("", target, document.Content[0])
	}
	switch err := parser.Decode(&second); {
	case err == nil:
		r.Bad("", &second, "a second YAML document begins here; a file holds one")
	case !errors.Is(err, io.EOF):
		r.syntax(data, err)
	}
}

// syntax reports text that is not YAML.
func (r *YAML) syntax(data []byte, err error) {
	line, reason := Syntax(err, string(data))
	r.Report(Place{File: r.File, Line: line}, "", reason)
}

// Bad reports a problem with what stands at node.
func (r *YAML) Bad(path string, node *yaml.Node, format string, args ...any) {
	r.Report(r.place(node), path, fmt.Sprintf(format, args...))
}

func (r *YAML) place(node *yaml.Node) Place { return Place{r.File, node.Line, node.Column} }

// mapping reports whether node has keys to be read. Without any, or with all of them commented out, it is null.
func (r *YAML) mapping(path string, node *yaml.Node) bool {
	if !r.Plain(path, node) || node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" {
		return false
	}
	if node.Kind != yaml.MappingNode {
		what := ""
		if path == "" {
			what = "the file "
		}
		r.Bad(path, node, "%smust be a section of keys, not %s", what, nodeKind(node))
		return false
	}
	return true
}

// Pairs visits the keys of a mapping, those that are no plain names or come twice left out. Anything else is reported, but
// for null.
func (r *YAML) Pairs(path string, node *yaml.Node, visit func(name, value *yaml.Node)) {
	if !r.mapping(path, node) {
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		if name.Kind != yaml.ScalarNode || name.ShortTag() != "!!str" {
			r.Bad(path, name, "has a key that is not a plain name")
			continue
		}
		if first, ok := seen[name.Value]; ok {
			r.Bad(Join(path, Clip(name.Value)), name, "is given twice; the first is on line %d", first)
			continue
		}
		seen[name.Value] = name.Line
		visit(name, value)
	}
}

// structure reads the keys of a struct.
func (r *YAML) structure(path string, target reflect.Value, node *yaml.Node) {
	shape := Of(target.Type())
	entries := shape.Find(AnyName)
	given := map[string]bool{}
	r.Pairs(path, node, func(name, value *yaml.Node) {
		at := Join(path, Clip(name.Value))
		given[name.Value] = true
		f := shape.Find(name.Value)
		switch {
		case f != nil && f != entries:
			r.value(at, f, target.FieldByIndex(f.Index), name, value)
		case entries != nil:
			r.entry(path, entries, target.FieldByIndex(entries.Index), shape.known(), name, value)
		default:
			r.Bad(at, name, "unknown field%s", r.hint(path, name.Value, shape.known()))
		}
	})
	for i := range shape.Fields {
		// What is empty is looked for by the tag missing once all files are read.
		if f := &shape.Fields[i]; f.Required && !given[f.Name] && f.Tag.Get("missing") == "" {
			r.Bad(Join(path, f.Name), node, "is required")
		}
	}
}

// entry reads what stands below a name that somebody chose.
func (r *YAML) entry(path string, f *Field, entries reflect.Value, known []string, name, value *yaml.Node) {
	at := Join(path, Clip(name.Value))
	if err := f.CheckEntry(name.Value); err != nil {
		r.Bad(at, name, "%s", err)
		return
	}
	if value.Kind == yaml.ScalarNode && value.ShortTag() != "!!null" || value.Kind == yaml.SequenceNode {
		reason := fmt.Sprintf("is %s and must be a section of keys, not %s", f.Tag.Get("entry"), nodeKind(value))
		if near := Nearest(name.Value, known); near != "" {
			reason += "; did you mean " + Join(path, near) + "?"
		}
		r.Bad(at, name, "%s", reason)
		return
	}
	entry := r.Rules.Entry(entries, name.Value)
	if _, known := r.Places[at]; !known {
		r.Places[at] = r.place(name)
	}
	r.structure(at, entry, value)
}

// value reads what stands behind the name of a field.
func (r *YAML) value(path string, f *Field, target reflect.Value, name, node *yaml.Node) {
	if node.Line == 0 { // there is nothing
		node.Line, node.Column = name.Line, name.Column
	}
	if !r.Plain(path, node) {
		return
	}
	ok := false
	switch own, reads := target.Addr().Interface().(NodeReader); {
	case reads:
		ok = own.ReadYAML(r, path, node)
	case f.IsSection():
		r.structure(path, target, node)
		return
	case f.IsEntries():
		r.Pairs(path, node, func(name, value *yaml.Node) { r.entry(path, f, target, nil, name, value) })
		return
	case f.Type == textMapType:
		ok = r.texts(path, f, target, node)
	case node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null":
		r.Bad(path, node, "has no value; give one, or remove the key to get the default")
	case f.Type.Kind() == reflect.Slice:
		ok = r.list(path, f, target, node)
	default:
		ok = r.scalar(path, f, target, node)
	}
	if ok {
		r.Places[path] = r.place(node)
	}
}

func (r *YAML) scalar(path string, f *Field, target reflect.Value, node *yaml.Node) bool {
	if node.Kind != yaml.ScalarNode {
		r.Bad(path, node, "must be a single value, not %s", DescribeNode(node))
		return false
	}
	tag, text, err := r.expand(node)
	if err == nil {
		if f.Path && text != "" && !filepath.IsAbs(text) {
			text = filepath.Join(r.Dir, text)
		}
		err = r.Rules.Set(f, target, tag, text)
	}
	if err != nil {
		r.Bad(path, node, "%s", err)
	}
	return err == nil
}

// list reads a list of texts or structs; it replaces what an earlier file said.
func (r *YAML) list(path string, f *Field, target reflect.Value, node *yaml.Node) bool {
	if node.Kind != yaml.SequenceNode {
		r.Bad(path, node, "must be a list, not %s", DescribeNode(node))
		return false
	}
	if reason := f.OutOf(int64(len(node.Content))); reason != "" {
		r.Bad(path, node, "%s items, not %d", reason, len(node.Content))
		return false
	}
	maps.DeleteFunc(r.Places, func(key string, _ Place) bool { return strings.HasPrefix(key, path+"[") })
	list := reflect.Zero(target.Type())
	for i, item := range node.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		value := reflect.New(target.Type().Elem()).Elem()
		r.Places[at] = r.place(item)
		switch {
		case !r.Plain(at, item):
		case f.IsStructs():
			r.Rules.SetDefaults(value)
			if item.Kind == yaml.MappingNode {
				r.structure(at, value, item)
			} else {
				r.Bad(at, item, "must be a section of keys, not %s", nodeKind(item))
			}
		default:
			value.SetString(r.text(at, f, item))
		}
		list = reflect.Append(list, value)
	}
	target.Set(list)
	return true
}

// text reads one text of a list or a map.
func (r *YAML) text(path string, f *Field, node *yaml.Node) string {
	if node.Kind != yaml.ScalarNode {
		r.Bad(path, node, "must be text, not %s", DescribeNode(node))
		return ""
	}
	tag, text, err := r.expand(node)
	if err == nil {
		text, err = r.Rules.text(f, tag, text)
	}
	if err != nil {
		r.Bad(path, node, "%s", err)
	}
	return text
}

// texts reads a map from free names to texts. Both keep to the rule of the field, but for an empty text. Like a
// section, one with nothing below it changes nothing.
func (r *YAML) texts(path string, f *Field, target reflect.Value, node *yaml.Node) bool {
	if !r.mapping(path, node) {
		return false
	}
	texts := map[string]string{}
	r.Pairs(path, node, func(name, value *yaml.Node) {
		at := Join(path, Clip(name.Value))
		if !r.Plain(at, value) {
			return
		}
		if err := r.Rules.CheckText(f, name.Value); err != nil {
			r.Bad(at, name, "its name %s", err)
		}
		if value.Kind != yaml.ScalarNode || value.ShortTag() != "!!str" || value.Value != "" {
			texts[name.Value] = r.text(at, f, value)
		} else {
			texts[name.Value] = ""
		}
	})
	target.Set(reflect.ValueOf(texts))
	return true
}

// expand interpolates a scalar. The tag is empty when there was something to interpolate: the parser could not know
// the type then, so the field decides.
func (r *YAML) expand(node *yaml.Node) (tag, text string, err error) {
	if !strings.Contains(node.Value, "${") {
		return node.ShortTag(), node.Value, nil
	}
	text, err = interpolate(node.Value, r.Lookup)
	return "", text, err
}

// Secret reads a scalar that must not be shown; numbers and the like are the text as it was written.
func (r *YAML) Secret(node *yaml.Node) (string, error) {
	if node.Kind != yaml.ScalarNode || node.ShortTag() == "!!null" {
		return "", errors.New("must be a single value")
	}
	text, err := r.ExpandSecret(node.Value)
	if err == nil && strings.ContainsRune(text, 0) {
		err = errors.New("holds a NUL character")
	}
	return text, err
}

// ExpandSecret replaces the references in a text that no problem may quote.
func (r *YAML) ExpandSecret(text string) (string, error) { return interpolateSecret(text, r.Lookup) }

// Plain refuses what YAML can do and a file for people should not: anchors, aliases and explicit types.
func (r *YAML) Plain(path string, node *yaml.Node) bool {
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		r.Bad(path, node, "anchors and aliases are not supported; write the value out")
	case node.Style&yaml.TaggedStyle != 0:
		r.Bad(path, node, "explicit types such as %s are not supported; write the plain value", Clip(node.Tag))
	default:
		return true
	}
	return false
}

// hint adds to Hint the right name in the wrong section.
func (r *YAML) hint(path, name string, known []string) string {
	if !strings.EqualFold(Nearest(name, known), name) && !strings.Contains(path, "[") {
		if key := r.elsewhere(path, name); key != "" {
			return "; did you mean " + key + "?"
		}
	}
	return Hint(path, name, known)
}

// elsewhere returns the key of this name whose section is nearest to path: the one that shares most of it, of several
// the one that is nested least, and then the first by name. It is empty if no key is called so.
func (r *YAML) elsewhere(path, name string) string {
	best, mostShared, leastDepth := "", 0, 0
	for _, key := range r.keys {
		if !strings.EqualFold(key[strings.LastIndex(key, ".")+1:], name) {
			continue
		}
		shared, depth := sharedSections(path, key), strings.Count(key, ".")
		if best == "" || shared > mostShared || shared == mostShared && depth < leastDepth {
			best, mostShared, leastDepth = key, shared, depth
		}
	}
	return best
}

// sharedSections returns with how many names both dotted paths begin.
func sharedSections(a, b string) int {
	n := 0
	for {
		nameA, restA, moreA := strings.Cut(a, ".")
		nameB, restB, moreB := strings.Cut(b, ".")
		if nameA == "" || nameA != nameB {
			return n
		}
		n++
		if !moreA || !moreB {
			return n
		}
		a, b = restA, restB
	}
}

// allKeys returns the paths of all keys and sections of a struct.
func allKeys(path string, t reflect.Type) []string {
	var keys []string
	shape := Of(t)
	for i := range shape.Fields {
		f := &shape.Fields[i]
		at := Join(path, f.Name)
		if f.Name == AnyName {
			at = path
		} else {
			keys = append(keys, at)
		}
		switch {
		case f.IsSection():
			keys = append(keys, allKeys(at, f.Type)...)
		case f.IsEntries():
			keys = append(keys, allKeys(Join(at, "<name>"), f.Type.Elem().Elem())...)
		}
	}
	return keys
}

// nodeKind names a node where a section is wanted. The text of a scalar is left out: it may be a header or a password.
func nodeKind(node *yaml.Node) string {
	if node.Kind == yaml.ScalarNode {
		return "a single value"
	}
	return DescribeNode(node)
}

// DescribeNode names a node for a problem.
func DescribeNode(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a section of keys"
	case yaml.SequenceNode:
		return "a list"
	}
	return Describe(node.ShortTag(), node.Value)
}
