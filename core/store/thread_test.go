package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// ownID makes an id of a kind for a time; n tells ids of one millisecond apart.
func ownID(prefix string, t time.Time, n int) string {
	return prefix + idAt(t, n)[len(core.PrefixExecution):]
}

func threadAt(t time.Time, n int) string { return ownID(core.PrefixThread, t, n) }

func thread(id, executionID string, status core.ThreadStatus) *core.ThreadRecord {
	return &core.ThreadRecord{
		Thread: core.Thread{
			ID: id, ExecutionID: executionID, Name: "driver", AgentType: "claude", Role: "driver", Status: status,
			Objective: "make the parser faster", Runtime: "local",
			Workspace:   &core.Workspace{ID: ownID(core.PrefixWorkspace, start, 1), Status: core.WorkspaceReady, Path: "/var/lib/ws/1", CreatedAt: start},
			Preparation: core.Preparation{Approval: "standard", EnvNames: []string{"TOKEN"}},
			Metadata:    map[string]any{"ticket": "A-1"}, Prompt: json.RawMessage(`{"id":"p1"}`),
			CreatedAt: start, UpdatedAt: start, LastActivityAt: start,
		},
		SealedEnv: []byte{1, 2, 3}, AgentSeq: 7, InputSeq: 2, SentSeq: 1, Begun: true,
	}
}

func putThread(tb testing.TB, s *store.Store, r *core.ThreadRecord) {
	tb.Helper()
	mustUpdate(tb, s, func(tx core.Tx) error { return tx.PutThread(r) })
}
