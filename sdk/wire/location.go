package wire

// Location says what something lies in whose id tells nothing of that.
type Location struct {
	ID          string `json:"id"`
	Kind        string `json:"kind" enum:"task,message,input,decision,delivery,event"`
	ExecutionID string `json:"executionId,omitempty" doc:"Of a task, a message and a decision."`
	ThreadID    string `json:"threadId,omitempty" doc:"Of an input, which is a message to the agent of a thread, and of a decision."`
	WebhookID   string `json:"webhookId,omitempty" doc:"Of a delivery."`
	Subject     string `json:"subject,omitempty" doc:"Of an event: id of what it happened to."`
	Pattern     string `json:"pattern,omitempty" doc:"Of an event that happened to a pattern: its name."`
}
