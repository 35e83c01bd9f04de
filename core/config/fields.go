package config

import "time"

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
		doc: "Directory of the plugin binaries. Empty: the directory plugins beside the wardroom binary. This release runs no plugins yet and says so at the start if the key is set.",
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
	"server":          "The HTTP server.",
	"server.cors":     "Web pages of other origins.",
	"store":           "The durable state.",
	"store.retention": "How long finished things are kept.",
	"plugins":         "Programs that extend Wardroom.",
	"metrics":         "The Prometheus endpoint.",
	"engine":          "How much work runs at once, and for how long.",
	"agents":          "Agents that connect over WebSocket.",
	"streams":         "Event streams to clients.",
	"log":             "The log of the process.",
}
