package threads

import (
	"cmp"
	"context"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
)

// Labels of the agents of threads. They are stored with the agents, and tell after a crash whose they are.
const (
	LabelThread    = "wardroom.thread"
	LabelExecution = "wardroom.execution"
)

// Times and bounds.
const (
	maxRetry      = 15 * time.Second
	lookInterval  = 5 * time.Second        // between looks at an agent whose end no event told
	unknownAsks   = 3                      // times that a runtime is asked again, by its key, what became of a message
	settleTime    = 5 * time.Second        // for a turn to begin whose message may have been taken
	turnShows     = 5 * time.Second        // for the turn of a message that was taken to show
	answerWait    = 500 * time.Millisecond // for an answer to show
	sendLimit     = 10 * time.Minute       // of one wait for an agent to take a message
	stopReserve   = 30 * time.Second       // beyond the grace, until who stops a thread is answered
	hostStopTime  = 30 * time.Second       // for a host to tell that a thread ended
	maxStarts     = 2                      // more of an agent that ended before it was ready
	readyWait     = 3 * time.Minute        // for an agent that its runtime says did not get ready in time
	idleFactor    = 3                      // times idleTimeoutMs: stopped
	maxTries      = 5                      // of a step of preparation, finish or restart that fails in passing
	stopsAtOnce   = 16
	eventBatch    = 64 // events of an agent that are applied together
	inputPage     = 64
	readPage      = 100
	maxText       = 64 << 10 // of what is kept of the last words of an agent
	maxObjective  = 256 << 10
	maxMessage    = 1 << 20
	maxName       = 128
	maxRole       = 128
	maxMetadata   = 64 << 10
	maxKeys       = 1000
	maxPolicyTime = 365 * 24 * time.Hour
	maxTurns      = 1_000_000
	maxRestarts   = 100
	maxRetries    = 100
	maxTokens     = 1_000_000_000_000
	maxCost       = 1_000_000 // US dollars
	// maxTurnRetryDelay bounds the doubled waits before the message of a failed turn is given again.
	maxTurnRetryDelay = 10 * time.Minute
)

// Streams follow stored events as they are committed; core/events has them.
type Streams interface {
	// Follow returns the events of a subject or a group with a sequence above after, stored ones first. It does not
	// end by itself.
	Follow(ctx context.Context, name string, after uint64) (core.EventStream, error)
}

// Observer receives what metrics count. Methods must be quick and safe for concurrent use.
type Observer interface {
	// ThreadSpawned reports that a thread was stored.
	ThreadSpawned(agentType string)
	// ThreadEnded reports that one became terminal; state is that of its completion.
	ThreadEnded(status core.ThreadStatus, state core.CompletionState, life time.Duration)
	// ThreadRestarted reports that a lost agent came back.
	ThreadRestarted()
	// TurnEnded reports that an agent ended a turn.
	TurnEnded(took time.Duration)
	// PromptBlocked reports that an agent waits for an answer; auto when a rule gives it.
	PromptBlocked(auto bool)
}

type noObserver struct{}

func (noObserver) ThreadSpawned(string)                                               {}
func (noObserver) ThreadEnded(core.ThreadStatus, core.CompletionState, time.Duration) {}
func (noObserver) ThreadRestarted()                                                   {}
func (noObserver) TurnEnded(time.Duration)                                            {}
func (noObserver) PromptBlocked(bool)                                                 {}

// Config is how threads are supervised. It may change while they run: what a thread was spawned with stays.
type Config struct {
	// MaxThreads bounds the threads that are not over, those of roles left out. 0: 100.
	MaxThreads int
	// MaxQueued and MaxQueuedBytes bound the messages of one thread that its agent did not take. 0: 20000, 64 MiB.
	MaxQueued      int
	MaxQueuedBytes int64
	// IdleTimeout is policy.idleTimeoutMs of threads that do not say; 0: 1 h.
	IdleTimeout time.Duration
	// Timeout is policy.timeoutMs of threads that do not say; 0: none.
	Timeout time.Duration
	// MaxRestarts is policy.maxRestarts of threads that do not say. Negative: none.
	MaxRestarts int
	// TurnRetries is policy.turnRetries of threads that do not say. Negative: none.
	TurnRetries int
	// TurnRetryDelay is how long the message of a turn that failed waits before it is given again; doubled each time,
	// up to 10 minutes. 0: 10 s.
	TurnRetryDelay time.Duration
	// SummarizeAfterTurns is that of threads that do not say; 0: only at the end.
	SummarizeAfterTurns int
	// SpawnsAtOnce bounds the agents that are started at the same time; 0: 4.
	SpawnsAtOnce int
	// WaitAlert is how long a thread waits for people until a system.alert tells of it. 0: it never does.
	WaitAlert time.Duration
	// RequireConsent has the metadata of threads that begin an execution of their own say that those whom the data is of agree.
	RequireConsent bool
	// SanitizeHTML and SanitizeScripts take tags, and what could run, out of the texts that threads begin with.
	SanitizeHTML, SanitizeScripts bool
	// AutoAnswer are rules behind those of a thread's own policy.
	AutoAnswer []core.AutoAnswerRule
}

func (c Config) withDefaults() *Config {
	c.MaxThreads = cmp.Or(max(c.MaxThreads, 0), 100)
	c.MaxQueued = cmp.Or(max(c.MaxQueued, 0), 20_000)
	c.MaxQueuedBytes = cmp.Or(max(c.MaxQueuedBytes, 0), 64<<20)
	c.IdleTimeout = cmp.Or(max(c.IdleTimeout, 0), time.Hour)
	c.SpawnsAtOnce = cmp.Or(max(c.SpawnsAtOnce, 0), 4)
	c.TurnRetryDelay = cmp.Or(max(c.TurnRetryDelay, 0), 10*time.Second)
	c.MaxRestarts, c.TurnRetries = max(0, c.MaxRestarts), max(0, c.TurnRetries)
	return &c
}

// Options are what a Service is made of. All but Hosts, Approver, Clock, IDs, Logger, Observer, Tracer and
// Opens are required.
type Options struct {
	Store         core.Store
	Streams       Streams
	ManagedAgents core.ManagedAgentService
	Hosts         core.ThreadHosts // nil: no connected agent hosts threads
	Workspaces    core.WorkspaceService
	Memory        core.MemoryService
	Clock         core.Clock
	IDs           core.IDs
	Logger        hclog.Logger
	Config        Config
	// AgentTypes returns the types that are known whether or not anything runs them now; nil: any is.
	AgentTypes func(ctx context.Context) []string
	Approver   Approver // nil: rules and presets alone answer prompts
	// Secrets resolves what environments refer to, of threads that connected agents host; nil: their values stay as they are.
	// Those of others are resolved by ManagedAgents.
	Secrets core.SecretSource
	// SealKey encrypts the environment that a thread was asked for until its agent was started. It is secret, and
	// the same over restarts.
	SealKey  [32]byte
	Observer Observer
	Tracer   core.Tracer // nil: nothing is traced
	// Opens reports whether what belongs to one execution would be open to others in another one; nil: all are open alike.
	Opens func(from, to string) bool
}
