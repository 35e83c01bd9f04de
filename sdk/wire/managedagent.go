package wire

import (
	"encoding/json"
	"time"
)

// ManagedAgentStatus is where a managed agent is in its life.
type ManagedAgentStatus string

// Managed agent states.
const (
	ManagedStarting ManagedAgentStatus = "starting"
	ManagedReady    ManagedAgentStatus = "ready"
	ManagedBusy     ManagedAgentStatus = "busy"
	// ManagedUnreachable: it runs as far as is known, and neither the service nor its runtime can reach it now. It gets
	// back to another state by itself.
	ManagedUnreachable ManagedAgentStatus = "unreachable"
	ManagedError       ManagedAgentStatus = "error"
	ManagedStopped     ManagedAgentStatus = "stopped"
)

// ManagedAgent is a command-line agent that a runtime spawned.
type ManagedAgent struct {
	ID             string             `json:"id"`
	Name           string             `json:"name"`
	Type           string             `json:"type" example:"claude"`
	Status         ManagedAgentStatus `json:"status" enum:"starting,ready,busy,unreachable,error,stopped" doc:"unreachable: it runs as far as is known, and cannot be reached now."`
	StatusReason   string             `json:"statusReason,omitempty" doc:"blocked: it waits for an answer; login_required: see loginUrl; runtime_away, agent_away: why it is unreachable; else why it is in error or stopped."`
	Runtime        string             `json:"runtime" example:"local"`
	Capabilities   []string           `json:"capabilities"`
	Workdir        string             `json:"workdir,omitempty"`
	PID            int                `json:"pid,omitempty" doc:"Of the command-line tool itself, on a local runtime."`
	ContainerID    string             `json:"containerId,omitempty"`
	PodName        string             `json:"podName,omitempty"`
	ExitCode       *int               `json:"exitCode,omitempty" doc:"128+n after signal n."`
	SessionID      string             `json:"sessionId,omitempty" doc:"Of the tool; resume of a later agent takes it."`
	Prompt         json.RawMessage    `json:"prompt,omitempty" doc:"While it is blocked: {id, kind, text, tool?, input?, options, url?}."`
	Ruling         *PromptRuling      `json:"promptRuling,omitempty" doc:"What the server's policy said of its latest prompt; absent if it said nothing, and for agents of threads."`
	LoginURL       string             `json:"loginUrl,omitempty"`
	Turn           int                `json:"turn,omitempty" doc:"Number of the turn that runs, else of the last one."`
	CreatedBy      string             `json:"createdBy,omitempty"`
	CreatedAt      time.Time          `json:"createdAt"`
	LastActivityAt time.Time          `json:"lastActivityAt"`
	StoppedAt      *time.Time         `json:"stoppedAt,omitempty" doc:"When its process ended."` // or it was never started
	Labels         map[string]string  `json:"labels,omitempty" doc:"Those of its spawn."`
	Usage          *Usage             `json:"usage,omitempty" doc:"What its turns used, as far as it told. Never estimated."`
	LastTurn       *TurnOutcome       `json:"lastTurn,omitempty" doc:"How its last turn ended."`
	Sanitized      []SanitizedField   `json:"sanitized,omitempty" doc:"In the answer to an answer: texts of it that something was taken out of (security.inputValidation.sanitize)."`
	ReadyTimeoutMs int64              `json:"readyTimeoutMs,omitempty" doc:"How long it may take from its start until it is ready."` // not stored
}

// Gone reports whether the agent's process has ended for good, unless it is restarted.
func (a *ManagedAgent) Gone() bool { return a.StoppedAt != nil }

// ManagedAgentReply says what became of an input.
type ManagedAgentReply struct {
	Sent      bool             `json:"sent" doc:"The agent took it."`
	Response  *TurnResponse    `json:"response,omitempty" doc:"With expectResponse: what it answered, or why it did not."`
	Sanitized []SanitizedField `json:"sanitized,omitempty" doc:"Texts that something was taken out of (security.inputValidation.sanitize)."`
}

// LogLine is one line of an agent's log.
type LogLine struct {
	Timestamp time.Time `json:"timestamp"`
	Stream    string    `json:"stream" enum:"terminal,input,output,event" doc:"terminal: lines that left the screen; input and output: messages and answers; event: what happened."`
	Line      string    `json:"line"`
}

// ManagedAgentMetrics measure a running agent, everything that it started included.
type ManagedAgentMetrics struct {
	CPUPercent       float64 `json:"cpuPercent"` // of one core, since the last call or the start
	MemoryBytes      int64   `json:"memoryBytes"`
	MemoryLimitBytes int64   `json:"memoryLimitBytes"` // 0: none
	UptimeSeconds    float64 `json:"uptimeSeconds"`
	MessagesSent     int64   `json:"messagesSent"`
	LastResponseMs   int64   `json:"lastResponseMs"`
}

// ManagedAgentScreen is the screen of an agent's terminal, as text.
type ManagedAgentScreen struct {
	AgentID string      `json:"agentId"`
	Title   string      `json:"title,omitempty" doc:"As the program set it."`
	Cols    int         `json:"cols"`
	Rows    int         `json:"rows"`
	Cursor  ScreenPlace `json:"cursor"`
	Lines   []string    `json:"lines" doc:"Without the space at their ends, and without empty ones at the end."`
	Reason  string      `json:"reason,omitempty" doc:"Of several: why this one could not be read; its lines are empty then."`
}

