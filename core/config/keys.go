package config

import (
	"cmp"
	"embed"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// key is one key of a Config, or one of its sections. The fields of Config and of what is in it are the one place where
// keys are written: their tags are the name, default, bounds and rules, their comments the text for operators.
// Everything that knows keys walks over them.
type key struct {
	*schema.Field
	path    string // dotted; * for the name of an entry of the sample
	doc     string
	live    bool // a reload takes it over
	value   reflect.Value
	section bool
}

// name is the last part of the path.
func (k *key) name() string { return k.path[strings.LastIndex(k.path, ".")+1:] }

// missing says what to do about a key that must be given, and is not; empty for a key that may be left out.
func (k *key) missing() string { return k.Tag.Get("missing") }

//go:embed config.go agenttype.go observability.go plugin.go runtime.go security*.go thread.go webhook.go
var sources embed.FS

// comments are the texts for operators, by type and field.
var comments = sync.OnceValue(func() map[string]string {
	var texts []string
	entries, _ := sources.ReadDir(".") // it is in memory and cannot fail; nor can the next
	for _, entry := range entries {
		data, _ := sources.ReadFile(entry.Name())
		texts = append(texts, string(data))
	}
	return schema.Comments(texts...)
})

// keys returns the keys and sections of c, those of its entries included: the keys of a section come before
// those of its subsections.
func (c *Config) keys() []key { return keysIn("", false, reflect.ValueOf(c).Elem()) }

// keysIn returns the keys of a struct that is at path.
func keysIn(path string, live bool, v reflect.Value) []key {
	var keys, sections []key
	shape := schema.Of(v.Type())
	for i := range shape.Fields {
		f := &shape.Fields[i]
		k := key{Field: f, path: schema.Join(path, f.Name), doc: cmp.Or(comments()[f.Source], f.Doc), live: live, value: v.FieldByIndex(f.Index)}
		if tag := f.Tag.Get("reload"); tag != "" {
			k.live = tag == "live"
		}
		switch {
		case f.IsSection():
			k.section = true
			sections = append(append(sections, k), keysIn(k.path, k.live, k.value)...)
		case f.IsEntries():
			k.section = true
			each := f.Tag.Get("each")
			if f.Name == schema.AnyName { // they stand beside the other keys of the section
				k.path, each = path, k.doc
			} else {
				sections = append(sections, k)
			}
			for _, name := range entryNames(k.value) {
				entry := key{Field: f, path: schema.Join(k.path, name), doc: each, live: k.live, value: k.value, section: true}
				sections = append(append(sections, entry), keysIn(entry.path, k.live, k.value.MapIndex(reflect.ValueOf(name)).Elem())...)
			}
		default:
			keys = append(keys, k)
		}
	}
	return append(keys, sections...)
}

// entryNames returns the names of a map of entries, sorted.
func entryNames(entries reflect.Value) []string {
	names := make([]string, 0, entries.Len())
	for _, name := range entries.MapKeys() {
		names = append(names, name.String())
	}
	sort.Strings(names)
	return names
}

// collection is a map of entries in a Config.
type collection struct {
	*schema.Field
	path    string // of the section that the entries are in
	live    bool
	entries reflect.Value
	beside  []string // keys of the section that are no entries
}

// collections returns the maps of entries of c.
func (c *Config) collections() []collection {
	return collectionsIn("", false, reflect.ValueOf(c).Elem())
}

func collectionsIn(path string, live bool, v reflect.Value) []collection {
	var list []collection
	shape := schema.Of(v.Type())
	for i := range shape.Fields {
		f := &shape.Fields[i]
		at, lives := schema.Join(path, f.Name), live
		if tag := f.Tag.Get("reload"); tag != "" {
			lives = tag == "live"
		}
		switch {
		case f.IsSection():
			list = append(list, collectionsIn(at, lives, v.FieldByIndex(f.Index))...)
		case f.IsEntries() && f.Name == schema.AnyName:
			list = append(list, collection{f, path, lives, v.FieldByIndex(f.Index), shape.Names()})
		case f.IsEntries():
			list = append(list, collection{f, at, lives, v.FieldByIndex(f.Index), nil})
		}
	}
	return list
}

// clone returns a copy of c with maps and entries of its own.
func (c *Config) clone() *Config {
	next := *c
	for _, l := range next.collections() {
		if l.entries.IsNil() {
			continue
		}
		own := reflect.MakeMapWithSize(l.entries.Type(), l.entries.Len())
		for _, name := range l.entries.MapKeys() {
			entry := reflect.New(l.Type.Elem().Elem())
			entry.Elem().Set(l.entries.MapIndex(name).Elem())
			own.SetMapIndex(name, entry)
		}
		l.entries.Set(own)
	}
	return &next
}

// sample returns the defaults, and in each map of entries one that is called AnyName.
func sample() *Config {
	c := Default()
	for _, l := range c.collections() {
		rules.Entry(l.entries, schema.AnyName)
	}
	return c
}

// find returns the key of a path.
func find(keys []key, path string) *key {
	if i := slices.IndexFunc(keys, func(k key) bool { return k.path == path && !k.section }); i >= 0 {
		return &keys[i]
	}
	return nil
}

// parentOf returns the section of a dotted key, "" at the top.
func parentOf(path string) string {
	if at := strings.LastIndex(path, "."); at >= 0 {
		return path[:at]
	}
	return ""
}
