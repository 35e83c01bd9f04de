package config

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// anyName stands in a key of the table for a name that the operator chooses.
const anyName = "*"

// collection is a section whose keys are chosen by the operator: entries of one kind by name. Its fields
// stand in the table as section.*.field.
type collection struct {
	section  string
	what     string            // an entry, for messages
	reserved map[string]string // names that are refused, and why
	names    func(*Config) []string
	add      func(c *Config, name string) // makes an entry with its defaults, unless it is there
	own      func(*Config)                // gives c maps and entries of its own
	live     bool                         // entries may come and go on a reload
}

var collections = []*collection{
	{
		section: "plugins", what: "a plugin",
		reserved: map[string]string{"dir": "plugins.dir is the directory of the plugins"},
		names:    func(c *Config) []string { return sortedKeys(c.Plugins.Entries) },
		add:      func(c *Config, name string) { addEntry(&c.Plugins.Entries, name, newPlugin) },
		own:      func(c *Config) { c.Plugins.Entries = copyEntries(c.Plugins.Entries) },
	},
	{
		section: "runtimes", what: "a runtime",
		names: func(c *Config) []string { return sortedKeys(c.Runtimes) },
		add:   func(c *Config, name string) { addEntry(&c.Runtimes, name, newRuntime) },
		own:   func(c *Config) { c.Runtimes = copyEntries(c.Runtimes) },
	},
	{
		section: "agentTypes", what: "an agent type",
		reserved: map[string]string{
			"claude": "every runtime knows it already", "codex": "every runtime knows it already", "gemini": "every runtime knows it already",
		},
		names: func(c *Config) []string { return sortedKeys(c.AgentTypes) },
		add:   func(c *Config, name string) { addEntry(&c.AgentTypes, name, newAgentType) },
		own:   func(c *Config) { c.AgentTypes = copyEntries(c.AgentTypes) },
	},
	{
		section: "threads.repositories", what: "a repository", live: true,
		names: func(c *Config) []string { return sortedKeys(c.Threads.Repositories) },
		add:   func(c *Config, name string) { addEntry(&c.Threads.Repositories, name, newRepository) },
		own:   func(c *Config) { c.Threads.Repositories = copyEntries(c.Threads.Repositories) },
	},
}

func findCollection(section string) *collection {
	for _, l := range collections {
		if l.section == section {
			return l
		}
	}
	return nil
}

// entryName is what may be chosen. Names stand in file names, labels and URLs.
var entryName = regexp.MustCompile(`^` + entryNamePattern + `$`)

const entryNamePattern = `[a-z][a-z0-9_-]{0,62}`

// check tells what is wrong with the name of an entry.
func (l *collection) check(name string) error {
	if why, ok := l.reserved[name]; ok {
		return fmt.Errorf("may not be declared: %s", why)
	}
	if !entryName.MatchString(name) {
		return fmt.Errorf("is not a name for %s; use lower-case letters, digits, - and _, a letter first, at most 63 of them", l.what)
	}
	return nil
}

// entryPattern is the key of an entry in the table.
func (l *collection) entryPattern() string { return l.section + "." + anyName }

// fields returns the fields of one entry.
func (l *collection) fields(name string) []*field {
	var list []*field
	for _, f := range fields {
		if strings.HasPrefix(f.key, l.entryPattern()+".") {
			list = append(list, f.bind(name))
		}
	}
	return list
}

// bind makes the field of the entry with this name.
func (f *field) bind(name string) *field {
	bound := *f
	bound.key = strings.Replace(f.key, anyName, name, 1)
	bound.ref = func(c *Config) any { return f.in(c, name) }
	return &bound
}

// fieldsOf returns the fields of the configurations, those of all their entries included, in the order of
// the table.
func fieldsOf(configs ...*Config) []*field {
	list := make([]*field, 0, len(fields))
	done := map[*collection]bool{}
	for _, f := range fields {
		if f.in == nil {
			list = append(list, f)
			continue
		}
		l := findCollection(parentOf(f.key[:strings.Index(f.key, anyName)+1]))
		if done[l] {
			continue
		}
		done[l] = true
		for _, name := range l.union(configs...) {
			list = append(list, l.fields(name)...)
		}
	}
	return list
}

// union returns the names of the entries that any of the configurations has.
func (l *collection) union(configs ...*Config) []string {
	all := map[string]*struct{}{}
	for _, c := range configs {
		for _, name := range l.names(c) {
			all[name] = nil
		}
	}
	return sortedKeys(all)
}

func (l *collection) has(c *Config, name string) bool {
	for _, known := range l.names(c) {
		if known == name {
			return true
		}
	}
	return false
}

// clone copies c so deeply that fields of the copy may be set.
func (c *Config) clone() *Config {
	next := *c
	for _, l := range collections {
		l.own(&next)
	}
	return &next
}

func sortedKeys[T any](entries map[string]*T) []string {
	names := make([]string, 0, len(entries))
	for name := range entries {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func addEntry[T any](entries *map[string]*T, name string, create func(string) *T) {
	if *entries == nil {
		*entries = map[string]*T{}
	}
	if (*entries)[name] == nil {
		(*entries)[name] = create(name)
	}
}

func copyEntries[T any](entries map[string]*T) map[string]*T {
	if entries == nil {
		return nil
	}
	next := make(map[string]*T, len(entries))
	for name, entry := range entries {
		value := *entry
		next[name] = &value
	}
	return next
}

// pluginOf, runtimeOf and agentTypeOf return an entry, or one with the defaults when c has none of this name.
func pluginOf(c *Config, name string) *Plugin {
	if entry := c.Plugins.Entries[name]; entry != nil {
		return entry
	}
	return newPlugin(name)
}

func runtimeOf(c *Config, name string) *Runtime {
	if entry := c.Runtimes[name]; entry != nil {
		return entry
	}
	return newRuntime(name)
}

func agentTypeOf(c *Config, name string) *AgentType {
	if entry := c.AgentTypes[name]; entry != nil {
		return entry
	}
	return newAgentType(name)
}
