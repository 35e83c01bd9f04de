package config

import (
	"sort"
	"strings"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// suggestKey returns the advice for an unknown key in a section ("" is the top), which the table knows by its
// pattern: the nearest known key of the section, else the same or a near name elsewhere, else the names that
// are known here.
func suggestKey(section, pattern, name string) string {
	here := children(pattern)
	if near := schema.Nearest(name, here); near != "" && strings.EqualFold(near, name) {
		return "did you mean " + join(section, near) + "?"
	}
	for _, key := range allKeys() { // the right name in the wrong section
		if strings.EqualFold(key[strings.LastIndex(key, ".")+1:], name) {
			return "did you mean " + strings.ReplaceAll(key, anyName, "<name>") + "?"
		}
	}
	if near := schema.Nearest(name, here); near != "" {
		return "did you mean " + join(section, near) + "?"
	}
	if section == "" {
		return "known sections are " + strings.Join(here, ", ")
	}
	return "known keys here are " + strings.Join(here, ", ")
}

// children returns the names directly below a section, in the order of the table.
func children(section string) []string {
	var names []string
	seen := map[string]bool{}
	for _, f := range fields {
		rest, ok := f.key, true
		if section != "" {
			rest, ok = strings.CutPrefix(f.key, section+".")
		}
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, ".")
		if !seen[name] && name != anyName {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// allKeys returns every key and section, sorted so that advice is the same in every run.
func allKeys() []string {
	keys := make([]string, 0, len(fields)+len(sectionDocs))
	for _, f := range fields {
		keys = append(keys, f.key)
	}
	for section := range sectionDocs {
		keys = append(keys, section)
	}
	sort.Strings(keys)
	return keys
}

func join(section, name string) string {
	if section == "" {
		return name
	}
	return section + "." + name
}
