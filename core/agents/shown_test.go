package agents_test

import (
	"context"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
)

// Who asks at the event of an agent that connected finds the agent: a store shows the events of a commit before its
// writer goes on.
func TestAgentIsThereBeforeItsEvent(t *testing.T) {
	r := newRig(t, agents.Config{})
	found := make(chan error, 1)
	r.store.Shown(func(events []core.Event) {
		r.store.Shown(nil)
		id := events[len(events)-1].Subject
		go func() {
			_, err := r.svc.FindAgent(context.Background(), id)
			found <- err
		}()
		// It may be told to wait until the agent was greeted, which is after this commit.
		select {
		case err := <-found:
			found <- err
		case <-time.After(100 * time.Millisecond):
		}
	})
	r.register("early", 1, "echo")
	if err := <-found; err != nil {
		t.Errorf("at the event of the agent: %v", err)
	}
}
