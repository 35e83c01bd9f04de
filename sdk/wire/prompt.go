package wire

// Kinds of prompts.
const (
	PromptApproval = "approval" // may a tool run?
	PromptQuestion = "question" // the agent asks something
	PromptLogin    = "login"    // a person has to sign in
)

// Prompt asks a person for the answer that a blocked agent waits for.
type Prompt struct {
	ID      string           `json:"id"`              // unique within the agent
	Kind    string           `json:"kind"`            // approval, question or login
	Text    string           `json:"text"`            // what a person is asked
	Tool    string           `json:"tool,omitempty"`  // of an approval
	Input   ToolInput        `json:"input,omitempty"` // of the tool
	Options []QuestionOption `json:"options,omitempty"`
	URL     string           `json:"url,omitempty"`
}
