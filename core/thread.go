package core

import (
	"context"
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixThread and PrefixInput begin the ids of threads and inputs of threads.
const (
	PrefixThread = "thread_"
	PrefixInput  = "in_"
)

// ThreadStatus is where a managed thread is in its life.
type ThreadStatus string

// States of a thread. The last three are terminal.
const (
	ThreadPending   ThreadStatus = "pending"   // stored; nothing was begun
	ThreadPreparing ThreadStatus = "preparing" // its workspace is being made
	ThreadStarting  ThreadStatus = "starting"  // its agent is being started, or started again
	ThreadReady     ThreadStatus = "ready"     // the agent waits for input
	ThreadRunning   ThreadStatus = "running"   // a turn runs, or the end is being worked out
	ThreadBlocked   ThreadStatus = "blocked"   // the agent waits for an answer, see Prompt, or for a login
	ThreadIdle      ThreadStatus = "idle"      // nothing happened for policy.idleTimeoutMs
	ThreadCompleted ThreadStatus = "completed" // terminal: has a Completion
	ThreadFailed    ThreadStatus = "failed"    // terminal: has an Error, and a Completion
	ThreadStopped   ThreadStatus = "stopped"   // terminal: somebody or a timer ended it
)

// ThreadStatuses lists every state, in the order of life.
var ThreadStatuses = []ThreadStatus{
	ThreadPending, ThreadPreparing, ThreadStarting, ThreadReady, ThreadRunning, ThreadBlocked, ThreadIdle,
	ThreadCompleted, ThreadFailed, ThreadStopped,
}

// Terminal reports whether nothing can happen to the thread any more.
func (s ThreadStatus) Terminal() bool {
	return s == ThreadCompleted || s == ThreadFailed || s == ThreadStopped
}

// Reasons that stand in StatusReason, beside those of the runtime.
const (
	ThreadReasonIdle       = "idle"           // stopped: three times idleTimeoutMs passed
	ThreadReasonStuck      = "stuck"          // running: the turn shows no sign of life
	ThreadReasonFinishing  = "finishing"      // running: the outcome is being worked out
	ThreadReasonLogin      = "login"          // blocked: see LoginURL
	ThreadReasonRestarting = "restarting"     // starting: the agent was lost and comes back with its session
	ThreadReasonHostAway   = "host_away"      // the connected agent that hosts it is not connected at the moment
	ThreadReasonRequested  = "requested"      // stopped by a call
	ThreadReasonExecution  = "execution"      // stopped: its execution is over
	ThreadReasonTimeout    = "timeout"        // failed: policy.timeoutMs passed
	ThreadReasonCrashed    = "crashed"        // failed: the agent ended by itself
	ThreadReasonLost       = "lost"           // failed: the agent is gone and could not be brought back
	ThreadReasonAgain      = "starting_again" // starting: the agent ended before it was ever ready, and another start loses nothing
	ThreadReasonNotReady   = "not_ready"      // starting: the agent takes long to get ready, and is given more time
	ThreadReasonTurnFailed = "turn_failed"    // failed: a turn failed for good
	ThreadReasonRetrying   = "retrying"       // ready: a turn failed, and its message is given again at RetryAt
	ThreadReasonLimit      = "limit"          // stopped: a limit of the policy was reached; what and how far follows behind ": "
)

// RuntimeConnected is the name that stands for the runtime of threads that a connected agent hosts.
const RuntimeConnected = "connected"

// NewExecution as the execution of a thread asks for an ad-hoc execution that lives as long as its threads.
const NewExecution = "new"

// Thread is a supervised, long-lived piece of work of one agent. Values are snapshots.
type Thread struct {
	ID             string       `json:"id"`
	ExecutionID    string       `json:"executionId"`
	Name           string       `json:"name"`
	AgentType      string       `json:"agentType"`
	Role           string       `json:"role,omitempty"`
	Objective      string       `json:"objective,omitempty"`
	Status         ThreadStatus `json:"status"`
	StatusReason   string       `json:"statusReason,omitempty"`
	Runtime        string       `json:"runtime,omitempty"`        // known from its start on; RuntimeConnected for a remote one
	ManagedAgentID string       `json:"managedAgentId,omitempty"` // of a runtime
	AgentID        string       `json:"agentId,omitempty"`        // connected agent that hosts it
	SessionID      string       `json:"sessionId,omitempty"`      // of the agent, to go on after a loss
	Workspace      *Workspace   `json:"workspace,omitempty"`
	Preparation    Preparation  `json:"preparation"`
	Policy         ThreadPolicy `json:"policy"`
	Metadata       Metadata     `json:"metadata,omitempty"`
	Summary        string       `json:"summary"`
	Completion     *Completion  `json:"completion,omitempty"`
	Error          *ThreadError `json:"error,omitempty"`
	// Prompt is what a blocked agent waits for: {id, kind, text, tool?, input?, options, url?}.
	Prompt json.RawMessage `json:"prompt,omitempty"`
	// Ruling is how the latest prompt was answered without people, or why they are asked; nil if nothing says anything.
	Ruling       *PromptRuling `json:"promptRuling,omitempty"`
	LoginURL     string        `json:"loginUrl,omitempty"`
	TurnCount    int           `json:"turnCount"`             // that did not fail
	FailedTurns  int           `json:"failedTurns,omitempty"` // beside them
	LastTurn     *ThreadTurn   `json:"lastTurn,omitempty"`
	Usage        *wire.Usage   `json:"usage,omitempty"`       // of all turns, as far as the agent told
	RetryAt      *time.Time    `json:"retryAt,omitempty"`     // when the message of a failed turn is given again
	EventCount   int           `json:"eventCount"`            // of the persisted kinds
	QueuedInputs int           `json:"queuedInputs"`          // messages that the agent did not take yet
	Continues    string        `json:"continues,omitempty"`   // id of the thread that it goes on with
	ContinuedBy  string        `json:"continuedBy,omitempty"` // id of the thread that goes on with it
	Restarts     int           `json:"restarts"`
	// Sanitized are the texts that something was taken out of before it was stored.
	Sanitized      []SanitizedField `json:"sanitized,omitempty"`
	CreatedBy      string           `json:"createdBy,omitempty"`
	CreatedAt      time.Time        `json:"createdAt"`
	UpdatedAt      time.Time        `json:"updatedAt"`
	LastActivityAt time.Time        `json:"lastActivityAt"`
	StartedAt      *time.Time       `json:"startedAt,omitempty"` // its agent ran for the first time
	EndedAt        *time.Time       `json:"endedAt,omitempty"`
}

// Lasted returns how long the thread was there; 0 before its end, and when the clock was set back over a restart.
func (t *Thread) Lasted() time.Duration {
	if t.EndedAt == nil {
		return 0
	}
	return max(t.EndedAt.Sub(t.CreatedAt), 0)
}

// ThreadRecord is a thread as it is stored. What stands beside the thread is for its supervisor only.
type ThreadRecord struct {
	Thread
	// Kind says who gives the agent its work: "" the inputs of the thread, ThreadKindRole the engine.
	Kind string `json:"kind,omitempty"`
	// Trace is the place in a trace of who asked for the thread, as a traceparent has it.
	Trace string `json:"trace,omitempty"`
	// FormerAgentID is an agent that could not resume the session of the thread that this one goes on with.
	FormerAgentID string `json:"formerAgentId,omitempty"`
	// SealedEnv is the environment that was asked for, encrypted. It goes with the record, once another thread goes on with
	// this one and has it, or at the end of a thread that none can go on with.
	SealedEnv []byte `json:"sealedEnv,omitempty"`
	// AgentSeq is the sequence of the last event of the agent that the record speaks of.
	AgentSeq uint64 `json:"agentSeq,omitempty"`
	// InputSeq is the number of the last input that was taken, and SentSeq of the last one the agent took.
	InputSeq uint64 `json:"inputSeq,omitempty"`
	SentSeq  uint64 `json:"sentSeq,omitempty"`
	// Withdrawn is how many inputs above SentSeq were withdrawn, and Withdrawals how many ever were.
	Withdrawn   int `json:"withdrawn,omitempty"`
	Withdrawals int `json:"withdrawals,omitempty"`
	// AskedInput is the id of the last of the inputs that the thread began with, or "".
	AskedInput string `json:"askedInput,omitempty"`
	// Begun says that the start of the agent was asked for: after a crash it may run already.
	Begun bool `json:"begun,omitempty"`
	// Ending is the end that was decided on and is being worked out.
	Ending *ThreadEnding `json:"ending,omitempty"`
	// SummaryTurn is the turn of the last summary; LastText what the agent said last.
	SummaryTurn int    `json:"summaryTurn,omitempty"`
	LastText    string `json:"lastText,omitempty"`
	// Work is the message that the agent works on, or nil; Speech what it said in the turn that runs.
	Work   *ThreadWork   `json:"work,omitempty"`
	Speech *ThreadSpeech `json:"speech,omitempty"`
	// Answer is the answer of a person to the open prompt of a thread that a connected agent hosts, which may not have it
	// yet; nil: none.
	Answer *ThreadReply `json:"answer,omitempty"`
	// BlockedSince is when people began to be waited for; WaitAlerted reports whether an alert was sent about that.
	BlockedSince *time.Time `json:"blockedSince,omitempty"`
	WaitAlerted  bool       `json:"waitAlerted,omitempty"`
	// Rulings is how many rulings its execution's journal has of it.
	Rulings int `json:"rulings,omitempty"`
	// IdleSince is when the thread became idle.
	IdleSince *time.Time `json:"idleSince,omitempty"`
	// Report is the agent's own report of its outcome, so far.
	Report *AgentOutcome `json:"report,omitempty"`
}

// ThreadKindRole is the kind of a thread whose agent serves a role of an org chart.
const ThreadKindRole = "role"

// ThreadReply is an answer as it is handed to the host of a thread.
type ThreadReply struct {
	InputID    string `json:"inputId"` // the host drops one that it knows
	PromptID   string `json:"promptId"`
	Choice     string `json:"choice,omitempty"`
	SealedText []byte `json:"sealedText,omitempty"` // encrypted: it may be the code of a login
}

// ThreadEnding is how a thread is to end.
type ThreadEnding struct {
	Status  ThreadStatus    `json:"status"`
	State   CompletionState `json:"state"`
	Reason  string          `json:"reason,omitempty"`
	Summary string          `json:"summary,omitempty"`
	Error   *ThreadError    `json:"error,omitempty"`
	Force   bool            `json:"force,omitempty"`
	GraceMs int64           `json:"graceMs,omitempty"`
	By      string          `json:"by,omitempty"` // principal who ends it, System.ID for ourselves
	// Finished says that the finish actions were done and Artifacts and Changes hold what came of them.
	Finished  bool              `json:"finished,omitempty"`
	Artifacts []Artifact        `json:"artifacts,omitempty"`
	Changes   *WorkspaceChanges `json:"changes,omitempty"`
}

// Preparation describes what an agent starts with.
type Preparation struct {
	Workspace    *WorkspaceSpec    `json:"workspace,omitempty"` // nil: an empty directory
	ContextFiles []ContextFile     `json:"contextFiles,omitempty"`
	Approval     string            `json:"approvalPreset"` // readonly, standard, permissive, autonomous
	Env          map[string]string `json:"-"`              // values are secret
	EnvNames     []string          `json:"envNames,omitempty"`
}

// AgentOutcome is the report of an agent about its own work, in the structured block of a message.
type AgentOutcome struct {
	State     CompletionState `json:"state,omitempty"` // "": it goes on
	Summary   string          `json:"summary,omitempty"`
	Tests     *TestReport     `json:"tests,omitempty"`
	Artifacts []Artifact      `json:"artifacts,omitempty"`
	Decisions []string        `json:"decisions,omitempty"` // findings that the other threads should know
}

// What is public of threads as it is stored.
type (
	ThreadError     = wire.ThreadError
	ContextFile     = wire.ContextFile
	ThreadPolicy    = wire.ThreadPolicy
	ThreadFinish    = wire.ThreadFinish
	ThreadQueue     = wire.ThreadQueue
	ThreadQueueItem = wire.ThreadQueueItem
	ThreadReceipt   = wire.ThreadReceipt
	AutoAnswerRule  = wire.AutoAnswerRule
	Completion      = wire.Completion
	CompletionState = wire.CompletionState
	Artifact        = wire.Artifact
	ArtifactType    = wire.ArtifactType
	TestReport      = wire.TestReport
)

// Completion states, and types of artifacts.
const (
	CompletionComplete = wire.CompletionComplete
	CompletionPartial  = wire.CompletionPartial
	CompletionFailed   = wire.CompletionFailed

	ArtifactCommit = wire.ArtifactCommit
	ArtifactFile   = wire.ArtifactFile
	ArtifactURL    = wire.ArtifactURL
	ArtifactReport = wire.ArtifactReport
)

// CompletionStates lists every completion state, the best first.
var CompletionStates = []CompletionState{CompletionComplete, CompletionPartial, CompletionFailed}

// ThreadSpec describes a thread to prepare or spawn.
type ThreadSpec struct {
	ExecutionID string // or NewExecution
	Name        string // "": from role and objective
	AgentType   string // may be empty for prepare
	Role        string
	Objective   string // the first message to the agent
	Preparation Preparation
	Policy      ThreadPolicy
	Metadata    map[string]any
	Runtime     string // "": the first healthy one; RuntimeConnected: a connected agent
	AgentID     string // of a connected agent that is to host it; "": any that offers the type
	Provision   bool   // of prepare: check the workspace out
	Mask        Masker // of prepare: masks the memory in the plan; nil: nothing is masked
	// Sanitized are the texts that something was taken out of before.
	Sanitized []SanitizedField
}

// ThreadPlan describes what a spawn with the same spec would begin with. It is answered as a wire.ThreadPlan.
type ThreadPlan struct {
	ExecutionID string
	Name        string
	AgentType   string
	Objective   string
	Role        string
	Preparation Preparation
	Policy      ThreadPolicy
	Metadata    json.RawMessage // the caller's keys and memoryContext
}

// ThreadInput is one of a message, raw bytes or key names.
type ThreadInput struct {
	Message string
	Raw     string
	Keys    []string
	// ExpectResponse waits for the end of the message's turn, up to Timeout (0: two minutes).
	ExpectResponse bool
	Timeout        time.Duration
	// InputID is that of an input which is sent again, as its sender does not know what became of it: the agent gets it once.
	// Its Idempotency-Key was claimed with it.
	InputID string
}

// QueuedInput is a message that a thread has durably and its agent may not have yet.
type QueuedInput struct {
	ID        string    `json:"id"` // in_ id; a repeat of it is the same message
	ThreadID  string    `json:"threadId"`
	Number    uint64    `json:"number"` // of the thread, from 1
	Message   string    `json:"message"`
	CreatedAt time.Time `json:"createdAt"`
	CreatedBy string    `json:"createdBy,omitempty"` // principal who sent it
	Withdrawn bool      `json:"withdrawn,omitempty"` // it is not given to the agent; its text is gone
}

// States of a queued input.
const (
	InputWaiting = "waiting"
	InputWorking = "working" // the agent has it, or is being given it
)

// ThreadContinue says how another thread goes on with one that is over.
type ThreadContinue struct {
	Message       string            // "": the messages that got no answer are enough
	Env           map[string]string // beside that of the old one, and over it
	DiscardQueued bool              // leave the messages that got no answer
	Sanitized     []SanitizedField  // texts that something was taken out of before
}

// ThreadAnswer answers the prompt of a blocked thread, or gives the code of a login.
type ThreadAnswer struct {
	PromptID string // "": the open one
	Choice   string // id of an option; allow or deny for an approval
	Text     string
}

// ThreadStop says how to stop.
type ThreadStop struct {
	Grace time.Duration // 0: the default of the runtime
	Force bool
}

// ThreadClose ends a thread by hand with an outcome; its finish actions are done.
type ThreadClose struct {
	State   CompletionState // "": complete
	Summary string          // "": what the agent said last
}

// ThreadFilter selects threads of a list. Zero values select all.
type ThreadFilter struct {
	ExecutionID string
	Status      ThreadStatus
	Role        string
	AgentType   string
	CreatedBy   string
	Page
}

// ThreadGroup is the group of events (Event.Group) of all threads of an execution.
func ThreadGroup(executionID string) string { return "threads:" + executionID }

// ThreadService runs managed threads. Methods are safe for concurrent use. What a method acknowledged survives the
// death of the process.
type ThreadService interface {
	ThreadStarter
	ThreadFinder
	ThreadInputs
	ThreadEnder
	ThreadChanges
}

// ThreadStarter prepares and starts threads, and goes on with those that are over.
type ThreadStarter interface {
	// PrepareThread builds what a spawn would begin with and reserves its workspace. VALIDATION_ERROR, NOT_FOUND
	// (execution).
	PrepareThread(ctx context.Context, spec ThreadSpec) (*ThreadPlan, error)
	// SpawnThread stores a thread durably and returns it; it goes on by itself. VALIDATION_ERROR, NOT_FOUND
	// (execution, prepared workspace), CONFLICT (workspace in use, execution cancelled), RATE_LIMITED (too many
	// threads), INTERNAL_ERROR with Unavailable when nothing offers the agent type now.
	SpawnThread(ctx context.Context, spec ThreadSpec) (*Thread, error)
	// ContinueThread spawns a thread that goes on with one that is over: in its workspace, with its session where the
	// agent can, and with its messages that got no answer. NOT_FOUND; CONFLICT for one that runs, served a role, ran
	// elsewhere or goes on already, or whose workspace was removed; VALIDATION_ERROR without anything to do.
	ContinueThread(ctx context.Context, id string, in ThreadContinue) (*Thread, error)
}

// ThreadFinder finds threads and follows what happens to them.
type ThreadFinder interface {
	// FindThreads lists threads, newest first. NOT_FOUND when the filter names an unknown execution.
	FindThreads(ctx context.Context, filter ThreadFilter) ([]*Thread, PageInfo, error)
	// FindThread returns one thread. NOT_FOUND.
	FindThread(ctx context.Context, id string) (*Thread, error)
	// FollowThreads streams the events of all threads of an execution after a sequence, stored ones first; with
	// live set only those that are yet to come. NOT_FOUND for an unknown execution.
	FollowThreads(ctx context.Context, executionID string, after uint64, live bool) (EventStream, error)
}

// ThreadInputs hands inputs to threads.
type ThreadInputs interface {
	// SendThread gives input. A message is taken durably, in the order of the calls, and given to the agent when its
	// turn comes; raw bytes and keys go to its terminal at once. NOT_FOUND; CONFLICT for a terminal thread, or raw
	// bytes and keys while no agent runs; RATE_LIMITED when too much waits. With ExpectResponse the receipt has the response
	// of the message's turn, the last one where it was given to the agent again; TIMEOUT, and CONFLICT when it was withdrawn
	// or the thread ended before. When ctx ends, the wait ends too, and the message stays.
	SendThread(ctx context.Context, id string, in ThreadInput) (ThreadReceipt, error)
	// AwaitThreadInput waits, as SendThread does, for the turn of a message that was sent before, its turn being over or not.
	// With an empty inputID it is the last of those that the thread began with.
	AwaitThreadInput(ctx context.Context, id, inputID string, timeout time.Duration) (ThreadReceipt, error)
	// AnswerThread answers the open prompt and returns the thread. NOT_FOUND; CONFLICT when there is none;
	// VALIDATION_ERROR for a choice that it does not offer.
	AnswerThread(ctx context.Context, id string, answer ThreadAnswer) (*Thread, error)
	// QueuedThreadInputs lists the messages that have no answer yet. NOT_FOUND.
	QueuedThreadInputs(ctx context.Context, id string, after uint64, limit int) (*ThreadQueue, error)
	// WithdrawThreadInput takes a message out of the queue. NOT_FOUND; CONFLICT when the agent has it.
	WithdrawThreadInput(ctx context.Context, id, inputID string) error
}

// ThreadEnder ends threads.
type ThreadEnder interface {
	// CloseThread ends a thread with an outcome and returns it once that is durable; the agent ends behind it.
	// NOT_FOUND; CONFLICT for a terminal one.
	CloseThread(ctx context.Context, id string, in ThreadClose) (*Thread, error)
	// StopThread ends a thread, and returns once its agent is gone or its time is over; stopping a terminal one is
	// no error. NOT_FOUND.
	StopThread(ctx context.Context, id string, opts ThreadStop) error
	// CancelAdHoc cancels an ad-hoc execution with all its threads, as ExecutionService.Cancel does others.
	CancelAdHoc(ctx context.Context, executionID, reason string) (*Execution, error)
}

// ThreadChanges is about what a thread changed in its workspace.
type ThreadChanges interface {
	// DiffThread returns what the files of a thread differ in from where it began: see DiffWorkspace.
	DiffThread(ctx context.Context, id string, most int) (*WorkspaceDiff, error)
	// UpdateThread takes what is new on the branch that a thread began at into its work: see UpdateWorkspace. CONFLICT
	// while its agent works.
	UpdateThread(ctx context.Context, id string, how WorkspaceUpdateMethod) (*WorkspaceUpdate, error)
}

// ThreadReader reads stored threads.
type ThreadReader interface {
	// FindThreads lists threads, newest first.
	FindThreads(ctx context.Context, filter ThreadFilter) ([]*ThreadRecord, PageInfo, error)
	// FindThread returns one thread. NOT_FOUND.
	FindThread(ctx context.Context, id string) (*ThreadRecord, error)
	// ActiveThreads returns every thread that is not terminal, oldest first.
	ActiveThreads(ctx context.Context) ([]*ThreadRecord, error)
	// QueuedInputs returns up to limit inputs of a thread with a Number > after, in order.
	QueuedInputs(ctx context.Context, threadID string, after uint64, limit int) ([]*QueuedInput, error)
}
