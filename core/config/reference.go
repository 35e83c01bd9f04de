package config

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// KeyDoc is a key of the configuration, or a section of keys, as people read about it.
type KeyDoc struct {
	Path    string // dotted; <name> stands for a name that somebody chooses, [] for an entry of a list
	Section bool
	Text    string // what it means, its bounds, and whether a reload takes it over
	Type    string // in words
	Default string // as a file would have it; empty: there is none
}

// Reference returns every key and section, a section before its keys, in the order of the packaged file.
func Reference() []KeyDoc { return referenceOf("", sample().keys()) }

func referenceOf(prefix string, keys []key) []KeyDoc {
	var list []KeyDoc
	for i := range keys {
		k := &keys[i]
		doc := KeyDoc{Path: prefix + strings.ReplaceAll(k.path, schema.AnyName, "<name>"), Section: k.section, Text: k.doc}
		if k.section {
			list = append(list, doc)
			continue
		}
		doc.Text, doc.Type = k.help(), k.words()
		if k.missing() == "" {
			doc.Default = k.sample()
		}
		list = append(list, doc)
		if k.IsStructs() {
			item := reflect.New(k.Type.Elem()).Elem()
			rules.SetDefaults(item)
			list = append(list, referenceOf(doc.Path+"[].", keysIn("", false, item))...)
		}
	}
	return list
}

// words is the type of a key for people.
func (k *key) words() string {
	switch k.value.Interface().(type) {
	case string:
		return "Text"
	case bool:
		return "true or false"
	case int:
		return "Whole number"
	case int64:
		return "Size"
	case time.Duration:
		return "Duration"
	case []string:
		return "List of texts"
	case Secret:
		return "Secret text"
	case Env, Headers, map[string]string:
		return "Names and texts"
	case Block:
		return "Section of any keys"
	}
	return "List"
}

// help is the description with allowed texts, bounds, and whether a reload takes it over.
func (k *key) help() string {
	text := k.doc
	if words := rules.Words(k.Field); len(words) > 0 {
		text += " One of " + strings.Join(words, ", ") + "."
	}
	switch {
	case k.Type.Kind() == reflect.Slice || k.Min == nil:
	case k.Max != nil:
		text += fmt.Sprintf(" From %s to %s.", k.Show(*k.Min), k.Show(*k.Max))
	case *k.Min > 0:
		text += fmt.Sprintf(" At least %s.", k.Show(*k.Min))
	}
	if k.live {
		text += " (reload)"
	}
	return text
}

// sample is the default as it stands behind the colon.
func (k *key) sample() string {
	switch value := k.value.Interface().(type) {
	case []string:
		return "[" + strings.Join(value, ", ") + "]"
	case Secret:
		return `""`
	case Env, Headers, map[string]string, Block:
		return "{}"
	}
	if k.IsStructs() {
		return "[]"
	}
	return cmp.Or(k.text(), `""`)
}
