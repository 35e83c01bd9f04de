package config

import (
	"strings"
	"time"
)

// fields lists every key, in the order of the packaged file: the keys of a section before those of its
// subsections. Everything that knows keys is made from it.
var fields = []*field{
	{
		key: "server.listen", ref: func(c *Config) any { return &c.Server.Listen }, check: checkListen,
		doc: "Address and port of the HTTP server. While no security is configured, only a loopback address is accepted.",
	},
	{
		key: "server.environment", ref: func(c *Config) any { return &c.Server.Environment },
		enum: []string{Production, Development},
		doc:  "What the machine is for. Development relaxes rules that guard production, such as https for webhook targets.",
	},
	{
		key: "server.baseUrl", ref: func(c *Config) any { return &c.Server.BaseURL }, check: checkBaseURL, clean: cleanURL,
		doc: "Address under which clients reach this server, when it stands behind a proxy; named in the OpenAPI document. Empty: the address that a client used.",
	},
	{
		key: "server.maxBody", ref: func(c *Config) any { return &c.Server.MaxBody }, min: 64 * kib, max: 1024 * mib,
		doc: "Largest request body.",
	},
	{
		key: "server.maxDefinition", ref: func(c *Config) any { return &c.Server.MaxDefinition }, min: 4 * kib, max: 64 * mib,
		doc: "Largest pattern definition.",
	},
	{
		key: "server.shutdownTimeout", ref: func(c *Config) any { return &c.Server.ShutdownTimeout },
		min: int64(time.Second), max: int64(10 * time.Minute),
		doc: "How long a stop waits for requests in flight. Work that is not finished goes on at the next start.",
	},
	{
		key: "server.readHeaderTimeout", ref: func(c *Config) any { return &c.Server.ReadHeaderTimeout },
		min: int64(time.Second), max: int64(5 * time.Minute),
		doc: "How long a client may take to send the header of a request.",
	},
	{
		key: "server.bodyTimeout", ref: func(c *Config) any { return &c.Server.BodyTimeout },
		min: int64(time.Second), max: int64(time.Hour),
		doc: "How long a client may take to send the body of a request.",
	},
	{
		key: "server.cors.origins", ref: func(c *Config) any { return &c.Server.CORS.Origins }, check: checkOrigin, clean: cleanURL,
		live: true,
		doc:  "Origins (scheme://host[:port]) whose web pages may call the API. Empty refuses every cross-origin request.",
	},

	{
		key: "store.path", ref: func(c *Config) any { return &c.Store.Path }, path: true, check: checkNotEmpty,
		doc: "Directory of the database. Only one process may use it.",
	},
	{
		key: "store.minFree", ref: func(c *Config) any { return &c.Store.MinFree }, min: 64 * mib,
		doc: "Free disk space below which writes are refused, so that nothing acknowledged is lost on a full disk. Reads go on.",
	},
	{
		key: "store.retention.executions", ref: func(c *Config) any { return &c.Store.Retention.Executions }, min: int64(time.Hour), live: true,
		doc: "How long a finished execution is kept.",
	},
	{
		key: "store.retention.events", ref: func(c *Config) any { return &c.Store.Retention.Events }, min: int64(time.Hour), live: true,
		doc: "How long entries of the event log are kept; past that, streams of a finished execution cannot be replayed.",
	},
	{
		key: "store.retention.batches", ref: func(c *Config) any { return &c.Store.Retention.Batches }, min: int64(time.Hour), live: true,
		doc: "How long a finished batch is kept.",
	},
	{
		key: "store.retention.agents", ref: func(c *Config) any { return &c.Store.Retention.Agents }, min: int64(time.Minute), live: true,
		doc: "How long the record of a disconnected agent is kept.",
	},
	{
		key: "store.retention.idempotency", ref: func(c *Config) any { return &c.Store.Retention.Idempotency }, min: int64(24 * time.Hour), live: true,
		doc: "How long Idempotency-Key records are kept. A key counts for 24h, so shorter is refused.",
	},

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

	{
		key: "metrics.public", ref: func(c *Config) any { return &c.Metrics.Public }, live: true,
		doc: "Serve metrics and detailed health without a credential.",
	},

	{
		key: "engine.maxActive", ref: func(c *Config) any { return &c.Engine.MaxActive }, min: 1, max: 1_000_000, live: true,
		doc: "Executions that run at once. More wait in the queue.",
	},
	{
		key: "engine.maxQueued", ref: func(c *Config) any { return &c.Engine.MaxQueued }, min: 1, max: 10_000_000, live: true,
		doc: "Executions that wait. Beyond that, new ones are refused with 429.",
	},
	{
		key: "engine.maxQueuedBytes", ref: func(c *Config) any { return &c.Engine.MaxQueuedBytes }, min: 16 * mib, live: true,
		doc: "Bytes of input that executions which are not over hold in memory. Beyond that, new ones are refused with 429.",
	},
	{
		key: "engine.maxActivePerPattern", ref: func(c *Config) any { return &c.Engine.MaxActivePerPattern }, max: 1_000_000, live: true,
		doc: "Executions of one pattern that run at once, unless the pattern says otherwise. 0: no limit.",
	},
	{
		key: "engine.defaultTimeout", ref: func(c *Config) any { return &c.Engine.DefaultTimeout }, min: int64(time.Second), live: true,
		doc: "Time limit of an execution when neither the request nor the pattern sets one.",
	},
	{
		key: "engine.maxTimeout", ref: func(c *Config) any { return &c.Engine.MaxTimeout }, min: int64(time.Second), live: true,
		doc: "Longest time limit that a request or a pattern may set.",
	},
	{
		key: "engine.taskTimeout", ref: func(c *Config) any { return &c.Engine.TaskTimeout }, min: int64(100 * time.Millisecond), live: true,
		doc: "Time limit of one task at one agent when the pattern sets none.",
	},
	{
		key: "engine.taskRetries", ref: func(c *Config) any { return &c.Engine.TaskRetries }, max: 100, live: true,
		doc: "How often a task is given to another agent after a retryable error or a lost agent.",
	},
	{
		key: "engine.maxBatchInputs", ref: func(c *Config) any { return &c.Engine.MaxBatchInputs }, min: 1, max: 1_000_000, live: true,
		doc: "Inputs that one batch may have.",
	},
	{
		key: "engine.priorityAging", ref: func(c *Config) any { return &c.Engine.PriorityAging }, min: int64(time.Second), live: true,
		doc: "Waiting time after which a queued execution rises by one priority, so that none starves.",
	},
	{
		key: "engine.roleBinding", ref: func(c *Config) any { return &c.Engine.RoleBinding }, live: true,
		enum: []string{BindAuto, BindConnected, BindManaged},
		doc: "Which agents serve roles of org charts that are not marked managed: connected ones, those that a runtime spawns for roles that name agent types, " +
			"or (auto) spawned ones only where too few are connected.",
	},
	{
		key: "engine.questionTimeout", ref: func(c *Config) any { return &c.Engine.QuestionTimeout },
		min: int64(time.Second), max: int64(365 * 24 * time.Hour), live: true,
		doc: "How long people have to answer a question of an org chart. The execution waits for it; one that nobody answers fails it.",
	},

	{
		key: "agents.heartbeatInterval", ref: func(c *Config) any { return &c.Agents.HeartbeatInterval },
		min: int64(time.Second), max: int64(10 * time.Minute), live: true,
		doc: "How often a connected agent reports that it is alive.",
	},
	{
		key: "agents.unhealthyAfter", ref: func(c *Config) any { return &c.Agents.UnhealthyAfter }, min: 1, max: 100, live: true,
		doc: "Missed heartbeats after which an agent counts as unhealthy and gets no new tasks.",
	},
	{
		key: "agents.disconnectAfter", ref: func(c *Config) any { return &c.Agents.DisconnectAfter }, min: 2, max: 100, live: true,
		doc: "Missed heartbeats after which the connection of an agent is closed.",
	},
	{
		key: "agents.resumeGrace", ref: func(c *Config) any { return &c.Agents.ResumeGrace },
		min: int64(100 * time.Millisecond), max: int64(24 * time.Hour), live: true,
		doc: "How long an agent whose connection was lost keeps its tasks before they go to others.",
	},
	{
		key: "agents.messagesPerSecond", ref: func(c *Config) any { return &c.Agents.MessagesPerSecond }, min: 1, max: 1_000_000, live: true,
		doc: "Messages that one agent may send per second over time.",
	},
	{
		key: "agents.keepDisconnected", ref: func(c *Config) any { return &c.Agents.KeepDisconnected }, min: int64(time.Second), live: true,
		doc: "How long a disconnected agent stays listed.",
	},
	{
		key: "agents.registerTimeout", ref: func(c *Config) any { return &c.Agents.RegisterTimeout },
		min: int64(time.Second), max: int64(10 * time.Minute), live: true,
		doc: "How long a new connection may take to register.",
	},
	{
		key: "agents.maxSessions", ref: func(c *Config) any { return &c.Agents.MaxSessions }, min: 1, max: 1_000_000,
		doc: "Connections of agents open at once. Beyond that, new ones are refused with 503.",
	},
	{
		key: "agents.maxMessage", ref: func(c *Config) any { return &c.Agents.MaxMessage }, min: 4 * kib, max: 64 * mib,
		doc: "Largest message taken from an agent.",
	},
	{
		key: "agents.sendBuffer", ref: func(c *Config) any { return &c.Agents.SendBuffer }, min: 64 * kib, max: 1024 * mib,
		doc: "Bytes that wait for one slow agent before its connection is closed.",
	},

	{
		key: "streams.maxOpen", ref: func(c *Config) any { return &c.Streams.MaxOpen }, min: 1, max: 1_000_000, live: true,
		doc: "Streams open at once. Beyond that, new ones are refused with 429.",
	},
	{
		key: "streams.heartbeat", ref: func(c *Config) any { return &c.Streams.Heartbeat },
		min: int64(time.Second), max: int64(10 * time.Minute), live: true,
		doc: "How often a silent stream sends a comment that keeps proxies from closing it.",
	},
	{
		key: "streams.maxAge", ref: func(c *Config) any { return &c.Streams.MaxAge }, min: int64(time.Minute), live: true,
		doc: "Age at which a stream is ended; clients resume where it ended.",
	},
	{
		key: "streams.writeTimeout", ref: func(c *Config) any { return &c.Streams.WriteTimeout },
		min: int64(100 * time.Millisecond), max: int64(5 * time.Minute), live: true,
		doc: "How long one write to a slow client may take before its stream is closed.",
	},

	{
		key: "log.level", ref: func(c *Config) any { return &c.Log.Level }, live: true,
		enum: []string{"trace", "debug", "info", "warn", "error"},
		doc:  "Least severe messages that are logged.",
	},
	{
		key: "log.format", ref: func(c *Config) any { return &c.Log.Format },
		enum: []string{"auto", "text", "json"},
		doc:  "Form of the log on stderr: text for people, json for machines. auto is text.",
	},
}

// sectionDocs describes the sections, which have no value of their own.
var sectionDocs = map[string]string{
	"server":             "The HTTP server.",
	"server.cors":        "Web pages of other origins.",
	"store":              "The durable state.",
	"store.retention":    "How long finished things are kept.",
	"plugins":            "Programs that extend Wardroom.",
	"plugins.*":          "What is set for one plugin, under its name.",
	"runtimes":           "Where managed agents run.",
	"runtimes.*":         "One runtime, under the name that requests use: a plugin, or a server under a URL.",
	"agentTypes":         "Programs that runtimes may run as agents, beside claude, codex and gemini.",
	"agentTypes.*":       "One agent type, under the name that requests use.",
	"agentTypes.*.ready": "How to tell that it waits for input.",
	"metrics":            "The Prometheus endpoint.",
	"engine":             "How much work runs at once, and for how long.",
	"agents":             "Agents that connect over WebSocket.",
	"streams":            "Event streams to clients.",
	"log":                "The log of the process.",
}
