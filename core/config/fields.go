package config

import (
	"slices"
	"strings"
	"time"
)

// fields lists every key, in the order of the packaged file: the keys of a section before those of its
// subsections. Everything that knows keys is made from it.
var fields = slices.Concat(serverFields, pluginFields, engineFields, threadFields, webhookFields, agentFields)

// serverFields are those of server and store.
var serverFields = []*field{
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
		key: "server.hosts", ref: func(c *Config) any { return &c.Server.Hosts }, check: checkHost, clean: strings.ToLower,
		live: true,
		doc: "Further names under which this server is reached. While no security is configured, requests for other hosts than loopback names, " +
			"the listen address, the host of baseUrl and these are refused, so that no web page can have its own name pointed here.",
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
		key: "server.stallTimeout", ref: func(c *Config) any { return &c.Server.StallTimeout },
		min: int64(time.Second), max: int64(10 * time.Minute), live: true,
		doc: "How long a client may take nothing of what is sent to it, or send nothing of a body that it began, before its " +
			"connection is closed. One that is slow, but goes on, keeps it.",
	},
	{
		key: "server.maxConnections", ref: func(c *Config) any { return &c.Server.MaxConnections }, min: 16, max: 1_000_000, live: true,
		doc: "Connections open at once, streams, terminals and agents included. Fewer where the system grants fewer open files. " +
			"Beyond that, new ones are closed at once.",
	},
	{
		key: "server.maxConnectionsPerAddress", ref: func(c *Config) any { return &c.Server.MaxConnectionsPerAddress },
		max: 1_000_000, live: true,
		doc: "The same for the connections of one address. 0: no limit of its own, as a server behind a proxy needs it.",
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
		doc: "How long entries of the event log are kept; journals of executions live as long as these.",
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
		key: "store.retention.maxExecutionBytes", ref: func(c *Config) any { return &c.Store.Retention.MaxExecutionBytes }, live: true,
		doc: "What executions may take with all that belongs to them, before it is compressed. Beyond that the oldest finished ones go, " +
			"whatever their age. 0: any size.",
	},
	{
		key: "store.retention.maxEventBytes", ref: func(c *Config) any { return &c.Store.Retention.MaxEventBytes }, live: true,
		doc: "The same for the event log.",
	},
}

// sectionDocs describes the sections, which have no value of their own.
var sectionDocs = map[string]string{
	"server":                      "The HTTP server.",
	"server.cors":                 "Web pages of other origins.",
	"store":                       "The durable state.",
	"store.retention":             "How long finished things are kept, and how much of them. `wardroom store usage` shows what each kind takes.",
	"plugins":                     "Programs that extend Wardroom.",
	"plugins.*":                   "What is set for one plugin, under its name.",
	"runtimes":                    "Where managed agents run.",
	"runtimes.*":                  "One runtime, under the name that requests use: a plugin, or a server under a URL.",
	"agentTypes":                  "Programs that runtimes may run as agents, beside claude, codex and gemini.",
	"agentTypes.*":                "One agent type, under the name that requests use.",
	"agentTypes.*.ready":          "How to tell that it waits for input.",
	"metrics":                     "The Prometheus endpoint.",
	"engine":                      "How much work runs at once, and for how long.",
	"threads":                     "Managed threads: long-lived work of single agents in workspaces of their own.",
	"threads.workspaces":          "The directories that threads work in.",
	"threads.workspaces.identity": "Who commits are by.",
	"threads.repositories":        "Short names of git repositories, with what it takes to get at them.",
	"threads.repositories.*":      "One repository, under the name that requests use.",
	"threads.finish":              "What a thread may do with its workspace when it completes, if its policy asks for it.",
	"threads.memory":              "What threads leave for later ones, and how much of it those are told.",
	"webhooks":                    "Signed callbacks that tell other systems of events.",
	"webhooks.retention":          "How much is kept of deliveries that are over.",
	"agents":                      "Agents that connect over WebSocket.",
	"streams":                     "Event streams to clients.",
	"log":                         "The log of the process.",
}
