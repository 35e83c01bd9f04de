package runtimes

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// labelThread is the label of an agent that belongs to a thread: its thread tells people what it waits for.
const labelThread = "wardroom.thread"

// withNotice returns an event of an agent with the public event that follows from it, if one does: the agent waits for
// people, or failed. Both are stored with the agent's record. Agents of threads are reported by their threads.
func (s *Service) withNotice(r *core.ManagedAgentRecord, event core.Event) []core.Event {
	list := []core.Event{event}
	if r.Spec.Labels[labelThread] != "" || event.Type == core.EventManagedBlocked && ruled(r) {
		return list
	}
	kind := event.Type
	switch kind {
	case core.EventManagedBlocked, core.EventManagedLogin:
	case core.EventManagedQuestion:
		kind = core.EventManagedBlocked
	case core.EventManagedStopped, core.EventManagedError:
		kind = core.EventManagedFailed
	default:
		return list
	}
	var told core.AgentSignal
	if json.Unmarshal(event.Data, &told) != nil || kind == core.EventManagedFailed && told.Status != core.ManagedError {
		return list
	}
	notice := core.AgentNotice{
		AgentID: r.ID, ExecutionID: r.Spec.Labels[labelExecution], Name: r.Name, Type: r.Type, Status: told.Status,
		Reason: told.Reason, Prompt: told.Prompt, LoginURL: told.LoginURL, ExitCode: told.ExitCode, Text: told.Text,
	}
	if kind == core.EventManagedBlocked {
		var prompt runtime.Prompt
		if json.Unmarshal(told.Prompt, &prompt) == nil {
			notice.Reason = prompt.Kind
		}
	}
	s.log.Info("a managed agent waits for people or failed", "agent", r.ID, "name", r.Name, "event", kind, "reason", notice.Reason)
	return append(list, core.Event{
		ID: s.opts.IDs.New(core.PrefixEvent), Type: kind, Time: event.Time, Subject: core.NoticeSubject(r.ID), Data: encode(notice), By: event.By,
	})
}
