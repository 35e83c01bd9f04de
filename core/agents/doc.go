// Package agents keeps the connected agents: their WebSocket sessions, the registry, heartbeats, the
// hand-out of tasks and the intake of reports, messages between agents and the engine, and statistics.
//
// It does not know executions or patterns: which task goes where, retries and outcomes belong to the
// engine, which calls it through core.TaskDispatcher and is called through core.TaskSink. It does not
// authenticate: core/api does so before it passes a connection to Service.ServeWS. The appliance creates,
// opens and closes the Service.
//
// # Life of an agent
//
// An agent is live (it has a session), lost (its connection broke; it may resume within the grace and
// keeps its tasks) or gone (disconnected for good; listed for a day). live and lost are both
// core.AgentConnected to callers.
//
// # Slots and messages
//
// The index counts the slots of an agent that are reserved and those that hold a task. Keep turns the one kind
// into the other in one step, and Hold takes a reserved slot of a given agent. What the engine says to an agent is
// kept as long as it may have to be sent again: a message until it is answered, a reply until the
// agent's task ends, and all of it until the agent has no slot in use, within bounds.
//
// # Hosted threads
//
// An agent that offers it hosts managed threads. What is asked of a host (spawn, input, stop) is kept in memory until
// the host confirms it, and sent again after a resume; after a restart of the server whoever asked asks again. Events
// of a thread are handed to core.ThreadHostSink in order, by the goroutine that reads from the host, and acknowledged
// once they are durable; a gap is refused. A queue of notices tells of hosts that come and go, in order.
//
// # Cost of an agent
//
// An idle session is one goroutine that reads, without timers: one sweep a second looks after heartbeats,
// deadlines and graces of all. Outgoing frames are appended to one byte buffer per session, and a goroutine
// that exists only while there are bytes writes whatever has gathered in one system call.
//
// # Locks
//
// agent.mu first; inside it Service.mu (the registry), index.mu, outbox.mu and hostNotices.mu, which are leaves: none of them
// is held while another lock is taken. No lock is held while the store or a sink is called.
package agents
