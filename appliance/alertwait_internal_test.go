package appliance

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/threads"
)

func TestWaitWatch(t *testing.T) {
	clock := coretest.NewClock()
	begin := clock.Now()
	agent := func(id, prompt, login string, labels map[string]string) *core.ManagedAgentRecord {
		return &core.ManagedAgentRecord{
			ManagedAgent: core.ManagedAgent{
				ID: id, Name: id, Prompt: json.RawMessage(prompt), LoginURL: login, LastActivityAt: begin, Status: core.ManagedBusy,
			},
			Spec: core.ManagedAgentSpec{Labels: labels},
		}
	}
	ask := `{"id":"p-1","kind":"approval","text":"May I?"}`
	list := []*core.ManagedAgentRecord{
		agent("asks", ask, "", nil), agent("works", "", "", nil), agent("logs in", "", "https://login.example", nil),
		agent("of a thread", ask, "", map[string]string{threads.LabelThread: "thread_1"}),
	}
	var got raised
	limit := time.Hour
	w := &waitWatch{
		raise: got.raise, clock: clock, limit: func() time.Duration { return limit },
		list: func(context.Context) ([]*core.ManagedAgentRecord, error) { return list, nil },
	}
	w.look(t.Context())
	got.expect(t, "at once")
	clock.Advance(2 * time.Hour)
	limit = 0
	w.look(t.Context())
	got.expect(t, "turned off")
	limit = time.Hour
	w.look(t.Context())
	w.look(t.Context())
	got.expect(t, "after two hours", "The agent asks has waited for an answer for 2h0m0s", "The agent logs in has waited")
	list[0] = agent("asks", `{"id":"p-2"}`, "", nil)
	list[0].LastActivityAt = clock.Now()
	w.look(t.Context())
	clock.Advance(time.Hour)
	w.look(t.Context())
	got.expect(t, "for something else", "asks", "logs in", "The agent asks has waited for an answer for 1h0m0s")
}
