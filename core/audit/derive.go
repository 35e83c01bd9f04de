package audit

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/wire"
)

// derived is the record that follows from an event.
type derived struct {
	category, action, outcome, resource string
	keep                                []string // members of the event's data that the details have
}

// fromEvents are the events that records follow from. What people ask for is recorded by the intent of their request;
// these are what came of it later, and what Wardroom and agents do by themselves.
var fromEvents = map[core.EventType]derived{
	core.EventExecutionCompleted: {wire.AuditExecutions, "executions.complete", wire.AuditSuccess, "executions", []string{"duration", "agents"}},
	core.EventExecutionFailed:    {wire.AuditExecutions, "executions.fail", wire.AuditFailure, "executions", []string{"duration", "agents", "error"}},
	core.EventExecutionCancelled: {wire.AuditExecutions, "executions.cancel", wire.AuditSuccess, "executions", []string{"duration"}},

	core.EventQuestionAsked:    {wire.AuditExecutions, "questions.ask", wire.AuditSuccess, "executions", []string{"question"}},
	core.EventQuestionAnswered: {wire.AuditExecutions, "executions.answer", wire.AuditSuccess, "executions", []string{"questionId", "by"}},
	core.EventQuestionExpired:  {wire.AuditExecutions, "questions.expire", wire.AuditFailure, "executions", []string{"questionId"}},

	core.EventThreadStarted:   {wire.AuditExecutions, "threads.start", wire.AuditSuccess, "threads", []string{"runtime", "agentType"}},
	core.EventThreadBlocked:   {wire.AuditExecutions, "threads.block", wire.AuditSuccess, "threads", []string{"autoAnswered"}},
	core.EventThreadCompleted: {wire.AuditExecutions, "threads.complete", wire.AuditSuccess, "threads", nil},
	core.EventThreadFailed:    {wire.AuditExecutions, "threads.fail", wire.AuditFailure, "threads", nil},
	core.EventThreadStopped:   {wire.AuditExecutions, "threads.stop", wire.AuditSuccess, "threads", []string{"reason"}},

	core.EventAgentConnected:    {wire.AuditAgents, "agents.connect", wire.AuditSuccess, "agents", []string{"capabilities"}},
	core.EventAgentDisconnected: {wire.AuditAgents, "agents.disconnect", wire.AuditSuccess, "agents", []string{"reason", "graceful"}},
	core.EventAgentUnhealthy:    {wire.AuditAgents, "agents.unhealthy", wire.AuditFailure, "agents", []string{"reason"}},
	core.EventManagedStarted:    {wire.AuditAgents, "agents.start", wire.AuditSuccess, "agents", nil},
	core.EventManagedStopped:    {wire.AuditAgents, "agents.stop", wire.AuditSuccess, "agents", []string{"reason"}},
	core.EventManagedBlocked:    {wire.AuditAgents, "agents.block", wire.AuditSuccess, "agents", []string{"autoAnswered"}},

	core.EventPatternCreated: {wire.AuditPatterns, "patterns.create", wire.AuditSuccess, "patterns", []string{"version"}},
	core.EventPatternUpdated: {wire.AuditPatterns, "patterns.update", wire.AuditSuccess, "patterns", []string{"version", "previousVersion"}},
	core.EventPatternDeleted: {wire.AuditPatterns, "patterns.delete", wire.AuditSuccess, "patterns", nil},

	core.EventDataErased: {wire.AuditAdmin, "data.erased", wire.AuditSuccess, "data", []string{"pseudonym", "unreadable"}},

	core.EventSystemAlert: {wire.AuditAdmin, "system.alert", wire.AuditSuccess, "system", []string{"severity", "message"}},
}

// derive returns the record that follows from an event. Of what the request of the same transaction asked for, its own
// record tells.
func derive(e *core.Event, intent *core.AuditIntent) (core.AuditEntry, bool) {
	d, ok := fromEvents[e.Type]
	if !ok || intent != nil && covers(intent, d) {
		return core.AuditEntry{}, false
	}
	if e.Type == core.EventManagedBlocked && e.ID != "" {
		return core.AuditEntry{}, false // what people read of it comes beside what happened
	}
	entry := core.AuditEntry{
		Category: d.category, Action: d.action, Outcome: d.outcome, Actor: system,
		Resource: wire.AuditResource{Type: d.resource, ID: e.Subject},
	}
	if d.category == wire.AuditAgents && (e.Type == core.EventAgentConnected || e.Type == core.EventAgentDisconnected) {
		entry.Actor = wire.AuditActor{Type: "agent", ID: e.Subject}
	}
	entry.Details = detailsOf(e, d.keep)
	if version, ok := entry.Details["version"].(string); ok {
		entry.Resource.Version = version
	}
	return entry, true
}

// covers reports whether the record of a request tells of what an event tells of.
func covers(intent *core.AuditIntent, d derived) bool {
	switch d.resource {
	case "patterns":
		return intent.Resource.Type == "patterns"
	case "threads", "agents":
		return intent.Action == d.action
	}
	return intent.Action == d.action
}

// detailsOf picks small facts out of the data of an event: lists by how many they have, errors by their code, other things
// by their id.
func detailsOf(e *core.Event, keep []string) map[string]any {
	details := map[string]any{}
	if pattern, ok := rawjson.Field(e.Data, "pattern"); ok {
		if name, ok := rawjson.Field(pattern, "name"); ok {
			details["pattern"] = textOf(name)
		}
	}
	for _, name := range keep {
		value, ok := rawjson.Field(e.Data, name)
		if !ok {
			continue
		}
		switch rawjson.KindOf(value) {
		case rawjson.Array:
			n := 0
			for it := rawjson.Walk(value); it.Next(); {
				n++
			}
			details[singular(name)+"Count"] = n
		case rawjson.Object:
			if code, ok := rawjson.Field(value, "code"); ok {
				details[name+"Code"] = textOf(code)
			} else if id, ok := rawjson.Field(value, "id"); ok {
				details[name+"Id"] = textOf(id)
			}
		case rawjson.String:
			details[name] = textOf(value)
		case rawjson.Number:
			details[name] = json.Number(value)
		case rawjson.Bool:
			details[name] = string(value) == "true"
		}
	}
	return details
}

func singular(name string) string {
	switch name {
	case "agents":
		return "agent"
	case "capabilities":
		return "capability"
	}
	return name
}

// textOf returns a short text of a JSON string.
func textOf(quoted []byte) string {
	if rawjson.KindOf(quoted) != rawjson.String {
		return ""
	}
	text := rawjson.Unquote(quoted)
	return string(text[:min(len(text), 256)])
}
