package wire

import (
	"encoding/json"
	"time"
)

// Thread is a supervised, long-lived piece of work of one agent, as it is answered. What is stored of it is core.Thread.
type Thread struct {
	ID             string           `json:"id"`
	ExecutionID    string           `json:"executionId"`
	Name           string           `json:"name"`
	AgentType      string           `json:"agentType" example:"claude"`
	Role           string           `json:"role"`
	Objective      string           `json:"objective"`
	Status         string           `json:"status" enum:"pending,preparing,starting,ready,running,blocked,idle,completed,failed,stopped" doc:"The last three are final."`
	StatusReason   string           `json:"statusReason,omitempty" doc:"For example idle, stuck, finishing, login, restarting, host_away, retrying, requested, execution, timeout, crashed, lost, turn_failed, or limit: and what was reached."`
	Runtime        string           `json:"runtime" check:"nullable" doc:"null until its agent starts; connected for one that a connected agent hosts."`
	ManagedAgentID string           `json:"managedAgentId" check:"nullable" doc:"null until its agent starts."`
	AgentID        string           `json:"agentId,omitempty" doc:"Connected agent that hosts it."`
	SessionID      string           `json:"sessionId,omitempty" doc:"Of the command-line tool."`
	Workspace      *WorkspaceRow    `json:"workspace" check:"nullable" doc:"null until it is reserved, and of a thread that a connected agent hosts."`
	Preparation    ThreadSetup      `json:"preparation"`
	Policy         ThreadPolicy     `json:"policy"`
	Metadata       Metadata         `json:"metadata"`
	Summary        string           `json:"summary"`
	Completion     *Completion      `json:"completion,omitempty" doc:"Once it is over."`
	Error          *ThreadError     `json:"error,omitempty" doc:"Why it failed."`
	Prompt         json.RawMessage  `json:"prompt,omitempty" doc:"While it is blocked: {id, kind, text, tool?, input?, options, url?}."`
	PromptRuling   *PromptRuling    `json:"promptRuling,omitempty" doc:"How its latest prompt was answered without people, or why they are asked; absent if no rule says anything."`
	LoginURL       string           `json:"loginUrl,omitempty"`
	TurnCount      int              `json:"turnCount" doc:"Turns that did not fail."`
	FailedTurns    int              `json:"failedTurns" doc:"Turns that failed, beside them."`
	LastTurn       *ThreadTurn      `json:"lastTurn,omitempty" doc:"How the last turn ended."`
	Usage          *Usage           `json:"usage,omitempty" doc:"Of all turns, as its agent told; absent when it told nothing."`
	RetryAt        *time.Time       `json:"retryAt,omitempty" doc:"When the message of a turn that failed is given again."`
	Continues      string           `json:"continues,omitempty" doc:"Id of the thread that it goes on with."`
	ContinuedBy    string           `json:"continuedBy,omitempty" doc:"Id of the thread that goes on with it."`
	EventCount     int              `json:"eventCount" doc:"Of the persisted kinds."`
	QueuedInputs   int              `json:"queuedInputs" doc:"Messages that its agent did not take yet."`
	Restarts       int              `json:"restarts" doc:"Of its agent, after it was lost."`
	Sanitized      []SanitizedField `json:"sanitized,omitempty" doc:"Texts that something was taken out of (security.inputValidation.sanitize), 100 at most: those that it began with, and in the answer to a request those of the request."`
	CreatedBy      string           `json:"createdBy,omitempty"`
	CreatedAt      time.Time        `json:"createdAt"`
	UpdatedAt      time.Time        `json:"updatedAt"`
	LastActivityAt time.Time        `json:"lastActivityAt"`
	StartedAt      *time.Time       `json:"startedAt,omitempty" doc:"When its agent ran for the first time."`
	EndedAt        *time.Time       `json:"endedAt,omitempty"`
}

// ThreadError is why a thread failed.
type ThreadError struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// ThreadDiff is the difference between the files of a thread and the commit that it began at.
type ThreadDiff struct {
	ThreadID string `json:"threadId"`
	WorkspaceDiff
}

// ThreadQueue is a page of the messages of a thread that have no answer yet, in their order.
type ThreadQueue struct {
	ThreadID  string            `json:"threadId"`
	Queued    int               `json:"queued" doc:"Messages that wait."`
	Inputs    []ThreadQueueItem `json:"inputs"`
	HasMore   bool              `json:"hasMore"`
	NextAfter uint64            `json:"nextAfter,omitempty" doc:"after of the next page."`
}

// ThreadQueueItem is a message that waits, or that the agent works on.
type ThreadQueueItem struct {
	ID        string    `json:"id" doc:"The same as inputId."`
	InputID   string    `json:"inputId"`
	Number    uint64    `json:"number"`
	State     string    `json:"state" enum:"waiting,working" doc:"working: the agent has it, or is being given it."`
	Attempt   int       `json:"attempt,omitempty" doc:"How often it was given to the agent before."`
	Message   string    `json:"message"`
	CreatedAt time.Time `json:"createdAt"`
	CreatedBy string    `json:"createdBy,omitempty" doc:"Who sent it."`
}

