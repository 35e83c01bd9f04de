// Package core is the vocabulary of Wardroom and the map of its house.
//
// This package owns the domain types, the interfaces through which the sub-packages meet, the closed set
// of error codes, ids and the clock. It imports the standard library, the ULID codec and the public types of
// sdk/wire only, holds no state and does no work. Everything in the control plane imports it; sdk and plugins never do.
//
// # The map
//
//	config    the configuration file: strict decode, drop-ins, interpolation, validation, schema
//	backup    the archive of a backup: the dump of the store, files beside it, checksums
//	store     the durable state: keys, transactions with group commit, indexes, event log, dump
//	events    the in-process bus: what was committed, to whoever streams it
//	pattern   definitions: parse, validate, version, aggregate, evaluate output expressions
//	orgchart  workflows of org charts: order, numbering, variables, verdicts, routing of messages
//	engine    runs executions and batches: journal, resume, deadlines, limits, retries
//	agents    connected agents: WebSocket sessions, registry, heartbeats, task hand-out
//	runtimes  managed agents: choice of a runtime, records, recovery, terminals
//	roles     agents that are spawned for the roles of org charts: their tasks, turns and prompts
//	timeline  what happened in an execution: a read model of its events
//	threads   managed threads: preparation, supervision, inputs, outcome; roles of org charts are threads too
//	workspace directories of threads: mirrors, worktrees, jail, finish actions, time to live
//	memory    decisions and experiences: ranking, full text, the memory file
//	webhook   signed callbacks: endpoints, the dispatcher of the event log, attempts and retries
//	pluginhost  plugins: verify, launch, watch, restart, call
//	schedule  executions and threads by the clock: ticks, overlap, catch-up, history
//	overview  what people look at first: the inbox and the numbers of what goes on
//	location  what something lies in, by its id alone: a read model of records and the log
//	trigger   executions and threads by signed requests: secrets, signatures, replays, mapping
//	cert      the certificates of the listener: read, taken up anew, and those of clients checked
//	api       HTTP: the route table, request and answer bodies, OpenAPI, streams
//	access    who calls: API keys, sessions of people, and the authenticator of requests
//	jwt       tokens of an identity provider: their signatures, claims and keys
//	sso       signing in at an identity provider, by OpenID Connect
//	audit     who did what: the chained trail, its checkpoints, and the delivery to sinks
//	masking   fields that are not shown in clear, by their paths
//	erasure   what is stored of a subject: its export, and its erasure
//	compliance  what the profiles soc2, gdpr and hipaa ask for, and the report of a check
//	secrets   references to secrets: their providers, what is kept in memory, what users may name
//	limits    how many requests are taken: rates of all, of a client, of a pattern, and allowed networks
//	policy    who may do what: scopes, roles, allow-lists and the operator's rules, decided in Rego
//	health    named checks and their state
//	metrics   the Prometheus series
//	tracing   the traces of work, sampled and sent to a collector by OTLP
//	internal  leaves that several of these share: JSON text, and the strict reader of structs with tags
//
// # How a request flows
//
// api decodes and validates, and calls one service method of this package's interfaces. The service does
// its work in one Store transaction, which also appends the events that follow from it. After the commit
// the store publishes the events to the bus; streams, webhooks and metrics read the bus or the log. An
// execution advances only by what its journal says, so that a restart goes on where the journal ends.
//
// # Directions
//
// core <- core/* <- appliance. Siblings below core do not import each other: they meet through the
// interfaces here, and appliance joins them. A test in scripts/house enforces each forbidden edge.
package core
