package config

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// With returns what is in effect after a reload: a copy of c with the keys of next that a running process takes
// over, while the others wait for a restart; see NeedsRestart.
func (c *Config) With(next *Config) *Config {
	merged := c.clone()
	fresh := c.fresh(next)
	takeOver(false, reflect.ValueOf(merged).Elem(), reflect.ValueOf(next.clone()).Elem())
	merged.takeOverPlugins(next)
	merged.takeOverFresh(next.clone(), fresh)
	merged.files, merged.filled, merged.places = next.files, next.filled, next.places
	return merged
}

// CheckEmptied reports files that are there in next and hold nothing any more: an editor empties one before it is written, or could not
// write it, and keys that protect would go out of force. One that is not there is meant. VALIDATION_ERROR lists them.
func (c *Config) CheckEmptied(next *Config) error {
	var problems []Problem
	for _, file := range c.filled {
		if slices.Contains(next.files, file) && !slices.Contains(next.filled, file) {
			problems = append(problems, Problem{File: file, Reason: "holds nothing, and had keys before; if that is meant, restart the server, or remove the file if it is a drop-in"})
		}
	}
	return asError(problems, nil)
}

// CheckMixed reports what a file never says, and With may come to, as keys that a reload takes over stand beside those that wait
// for a restart: everybody an administrator, or a compliance profile that is contradicted. VALIDATION_ERROR lists every problem.
func (c *Config) CheckMixed() error {
	r := &ruling{config: c, wrong: map[string]bool{}}
	r.everybody(&c.Security)
	r.compliance(&c.Security)
	for i := range r.problems {
		r.problems[i].Reason += "; the files are right, and some of their keys wait for a restart: restart the server instead of a reload"
	}
	return asError(r.problems, nil)
}

// Refused returns what a part of the process says against keys of c, each with the place that sets it: a VALIDATION_ERROR that lists
// every problem. An error without a list is returned as it is.
func (c *Config) Refused(err error) error {
	var e *core.Error
	if !errors.As(err, &e) {
		return err
	}
	list, _ := e.Details["errors"].([]core.Problem)
	if len(list) == 0 {
		return err
	}
	r := &ruling{config: c, wrong: map[string]bool{}}
	for _, p := range list {
		entry := parentOf(p.Path)
		r.refuse(entry, strings.TrimPrefix(p.Path, entry+"."), "%s", p.Reason)
	}
	return asError(r.problems, nil)
}

// Paths of what has a plugin run beside entries of plugins and runtimes.
const (
	destinationPath = "security.audit.destination"
	providerPath    = "security.secrets.provider"
)

// fresh returns the paths of what next has and c has not, and a reload takes over as a whole: entries of plugins, runtimes, the
// destination of the audit trail and the provider of secrets. What has settings for a plugin that c names already is none of
// it: those wait for a restart.
func (c *Config) fresh(next *Config) map[string]bool {
	paths := map[string]bool{}
	named := func(plugin string) bool {
		return c.Plugins.Entries[plugin] != nil || c.PluginUser(plugin) != ""
	}
	for name := range next.Plugins.Entries {
		if !named(name) {
			paths[schema.Join("plugins", name)] = true
		}
	}
	for name, r := range next.Runtimes {
		if c.Runtimes[name] == nil && (r.Plugin == "" || r.Config.IsZero() || !named(r.Plugin)) {
			paths[schema.Join("runtimes", name)] = true
		}
	}
	if was, is := c.Security.Audit.Destination, next.Security.Audit.Destination; was == "" && is != "" && !named("audit-"+is) {
		paths[destinationPath] = true
	}
	if was, _ := c.Security.Secrets.Plugin(); was == "" {
		if is, _ := next.Security.Secrets.Plugin(); is != "" && !named(is) {
			paths[providerPath] = true
		}
	}
	return paths
}

// freshKeys are the keys of the paths of fresh that are no entry: they, and what is below them, are taken over with it.
var freshKeys = map[string][]string{
	destinationPath: {destinationPath, "security.audit.file", "security.audit.elasticsearch", "security.audit.splunk", "security.audit.cloudwatch"},
	providerPath:    {providerPath, "security.secrets.kubernetes", "security.secrets.vault", "security.secrets.aws"},
}

// takeOverFresh takes over the paths of fresh.
func (c *Config) takeOverFresh(next *Config, fresh map[string]bool) {
	for name, p := range next.Plugins.Entries {
		if fresh[schema.Join("plugins", name)] {
			if c.Plugins.Entries == nil {
				c.Plugins.Entries = map[string]*Plugin{}
			}
			c.Plugins.Entries[name] = p
		}
	}
	for name, r := range next.Runtimes {
		if fresh[schema.Join("runtimes", name)] {
			if c.Runtimes == nil {
				c.Runtimes = map[string]*Runtime{}
			}
			c.Runtimes[name] = r
		}
	}
	if own, its := &c.Security.Audit, &next.Security.Audit; fresh[destinationPath] {
		own.Destination, own.File, own.Elasticsearch, own.Splunk, own.CloudWatch = its.Destination, its.File, its.Elasticsearch, its.Splunk, its.CloudWatch
	}
	if own, its := &c.Security.Secrets, &next.Security.Secrets; fresh[providerPath] {
		own.Provider, own.Kubernetes, own.Vault, own.AWS = its.Provider, its.Kubernetes, its.Vault, its.AWS
	}
}

