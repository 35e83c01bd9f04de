package orgchart

import "github.com/wardroom/wardroom/core"

// Message is what an agent says to another role.
type Message struct {
	From  string // key of the role that sends it
	Topic string // may be empty
	Type  string // question, escalation, task, feedback or another word
	To    string // key of a role that it asks for; may be empty
}

// Target is where a message goes: to a role, or what becomes of it instead.
type Target struct {
	Role     string        // key; "" when Behavior is set
	Behavior core.Behavior // never BehaviorReportsTo; "" when Role is set
	Reason   string        // for people: "rule 2: topic architecture"
}

// Route decides where a message goes first.
func Route(chart *core.Chart, m Message) Target { return Target{} }

// Climb decides where a message goes whose reply did not come in time. current is the role asked last, depth how
// often the message has climbed.
func Climb(chart *core.Chart, current string, depth int) Target { return Target{} }

// WantsReply tells whether messages of this type wait for an answer: all but feedback.
func WantsReply(messageType string) bool { return messageType != "feedback" }
