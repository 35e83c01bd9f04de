package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core/internal/schema"
	"github.com/wardroom/wardroom/sdk/wire"
)

// selector is a key that says which of the sections and keys beside it count.
type selector struct {
	key    string              // dotted
	counts map[string][]string // those that count, by the value of the key
}

var selectors = []selector{
	{"security.secrets.provider", map[string][]string{"kubernetes": {"kubernetes"}, "vault": {"vault"}, "aws-secrets-manager": {"aws"}}},
	{"security.sso.provider", map[string][]string{"oidc": {"oidc"}, "okta": {"okta"}, "azure": {"azure"}, "google": {"google"}}},
	{"security.audit.destination", map[string][]string{
		"file": {"file"}, "elasticsearch": {"elasticsearch"}, "splunk": {"splunk"}, "cloudwatch": {"cloudwatch"},
	}},
	{"security.encryption.atRest.provider", map[string][]string{
		"file": {"file"}, "environment": {"variable"}, "systemd": {"credential"}, "vault-transit": {"vault"}, "aws-kms": {"kms"},
	}},
	{"security.agentAuth.method", map[string][]string{"token": {"token"}, "both": {"token"}}},
}

// KeyListen is the key of the address that serve listens on.
const KeyListen = "server.listen"

// Warnings returns what a file sets in security that does nothing: sections that their enabled or the selector beside them does
// not switch on. What a file switches off by saying so is none. Variables of agent types that runtimes refuse are others, and an
// address that a start takes with --insecure only. A configuration may have them.
func (c *Config) Warnings() []Problem {
	var found []Problem
	warn := func(section, format string, args ...any) {
		at, ok := c.firstSet(section)
		if ok {
			found = append(found, Problem{File: at.File, Line: at.Line, Column: at.Column, Key: section, Reason: fmt.Sprintf(format, args...)})
		}
	}
	keys := c.keys()
	off := map[string]bool{} // sections that are switched off
	for i := range keys {
		k := &keys[i]
		section := parentOf(k.path)
		if k.section || k.name() != "enabled" || !strings.HasPrefix(section, "security.") || k.value.Kind() != reflect.Bool || k.value.Bool() {
			continue
		}
		off[section] = true
		if _, said := c.places[k.path]; !said {
			warn(section, "is given and does nothing: %s is not set to true", k.path)
		}
	}
	for _, s := range selectors {
		section := parentOf(s.key)
		k := find(keys, s.key)
		if k == nil || off[section] {
			continue
		}
		chosen := k.value.String()
		var all []string
		for _, names := range s.counts {
			all = append(all, names...)
		}
		slices.Sort(all)
		for _, name := range slices.Compact(all) {
			if !slices.Contains(s.counts[chosen], name) {
				is := "is " + chosen
				if chosen == "" {
					is = "is not set"
				}
				warn(schema.Join(section, name), "is given and does nothing: %s %s", s.key, is)
			}
		}
	}
	for _, name := range sortedKeys(c.AgentTypes) {
		for _, variable := range c.AgentTypes[name].Env.Names() {
			if reason := wire.ReservedEnv(variable); reason != "" {
				warn("agentTypes."+name+".env", "names %s, which the runtimes of the product refuse when the type is started: %s", variable, reason)
			}
		}
	}
	if !c.Security.Enabled() && !c.Server.LoopbackOnly() {
		warn(KeyListen, "is no loopback address, and no security is configured: a start refuses that unless it is given --insecure")
	}
	slices.SortStableFunc(found, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Key, b.Key))
	})
	return found
}

// Origin returns the file that sets a key, or first sets one of a section; "" where none does.
func (c *Config) Origin(key string) string {
	at, _ := c.firstSet(key)
	return at.File
}

// firstSet returns where a file sets a key, or first sets one of a section.
func (c *Config) firstSet(at string) (schema.Place, bool) {
	var first schema.Place
	set := false
	for key, place := range c.places {
		if key != at && !strings.HasPrefix(key, at+".") || place.Line == 0 {
			continue
		}
		if !set || place.File < first.File || place.File == first.File && place.Line < first.Line {
			first, set = place, true
		}
	}
	return first, set
}
