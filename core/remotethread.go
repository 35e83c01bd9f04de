package core

import (
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// AgentSignal is the Data of an event of a managed agent (managed_agent.*), and of one that a connected agent tells
// of a thread that it hosts. Which fields are set depends on the type.
type AgentSignal struct {
	AgentID    string             `json:"agentId,omitempty"`
	Status     ManagedAgentStatus `json:"status,omitempty"`
	Source     string             `json:"source,omitempty"` // hook, osc, exit, screen, host
	Prompt     json.RawMessage    `json:"prompt,omitempty"` // {id, kind, text, tool?, input?, options, url?}
	Answered   string             `json:"answered,omitempty"`
	Tool       *AgentTool         `json:"tool,omitempty"`
	Text       string             `json:"text,omitempty"`
	Truncated  bool               `json:"truncated,omitempty"`
	Turn       int                `json:"turn,omitempty"`
	DurationMs int64              `json:"durationMs,omitempty"`
	wire.TurnOutcome
	LoginURL   string    `json:"loginUrl,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	ExitCode   *int      `json:"exitCode,omitempty"`
	OccurredAt time.Time `json:"occurredAt"`
}

// AgentNotice is the data of a public event of a managed agent: it waits for people, or failed.
type AgentNotice struct {
	AgentID     string             `json:"agentId"`
	ExecutionID string             `json:"executionId,omitempty"`
	Name        string             `json:"name"`
	Type        string             `json:"type"`
	Status      ManagedAgentStatus `json:"status"`
	Reason      string             `json:"reason,omitempty"` // kind of the prompt; or why it failed
	Prompt      json.RawMessage    `json:"prompt,omitempty"`
	LoginURL    string             `json:"loginUrl,omitempty"`
	ExitCode    *int               `json:"exitCode,omitempty"`
	Text        string             `json:"text,omitempty"` // what the agent said of a failure
}

// AgentTool is a tool that an agent runs.
type AgentTool struct {
	Name  string         `json:"name"`
	Input wire.ToolInput `json:"input,omitempty"`
}

// RemoteThread is a thread as a connected agent is asked to host it.
type RemoteThread struct {
	ThreadID     string
	ExecutionID  string
	Name         string
	AgentType    string
	Role         string
	Objective    string         // told by an input as well: the host does not send it to the agent
	Workspace    *WorkspaceSpec // Repo is a URL
	ContextFiles []ContextFile
	Approval     string
	Env          map[string]string
	SessionID    string // to go on with, after a loss
	After        uint64 // sequence of the last event of the thread that the threads know, see RemoteThreadEvent.Seq
}

// RemoteInput is input for a hosted thread; one of Message, Raw, Keys, or an answer to its prompt.
type RemoteInput struct {
	ThreadID string
	InputID  string // the host drops one that it knows
	Message  string
	Raw      string
	Keys     []string
	PromptID string // of an answer
	Choice   string
	Text     string
}

// InputRefusal is why a host did not take an input.
type InputRefusal struct {
	Code   string // of the host
	Reason string // for people, with the code
}

// RemoteThreadEvent is an event of a thread that its host reports. Type is one of managed_agent.*, and
// EventManagedMessage, EventManagedTurnComplete and the others mean what they mean of managed agents. InputTaken, if
// set, is the id of an input that the agent took.
type RemoteThreadEvent struct {
	AgentID    string // host
	ThreadID   string
	Seq        uint64 // of the thread at its host, from 1; a repeat is dropped
	Type       EventType
	Time       time.Time
	Signal     AgentSignal
	SessionID  string
	InputTaken string
	// Settled is called once the event is durable or was a repeat: the host may forget it.
	Settled func()
}

// RemoteHost is a connected agent that hosts threads.
type RemoteHost struct {
	AgentID    string
	Name       string
	Types      []string // agent types that it offers
	MaxThreads int
	Threads    int // that it hosts now
}

// ThreadHosts is what threads need of the connected agents. Methods never block on the network and are safe for
// concurrent use.
type ThreadHosts interface {
	// Hosts lists the connected agents that host threads, those with the most room first.
	Hosts() []RemoteHost
	// HostAway reports whether an agent that hosts threads of a type is not among Hosts now and may come back: its
	// connection is lost, or it drains. After a restart that is one of which it is not known yet what it hosts.
	HostAway(agentType string) bool
	// SpawnThread asks a host for a thread. When its connection is lost it is asked after a resume. A host drops
	// one that it knows. False when the agent is gone for good.
	SpawnThread(agentID string, t RemoteThread) bool
	// InputThread hands input over, like SpawnThread. RemoteThreadEvent.InputTaken tells that the agent took a message,
	// ThreadHostSink.RemoteInputTaken that it took other input; what is typed beyond what may wait is refused at once.
	InputThread(agentID string, in RemoteInput) bool
	// StopThread ends a thread at its host, like SpawnThread; EventManagedStopped follows.
	StopThread(agentID, threadID, reason string, force bool) bool
	// ForgetThread gives up what is still to be sent of a thread.
	ForgetThread(agentID, threadID string)
}

// ThreadHostSink is what ThreadHosts needs of the threads. Methods do not block for long.
// It has many methods because a host tells of threads, of their inputs and of itself over one connection, in order.
type ThreadHostSink interface {
	// RemoteThreadEvented hands over an event, in order for each thread.
	RemoteThreadEvented(e RemoteThreadEvent)
	// RemoteInputRefused reports that a host did not take an input, and why. It may come again.
	RemoteInputRefused(agentID, threadID, inputID string, why InputRefusal)
	// RemoteInputTaken reports that a host took an input that is no message.
	RemoteInputTaken(agentID, threadID, inputID string)
	// HostAway reports that the connection of a host is lost; HostBack that it is there (again), with the threads that
	// it says it hosts; HostGone that it is gone for good.
	HostAway(agentID string)
	HostBack(agentID string, threadIDs []string)
	HostGone(agentID string)
	// HostsChanged reports that a host joined or has room.
	HostsChanged()
}
