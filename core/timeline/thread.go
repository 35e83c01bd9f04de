package timeline

import (
	"cmp"
	"slices"

	"github.com/wardroom/wardroom/core"
)

// thread folds a thread in, after the journal: that of a role is named at the role's entry, any other is an entry of
// its own.
func (f *fold) thread(t *core.ThreadRecord) {
	if t.Kind == core.ThreadKindRole {
		for i := range f.entries {
			if e := &f.entries[i]; e.Kind == core.TimelineRole && e.AgentID == t.ManagedAgentID && t.ManagedAgentID != "" {
				e.ThreadID = t.ID
			}
		}
		return
	}
	agent, detail := cmp.Or(t.ManagedAgentID, t.AgentID), t.StatusReason
	if t.Error != nil {
		detail = t.Error.Message
	}
	entry := core.TimelineEntry{
		Kind: core.TimelineThread, ID: t.ID, Type: t.AgentType, Name: t.Name, Role: t.Role, AgentID: agent,
		Status: string(t.Status), Detail: detail, StartedAt: t.CreatedAt, EndedAt: t.EndedAt,
		Usage: t.Usage,
	}
	at := slices.IndexFunc(f.entries, func(e core.TimelineEntry) bool { return e.StartedAt.After(t.CreatedAt) })
	if at < 0 {
		at = len(f.entries)
	}
	f.entries = slices.Insert(f.entries, at, entry)
}
