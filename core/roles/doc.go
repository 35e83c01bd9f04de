// Package roles lends managed agents to roles of org charts: it spawns a command-line agent for a role, gives it
// its tasks as messages, and makes results, progress and questions of what it answers and asks.
//
// It owns which managed agent serves which instance of which role, what is said to it, and how its answers are
// read. It does not own how agents are started and driven (core.ManagedAgentService, on which it stands), which
// role does what when (the engine), who answers questions (the engine, and people), nor any record: what it knows
// is told again by the labels of the agents, by their stored events, and by the engine's journal. The engine calls
// it as core.RoleSpawner and is its core.RoleSink; the appliance joins the two. Where there are threads
// (core.RoleThreads), every agent is started as one, and its thread is notified before the agent is stopped.
//
// Each agent has two goroutines: one follows its events, the other has one turn after the other with it. A turn is
// sent with a key that is the same after a restart, so that an agent which has the message already is not given it
// twice.
package roles