// ThreadReceipt says what became of an input.
type ThreadReceipt struct {
	ThreadID string `json:"threadId"`
	InputID  string `json:"inputId,omitempty" doc:"Of a message."`
	Sent     bool   `json:"sent" doc:"It is stored, and nothing loses it any more; or it was typed."`
	Queued   int    `json:"queued" doc:"Messages that wait, this one included."`
	// Response is the answer of the message's turn, or why it gave none.
	Response *TurnResponse `json:"response,omitempty" doc:"With expectResponse: what the agent answered, or why it did not."`

	Sanitized []SanitizedField `json:"sanitized,omitempty" doc:"Texts that something was taken out of (security.inputValidation.sanitize)."`
}

// ThreadTurn is how a turn of a thread ended.
type ThreadTurn struct {
	Turn       int    `json:"turn"` // from 1; failed turns are counted too
	DurationMs Millis `json:"durationMs"`
	TurnOutcome
}

// ThreadPolicy is how a thread is supervised. Durations are milliseconds; 0 is the configured default.
type ThreadPolicy struct {
	IdleTimeoutMs       int64            `json:"idleTimeoutMs,omitempty" check:"min=0,max=31622400000" doc:"Milliseconds without activity until it is idle; three times that: stopped. Default: configured."`
	SummarizeAfterTurns int              `json:"summarizeAfterTurns,omitempty" check:"min=0,max=100000" doc:"A summary each so many turns; 0: only at the end."`
	CompleteAfterTurns  int              `json:"completeAfterTurns,omitempty" check:"min=0,max=100000" doc:"Completed after so many turns; 0: when the agent says so."`
	TimeoutMs           int64            `json:"timeoutMs,omitempty" check:"min=0,max=31622400000" doc:"Milliseconds of its whole life. Default: configured."`
	MaxRestarts         *int             `json:"maxRestarts,omitempty" check:"min=0,max=1000" doc:"Of a lost agent. Default: configured."`
	TurnRetries         *int             `json:"turnRetries,omitempty" check:"min=0,max=100" doc:"How often a message is given again whose turn failed in a way that may pass. Default: configured."`
	MaxTokens           int64            `json:"maxTokens,omitempty" check:"min=0,max=1000000000000" doc:"Stopped once its turns read and wrote so many tokens, as its agent tells; 0: no limit."`
	MaxCost             float64          `json:"maxCost,omitempty" doc:"Stopped once its turns cost so many US dollars, as its agent tells; 0: no limit."`
	MaxTurns            int              `json:"maxTurns,omitempty" check:"min=0,max=1000000" doc:"Stopped after so many turns, failed ones included; 0: no limit."`
	Finish              *ThreadFinish    `json:"finish,omitempty" doc:"What is done with the workspace when it completes."`
	AutoAnswer          []AutoAnswerRule `json:"autoAnswer,omitempty" check:"max=200" doc:"Rules that answer prompts without people; the first that fits counts."`
}

// ThreadFinish is what is done with a workspace when its thread completes.
type ThreadFinish struct {
	Commit  bool   `json:"commit,omitempty" doc:"What is not committed."`
	Message string `json:"message,omitempty" check:"max=65536" doc:"Of that commit. Default: the objective."`
	Push    bool   `json:"push,omitempty" doc:"To the remote."`
	Branch  string `json:"branch,omitempty" check:"max=1024" doc:"There. Default: the work branch's own name."`
}

// AutoAnswerRule answers prompts without people. The first rule that fits counts.
type AutoAnswerRule struct {
	Preset string `json:"preset,omitempty" enum:",readonly,standard,permissive,autonomous" doc:"approvalPreset that the rule holds for. Left out: all."`
	Kind   string `json:"kind,omitempty" check:"is=promptKind" doc:"Kind of the prompt: approval or question. Left out: all."`
	Tool   string `json:"tool,omitempty" check:"is=ruleTool" doc:"Glob on the name of the tool. Left out: all."`
	Match  string `json:"match,omitempty" check:"is=ruleMatch" doc:"Regular expression (RE2) on the prompt's text and the tool's input. Left out: all."`
	Answer string `json:"answer" check:"required,is=answer" missing:"say allow, deny or the id of an option" doc:"allow, deny, or the id of an option."`
}

// CompletionState says how good an outcome is.
type CompletionState string

// Completion states.
const (
	CompletionComplete CompletionState = "complete"
	CompletionPartial  CompletionState = "partial"
	CompletionFailed   CompletionState = "failed"
)

