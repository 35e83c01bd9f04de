package agents_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// An agent registers though the answer of the commit is lost, and the event that it left is stored once, whether the commit that has
// it is stored or not.
func TestEventsInDoubt(t *testing.T) {
	for name, trouble := range map[string]func(m memory){
		"Stored": func(m memory) { m.Lose(1) },
		"NotStored": func(m memory) {
			m.Break(0, core.Unavailable("store_write_failed", "it failed").WithCause(core.ErrInDoubt))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, agents.Config{})
			p, reg := r.dial(), protocol.Registered{}
			if err := r.store.Losing(r.clock, time.Millisecond, func() error {
				reg = p.register(protocol.Register{Name: "one", Capabilities: []string{"echo"}})
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			trouble(r.store)
			if _, err := r.svc.DisconnectAgent(context.Background(), reg.AgentID, "enough"); !errors.Is(err, core.ErrInDoubt) {
				t.Fatal(err)
			}
			r.store.Heal()
			coretest.WaitFor(t, "the store to take writes", func() bool { return core.TakesWrites(context.Background(), r.store) == nil })
			coretest.WaitFor(t, "the agent to be stored", func() bool {
				advance(r.clock, 5*time.Second)
				record, _ := r.store.agent(reg.AgentID)
				return record.Status == core.AgentDisconnected
			})
			advance(r.clock, 5*time.Minute) // until nothing is to be stored
			page, _, err := r.store.Log(context.Background(), 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			count := map[core.EventType]int{}
			for _, e := range page {
				count[e.Type]++
			}
			if count[core.EventAgentConnected] != 1 || count[core.EventAgentDisconnected] != 1 {
				t.Errorf("events %v", count)
			}
		})
	}
}
