package config

import "time"

// engineFields are those of metrics and engine.
var engineFields = []*field{
	{
		key: "metrics.public", ref: func(c *Config) any { return &c.Metrics.Public }, live: true,
		doc: "Serve metrics and detailed health without a credential.",
	},

	{
		key: "engine.maxActive", ref: func(c *Config) any { return &c.Engine.MaxActive }, min: 1, max: 1_000_000, live: true,
		doc: "Executions that run at once. More wait in the queue. One that only waits, for people or agents, is not counted.",
	},
	{
		key: "engine.maxQueued", ref: func(c *Config) any { return &c.Engine.MaxQueued }, min: 1, max: 10_000_000, live: true,
		doc: "Executions that wait. Beyond that, new ones are refused with 429. The last tenth is kept for patterns that have little in the queue.",
	},
	{
		key: "engine.maxQueuedBytes", ref: func(c *Config) any { return &c.Engine.MaxQueuedBytes }, min: 16 * mib, live: true,
		doc: "Bytes of input that executions which are not over hold in memory. Beyond that, new ones are refused with 429. The last tenth is kept as above.",
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
		doc: "Waiting time after which a queued execution rises by one priority, so that none starves. Patterns of the same priority take turns.",
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
}
