package core

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixManaged begins the ids of managed agents.
const PrefixManaged = "magent_"

// What is public of managed agents and runtimes. Values are snapshots.
type (
	ManagedAgent        = wire.ManagedAgent
	ManagedAgentStatus  = wire.ManagedAgentStatus
	ManagedAgentMetrics = wire.ManagedAgentMetrics
	ManagedAgentScreen  = wire.ManagedAgentScreen
	LogLine             = wire.LogLine
	RuntimeInfo         = wire.RuntimeInfo
)

// Managed agent states.
const (
	ManagedStarting    = wire.ManagedStarting
	ManagedReady       = wire.ManagedReady
	ManagedBusy        = wire.ManagedBusy
	ManagedUnreachable = wire.ManagedUnreachable
	ManagedError       = wire.ManagedError
	ManagedStopped     = wire.ManagedStopped
)

// Reasons that stand in StatusReason beside those of the runtime (exited, lost, ...), and one of those.
const (
	ReasonBlocked     = "blocked" // busy: it waits for an answer, see Prompt
	ReasonLogin       = "login_required"
	ReasonRuntimeAway = "runtime_away" // unreachable: its whole runtime is
	ReasonAgentAway   = "agent_away"   // unreachable: its runtime does not reach it
)

// WaitsForPerson reports whether an agent in the status of a reason waits for a person.
func WaitsForPerson(reason string) bool { return reason == ReasonBlocked || reason == ReasonLogin }

// ManagedAgentRecord is a managed agent as it is stored.
type ManagedAgentRecord struct {
	ManagedAgent
	Handle json.RawMessage `json:"handle,omitempty"` // of the runtime; finds the agent again
	// Spec is what was asked for, without the environment: its values are secret, and the runtime keeps them.
	Spec ManagedAgentSpec `json:"spec"`
	// Wanted is false once a stop was asked for: an agent that is found running then is stopped.
	Wanted bool `json:"wanted"`
	// WantedBy is the principal who last had it started or stopped.
	WantedBy string `json:"wantedBy,omitempty"`
	// SnapshotSeq is the position in the runtime's events that the record speaks of: what was said before it
	// changes nothing any more.
	SnapshotSeq uint64 `json:"snapshotSeq,omitempty"`
	// GivenUp is set for an agent that was stopped by force while its runtime was not configured: it may run there.
	GivenUp bool `json:"givenUp,omitempty"`
	// Restart is the last restart with an Idempotency-Key whose outcome is not stored; nil: there is none.
	Restart *ManagedAgentRestarting `json:"restart,omitempty"`
}

// ManagedAgentRestarting is a restart that was begun, with what the agent ran as before it.
type ManagedAgentRestarting struct {
	Key         string `json:"key"` // hash of its claim
	PID         int    `json:"pid,omitempty"`
	ContainerID string `json:"containerId,omitempty"`
	PodName     string `json:"podName,omitempty"`
}

// RuntimePosition is how far the events of a runtime are stored.
type RuntimePosition struct {
	Runtime string `json:"runtime"`
	Seq     uint64 `json:"seq"`
	Log     string `json:"log,omitempty"` // that Seq is a number of; empty: the runtime does not say
}

