package e2e_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
)

// A client that asks at each event of an agent finds at least the state that the event tells of: 7 of 300 agents were
// still starting when they were said to be ready.
func TestStateBeforeEvent(t *testing.T) {
	t.Parallel()
	c := managed(t)
	const rounds, atOnce = 40, 4
	for round := range rounds {
		var wg sync.WaitGroup
		for n := range atOnce {
			wg.Go(func() {
				if err := startAndAsk(t, c, fmt.Sprintf("%d-%d", round, n)); err != nil {
					t.Errorf("agent %d of round %d: %v", n, round, err)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
	}
}

// startAndAsk starts an agent, asks for it at each event until it is ready, and ends it.
func startAndAsk(t *testing.T, c *crew, name string) error {
	a, err := c.api.SpawnManagedAgent(t.Context(), client.ManagedAgentSpec{Name: name, Type: "shell"})
	if err != nil {
		return err
	}
	stream, err := c.api.WatchManagedAgent(t.Context(), a.ID, "")
	if err != nil {
		return err
	}
	defer stream.Close()
	for said := ""; said != client.ManagedReady; {
		event, err := stream.Next()
		if err != nil {
			return err
		}
		found, err := c.api.GetManagedAgent(t.Context(), a.ID)
		if err != nil {
			return err
		}
		var e client.ManagedAgentEvent
		if err := json.Unmarshal(event.Data, &e); err != nil {
			return err
		}
		data, err := e.Decode()
		if err != nil {
			return err
		}
		if said = data.Status; said == client.ManagedReady && found.Status == client.ManagedStarting {
			return fmt.Errorf("at the event %s it is %s", e.Type, found.Status)
		}
	}
	return c.api.StopManagedAgent(t.Context(), a.ID, true, 0)
}
