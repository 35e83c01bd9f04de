package roles

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
)

// Labels of the agents that are spawned for roles. They are stored with the agents, and tell after a crash whose
// they are.
const (
	LabelExecution = "wardroom.execution"
	LabelRole      = "wardroom.role"
	LabelInstance  = "wardroom.instance"
)

// Times and bounds.
const (
	defaultReadyWait = 3 * time.Minute
	defaultLoginWait = time.Minute
	spareLoginWait   = 10 * time.Second // when another type may do
	firstTurnPause   = time.Second      // before the task after one that failed for a reason that passes
	maxTurnPause     = time.Minute      // of those, which double
	lookInterval     = time.Second      // between looks at the runtimes and at what is not settled
	unsettledTime    = 30 * time.Second // after which a report that was not settled is made again
	turnLimit        = 24 * time.Hour   // of one wait for a turn; a longer turn is waited for again
	foldWait         = 10 * time.Second // for the events of a turn that was answered
	settleTime       = 5 * time.Second  // for a turn to begin whose message may have been taken
	unknownAsks      = 3                // times that a runtime is asked again, by its key, what became of a message
	interruptEvery   = 3 * time.Second
	maxInterrupts    = 6
	maxResends       = 3
	maxFailures      = 5   // in a row, of calls that fail inside the runtime
	maxAsks          = 256 // that wait for one agent
	maxKnown         = 512 // ids of messages that are remembered per agent
	maxPast          = 512 // ids of what an agent asked in its turn before a restart
	spawnsAtOnce     = 4   // tools take much of a machine while they start
	stopsAtOnce      = 16
)

// Store is the part of the durable state that the service reads.
type Store interface {
	// AllManagedAgents returns every record, oldest first.
	AllManagedAgents(ctx context.Context) ([]*core.ManagedAgentRecord, error)
	// Events returns stored events of a subject after a sequence, oldest first.
	Events(ctx context.Context, subject string, after uint64, limit int) (page []core.Event, more bool, err error)
}

// Options are what a Service is made of. Agents and Store are required.
type Options struct {
	Agents core.ManagedAgentService
	Store  Store
	// Threads, if not nil, makes each agent a thread of its execution, with a workspace. It is to be open before the
	// service, must not call it, and is called while the service holds its lock.
	Threads core.RoleThreads
	Clock   core.Clock
	Logger  hclog.Logger
	// Changed, if not nil, is called when a runtime became ready, or is so no more, so that who waits for agents
	// looks again. It must not block.
	Changed func()
	// Approve, if not nil, returns what the operator's policy says of a prompt of an agent, within a bounded time; false if
	// that is nothing. The answer ask leaves it to the engine.
	Approve func(agentID string, prompt json.RawMessage) (core.PromptRuling, bool)
	// Tracer takes the turns of tasks; nil: nothing is traced.
	Tracer core.Tracer
	// ReadyWait is how long a spawned agent may take until it takes messages; 0: 3 min.
	ReadyWait time.Duration
	// LoginWait is how long a spawned agent that wants a login before its first task is waited for; 0: 1 min.
	LoginWait time.Duration
}
