package wire

import (
	"encoding/json"
	"time"
)

// InboxSource says what asks.
type InboxSource string

// Sources of the inbox.
const (
	InboxExecution    InboxSource = "execution"     // a question of an execution
	InboxThread       InboxSource = "thread"        // a blocked thread that serves no role
	InboxManagedAgent InboxSource = "managed_agent" // a blocked agent that belongs to no thread
)

// InboxItem is one thing that waits for a person.
type InboxItem struct {
	ID          string           `json:"id" doc:"Of the question, thread or managed agent that is to be answered."`
	Source      InboxSource      `json:"source" enum:"execution,thread,managed_agent"`
	Kind        QuestionKind     `json:"kind" enum:"message,approval,question,login"`
	Text        string           `json:"text"`
	Tool        string           `json:"tool,omitempty" doc:"That leave is asked for."`
	Input       json.RawMessage  `json:"input,omitempty" check:"nullable" doc:"Of the tool."`
	Options     []QuestionOption `json:"options,omitempty" doc:"Answers to choose from, by id."`
	URL         string           `json:"url,omitempty" doc:"Where to log in."`
	PromptID    string           `json:"promptId,omitempty"`
	ExecutionID string           `json:"executionId,omitempty"`
	ThreadID    string           `json:"threadId,omitempty"`
	AgentID     string           `json:"agentId,omitempty" doc:"The agent that asks."`
	Name        string           `json:"name,omitempty" doc:"Of the thread or managed agent."`
	Role        string           `json:"role,omitempty"`
	AgentType   string           `json:"agentType,omitempty"`
	CreatedBy   string           `json:"createdBy,omitempty" doc:"Whose execution, thread or managed agent waits."`
	Since       time.Time        `json:"since"`
	ExpiresAt   *time.Time       `json:"expiresAt,omitempty" doc:"Nobody is asked any more then. Absent: it waits for as long as it takes."`
	AnswerURL   string           `json:"answerUrl" doc:"The answer is posted there."`
}
