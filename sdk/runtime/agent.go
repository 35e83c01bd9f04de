package runtime

import (
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Status is where an agent is in its life.
type Status string

// Agent states. An agent is born starting; stopped is final but for Restart.
const (
	StatusStarting Status = "starting" // its process runs, its prompt was not seen
	StatusReady    Status = "ready"    // it waits for a message
	StatusBusy     Status = "busy"     // a turn runs
	StatusBlocked  Status = "blocked"  // a turn waits for a person: see Prompt
	StatusError    Status = "error"    // it cannot go on by itself: see Reason
	StatusStopped  Status = "stopped"  // its process ended
	// StatusUnreachable: what holds it cannot be reached, and it runs as far as is known. It gets back to another
	// state, or is stopped, once the place where it runs has said so.
	StatusUnreachable Status = "unreachable"
)

// Reasons of StatusError and StatusStopped; the text after a colon, if any, is for people.
const (
	ReasonLoginRequired = "login_required"    // no credential, or one that the model's provider refused
	ReasonNotReady      = "not_ready"         // it did not get ready in time
	ReasonExited        = "exited"            // it ended by itself
	ReasonExitedAtStart = "exited_at_start"   // it ended before it was ready
	ReasonStopped       = "stopped"           // by Stop
	ReasonKilled        = "killed"            // by Stop with Force, or because it did not end in time
	ReasonOutOfMemory   = "out_of_memory"     // its memory limit was met
	ReasonLost          = "lost"              // whatever held it is gone: reboot, killed holder
	ReasonDelivery      = "message_not_taken" // it did not take a message that was typed
	// ReasonSessionBehind begins the reason of a start that resumed an earlier state of the session: the last turns are lost.
	ReasonSessionBehind = "session_behind"
	ReasonUnreachable   = "unreachable" // of StatusUnreachable, and of the error event that tells of it
)

// Spec says what to start. Equal specs are specs with equal JSON.
type Spec struct {
	ID           string            `json:"id"`                     // chosen by the caller; letters, digits, _ and -, at most 64
	Name         string            `json:"name,omitempty"`         // for people
	Type         string            `json:"type"`                   // claude, codex, gemini or a declared type
	Installation string            `json:"installation,omitempty"` // of the appliance: agents of others are left alone
	Capabilities []string          `json:"capabilities,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	Workdir      string            `json:"workdir,omitempty"`  // absolute; empty: a fresh directory of the runtime
	Env          map[string]string `json:"env,omitempty"`      // on top of the allow-listed environment, and no wire.ReservedEnv; values are secret
	Approval     string            `json:"approval,omitempty"` // readonly, standard (default), permissive, autonomous
	Resume       string            `json:"resume,omitempty"`   // session id of an earlier agent to go on with
	Cols         int               `json:"cols,omitempty"`     // first size of the terminal; 0: 120x40
	Rows         int               `json:"rows,omitempty"`
	Limits       Limits            `json:"limits,omitzero"`
	Declared     *DeclaredType     `json:"declared,omitempty"` // the type, when it is declared in the caller's configuration

	// The rest is for container and cluster runtimes; others refuse it with INVALID_SPEC.
	Image   string   `json:"image,omitempty"`
	Network string   `json:"network,omitempty"`
	Volumes []string `json:"volumes,omitempty"` // HOST_PATH:CONTAINER_PATH:MODE, with ro or rw for MODE
}

// Limits bound an agent. Zero is the runtime's default.
type Limits struct {
	MemoryBytes int64   `json:"memoryBytes,omitempty"`
	CPU         float64 `json:"cpu,omitempty"` // cores
	PIDs        int     `json:"pids,omitempty"`
}

// DeclaredType is an agent type that an operator declared.
type DeclaredType struct {
	Command string            `json:"command"` // absolute path or a name on the PATH
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Ready   ReadyRule         `json:"ready,omitzero"`
	// Idle ends a turn of a type without signals of its own: no output for so long. 0: 2 seconds.
	Idle Duration `json:"idle,omitempty"`
	// Exit is the line that ends the program politely, for example "exit". Empty: it gets the end-of-input key.
	Exit string `json:"exit,omitempty"`
}

// DefaultReadyTimeout is how long an agent may take to get ready when its type does not say otherwise.
const DefaultReadyTimeout = time.Minute

// ReadyRule says when a declared type waits for input.
type ReadyRule struct {
	Pattern string   `json:"pattern,omitempty"` // regular expression, matched against the last line of the screen with text; empty: the first quiet moment
	Timeout Duration `json:"timeout,omitempty"` // 0: DefaultReadyTimeout
}

// Agent describes an agent of a runtime.
type Agent struct {
	ID             string            `json:"id"`
	Name           string            `json:"name,omitempty"`
	Type           string            `json:"type"`
	Status         Status            `json:"status"`
	Reason         string            `json:"statusReason,omitempty"`
	Capabilities   []string          `json:"capabilities,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Workdir        string            `json:"workdir,omitempty"`
	PID            int               `json:"pid,omitempty"` // of the CLI itself
	ContainerID    string            `json:"containerId,omitempty"`
	PodName        string            `json:"podName,omitempty"`
	ExitCode       *int              `json:"exitCode,omitempty"` // 128+n after signal n
	SessionID      string            `json:"sessionId,omitempty"`
	Prompt         *Prompt           `json:"prompt,omitempty"`   // while blocked
	LoginURL       string            `json:"loginUrl,omitempty"` // while a login is needed
	Turn           int               `json:"turn,omitempty"`     // turns that ended
	CreatedAt      time.Time         `json:"createdAt"`
	LastActivityAt time.Time         `json:"lastActivityAt,omitzero"`
	// Seq is that of the agent's last event when this was said: of two snapshots the one with the higher Seq is
	// the newer.
	Seq    uint64 `json:"seq,omitempty"`
	Handle Handle `json:"handle,omitzero"`
}

// Handle lets a later process find an agent again. Data is the runtime's own; it carries a
// version, and a runtime reads its present and its previous one.
type Handle struct {
	ID   string `json:"id"`
	Data []byte `json:"data,omitempty"`
}

// IsZero reports whether the handle is empty; encoders leave it out then.
func (h Handle) IsZero() bool { return h.ID == "" && len(h.Data) == 0 }

// PromptLogin names the login that an agent needs in an Answer, whose Text is what the login has shown. It is no prompt.
const PromptLogin = wire.PromptLogin

// Kinds of prompts.
const (
	PromptApproval = wire.PromptApproval // may a tool run?
	PromptQuestion = wire.PromptQuestion // the agent asks something
)

// Prompt asks a person for the answer that a blocked agent waits for.
type Prompt = wire.Prompt

// Choices that every approval has.
const (
	ChoiceAllow = "allow"
	ChoiceDeny  = "deny"
)

// Option is one way to answer.
type Option = wire.QuestionOption
