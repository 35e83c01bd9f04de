package config

import "time"

// agentFields are those of agents, streams and log.
var agentFields = []*field{
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
		doc: "How long the reader of a stream may take nothing of it before it is closed. It comes back with the last event that it has. " +
			"One that is slow, but goes on, keeps it.",
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