// ManagedAgentSpec describes a managed agent to spawn.
type ManagedAgentSpec struct {
	Name         string            `json:"name"`
	Type         string            `json:"type"`
	Capabilities []string          `json:"capabilities,omitempty"`
	Workdir      string            `json:"workdir,omitempty"`
	Env          map[string]string `json:"-"`
	Runtime      string            `json:"runtime,omitempty"`        // empty: the first healthy one by priority
	Approval     string            `json:"approvalPreset,omitempty"` // readonly, standard, permissive, autonomous
	Resume       string            `json:"resume,omitempty"`         // session id
	Image        string            `json:"image,omitempty"`
	Network      string            `json:"network,omitempty"`
	Volumes      []string          `json:"volumes,omitempty"` // HOST_PATH:CONTAINER_PATH:MODE
	MemoryBytes  int64             `json:"memoryBytes,omitempty"`
	CPU          float64           `json:"cpu,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	CreatedBy    string            `json:"createdBy,omitempty"` // for whom; empty: the caller
}

// ManagedAgentFilter selects managed agents of a list. Zero values select all.
type ManagedAgentFilter struct {
	Status    ManagedAgentStatus
	Type      string
	Runtime   string
	Name      string            // a part of it, whatever the case
	Reason    string            // StatusReason
	Execution string            // that it works for: a role or a thread of it
	Labels    map[string]string // all of them
	SessionID string            // of the tool
	CreatedBy string
	Page
}

// ManagedAgentInput is one of a message, raw bytes, key names and an interrupt.
type ManagedAgentInput struct {
	Message        string
	Raw            string
	Keys           []string
	Interrupt      bool // stop the turn that runs
	ExpectResponse bool
	Timeout        time.Duration // 0: the default
	Key            string        // idempotency of the call: a repeat with the same key returns the first result
	OwnKey         bool          // Key is ours: the sender does not know it, and cannot repeat the call
}

// ManagedAgentReply is the outcome of a send.
type ManagedAgentReply struct {
	Sent     bool                  `json:"sent"`
	Response *ManagedAgentResponse `json:"response,omitempty"`
}

// ManagedAgentResponse is the answer of an agent, or the reason why there is none.
type ManagedAgentResponse = wire.TurnResponse

// ManagedAgentAnswer answers the prompt of a blocked agent.
type ManagedAgentAnswer struct {
	PromptID string // empty: the open one
	Choice   string // id or label of an option; allow or deny for an approval
	Text     string
}

// ManagedAgentStop says how to stop.
type ManagedAgentStop struct {
	Grace time.Duration // 0: the default of the runtime
	Force bool
}

// ManagedAgentRestart says how to restart.
type ManagedAgentRestart struct {
	Fresh bool // begin a new session instead of resuming the last one
}

// LogOptions select lines of an agent's log.
type LogOptions struct {
	Tail   int // 0: all that is kept
	Since  time.Time
	Follow bool
}

// LogStream yields lines; Next returns io.EOF at the end.
type LogStream interface {
	Next() (LogLine, error)
	io.Closer
}

// ManagedAgentService spawns agents through runtimes and keeps their records. Methods are safe for concurrent
// use. A failure of a runtime is an error whose Details hold runtimeCode, with the HTTP status of the code.
type ManagedAgentService interface {
	ManagedAgentFinder
	ManagedAgentControl
	ManagedAgentView
	RuntimeService
}

// ManagedAgentFinder finds managed agents.
type ManagedAgentFinder interface {
	// FindManagedAgents lists agents, newest first; stopped ones stay listed for a time.
	FindManagedAgents(ctx context.Context, filter ManagedAgentFilter) ([]*ManagedAgent, PageInfo, error)
	// FindManagedAgent returns one agent. NOT_FOUND.
	FindManagedAgent(ctx context.Context, id string) (*ManagedAgent, error)
}

// ManagedAgentControl starts, drives and ends managed agents.
type ManagedAgentControl interface {
	// SpawnManagedAgent starts an agent and returns its record once its process runs. VALIDATION_ERROR for an
	// unknown type, runtime or a bad field; NO_AGENTS when none is configured; INTERNAL_ERROR with Unavailable when none
	// is ready.
	SpawnManagedAgent(ctx context.Context, spec ManagedAgentSpec) (*ManagedAgent, error)
	// SendManagedAgent gives input to an agent. Sent is only said when the agent took it. NOT_FOUND; CONFLICT
	// when it is stopped or blocked; TIMEOUT; INTERNAL_ERROR with Unavailable while it cannot be reached.
	SendManagedAgent(ctx context.Context, id string, in ManagedAgentInput) (ManagedAgentReply, error)
	// AnswerManagedAgent answers the open prompt and returns the agent. CONFLICT when there is none, VALIDATION_ERROR
	// for a choice that is neither the id nor the label of one of its options.
	AnswerManagedAgent(ctx context.Context, id string, answer ManagedAgentAnswer) (*ManagedAgent, error)
	// RestartManagedAgent starts a stopped or running agent again under its id, with its session. The claim of ctx is stored with
	// its outcome: one that failed is tried again with the same key, and one that was done before a crash is not done again.
	RestartManagedAgent(ctx context.Context, id string, opts ManagedAgentRestart) (*ManagedAgent, error)
	// StopManagedAgent ends an agent; stopping a stopped one is no error. NOT_FOUND.
	StopManagedAgent(ctx context.Context, id string, opts ManagedAgentStop) error
}

// ManagedAgentView shows what a managed agent does.
type ManagedAgentView interface {
	// ManagedAgentLogs reads the log. NOT_FOUND.
	ManagedAgentLogs(ctx context.Context, id string, opts LogOptions) (LogStream, error)
	// ManagedAgentMetrics measures a running agent. NOT_FOUND, CONFLICT when it is stopped.
	ManagedAgentMetrics(ctx context.Context, id string) (ManagedAgentMetrics, error)
	// ManagedAgentScreen reads what the terminal shows, of a stopped agent what it showed last. Nothing of the terminal
	// changes by it. NOT_FOUND; INTERNAL_ERROR with Unavailable while it cannot be reached.
	ManagedAgentScreen(ctx context.Context, id string) (ManagedAgentScreen, error)
	// ManagedAgentEvents streams the agent's stored events after a sequence, and then live ones. NOT_FOUND.
	ManagedAgentEvents(ctx context.Context, id string, after uint64) (EventStream, error)
	// ServeTerminal upgrades the request to the terminal of an agent, and returns when it ended. An error means
	// that nothing was answered: the request is no WebSocket, or its query is wrong. Later failures close the
	// socket with a code: 4404 for an unknown agent.
	ServeTerminal(w http.ResponseWriter, r *http.Request, id string, readOnly bool) error
}

// RuntimeService describes the runtimes that agents are spawned on.
type RuntimeService interface {
	// Runtimes lists the configured runtimes in the order in which they are tried, as they were when they got ready.
	Runtimes(ctx context.Context) []RuntimeInfo
	// LookAtRuntimes is Runtimes after each that is ready was asked anew, for a moment at most, what it has.
	LookAtRuntimes(ctx context.Context) []RuntimeInfo
}

// ManagedAgentReader reads stored managed agents.
type ManagedAgentReader interface {
	// AllManagedAgents returns every record, oldest first.
	AllManagedAgents(ctx context.Context) ([]*ManagedAgentRecord, error)
	// RuntimePositions returns how far the events of each runtime are stored, by its name.
	RuntimePositions(ctx context.Context) (map[string]RuntimePosition, error)
}