// takeOverPlugins takes over which plugins run: a plugin is started and stopped by a reload, and one whose entry is gone is
// stopped. An entry that is new for a plugin that runs without one counts if it says that it is not to run.
func (c *Config) takeOverPlugins(next *Config) {
	for name, p := range c.Plugins.Entries {
		switch now := next.Plugins.Entries[name]; {
		case now != nil:
			p.Enabled = now.Enabled
		case next.PluginUser(name) != "":
			p.Enabled = true // and what else it says stays until a restart
		default:
			delete(c.Plugins.Entries, name)
		}
	}
	for name, p := range next.Plugins.Entries {
		if c.Plugins.Entries[name] == nil && !p.Enabled && c.PluginUser(name) != "" {
			if c.Plugins.Entries == nil {
				c.Plugins.Entries = map[string]*Plugin{}
			}
			own := *p
			c.Plugins.Entries[name] = &own
		}
	}
}

// takeOver sets what is live in a struct to that of from.
func takeOver(live bool, v, from reflect.Value) {
	shape := schema.Of(v.Type())
	for i := range shape.Fields {
		f := &shape.Fields[i]
		lives := live
		if tag := f.Tag.Get("reload"); tag != "" {
			lives = tag == "live"
		}
		switch {
		case f.IsSection():
			takeOver(lives, v.FieldByIndex(f.Index), from.FieldByIndex(f.Index))
		case lives:
			v.FieldByIndex(f.Index).Set(from.FieldByIndex(f.Index))
		}
	}
}

// Change is one key that differs between two configurations.
type Change struct {
	Key      string `json:"key"`
	Old      string `json:"old"` // as it would be written in the file; never a secret
	New      string `json:"new"`
	Reloaded bool   `json:"reloaded"` // takes effect on SIGHUP; else it waits for a restart
}

// Changes returns the keys whose values differ: entries that came or went, then keys in the order of the file.
func Changes(prev, next *Config) []Change {
	before, loaded := prev, next
	whole := map[string]bool{} // entries that came or went, of which a reload takes over all or nothing
	fresh := prev.fresh(next)
	for path := range fresh {
		for _, key := range freshKeys[path] {
			whole[key] = true
		}
	}
	prev, next = prev.clone(), next.clone()
	var changes []Change
	after := next.collections()
	for i, l := range prev.collections() {
		was, is := l.entries, after[i].entries
		for _, name := range entryNames(union(was, is)) {
			had, has := was.MapIndex(reflect.ValueOf(name)).IsValid(), is.MapIndex(reflect.ValueOf(name)).IsValid()
			if had != has {
				live := l.live
				at := schema.Join(l.path, name)
				switch l.path {
				case "plugins": // as takeOverPlugins does it
					live = fresh[at] || had && loaded.PluginUser(name) == "" || has && !loaded.Plugins.Entries[name].Enabled && before.PluginUser(name) != ""
					whole[at] = live
				case "runtimes":
					live = fresh[at]
					whole[at] = live
				}
				changes = append(changes, Change{Key: schema.Join(l.path, name), Old: presence(had), New: presence(has), Reloaded: live})
			}
			rules.Entry(was, name) // both have the same keys then
			rules.Entry(is, name)
		}
	}
	keys := next.keys()
	for i, k := range prev.keys() {
		if !k.section && !same(k.value, keys[i].value) {
			live := k.live
			for entry := k.path; entry != ""; entry = parentOf(entry) {
				if all, ok := whole[entry]; ok {
					live = all
				}
			}
			changes = append(changes, Change{Key: k.path, Old: k.text(), New: keys[i].text(), Reloaded: live})
		}
	}
	return changes
}

// same reports whether two values of a key mean the same: an empty map is none.
func same(a, b reflect.Value) bool {
	return a.Kind() == reflect.Map && a.Len() == 0 && b.Len() == 0 || reflect.DeepEqual(a.Interface(), b.Interface())
}

// union returns a map with the keys of both.
func union(a, b reflect.Value) reflect.Value {
	all := reflect.MakeMap(a.Type())
	for _, m := range []reflect.Value{a, b} {
		for _, name := range m.MapKeys() {
			all.SetMapIndex(name, m.MapIndex(name))
		}
	}
	return all
}

func presence(there bool) string {
	if there {
		return "declared"
	}
	return "absent"
}

// NeedsRestart returns the dotted keys that differ and that a reload leaves as they are.
func NeedsRestart(prev, next *Config) []string {
	var keys []string
	for _, change := range Changes(prev, next) {
		if !change.Reloaded {
			keys = append(keys, change.Key)
		}
	}
	return keys
}

// pairs renders names with their values in one line.
func pairs(names []string, of func(name string) string) string {
	list := make([]string, 0, len(names))
	for _, name := range names {
		list = append(list, name+"="+of(name))
	}
	return strings.Join(list, " ")
}

// text renders the value of the key in one line as it would be written in the file; secrets are shown as ***.
func (k *key) text() string {
	switch value := k.value.Interface().(type) {
	case Secret:
		if value.IsZero() {
			return ""
		}
	case Env:
		return pairs(value.Names(), func(string) string { return redacted })
	case map[string]string:
		return pairs(sortedKeys(value), func(name string) string { return value[name] })
	}
	if k.IsStructs() {
		return k.flow()
	}
	return k.Text(k.value)
}
