package wire

// PatternDrawing is what there is to draw of a pattern. Texts are of one line, without control characters.
type PatternDrawing struct {
	Name        string           `json:"name" example:"review-team"`
	Version     string           `json:"version" example:"1.0.0"`
	Description string           `json:"description,omitempty"`
	Roles       []*DrawnRole     `json:"roles,omitempty" doc:"Those at the top of the hierarchy, of an org chart."`
	Rules       []RoutingRule    `json:"rules,omitempty" doc:"Routing rules and topic routes, with the words any role where anyone may ask."`
	Escalation  *DrawnEscalation `json:"escalation,omitempty"`
	Steps       []*DrawnStep     `json:"steps"`
}

// DrawnRole is a role with those that report to it.
type DrawnRole struct {
	Key          string       `json:"key"`
	Name         string       `json:"name"`
	Instances    string       `json:"instances" doc:"singleton, 2, 1-4 or 1+."`
	AgentTypes   []string     `json:"agentTypes,omitempty"`
	Capabilities []string     `json:"capabilities,omitempty"`
	Managed      bool         `json:"managed,omitempty" doc:"Its agents are spawned."`
	Reports      []*DrawnRole `json:"reports,omitempty" doc:"Roles that report to it."`
}

// DrawnEscalation describes what happens to messages that no rule routes or no role answers.
type DrawnEscalation struct {
	Default    string `json:"defaultBehavior"`
	TimeoutMs  int64  `json:"timeoutMs"`
	MaxDepth   int    `json:"maxDepth"`
	OnMaxDepth string `json:"onMaxDepth"`
}

// DrawnStep is a step of a workflow, or of a flat pattern.
type DrawnStep struct {
	Path   string       `json:"path" doc:"Its place: 2.0 is the first step in the third."`
	Kind   string       `json:"kind" doc:"The type of the step; agents or pattern in a flat pattern."`
	Branch string       `json:"branch,omitempty" doc:"then or else, in a condition."`
	Name   string       `json:"name,omitempty"`
	Role   string       `json:"role,omitempty"`
	Text   string       `json:"text,omitempty" doc:"Its task, subject, condition or the source of its list."`
	Notes  []string     `json:"notes,omitempty" doc:"Whatever else decides how it runs."`
	Steps  []*DrawnStep `json:"steps,omitempty"`
}

// RoutingRule sends messages of a role to another.
type RoutingRule struct {
	From         string   `json:"from" check:"required" doc:"Key of the role that asks; * is anyone."`
	To           string   `json:"to" check:"required" doc:"Key of the role that answers."`
	Topics       []string `json:"topics,omitempty" check:"min=1,max=1000" doc:"Topics of the messages. This or messageTypes."`
	MessageTypes []string `json:"messageTypes,omitempty" check:"min=1,max=1000" doc:"Types of the messages. This or topics."`
}
