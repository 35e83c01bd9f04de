package protocol

import (
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Frames of threads that an agent hosts. The first four come from the control plane.
const (
	TypeThreadSpawn  Type = "thread_spawn"
	TypeThreadInput  Type = "thread_input"
	TypeThreadStop   Type = "thread_stop"
	TypeThreadAck    Type = "thread_ack"
	TypeThreadEvent  Type = "thread_event"
	TypeThreadStatus Type = "thread_status"
)

// ThreadOffer is the part of a registration that offers to host threads.
type ThreadOffer struct {
	Max   int      `json:"max"`   // threads at once
	Types []string `json:"types"` // agent types that may be asked for
}

// ThreadSpawn asks for a thread. A host that knows threadId already must not start it twice. The answer is a
// thread_status: accepted or refused.
type ThreadSpawn struct {
	ThreadID       string            `json:"threadId"`
	ExecutionID    string            `json:"executionId"`
	Name           string            `json:"name,omitempty"`
	AgentType      string            `json:"agentType"`
	Role           string            `json:"role,omitempty"`
	Objective      string            `json:"objective,omitempty"` // comes as an input too: not to be sent to the agent
	Workspace      *ThreadWorkspace  `json:"workspace,omitempty"`
	ContextFiles   []ThreadFile      `json:"contextFiles,omitempty"`
	ApprovalPreset string            `json:"approvalPreset,omitempty"` // readonly, standard, permissive, autonomous
	Env            map[string]string `json:"env,omitempty"`            // values are secret
	SessionID      string            `json:"sessionId,omitempty"`      // of the agent, to go on with after a loss
	// After is the sequence of the last event of a thread that is started anew: its events go on after it.
	After uint64 `json:"after,omitempty"`
}

// ThreadWorkspace is the repository that a thread works in.
type ThreadWorkspace struct {
	Repo       string `json:"repo,omitempty"`       // git URL; "": an empty directory
	Branch     string `json:"branch,omitempty"`     // to start from; "": the repository's default
	WorkBranch string `json:"workBranch,omitempty"` // to work on; "": the host chooses
	Depth      int    `json:"depth,omitempty"`      // commits of history; 0: all
	Filter     string `json:"filter,omitempty"`     // of a partial clone
	Submodules bool   `json:"submodules,omitempty"`
}

// ThreadFile is a file to write into the workspace before the agent starts.
type ThreadFile struct {
	Path    string `json:"path"` // relative to the workspace, with slashes
	Content string `json:"content"`
}

// ThreadInput is input for a hosted thread: exactly one of Message, Raw, Keys and Answer. A host drops an inputId
// that it knows.
type ThreadInput struct {
	ThreadID string        `json:"threadId"`
	InputID  string        `json:"inputId"`
	Message  string        `json:"message,omitempty"`
	Raw      string        `json:"raw,omitempty"`
	Keys     []string      `json:"keys,omitempty"`
	Answer   *ThreadAnswer `json:"answer,omitempty"`
}

// ThreadAnswer answers the prompt that an agent is blocked on; without a PromptID the open one.
type ThreadAnswer = wire.ThreadAnswer

// ThreadStop asks for the end of a thread; a thread_event of type stopped follows.
type ThreadStop struct {
	ThreadID string `json:"threadId"`
	Reason   string `json:"reason,omitempty"`
	Force    bool   `json:"force,omitempty"`
}

// ThreadAck says that the events of a thread up to Sequence are durable: the host may forget them.
type ThreadAck struct {
	ThreadID string `json:"threadId"`
	Sequence uint64 `json:"sequence"`
}

// Types of thread events.
const (
	ThreadStarted       = "started"        // the agent's process runs
	ThreadReady         = "ready"          // it waits for a message
	ThreadBusy          = "busy"           // a turn began
	ThreadBlocked       = "blocked"        // it waits for an approval: Prompt
	ThreadQuestion      = "question"       // it asks something: Prompt
	ThreadUnblocked     = "unblocked"      // the prompt was answered
	ThreadLoginRequired = "login_required" // LoginURL
	ThreadToolRunning   = "tool_running"   // Tool
	ThreadTurnComplete  = "turn_complete"  // Turn, Text, DurationMs
	ThreadMessage       = "message"        // the agent said something: Text
	ThreadStuck         = "stuck"          // a turn shows no sign of life
	ThreadError         = "error"          // Reason, Text
	ThreadStopped       = "stopped"        // Reason, ExitCode; the last event of a thread
)

// ThreadEvent is one thing that happened to a hosted thread. The host keeps it until it is acknowledged, and sends
// the events of a thread in order, without gaps.
type ThreadEvent struct {
	ThreadID    string     `json:"threadId"`
	ExecutionID string     `json:"executionId,omitempty"`
	Sequence    uint64     `json:"sequence"` // of the thread at its host, from 1
	Type        string     `json:"type"`
	Data        ThreadData `json:"data"`
	SessionID   string     `json:"sessionId,omitempty"`  // of the agent, as far as it is known
	InputTaken  string     `json:"inputTaken,omitempty"` // id of the input that the agent took
}

// ThreadData is the data of an event. Which fields are set depends on its type.
type ThreadData struct {
	Status     string        `json:"status,omitempty"` // starting, ready, busy, blocked, unreachable, error, stopped; "": as the type implies
	Source     string        `json:"source,omitempty"` // hook, osc, exit, screen, host
	Prompt     *ThreadPrompt `json:"prompt,omitempty"`
	Answered   string        `json:"answered,omitempty"`
	Tool       *ThreadTool   `json:"tool,omitempty"`
	Text       string        `json:"text,omitempty"`
	Truncated  bool          `json:"truncated,omitempty"` // of Text
	Turn       int           `json:"turn,omitempty"`
	DurationMs int64         `json:"durationMs,omitempty"`
	wire.TurnOutcome
	LoginURL   string    `json:"loginUrl,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	ExitCode   *int      `json:"exitCode,omitempty"`
	OccurredAt time.Time `json:"occurredAt,omitzero"`
}

// ThreadPrompt asks a person for the answer that a blocked agent waits for.
type ThreadPrompt = wire.Prompt

// ThreadOption is one way to answer a prompt.
type ThreadOption = wire.QuestionOption

// ThreadTool is a tool that an agent runs.
type ThreadTool struct {
	Name  string         `json:"name"`
	Input wire.ToolInput `json:"input,omitempty"`
}

// Statuses of thread_status.
const (
	ThreadAccepted = "accepted" // the thread is hosted; also said of each one after a resume
	ThreadRefused  = "refused"  // a spawn, or with InputID an input, that the host does not take
	ThreadTaken    = "taken"    // an input that no event tells of: raw bytes, keys, an answer
	ThreadUnknown  = "unknown"  // the host does not have the thread that an input or a stop is for
)

// ThreadStatus is the status of a thread that its host reports outside of its events. It has no sequence and may come
// again.
type ThreadStatus struct {
	ThreadID string `json:"threadId"`
	Status   string `json:"status"`
	InputID  string `json:"inputId,omitempty"`
	Code     string `json:"code,omitempty"`    // of a refusal
	Message  string `json:"message,omitempty"` // of a refusal, for people
}

// MaxServerFrame is the largest frame that the control plane sends, in bytes. An agent that hosts threads must take
// frames of this size.
const MaxServerFrame = 16 << 20
