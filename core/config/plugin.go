package config

// Plugins says where plugin binaries are, and holds what is set for single plugins.
type Plugins struct {
	Dir      string             // absolute, or empty for the folder "plugins" beside the binary
	StateDir string             // absolute, or empty for the folder "plugins" in that of the store
	Entries  map[string]*Plugin // by the name of the plugin
}

// Kinds of plugins.
const (
	KindRuntime = "runtime"
	KindSecret  = "secret"
	KindAudit   = "audit"
)

// Plugin is what is set for one plugin. A plugin needs no entry to be used: see Runtime.Plugin.
type Plugin struct {
	Kind     string // KindRuntime, KindSecret, KindAudit; empty: what its manifest says
	Path     string // absolute path of the binary; empty: the plugin's name in Plugins.Dir
	SHA256   string // 64 lower-case hexadecimal digits; empty: what its manifest says
	Required bool   // the start fails without it
	Enabled  bool
	Config   Block // given to the plugin
	Env      Env   // its environment beside what every plugin gets
}

func newPlugin(string) *Plugin { return &Plugin{Enabled: true} }
