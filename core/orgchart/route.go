package orgchart

import (
	"fmt"
	"slices"

	"github.com/wardroom/wardroom/core"
)

// Message is a message of an agent to another role.
type Message struct {
	From  string // key of the role that sends it
	Topic string // may be empty
	Type  string // question, escalation, task, feedback or another word
	To    string // key or id of the role that it is meant for; may be empty
}

// Target is where a message goes: to a role, or what becomes of it instead.
type Target struct {
	Role     string        // key; "" when Behavior is set
	Behavior core.Behavior // never BehaviorReportsTo; "" when Role is set
	Reason   string        // for people: "rule 2: topic architecture"
}

// Route decides where a message goes first: by the routing rules, where a topic comes before a message type, a rule
// for this very role before one for any, and an earlier rule before a later one; then to the role that it is meant
// for; then by the topic routes; then by the default behavior. What leads back to the role that asks is passed over.
func Route(chart *core.Chart, m Message) Target {
	if i, why := rule(chart, m); i >= 0 {
		return Target{Role: chart.Routing[i].To, Reason: fmt.Sprintf("rule %d: %s", i+1, why)}
	}
	if key := roleKey(chart, m.To); key != "" && key != m.From {
		return Target{Role: key, Reason: "asked for " + key}
	}
	if to := chart.Escalation.TopicRoutes[m.Topic]; to != "" && to != m.From && m.Topic != "" {
		return Target{Role: to, Reason: "topic route " + m.Topic}
	}
	if d := chart.Escalation.Default; d != core.BehaviorReportsTo && d != "" {
		return Target{Behavior: d, Reason: "default behavior"}
	}
	if manager := managerOf(chart, m.From); manager != "" {
		return Target{Role: manager, Reason: "manager of " + m.From}
	}
	return Target{Behavior: onMaxDepth(chart), Reason: "nobody is above " + m.From}
}

// rule finds the routing rule for a message, and says why it holds; -1 when there is none.
func rule(chart *core.Chart, m Message) (int, string) {
	for _, by := range []struct {
		value string
		words func(core.RoutingRule) []string
		why   string
	}{
		{m.Topic, func(r core.RoutingRule) []string { return r.Topics }, "topic "},
		{m.Type, func(r core.RoutingRule) []string { return r.MessageTypes }, "message type "},
	} {
		if by.value == "" {
			continue
		}
		for _, from := range []string{m.From, core.Anyone} {
			for i, r := range chart.Routing {
				if r.From == from && r.To != m.From && slices.Contains(by.words(r), by.value) {
					return i, by.why + by.value
				}
			}
		}
	}
	return -1, ""
}

// Climb decides where a message goes whose reply did not come in time: to the manager of the role asked last, or,
// after as many climbs as the chart allows and at the top, to what happens at the maximum depth. depth is how often
// the message has climbed. The way up of the message of a role, asker, leads past that role, since it cannot answer itself.
func Climb(chart *core.Chart, asker, current string, depth int) Target {
	if depth >= chart.Escalation.MaxDepth {
		return Target{Behavior: onMaxDepth(chart), Reason: fmt.Sprintf("maxDepth is %d", chart.Escalation.MaxDepth)}
	}
	manager := managerOf(chart, current)
	if manager != "" && manager == asker {
		manager = managerOf(chart, asker)
	}
	if manager == "" {
		return Target{Behavior: onMaxDepth(chart), Reason: "nobody is above " + current}
	}
	return Target{Role: manager, Reason: "manager of " + current}
}

// WantsReply reports whether messages of this type wait for an answer: all but feedback.
func WantsReply(messageType string) bool { return messageType != "feedback" }

func managerOf(chart *core.Chart, key string) string {
	if role := chart.Role(key); role != nil {
		return role.ReportsTo
	}
	return ""
}

// roleKey returns the key of the role with this key or id.
func roleKey(chart *core.Chart, name string) string {
	if name == "" {
		return ""
	}
	if role := chart.Role(name); role != nil {
		return role.Key
	}
	for i := range chart.Roles {
		if chart.Roles[i].ID == name {
			return chart.Roles[i].Key
		}
	}
	return ""
}

// onMaxDepth never names the manager: at the top there is none.
func onMaxDepth(chart *core.Chart) core.Behavior {
	if b := chart.Escalation.OnMaxDepth; b != "" && b != core.BehaviorReportsTo {
		return b
	}
	return core.BehaviorSurface
}
