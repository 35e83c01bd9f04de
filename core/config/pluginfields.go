package config

import (
	"strings"
	"time"
)

// pluginFields are those of plugins, runtimes and agentTypes.
var pluginFields = []*field{
	{
		key: "plugins.dir", ref: func(c *Config) any { return &c.Plugins.Dir }, path: true,
		doc: "Directory of the plugin binaries. Empty: the directory plugins beside the wardroom binary. Neither it nor a directory above it may be writable by others.",
	},
	{
		key: "plugins.stateDir", ref: func(c *Config) any { return &c.Plugins.StateDir }, path: true,
		doc: "Directory of what plugins keep, such as the rooms of agents. Empty: the directory plugins in store.path. No two servers may share it, and dumps do not hold it.",
	},
	{
		key: "plugins.*.kind", in: func(c *Config, n string) any { return &pluginOf(c, n).Kind },
		enum: []string{"", KindRuntime, KindSecret, KindAudit},
		doc:  "What the plugin is for. Empty: what its manifest says.",
	},
	{
		key: "plugins.*.path", in: func(c *Config, n string) any { return &pluginOf(c, n).Path }, path: true,
		doc: "Its binary. Empty: the file of its name in plugins.dir. Two entries with one path run it twice, with settings of their own.",
	},
	{
		key: "plugins.*.sha256", in: func(c *Config, n string) any { return &pluginOf(c, n).SHA256 },
		check: checkSHA256, clean: strings.ToLower,
		doc: "Checksum that its binary must have. Empty: what its manifest says.",
	},
	{
		key: "plugins.*.required", in: func(c *Config, n string) any { return &pluginOf(c, n).Required },
		doc: "Fail the start when it does not get ready. Otherwise Wardroom is degraded without it.",
	},
	{
		key: "plugins.*.enabled", in: func(c *Config, n string) any { return &pluginOf(c, n).Enabled },
		doc: "Run it. What wardroom plugin enable or disable said last comes first.",
	},
	{
		key: "plugins.*.config", in: func(c *Config, n string) any { return &pluginOf(c, n).Config },
		doc: "Its own settings; wardroom plugin info NAME shows what it takes. Values that refer to the environment are never shown.",
	},
	{
		key: "plugins.*.env", in: func(c *Config, n string) any { return &pluginOf(c, n).Env },
		doc: "Variables for its environment, beside the few that every plugin gets. They are never shown.",
	},

	{
		key: "runtimes.*.plugin", in: func(c *Config, n string) any { return &runtimeOf(c, n).Plugin }, check: checkEntry,
		doc: "Name of the plugin that is this runtime. It needs no entry in plugins.",
	},
	{
		key: "runtimes.*.url", in: func(c *Config, n string) any { return &runtimeOf(c, n).URL }, check: checkBaseURL, clean: cleanURL,
		doc: "Address of a runtime server, instead of a plugin.",
	},
	{
		key: "runtimes.*.token", in: func(c *Config, n string) any { return &runtimeOf(c, n).Token },
		doc: "Token that the server at url wants. It is never shown.",
	},
	{
		key: "runtimes.*.config", in: func(c *Config, n string) any { return &runtimeOf(c, n).Config },
		doc: "Settings of the plugin; the same as config of its entry in plugins.",
	},
	{
		key: "runtimes.*.priority", in: func(c *Config, n string) any { return &runtimeOf(c, n).Priority }, max: 1_000_000,
		doc: "When a request names no runtime, the healthy one with the lowest number is taken. The default is 10 for local, 20 for docker, 30 for kubernetes.",
	},
	{
		key: "runtimes.*.required", in: func(c *Config, n string) any { return &runtimeOf(c, n).Required },
		doc: "Fail the start when it cannot be used. Otherwise Wardroom is degraded without it.",
	},

	{
		key: "agentTypes.*.command", in: func(c *Config, n string) any { return &agentTypeOf(c, n).Command },
		doc: "The program: an absolute path, or a name on the PATH of the runtime.",
	},
	{
		key: "agentTypes.*.args", in: func(c *Config, n string) any { return &agentTypeOf(c, n).Args },
		doc: "Its arguments.",
	},
	{
		key: "agentTypes.*.env", in: func(c *Config, n string) any { return &agentTypeOf(c, n).Env },
		doc: "Variables for its environment. They are never shown.",
	},
	{
		key: "agentTypes.*.idle", in: func(c *Config, n string) any { return &agentTypeOf(c, n).Idle },
		max: int64(10 * time.Minute),
		doc: "How long it must print nothing for its turn to be over. 0: its turns end with ready.pattern alone, or without a pattern after 2s.",
	},
	{
		key: "agentTypes.*.exit", in: func(c *Config, n string) any { return &agentTypeOf(c, n).Exit },
		doc: "The line that ends it politely, such as exit. Empty: it gets the end-of-input key.",
	},
	{
		key: "agentTypes.*.ready.pattern", in: func(c *Config, n string) any { return &agentTypeOf(c, n).Ready.Pattern }, check: checkPattern,
		doc: "Regular expression that the last line on its screen matches when it waits for input. Empty: the first silence.",
	},
	{
		key: "agentTypes.*.ready.timeout", in: func(c *Config, n string) any { return &agentTypeOf(c, n).Ready.Timeout },
		min: int64(time.Second), max: int64(time.Hour),
		doc: "How long it may take to get there.",
	},
}
