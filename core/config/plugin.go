package config

import (
	"path/filepath"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// Plugins says where plugin binaries are, and holds what is set for single plugins.
type Plugins struct {
	// Directory of the plugin binaries. Empty: the directory plugins beside the wardroom binary. Neither it nor a
	// directory above it may be writable by others.
	Dir string `json:"dir" check:"path"`
	// Directory of what plugins keep, such as the rooms of agents. Empty: the directory plugins in store.path. No two
	// servers may share it, and dumps do not hold it.
	StateDir string `json:"stateDir" check:"path"`
	// Public keys of minisign. With any, wardroom plugin install takes only files that one of them signed, and plugins
	// that were installed otherwise are not started. Empty: no signature is needed.
	TrustedKeys []string `json:"trustedKeys" check:"is=minisign"`
	// What is set for one plugin, under its name.
	Entries map[string]*Plugin `json:"*" entry:"a plugin" reserved:"dir: plugins.dir is the directory of the plugins"`
}

// Kinds of plugins.
const (
	KindRuntime = "runtime"
	KindSecret  = "secret"
	KindAudit   = "audit"
)

// IsSecret reports whether the entry of that name is a provider of secrets, which references call by the name.
func (p *Plugin) IsSecret(name string) bool {
	return strings.HasPrefix(name, core.SecretPluginPrefix) && (p.Kind == KindSecret || p.Kind == "")
}

// Plugin is what is set for one plugin. A plugin needs no entry to be used: see Runtime.Plugin.
type Plugin struct {
	// What the plugin is for. Empty: what its manifest says.
	Kind string `json:"kind" enum:",runtime,secret,audit"`
	// Its binary. Empty: the file of its name in plugins.dir. Two entries with one path run it twice, with settings of
	// their own.
	Path string `json:"path" check:"path"`
	// Checksum that its binary must have. Empty: what its manifest says.
	SHA256 string `json:"sha256" check:"is=sha256"`
	// Fail the start when it does not get ready. Otherwise Wardroom is degraded without it.
	Required bool `json:"required"`
	// Run it. What wardroom plugin enable or disable said last comes first. A reload starts and stops it, starts
	// one that is new, and stops one whose entry is gone and that nothing else uses.
	Enabled bool `json:"enabled" default:"true" reload:"live"`
	// Its own settings; wardroom plugin info NAME shows what it takes. Values that refer to the environment are never
	// shown.
	Config Block `json:"config"`
	// Variables for its environment, beside the few that every plugin gets. They are never shown.
	Env Env `json:"env"`
}

// PluginUser returns the key that has a plugin run; "" if nothing in c does.
func (c *Config) PluginUser(name string) string {
	if p := c.Plugins.Entries[name]; p != nil && !p.Enabled {
		return ""
	}
	for _, runtime := range sortedKeys(c.Runtimes) {
		if c.Runtimes[runtime].Plugin == name {
			return "runtimes." + runtime + ".plugin"
		}
	}
	if s := &c.Security.Audit; s.Destination != "" && "audit-"+s.Destination == name {
		return "security.audit.destination"
	}
	if provider, _ := c.Security.Secrets.Plugin(); provider == name && name != "" {
		return "security.secrets.provider"
	}
	for _, entry := range sortedKeys(c.Plugins.Entries) {
		switch p := c.Plugins.Entries[entry]; {
		case !p.Enabled:
		case entry == name:
			return "plugins." + name
		case p.Path != "" && filepath.Base(p.Path) == name && (c.Plugins.Dir == "" || filepath.Clean(filepath.Dir(p.Path)) == filepath.Clean(c.Plugins.Dir)):
			return "plugins." + entry + ".path"
		}
	}
	return ""
}