// ScreenPlace is a place on a screen, from 0.
type ScreenPlace struct {
	Row int `json:"row"`
	Col int `json:"col"`
}

// RuntimeInfo is one configured runtime.
type RuntimeInfo struct {
	Name      string   `json:"name"`
	Priority  int      `json:"priority"` // lower is tried first
	Ready     bool     `json:"ready"`
	Reason    string   `json:"reason,omitempty"` // why it is not ready
	Types     []string `json:"types"`
	Agents    int      `json:"agents"`    // running
	MaxAgents int      `json:"maxAgents"` // 0: no limit
	AtLeast   bool     `json:"agentsAtLeast,omitempty" doc:"agents is a lower bound: there are many, and counting ended there."`
	// MissingTypes are of Types; nil where the runtime does not say, or never was ready.
	MissingTypes []string `json:"missingTypes,omitzero" doc:"Those of types whose command is not found where the runtime starts agents. Absent where the runtime does not say; a type that the configuration declares is looked for when it is spawned."`
	// Isolation is what holds for agents there; nil where the runtime does not say, or never was ready.
	Isolation *RuntimeIsolation `json:"isolation,omitempty" doc:"What holds for agents there. Absent where the runtime does not say."`
}

// RuntimeIsolation is what keeps agents from the machine that they run on, and from one another.
type RuntimeIsolation struct {
	NoNewPrivs bool   `json:"noNewPrivs" doc:"Agents gain no privileges: no sudo, no setuid programs."`
	Landlock   int    `json:"landlock" doc:"Version of Landlock in force; 0: none."`
	User       string `json:"user,omitempty" doc:"Who agents run as. Absent: the user of the runtime itself."`
	Reason     string `json:"reason,omitempty" doc:"Why Landlock is not in force."`
}

// ManagedAgentSpec asks for a managed agent. Names of fields are the interface's; approvalPreset and what follows are ours.
type ManagedAgentSpec struct {
	Name           string            `json:"name,omitempty" check:"max=128" doc:"Default: the type." example:"reviewer"`
	Type           string            `json:"type" check:"required,min=1,max=128" doc:"claude, codex, gemini, or one of agentTypes in the configuration." example:"claude"`
	Capabilities   []string          `json:"capabilities,omitempty" check:"max=100" example:"[\"review\"]"`
	Workdir        string            `json:"workdir,omitempty" check:"max=4096" doc:"Absolute path at the runtime. Default: a fresh folder of its own."`
	Env            map[string]string `json:"env,omitempty" check:"max=512,variables" doc:"Environment of the agent. Secret: never logged or answered; the runtime alone keeps it, for restarts. 256 KiB in all, and 128 KiB a variable."`
	Runtime        string            `json:"runtime,omitempty" check:"max=128" doc:"Default: the first ready one by priority." example:"local"`
	ApprovalPreset string            `json:"approvalPreset,omitempty" enum:"readonly,standard,permissive,autonomous" doc:"What it may do without asking. Default: standard."`
	Resume         string            `json:"resume,omitempty" check:"max=256" doc:"sessionId of an earlier agent of this type."`
	Image          string            `json:"image,omitempty" check:"max=512" doc:"Of a runtime with images."`
	Network        string            `json:"network,omitempty" check:"max=256" doc:"Of a runtime with networks."`
	Volumes        []string          `json:"volumes,omitempty" check:"max=64" doc:"Of a runtime with images: HOST_PATH:CONTAINER_PATH:MODE, with ro or rw for MODE." example:"[\"/srv/data:/data:ro\"]"`
	Memory         string            `json:"memory,omitempty" check:"max=32" doc:"Bytes, or with a unit k, m or g (powers of 1024)." example:"512m"`
	CPU            float64           `json:"cpu,omitempty" doc:"Cores." example:"0.5"`
	Labels         map[string]string `json:"labels,omitempty" doc:"Free keys, kept with the agent; names that begin with wardroom. are reserved."`
	// IdempotencyKey of sdk/client makes it safe to send the request again: it goes as a header.
	IdempotencyKey string `json:"-"`
}

// ManagedAgentInput is exactly one of a message, raw terminal input, keys and an interrupt.
type ManagedAgentInput struct {
	Message        string   `json:"message,omitempty" doc:"Submitted when the agent is idle." example:"Summarise README.md"`
	Raw            string   `json:"raw,omitempty" doc:"Typed into the terminal as it is."`
	Keys           []string `json:"keys,omitempty" check:"max=1000" doc:"Names of keys, pressed in order." example:"[\"ESC\",\"ENTER\"]"`
	Interrupt      bool     `json:"interrupt,omitempty" doc:"Stop the turn that runs, as a person at the terminal would."`
	ExpectResponse bool     `json:"expectResponse,omitempty" doc:"Wait for the end of the turn. With message only."`
	Timeout        Millis   `json:"timeout,omitempty" check:"min=1,max=86400000" doc:"Milliseconds; default 120000."`
}

// ManagedAgentAnswer answers the prompt of a blocked agent.
type ManagedAgentAnswer struct {
	PromptID string `json:"promptId,omitempty" doc:"Default: the prompt that is open. Another one is a 409."`
	Choice   string `json:"choice,omitempty" doc:"Id or label of an option; allow or deny for an approval." example:"allow"`
	Text     string `json:"text,omitempty" doc:"Free text of a question, or with deny the reason."`
}
