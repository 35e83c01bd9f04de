package core

import (
	"context"

	"github.com/wardroom/wardroom/sdk/wire"
)

// RoleSpec is an agent to be spawned for a role.
type RoleSpec struct {
	ExecutionID  string
	Role         string   // key in the chart
	Instance     int      // of the role, from 0; with ExecutionID and Role the name of the agent for ever
	Types        []string // the preferred one first
	Runtime      string   // "" the first healthy one
	Approval     string   // preset; "" the default
	Capabilities []string
	Objective    string         // of the thread that the agent is: what the execution is about
	Workspace    *WorkspaceSpec // nil: an empty directory
	Trace        TraceContext   // of the execution
}

// RoleSpawner is the interface of agents that are spawned for roles to the engine. Methods never block on the runtime
// and are safe for concurrent use. Answers come through RoleSink.
//
// It has many methods because one agent of a role is spawned, kept, driven and ended by the engine alone.
type RoleSpawner interface {
	// CanSpawn reports whether a runtime is ready that offers one of the types, or why not.
	CanSpawn(types []string, runtime string) (ok bool, reason string)
	// Lacking reports whether types are offered by runtimes that are ready, and none of the commands is found there.
	Lacking(types []string, runtime string) bool
	// Spawn starts an agent; RoleSink.RoleSpawned follows, once. An agent that was spawned for the same
	// execution, role and instance before and still runs is taken over: a crash between its start and the
	// journal's note leaves none behind. Types that a ready runtime does not offer are passed over. A failed
	// type is not tried again with the next one when the failure is the request's.
	Spawn(spec RoleSpec)
	// Hold takes up an agent that served a role before a restart. It returns false when it is gone.
	Hold(agentID string) bool
	// Stop ends an agent for good.
	Stop(agentID, reason string)
	// StopExecution ends every agent of an execution that is over, those included that are being spawned.
	StopExecution(executionID, reason string)
	// Sweep ends agents of executions that active does not know, once, after a restart.
	Sweep(active func(executionID string) bool)
	TaskCarrier
}

// RoleSink is what RoleSpawner needs of the engine. Methods do not block.
type RoleSink interface {
	// RoleSpawned reports that the agent is ready for tasks, or that there will be none: err says why.
	RoleSpawned(spec RoleSpec, agentID, agentType string, err error)
	// MessageUsed reports what the turn used that a spawned agent had for a message of another role, one that failed too.
	// A repeat for the same agent and message counts once.
	MessageUsed(executionID, agentID, messageID string, usage *wire.Usage)
	TaskSink
}

// RoleThreads makes the agents of roles threads of their execution. Methods are safe for concurrent use.
type RoleThreads interface {
	// SpawnRole prepares the workspace of an agent for a role, and starts it as agent says, with Workdir, Env and
	// labels completed. Its thread follows it from then on. A repeat for the same execution, role and instance goes
	// on with the thread of the first call. Errors are those of ManagedAgentService.SpawnManagedAgent and
	// WorkspaceService.ReserveWorkspace.
	SpawnRole(ctx context.Context, spec RoleSpec, agent ManagedAgentSpec) (*ManagedAgent, error)
	// OpenWork notes that an agent is about to be given work under a key for the attempt-th time, from 0 on. An agent works on
	// one key at a time. It returns what is known of the key's latest attempt: of this one, or of a later one that an earlier
	// life noted. An agent that is no thread has no notes.
	OpenWork(ctx context.Context, agentID, key string, attempt int) (RoleWork, error)
	// EndRole reports that an agent serves its role no longer and is about to be stopped; it does not block. An
	// unknown one is no error.
	EndRole(agentID, reason string)
}

// RoleWork is the state of work that an agent was given, or was about to be given, kept over restarts.
type RoleWork struct {
	Attempt int
	// Shown reports whether a turn began or ended since the attempt was noted.
	Shown bool
}