// Completion is the outcome of a thread.
type Completion struct {
	State     CompletionState   `json:"state" enum:"complete,partial,failed"`
	Summary   string            `json:"summary"`
	Artifacts []Artifact        `json:"artifacts"`
	Changes   *WorkspaceChanges `json:"changes,omitempty" doc:"Of its repository."`
	Tests     *TestReport       `json:"tests,omitempty" doc:"What the agent says it ran."`
}

// ArtifactType says what an artifact is.
type ArtifactType string

// Artifact types.
const (
	ArtifactCommit ArtifactType = "commit" // value: the hash
	ArtifactFile   ArtifactType = "file"   // value: the path in the repository
	ArtifactURL    ArtifactType = "url"    // value: the address; of a push: repository#branch
	ArtifactReport ArtifactType = "report" // value: a text
)

// Artifact is one thing that a thread made.
type Artifact struct {
	Type  ArtifactType `json:"type" enum:"commit,file,url,report"`
	Value string       `json:"value" doc:"Hash, path in the repository, address (repository#branch of a push), or text."`
}

// TestReport is what tests an agent says it ran.
type TestReport struct {
	Run     int    `json:"run"`
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Command string `json:"command,omitempty"`
}

// ThreadInput is exactly one of a message, raw terminal input and keys.
type ThreadInput struct {
	Message string   `json:"message,omitempty" doc:"Given to the agent when its turn comes." example:"Also update the changelog"`
	Raw     string   `json:"raw,omitempty" doc:"Typed into the terminal as it is."`
	Keys    []string `json:"keys,omitempty" check:"max=1000" doc:"Names of keys, pressed in order." example:"[\"ESC\",\"ENTER\"]"`

	ExpectResponse bool  `json:"expectResponse,omitempty" doc:"Wait for the end of the message's turn. With message only."`
	Timeout        int64 `json:"timeout,omitempty" check:"min=1,max=86400000" doc:"Milliseconds, with expectResponse; default 120000."`
}

// ThreadAnswer answers the prompt of a blocked thread, or gives the code of a login.
type ThreadAnswer struct {
	PromptID string `json:"promptId,omitempty" check:"max=256" doc:"Default: the prompt that is open. Another one is a 409."`
	Choice   string `json:"choice,omitempty" check:"max=256" doc:"Id of an option; allow or deny for an approval." example:"allow"`
	Text     string `json:"text,omitempty" check:"max=262144" doc:"Free text of a question, the code of a login, or with deny the reason."`
}

// ThreadClose ends a thread by hand with an outcome.
type ThreadClose struct {
	State   string `json:"state,omitempty" enum:"complete,partial,failed" doc:"Default: complete."`
	Summary string `json:"summary,omitempty" check:"max=65536" doc:"Default: what the agent said last."`
}

// ThreadContinue says how another thread goes on with one that is over.
type ThreadContinue struct {
	Message       string            `json:"message,omitempty" check:"max=262144" doc:"What is to be done. May be left out when messages got no answer: those are given first." example:"Now fix the tests as well"`
	Env           map[string]string `json:"env,omitempty" check:"max=512,variables" doc:"Environment of the agent, beside that of the old thread and over it. Secret: never logged or answered. 256 KiB in all, and 128 KiB a variable."`
	DiscardQueued bool              `json:"discardQueued,omitempty" doc:"Leave the messages that got no answer."`

	ExpectResponse bool  `json:"expectResponse,omitempty" doc:"Wait for the end of the turn of message, or without one of the last message that got no answer."`
	Timeout        int64 `json:"timeout,omitempty" check:"min=1,max=86400000" doc:"Milliseconds, with expectResponse; default 120000."`

	// IdempotencyKey of sdk/client makes it safe to send the request again: it goes as a header.
	IdempotencyKey string `json:"-"`
}

// MemoryContext counts what a preparation found in the memory, and by what it looked.
type MemoryContext struct {
	SharedDecisionCount     int    `json:"sharedDecisionCount"`
	EpisodicExperienceCount int    `json:"episodicExperienceCount"`
	Repo                    string `json:"repo"`
	Role                    string `json:"role"`
	Objective               string `json:"objective"`
}

// PromptRuling is how a prompt is answered without people, or why they are asked.
type PromptRuling struct {
	PromptID string `json:"promptId"`
	Answer   string `json:"answer" doc:"allow, deny or the id of an option; ask: a policy wants people to answer."`
	By       string `json:"by" enum:"policy,thread,configuration,preset,person" doc:"What answers: the policy of the server, a rule of the thread or of the configuration, the approvalPreset, or somebody."`
	Rule     string `json:"rule,omitempty" doc:"Which one: what the policy calls it, the place of the rule such as policy.autoAnswer[0], or the preset."`
	Person   string `json:"person,omitempty" doc:"Who answers."`
	Reason   string `json:"reason,omitempty" doc:"What the policy says."`
}
