package runtime

import "context"

// Runtime starts agents and drives them. Every method may be called concurrently with every other, returns
// soon after ctx ends, and reports failures as *Error. Agents outlive the Runtime value: closing a
// connection, or the end of the process that implements it, must not end an agent.
//
// It has many methods because it is one service on the wire, whose callers use all of it; what
// a runtime does not do it takes from Unimplemented.
type Runtime interface {
	// Capabilities returns what this runtime can do. It does not change while the process runs, except for
	// MaxAgents and Types after a new configuration.
	Capabilities(ctx context.Context) (Capabilities, error)

	// Spawn starts an agent and returns once its process runs; the agent gets ready afterwards, and says so
	// by an event. Spawning an id that runs already with an equal spec returns that agent, so that a caller
	// which lost the answer may ask again; with another spec it is ALREADY_EXISTS. INVALID_SPEC, CLI_NOT_FOUND,
	// AUTH_REQUIRED, RESOURCE_LIMIT, SPAWN_FAILED, UNKNOWN_TYPE, WORKDIR_NOT_ALLOWED.
	Spawn(ctx context.Context, spec Spec) (Agent, error)
	// Stop ends an agent and everything it started, and returns when nothing of it is left. Stopping a
	// stopped agent is no error. NOT_FOUND for an unknown id.
	Stop(ctx context.Context, id string, opts StopOptions) error
	// Restart stops the agent and starts it again under the same id, resuming its session where the agent
	// type can and the options do not forbid it. NOT_FOUND.
	Restart(ctx context.Context, id string, opts RestartOptions) (Agent, error)
	// Inspect returns one agent, running or stopped. NOT_FOUND.
	Inspect(ctx context.Context, id string) (Agent, error)
	// List returns the agents that the runtime knows, oldest first: the running ones, and stopped ones until
	// they are pruned.
	List(ctx context.Context, filter ListFilter) ([]Agent, error)

	// Send gives an agent a message, raw terminal input, keys, or an interrupt. A message waits until the agent is
	// idle, is typed, and Send returns when the agent took it (Sent) or, with ExpectResponse, when its turn ended:
	// how it ended, be it by an error of the model, is in the response and no error of the call.
	// Messages of one agent are delivered one at a time in the order of the calls, each exactly once.
	// NOT_FOUND, NOT_RUNNING, BLOCKED (the agent waits for an answer first), AUTH_REQUIRED, NOT_DELIVERED
	// (it was not taken; sending again is safe), DELIVERY_UNKNOWN (it may have been taken), TIMEOUT.
	Send(ctx context.Context, id string, in Input) (SendResult, error)
	// Answer answers the prompt that an agent is blocked on, or gives what the login has shown that it needs. NOT_FOUND,
	// NOT_RUNNING, NO_PROMPT when it is not blocked or the prompt's id is another one, INVALID_ARGUMENT for a choice that the
	// prompt does not have, AUTH_REQUIRED while a login does not ask for anything yet.
	Answer(ctx context.Context, id string, answer Answer) error

	// Attach opens the terminal of an agent for one viewer. NOT_FOUND. A stopped agent's terminal shows its
	// last screen and ends.
	Attach(ctx context.Context, id string, opts AttachOptions) (Terminal, error)
	// Logs reads the log of an agent. NOT_FOUND.
	Logs(ctx context.Context, id string, opts LogOptions) (LogStream, error)
	// Metrics measures an agent. NOT_FOUND, NOT_RUNNING.
	Metrics(ctx context.Context, id string) (Metrics, error)
	// Events follows what happens, from after opts.After on. The stream begins with the events that are kept,
	// and does not end before ctx or the runtime does. A reader that is too slow gets LAGGED and comes back.
	Events(ctx context.Context, opts EventOptions) (EventStream, error)

	// Recover finds the agents of an earlier process again, by the handles that Spawn returned. It returns
	// one result per handle, in order. Recovering an agent that is known already returns it.
	Recover(ctx context.Context, handles []Handle) ([]Recovered, error)
	// Prune removes what is left of agents of the installation that are not in keep: records, files and events of
	// stopped ones always, running ones (orphans) only if older than opts.Grace. Nothing that such an agent was given or
	// said is kept afterwards, also not of those that the runtime forgot by itself before: an erasure of somebody's data
	// goes by it. With DryRun it tells what it would do.
	Prune(ctx context.Context, opts PruneOptions) (PruneReport, error)
}

// Terminal is one viewer of an agent's terminal. Recv is called by one goroutine; the rest may be called
// concurrently.
type Terminal interface {
	// Recv returns the next frame: output in order of Offset, changes of size, the end. io.EOF after the
	// frame that carries Exit. A viewer that is too slow loses what is queued and gets a repaint (Frame.Repaint)
	// instead: it never holds up the agent or other viewers. Frame.Data is valid until the next call.
	Recv() (Frame, error)
	// Input types bytes. Replies of the viewer's own terminal to queries are dropped. Does nothing on a
	// read-only terminal but return FORBIDDEN.
	Input(p []byte) error
	// Resize tells the size this viewer would like. Which viewer's wish counts is the runtime's policy.
	// INVALID_ARGUMENT beyond 1..1000 columns and rows.
	Resize(cols, rows int) error
	// Close lets go of the terminal; Recv then ends. Safe to call twice.
	Close() error
}

// LogStream yields log lines. Next returns io.EOF at the end of a stream that does not follow.
type LogStream interface {
	Next() (LogLine, error)
	Close() error
}

// EventStream yields events in order of Seq.
type EventStream interface {
	Next() (Event, error)
	Close() error
}
