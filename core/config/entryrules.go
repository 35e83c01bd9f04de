package config

import (
	"fmt"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// entryRules reports entries that are incomplete or contradict each other. As in relations, nothing is said
// when a whole file could not be read, and nothing about an entry that has a problem of its own.
func (c *Config) entryRules(known []Problem) []Problem {
	r := &ruling{config: c, wrong: map[string]bool{}}
	for _, p := range known {
		if p.Key == "" {
			return nil
		}
		r.wrong[p.Key] = true
	}
	for _, name := range sortedKeys(c.Plugins.Entries) {
		r.plugin(name, c.Plugins.Entries[name])
	}
	users := map[string]string{} // runtime by plugin
	for _, name := range sortedKeys(c.Runtimes) {
		r.runtime(name, c.Runtimes[name], users)
	}
	for _, name := range sortedKeys(c.Threads.Repositories) {
		r.repository("threads.repositories."+name, c.Threads.Repositories[name])
	}
	r.given(c.keys())
	for i := range c.Webhooks.Endpoints {
		r.endpoint(i, &c.Webhooks.Endpoints[i])
	}
	r.proxy(&c.Webhooks)
	r.tracing(&c.Observability.Tracing)
	r.logParts(&c.Log)
	r.security(&c.Security, &c.Server)
	return r.problems
}

// ruling collects what the rules find.
type ruling struct {
	config   *Config
	wrong    map[string]bool // keys that have a problem already
	problems []Problem
}

// refuse reports a problem with a key of an entry, at the place that set the key or else the entry.
func (r *ruling) refuse(entry, name, format string, args ...any) {
	key := schema.Join(entry, name)
	if r.wrong[key] {
		return
	}
	at, ok := r.config.places[key]
	for around := entry; !ok; around = parentOf(around) { // what is around it, where it is in a section that is not there
		if at, ok = r.config.places[around]; at.Line == 0 { // a section has no place of its own: that of what stands first in it
			at, ok = r.firstIn(around)
		}
		if around == "" {
			break
		}
	}
	r.problems = append(r.problems, Problem{File: at.File, Line: at.Line, Column: at.Column, Key: key, Reason: fmt.Sprintf(format, args...)})
}

// firstIn returns the place of the key of a section that stands first in its file; "" is the whole configuration.
func (r *ruling) firstIn(section string) (at schema.Place, ok bool) {
	for key, p := range r.config.places {
		if p.Line == 0 || section != "" && !strings.HasPrefix(key, section+".") {
			continue
		}
		if !ok || p.File < at.File || p.File == at.File && (p.Line < at.Line || p.Line == at.Line && p.Column < at.Column) {
			at, ok = p, true
		}
	}
	return at, ok
}

// isWrong reports whether an entry, or something in it, has a problem already.
func (r *ruling) isWrong(entry string) bool {
	for key := range r.wrong {
		if strings.HasPrefix(key, entry) {
			return true
		}
	}
	return false
}

// given reports keys of entries and lists that must be given and are not, or are empty.
func (r *ruling) given(keys []key) {
	for _, k := range keys {
		if k.section {
			continue
		}
		if entry := parentOf(k.path); k.missing() != "" && k.value.IsZero() && !r.wrong[entry] && !r.isWrong(k.path+"[") {
			r.refuse(entry, k.name(), "is missing: %s", k.missing())
		}
		for i := range k.items() {
			r.given(k.item(i))
		}
	}
}

func (r *ruling) plugin(name string, p *Plugin) {
	if p.Required && !p.Enabled {
		r.refuse("plugins."+name, "required", "contradicts enabled: false; a plugin that is required must run")
	}
	if p.Kind == KindSecret && !strings.HasPrefix(name, core.SecretPluginPrefix) {
		r.refuse("plugins."+name, "kind", "is secret: references go by the name of the entry, so it must begin with %s; give the binary in path", core.SecretPluginPrefix)
	}
}

func (r *ruling) repository(entry string, repo *Repository) {
	secret := !repo.Password.IsZero()
	switch {
	case repo.URL == "":
	case secret && repo.PasswordFile != "":
		r.refuse(entry, "passwordFile", "is given beside password; keep one of them")
	case repo.SSHKeyFile != "" && strings.Contains(repo.URL, "://") && !strings.HasPrefix(repo.URL, "ssh://"):
		r.refuse(entry, "sshKeyFile", "is for an ssh URL")
	case (secret || repo.PasswordFile != "" || repo.Username != "") && !strings.HasPrefix(repo.URL, "https://") && !strings.HasPrefix(repo.URL, "http://"):
		r.refuse(entry, "url", "takes no user and password: those are for https URLs; ssh uses the keys of the service's agent")
	}
}

func (r *ruling) runtime(name string, rt *Runtime, users map[string]string) {
	entry := "runtimes." + name
	switch {
	case rt.Plugin == "" && rt.URL == "":
		if !r.wrong[entry+".url"] {
			r.refuse(entry, "plugin", "is missing: name a plugin, or give the url of a runtime server")
		}
		return
	case rt.Plugin != "" && rt.URL != "":
		r.refuse(entry, "url", "is given beside plugin; a runtime is one or the other")
		return
	case rt.URL != "":
		if !rt.Config.IsZero() {
			r.refuse(entry, "config", "is for a plugin; the server at url has a configuration of its own")
		}
		return
	}
	if !rt.Token.IsZero() {
		r.refuse(entry, "token", "is for a server at url; a plugin needs none")
	}
	if other, ok := users[rt.Plugin]; ok {
		r.refuse(entry, "plugin", "is the plugin of runtimes.%s already; to run it twice, declare a second entry in plugins with its path", other)
	}
	users[rt.Plugin] = name
	p := r.config.Plugins.Entries[rt.Plugin]
	switch {
	case p == nil:
	case p.Kind != "" && p.Kind != KindRuntime:
		r.refuse(entry, "plugin", "plugins.%s is of kind %s, and a runtime wants a plugin of kind %s", rt.Plugin, p.Kind, KindRuntime)
	case rt.Required && !p.Enabled:
		r.refuse(entry, "required", "contradicts plugins.%s.enabled: false", rt.Plugin)
	case !rt.Config.IsZero() && !p.Config.IsZero():
		r.refuse(entry, "config", "is given in plugins.%s.config as well; keep one of them", rt.Plugin)
	}
}
